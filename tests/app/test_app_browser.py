"""The first steps in a real Chromium: drop, keyboard, accessibility, phones, zoom, attacks."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.app.conftest import address_of, go

pytestmark = pytest.mark.long

# What axe calls these, a person cannot work around.
SERIOUS = {"serious", "critical"}


@pytest.fixture
def table(tmp_path, patients):
    path = tmp_path / "patients.csv"
    path.write_bytes(patients)
    return path


def check_accessibility(page):
    page.wait_for_load_state()
    found = Axe().run(page).response["violations"]
    bad = [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in SERIOUS]
    assert bad == []


def check_width(page):
    """Nothing sticks out of the window at the right; what is wide scrolls by itself."""
    page.wait_for_load_state()  # a page can be looked at before its style is there
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0


def test_a_dropped_file_is_shown_and_a_role_updates_the_bar_without_a_reload(
    open_page, pages, patients
):
    page = open_page()
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "patients.csv"));
            document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        patients.decode(),
    )
    expect(page.locator("#preview caption")).to_have_text("Rows 1 to 50 of 200")
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page.locator("#preview caption")).to_have_text("Rows 51 to 100 of 200")
    page.get_by_role("link", name="Next: the columns").click()
    page.wait_for_url("**/columns")
    page.get_by_role("link", name="age", exact=True).click()
    expect(page.locator(".together")).to_contain_text("without it single out")
    page.evaluate("window.stays = true")
    bar = page.locator("#unique .legend").inner_text()
    page.locator("#role-2").select_option("drop")
    expect(page.locator("#fate-2")).to_have_text("In the release: removed")
    expect(page.locator("#unique .legend")).not_to_have_text(bar)
    assert page.evaluate("window.stays")
    page.reload()
    expect(page.locator("#role-2")).to_have_value("drop")
    assert pages.work.job.columns["zip"].role == "drop"


def test_the_whole_way_to_a_role_goes_by_keyboard_alone(open_page, pages, patients):
    (pages.work.root / "patients.csv").write_bytes(patients)
    page = open_page()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("To the content")
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "browse-button":
            break
    page.keyboard.press("Enter")
    expect(page.locator(":focus")).to_have_text("patients.csv")
    page.keyboard.press("Enter")
    expect(page.locator("#preview caption")).to_be_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("Next: "):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/columns")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "role-1":
            break
    page.keyboard.press("s")  # the first role that begins with it
    expect(page.locator("#fate-1")).to_have_text("In the release: published as it is")
    expect(page.locator(":focus")).to_have_attribute("id", "role-1")
    assert pages.work.job.columns["age"].role == "sensitive"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_have_no_serious_barrier(open_page, pages, table, scheme):
    page = open_page(color_scheme=scheme)
    check_accessibility(page)
    page.set_input_files("#file", table)
    expect(page.locator("#preview caption")).to_be_visible()
    page.wait_for_load_state()  # its script hears what is clicked
    page.locator("summary").click()
    page.locator("#browse-button").click()
    expect(page.locator("#browse ul")).to_be_visible()
    check_accessibility(page)
    for path in ("columns", "finish", "nowhere"):
        answer = page.request.get(address_of(page) + path)
        assert answer.status in {200, 404}
        if answer.status == 200:
            go(page, path)
            check_accessibility(page)


@pytest.mark.parametrize(
    ("width", "language"), [(360, "de"), (640, "en")], ids=["a phone", "200 % of a laptop"]
)
def test_nothing_sticks_out_on_a_phone_or_at_twice_the_size(
    open_page, pages, tmp_path, width, language
):
    page = open_page(viewport={"width": width, "height": 700}, locale=language)
    check_width(page)
    name = "a_very_long_name_of_a_column_without_any_blank_" * 3
    rows = [f"{i % 40},{'x' * 100}{i},{i % 3}" for i in range(60)]
    path = tmp_path / f"{'long' * 20}.csv"
    path.write_text("\n".join([f"age,{name},group", *rows]), encoding="utf-8")
    page.set_input_files("#file", path)
    expect(page.locator("#preview caption")).to_be_visible()
    check_width(page)
    for place in ("columns", "finish"):
        go(page, place)
        check_width(page)


def test_scripts_in_names_and_cells_do_not_run_in_the_browser(open_page, pages, tmp_path):
    attack = "<img src=x onerror=\"alert('x')\"><script>alert('y')</script>"
    cell = '"' + attack.replace('"', '""') + '"'
    path = tmp_path / "attack.csv"
    path.write_text("\n".join([f"{cell},age"] + [f"{cell},{i % 9}" for i in range(50)]))
    page = open_page()
    page.set_input_files("#file", path)
    expect(page.locator("#preview caption")).to_be_visible()
    expect(page.locator("#preview td bdi").first).to_have_text(attack)
    go(page, "columns")
    page.locator("#role-0").select_option("quasi-identifier")
    expect(page.locator("#fate-0")).to_have_text("In the release: generalised")
    assert page.locator("img").count() == 0


def test_the_address_of_the_key_does_not_stay_in_the_address_bar(open_page, pages):
    page = open_page()
    assert page.url == address_of(page) + "open"
    assert page.evaluate("document.cookie") == ""


def test_many_columns_are_a_short_list_that_is_sifted_and_changed_at_once(open_page, pages):
    names = [f"measure_{n}" for n in range(52)] + ["age"]
    lines = [",".join(names)]
    lines += [",".join(str((row * (n + 3)) % 17) for n in range(53)) for row in range(40)]
    page = open_page()
    pages.drop("wide.csv", ("\n".join(lines) + "\n").encode())
    go(page, "columns")
    check_accessibility(page)
    tall = page.evaluate("document.documentElement.scrollHeight")
    assert tall < 4_000  # 12,000 when every column had a card
    unsure = [guess.name for guess in pages.work.table.suggestion.columns if not guess.sure]
    assert page.locator("#to-decide").inner_text() == f"{len(unsure)} to decide"
    left = [name for name in unsure if not name.startswith("measure_1")]
    assert 0 < len(left) < len(unsure)
    page.locator("#find").fill("measure_1")
    assert page.locator("#columns li:visible").count() == 11
    for box in page.locator("#columns li:visible input[type=checkbox]").all():
        box.check()
    page.locator("#role-several").select_option("insensitive")
    page.locator("#several-button").click()
    expect(page.locator("#role-1")).to_have_value("insensitive")
    expect(page.locator("#to-decide")).to_have_text(f"{len(left)} to decide")
    page.locator("#find").fill("")
    page.locator("#only-open").check()
    assert page.locator("#columns li:visible").count() == len(left)
    page.locator("#only-open").uncheck()
    page.locator("#columns a[data-column='52']").click()
    page.get_by_label("Name in the release").fill("years")
    page.keyboard.press("Enter")
    expect(page.locator("#name-52 bdi")).to_have_text("years")
    expect(page.locator("#called-52")).to_be_focused()
    page.locator("#find").fill("years")
    assert page.locator("#columns li:visible a").all_inner_texts() == ["years"]
    assert pages.work.job.input.rename == {"age": "years"}
    check_accessibility(page)

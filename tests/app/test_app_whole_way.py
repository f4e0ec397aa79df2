"""The whole way in a real Chromium: from a dropped file to a signed release, by mouse and by keys.

What comes out is checked with the command line, which knows nothing of the pages.
"""

import subprocess
import sys
import zipfile

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.app.conftest import go
from tests.helpers.app_held import hold_runs

from shoal import registry
from shoal.app.runs import history_of
from shoal.datasets import load_adult
from shoal.report.certificate import read_certificate

COLUMNS = ["age", "workclass", "marital_status", "occupation", "sex", "hours_per_week", "salary"]


@pytest.fixture(scope="module")
def adult():
    """Some of Adult, as a file that somebody has."""
    return load_adult().head(1500).select(COLUMNS).write_csv()


@pytest.fixture
def page(open_page):
    """A page that is let in."""
    return open_page(accept_downloads=True)


def shoal_command(folder, *arguments):
    """Run the command line as anybody does, in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def download(page, name, folder):
    with page.expect_download() as started:
        page.locator(f'a[href$="/{name}"]').click()
    path = folder / name
    started.value.save_as(path)
    return path


def check_against_the_command_line(given, kept, source, key):
    """The release is verified by the command line, and made again by it, byte for byte."""
    with zipfile.ZipFile(given) as archive:
        archive.extractall(given.parent / "given")
    with zipfile.ZipFile(kept) as archive:
        archive.extractall(kept.parent / "again")
    there, again = given.parent / "given", kept.parent / "again"
    said = ("--certificate", "certificate.json", "--public-key", str(key))
    shoal_command(there, "verify", "release.csv", *said)
    assert read_certificate(there / "certificate.json").signed
    (again / "adult.csv").write_text(source)
    shoal_command(again, "anonymize", "--job", "job.toml", "--quiet")
    assert (again / "release.csv").read_bytes() == (there / "release.csv").read_bytes()


def drop_and_choose_roles(page, adult):
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "adult.csv"));
            document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        adult,
    )
    page.get_by_role("link", name="Next: the columns").click()
    page.wait_for_url("**/columns")  # with its script, which hears what is chosen
    page.locator("#role-6").select_option("sensitive")
    page.locator("#role-5").select_option("drop")
    expect(page.locator("#fate-5")).to_have_text("In the release: removed")


def edit_a_hierarchy(page, work):
    page.locator("a.step", has_text="Hierarchies").click()
    page.locator(".tabs a", has_text="marital_status").click()
    page.wait_for_url("**/hierarchies/*")
    page.locator("#build select").select_option("frequency")
    page.get_by_role("button", name="Show what values become").click()
    expect(page.locator("#build-preview .level").first).to_be_visible()
    page.get_by_role("button", name="Use this tree").click()
    leaf = page.locator('li.leaf[data-label="Never-married"]')
    expect(leaf).to_be_visible()
    page.wait_for_load_state()
    other = page.locator("li.node:not(:has(li.node))").first
    target = other.get_attribute("data-label")
    leaf.drag_to(other.locator("summary"))
    moved = page.locator(f'li.node[data-label="{target}"] li.leaf[data-label="Never-married"]')
    expect(moved).to_have_count(1)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(moved).to_have_count(0)
    page.get_by_role("button", name="Redo", exact=True).click()
    expect(moved).to_have_count(1)
    assert "Never-married" in work.job.columns["marital_status"].hierarchy.read_text()


def promise(page):
    page.get_by_role("link", name="Next: Promises").click()
    page.wait_for_url("**/promises")
    page.locator("#k").fill("8")
    page.locator("#k").press("Tab")
    expect(page.locator("#k-sentence")).to_contain_text("at least 8 rows")
    expect(page.locator(".promise .sentence").nth(1)).to_contain_text("at least 2 different")
    proposed = page.locator(".promise").count()
    page.locator("#add-model").select_option("l-diversity")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".promise")).to_have_count(proposed + 1)
    page.locator("#further summary").click()
    page.locator("#algorithm").select_option("mondrian")
    expect(page.locator("#algorithm")).to_have_value("mondrian")
    expect(page.locator("#curve .sentence")).to_contain_text("With k = 8 this table loses")
    expect(page.locator("svg.curve circle.here")).to_have_count(1)
    page.locator("#privacy-0-l").fill("7")
    page.locator("#privacy-0-l").press("Tab")
    expect(page.locator(".promise .impossible")).to_contain_text("at most 2")
    page.locator("#privacy-0-l").fill("2")
    page.locator("#privacy-0-l").press("Tab")
    expect(page.locator(".promise .impossible")).to_have_count(0)


def run_and_apply_advice(page, work):
    page.locator("a.step", has_text="Run").click()
    page.wait_for_url("**/run")
    page.locator("#run-button").click()
    expect(page.locator("#result-title")).to_be_visible()
    expect(page.locator(".beside .after td.wider").first).to_be_visible()
    page.locator(".pager a", has_text="Further").click()
    expect(page.locator(".pager span")).to_contain_text("Page 2 of")
    first = history_of(work)[0]
    page.locator("#explain-button").click()
    page.locator(".advice button").first.click()
    expect(page.locator(".history tbody tr")).to_have_count(2)
    assert [each.id for each in history_of(work)][1] == first.id


def test_the_whole_way_by_mouse_ends_in_the_command_lines_release(page, pages, adult, tmp_path):
    work = pages.work
    drop_and_choose_roles(page, adult)
    edit_a_hierarchy(page, work)
    promise(page)
    run_and_apply_advice(page, work)
    page.locator("#result").get_by_role("link", name="Next: Attack").click()
    page.locator("#attack-button").click()
    expect(page.locator(".attacks").first).to_be_visible()
    page.get_by_role("link", name="Next: Hand over").click()
    page.locator("#new-key").check()
    page.locator("#sign-button").click()
    expect(page.locator(".flash code")).to_be_visible()
    given, kept = (download(page, name, tmp_path) for name in ("hand-over.zip", "keep.zip"))
    check_against_the_command_line(given, kept, adult, work.root / "officer.pub")


def reach(page, selector):
    """Go to an element with the Tab key alone."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
            return
    raise AssertionError(f"no way to {selector} by the Tab key")


def open_by_keys(page):
    reach(page, "#path")
    page.keyboard.type("adult.csv")
    page.keyboard.press("Enter")
    expect(page.locator("#preview caption")).to_be_visible()
    reach(page, ".onward a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/columns")
    reach(page, "#role-6")
    page.keyboard.press("s")  # the first role that begins with it
    expect(page.locator("#role-6")).to_have_value("sensitive")


def move_a_value_by_keys(page):
    reach(page, ".onward a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/hierarchies")
    reach(page, f'.tabs a[href$="/{COLUMNS.index("marital_status")}"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/hierarchies/*")
    reach(page, "#build select")
    page.keyboard.press("f")  # frequency: first characters come before it in the list
    page.keyboard.press("f")
    expect(page.locator("#build select")).to_have_value("frequency")
    reach(page, "#build button")
    page.keyboard.press("Enter")
    expect(page.locator("#edit-form")).to_be_visible()
    reach(page, 'input[value="Widowed"]')
    page.keyboard.press("Space")
    reach(page, "#edit-to")
    page.keyboard.press("Home")  # the top
    reach(page, "#edit-move")
    page.keyboard.press("Enter")
    expect(page.locator('#tree > li > details > ul > li[data-label="Widowed"]')).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.locator('#tree > li > details > ul > li[data-label="Widowed"]')).to_have_count(0)


def promise_by_keys(page):
    reach(page, ".onward a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/promises")
    reach(page, "#k")
    page.keyboard.press("Control+a")
    page.keyboard.type("6")
    page.keyboard.press("Tab")
    expect(page.locator("#k-sentence")).to_contain_text("at least 6 rows")
    reach(page, "#further summary")
    page.keyboard.press("Enter")
    reach(page, "#algorithm")
    for _ in registry.algorithms():
        with page.expect_response("**/promises"):  # each choice is saved, and the form made anew
            page.keyboard.press("m")
        expect(page.locator(":focus")).to_have_attribute("id", "algorithm")
        if page.locator("#algorithm").input_value() == "mondrian":
            return
    raise AssertionError("no way to mondrian by keys")


@pytest.mark.long
def test_the_whole_way_goes_by_keyboard_alone(page, pages, adult, tmp_path):
    work = pages.work
    (work.root / "adult.csv").write_text(adult)
    open_by_keys(page)
    move_a_value_by_keys(page)
    promise_by_keys(page)
    reach(page, ".onward a")
    page.keyboard.press("Enter")
    page.wait_for_url("**/run")
    reach(page, "#run-button")
    page.keyboard.press("Enter")
    expect(page.locator("#result-title")).to_be_visible()
    reach(page, '#result a[href*="/hand-over"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/hand-over*")
    reach(page, "#new-key")
    page.keyboard.press("Space")
    reach(page, "#sign-button")
    page.keyboard.press("Enter")
    expect(page.locator(".flash code")).to_be_visible()
    reach(page, "#all")
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    started.value.save_as(tmp_path / "hand-over.zip")
    with zipfile.ZipFile(tmp_path / "hand-over.zip") as archive:
        names = sorted(archive.namelist())
    assert names == [
        "certificate.json", "labels.csv", "officer.pub", "release.csv", "report.html",
    ]  # fmt: skip
    assert (work.job.k, work.job.algorithm) == (6, "mondrian")
    assert work.job.columns["salary"].role == "sensitive"


@pytest.mark.long
def test_a_run_is_cancelled_with_its_button(page, pages, adult, monkeypatch):
    hold = hold_runs(monkeypatch)
    (pages.work.root / "adult.csv").write_text(adult)
    pages.open_file("adult.csv")
    pages.work.update(k=5, algorithm="held", seed=1)
    go(page, "run")
    page.locator("#run-button").click()
    assert hold.begun.wait(120)  # it is at work, and stays there
    with page.expect_response("**/cancel"):
        page.get_by_role("button", name="Cancel").click()
    hold.go.set()
    told = page.get_by_text("The run was cancelled; nothing was written.")
    expect(told).to_be_visible()
    expect(page.locator("#result-title")).to_have_count(0)
    assert history_of(pages.work) == []


@pytest.mark.long
def test_the_further_steps_have_no_barrier_and_nothing_sticks_out(page, pages, adult):
    (pages.work.root / "adult.csv").write_text(adult)
    pages.open_file("adult.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=1)
    number = COLUMNS.index("marital_status")
    pages.post(f"/hierarchies/{number}/use", {"method": "frequency"}, script=False)
    pages.post("/promises", {"k": "5", "algorithm": "mondrian", "add": "t-closeness"})
    pages.post("/promises", {"k": "5", "algorithm": "mondrian", "remove": "0"})
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    for step in ("hierarchies", f"hierarchies/{number}", "promises", "run", "hand-over"):
        for scheme, width in (("light", 1280), ("dark", 640), ("light", 360)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 740})
            go(page, step)
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, (step, width)
            page.evaluate("document.querySelectorAll('main details').forEach(d => d.open = true)")
            if width != 360:
                found = Axe().run(page).response["violations"]
                bad = [
                    (each["id"], each["nodes"][0]["html"])
                    for each in found
                    if each["impact"] in {"serious", "critical"}
                ]
                assert bad == [], step


@pytest.mark.long
def test_reasons_why_no_k_is_possible_wrap_on_a_phone(page, pages, adult):
    (pages.work.root / "adult.csv").write_text(adult)
    pages.open_file("adult.csv")
    pages.work.update_column("salary", role="sensitive", kind=None, hierarchy=None, grid=None)
    pages.work.update(
        k=5, algorithm="mondrian", privacy=[{"model": "l-diversity", "l": 9, "kind": "distinct"}]
    )
    pages.get("/promises")
    pages.wait("curve")
    page.set_viewport_size({"width": 360, "height": 740})
    go(page, "promises")
    expect(page.locator("#curve td.why-none").first).to_contain_text("l can be at most 2")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.mark.long
def test_the_button_of_a_coarser_column_holds_it_at_a_level_and_runs_again(page, pages, adult):
    (pages.work.root / "adult.csv").write_text(adult)
    pages.open_file("adult.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=1)
    name = "marital_status"
    place = f"hierarchies/{COLUMNS.index(name)}"
    pages.post(f"/{place}/use", {"method": "frequency"}, script=False)
    pages.post("/run", {"suffix": "csv"}, script=False)
    pages.wait("run")
    made, tree = history_of(pages.work)[0], pages.work.job.columns[name].hierarchy
    told = {
        "sentence": f"Publishing {name!r} no finer than level 1 of its hierarchy gives back 1.0 "
        "points of detail.",
        "settings": {"columns": {name: {"grid": "level 1"}}},
        "change": "coarsen",
    }
    about = {"n_to_do": 1, "n_tried": 1500, "n_rows": 1500, "loss": made.loss}
    pages.work.keep("explained", {"run": made.id, "advice": [told], **about})
    go(page, f"run?run={made.id}")
    page.wait_for_load_state()
    page.locator(".advice button").first.click()
    expect(page.locator(".history tbody tr")).to_have_count(2)
    column = pages.work.job.columns[name]
    assert (column.grid, column.hierarchy) == ("level 1", tree)
    go(page, place)
    page.wait_for_load_state()
    expect(page.locator("select[name=hold]")).to_have_value("level 1")

"""The steps from hierarchies to hand over, through a real server: what a page does is a job."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from tests.helpers.app_held import hold_runs
from tests.helpers.app_people import people

from shoal.app.curve import SAMPLE
from shoal.app.hierarchy_preview import tree_of, values_of
from shoal.app.runs import differences, history_of
from shoal.hierarchy.rules import HierarchyRule
from shoal.run.job import run_job
from shoal.settings.job_file import read_job

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def opened(pages):
    """A server with a table of people, and a job that is quick to run."""
    people(200).write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    return pages


def number_of(pages, name):
    return pages.work.table.names.index(name)


def column(pages, name):
    return pages.work.job.columns[name]


def use(pages, name, /, **given):
    return pages.post(f"/hierarchies/{number_of(pages, name)}/use", given, script=False)


def edit(pages, name, /, **given):
    return pages.post(f"/hierarchies/{number_of(pages, name)}/edit", given)


def promise(pages, **given):
    said = {"k": "5", "algorithm": "mondrian", "seed": "3", **given}
    return pages.post("/promises", said)


def run(pages):
    assert pages.post("/run", {"suffix": "csv"}, script=False).status_code == 303
    pages.wait("run")
    return history_of(pages.work)[0]


# -- hierarchies ---------------------------------------------------------------------------------


def test_a_built_tree_becomes_a_rule_of_the_job_and_an_edit_makes_it_a_file(opened):
    use(opened, "age", method="intervals", widths="5, 10, 20")
    assert column(opened, "age").hierarchy == HierarchyRule.of(
        {"rule": "intervals", "widths": [5, 10, 20]}
    )
    told = edit(opened, "age", edit="merge", labels=["[20-39]", "[40-59]"], name="in between")
    assert told.status_code == 200, told.text
    path = column(opened, "age").hierarchy
    assert isinstance(path, Path)
    assert "in between" in path.read_text()
    assert path.stat().st_mode & 0o077 == 0 or path.parent.parent.stat().st_mode & 0o077 == 0
    edit(opened, "age", edit="undo")
    assert isinstance(column(opened, "age").hierarchy, HierarchyRule)
    edit(opened, "age", edit="redo")
    assert column(opened, "age").hierarchy == path


def test_an_edit_is_still_undone_after_a_restart_of_the_server(opened):
    work = opened.work
    use(opened, "job", method="frequency", fanout="3")
    before = tree_of(work, "job", values_of(work, "job")).draft.tree
    edit(opened, "job", edit="move", labels=["baker"], to=before.root)
    from shoal.app.workspace import Workspace

    work.leave()
    again = Workspace(work.folder, work.root)
    again.table = work.table
    state = tree_of(again, "job", values_of(again, "job"))
    assert "baker" in state.draft.tree.inner[before.root]
    assert state.draft.undo().tree == before
    again.leave()


def test_an_edit_that_cannot_be_done_says_why_and_leaves_the_job(opened):
    use(opened, "job", method="frequency")
    before = opened.work.job
    told = edit(opened, "job", edit="rename", labels=["baker"], name="smith")
    assert told.status_code == 400
    assert "stay as they are" in told.json()["error"]
    assert edit(opened, "job", edit="remove", labels=["x", "y"]).status_code == 400
    assert opened.work.job == before


def test_what_values_would_become_is_shown_before_it_is_used(opened):
    before = opened.work.job
    number = number_of(opened, "zip")
    told = opened.get(
        f"/hierarchies/{number}/try?method=prefix&keep=3", headers={"accept": "application/json"}
    )
    assert "101**" in told.json()["html"]
    told = opened.get(
        f"/hierarchies/{number}/try?method=prefix&keep=x", headers={"accept": "application/json"}
    )
    assert "numbers with commas" in told.json()["error"]
    assert opened.work.job == before


def test_a_grid_is_seen_and_chosen_and_replaces_the_tree(opened):
    use(opened, "age", method="intervals", widths="5,10")
    use(opened, "age", method="grid", grid="10")
    assert (column(opened, "age").hierarchy, column(opened, "age").grid) == (None, "10")
    page = opened.get(f"/hierarchies/{number_of(opened, 'age')}").text
    assert "[20-29]" in page
    use(opened, "age", method="grid", grid="-4")
    assert column(opened, "age").grid == "10"
    assert "must be a number above 0" in opened.get("/hierarchies").text


def test_a_file_goes_in_and_comes_out_unchanged(opened):
    lines = [f"{job};{'hands' if job < 'd' else 'others'};*\n" for job in sorted(set(
        people(200).get_column("job").to_list()))]  # fmt: skip
    text = "".join(lines)
    number = number_of(opened, "job")
    response = opened.post(
        f"/hierarchies/{number}/import", script=False, files={"file": ("h.csv", text.encode())}
    )
    assert response.status_code == 303
    assert opened.get(f"/hierarchies/{number}/hierarchy.csv").text == text
    short = "".join(lines[1:]).encode()
    opened.post(f"/hierarchies/{number}/import", script=False, files={"file": ("h.csv", short)})
    page = opened.get(f"/hierarchies/{number}").text
    assert "does not cover the data" in page
    assert lines[0].partition(";")[0] not in page.partition("does not cover")[2][:300]
    opened.post(
        f"/hierarchies/{number}/import",
        {"unknown": "root"},
        script=False,
        files={"file": ("h.csv", short)},
    )
    assert opened.get(f"/hierarchies/{number}/hierarchy.csv").text != text


def test_values_are_found_by_searching(opened):
    use(opened, "zip", method="prefix", keep="3")
    page = opened.get(f"/hierarchies/{number_of(opened, 'zip')}?find=2011").text
    assert "Found: 2011" in page
    assert "* → 201**" in page


# -- promises ------------------------------------------------------------------------------------


def test_a_promise_is_added_changed_and_taken_back_with_its_sentence(opened):
    opened.work.update(privacy=None)  # without the one that is proposed
    told = promise(opened, add="l-diversity").json()
    assert "at least 2 different sensitive values" in told["html"]
    told = promise(opened, **{"privacy.0.l": "3", "privacy.0.kind": "distinct"}).json()
    assert "at least 3 different sensitive values" in told["html"]
    assert opened.work.job.privacy == ({"model": "l-diversity", "l": 3, "kind": "distinct"},)
    promise(opened, remove="0")
    assert opened.work.job.privacy == ()


def test_every_known_promise_has_fields_and_a_sentence(opened):
    opened.work.update(privacy=None)  # without the one that is proposed
    from shoal import registry

    for place, name in enumerate(registry.privacy_models()):
        html = promise(opened, add=name).json()["html"]
        assert f'name="privacy.{place}.' in html
    assert [model["model"] for model in opened.work.job.privacy] == list(registry.privacy_models())
    sentences = re.findall(r'<p class="sentence" lang="en">([^<]*)</p>', html)
    assert len(sentences) == len(registry.privacy_models())
    assert all(len(sentence) > 20 for sentence in sentences)


def test_the_sentence_of_k_changes_with_k(opened):
    for k, chance in (("5", "20.0%"), ("20", "5.0%")):
        html = promise(opened, k=k).json()["html"]
        assert f"at least {k} rows" in html
        assert chance in html


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"k": "201"}, "200 rows, fewer than k = 201"),
        ({"k": "1"}, "at least 2"),
        ({"max_suppression": "1"}, "below 1"),
    ],
)
def test_an_impossible_setting_is_explained_in_its_card(opened, given, why):
    html = promise(opened, **given).json()["html"]
    assert why in html
    assert 'class="bad-text impossible" role="alert"' in html


def test_an_impossible_promise_is_explained_in_its_own_card(opened):
    promise(opened, add="l-diversity")
    html = promise(opened, **{"privacy.0.l": "4"}).json()["html"]
    assert "can be at most 3" in html
    assert "No release can keep this" in opened.get("/run").text


@pytest.mark.parametrize("given", [{"k": "many"}, {"k": ""}, {"max_suppression": "few"}])
def test_what_is_no_number_is_refused_and_changes_nothing(opened, given):
    before = opened.work.job
    assert promise(opened, **given).status_code == 400
    assert opened.work.job == before


def test_further_settings_come_from_the_table_of_options(opened):
    from shoal.settings.job import JOB_OPTIONS

    page = opened.get("/promises").text
    plain = {"int", "float", "str", "bool"}
    for name, row in JOB_OPTIONS.items():
        panel = None if row.flag is None else row.flag.panel
        if panel in ("Promises", "Search") and row.plain_type in plain:
            assert f'name="{name}"' in page, name
    promise(opened, measure="lm", refine="fast", **{"algorithm_options.effort": "fast"})
    options = opened.work.job.options
    assert (options["measure"], options["refine"]) == ("lm", "fast")
    assert options["algorithm_options"] == {"effort": "fast"}
    promise(opened)
    assert not {"measure", "refine", "algorithm_options"} & set(opened.work.job.options)


def test_the_curve_is_drawn_in_the_background_and_knows_where_one_stands(opened):
    opened.get("/promises")
    opened.wait("curve")
    told = opened.get("/promises/curve", headers={"accept": "application/json"}).json()
    assert not told["running"]
    assert "With k = 5 this table loses" in told["html"]
    assert told["html"].count('class="dot"') == 5
    assert told["html"].count('class="here"') == 2  # the point, and its row in the table
    assert "<title" in told["html"]
    assert "Measured on all 200 rows." in told["html"]


def test_the_curve_is_of_a_sample_first_and_of_all_rows_after(pages, monkeypatch):
    hold = hold_runs(monkeypatch, above=SAMPLE)
    people(SAMPLE + 1).write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=5, algorithm="held", seed=3)

    def curve():
        return pages.get("/promises/curve", headers={"accept": "application/json"}).json()

    pages.get("/promises")
    assert hold.begun.wait(120)  # the sample is whole, and the first run on all rows has begun
    told = curve()
    assert told["running"]
    assert "Measured on a random sample of 5,000 of 5,001 rows" in told["html"]
    assert told["html"].count('class="dot"') == 5
    sample = pages.work.kept("curve")["sample"]
    assert (sample["n_rows"], sample["whole"]) == (SAMPLE, True)
    hold.go.set()
    pages.wait("curve")
    told = curve()
    assert not told["running"]
    assert "Measured on all 5,001 rows." in told["html"]
    assert told["html"].count('class="dot"') == 5
    kept = pages.work.kept("curve")
    assert kept["sample"] == sample
    assert (kept["all"]["n_rows"], kept["all"]["whole"]) == (SAMPLE + 1, True)
    assert [point["k"] for point in kept["all"]["points"]] == [2, 3, 5, 7, 10, 15]
    drawn = pages.app.state.tasks.latest("curve")
    pages.get("/promises")  # it is there: nothing is measured again
    assert pages.app.state.tasks.latest("curve") is drawn


def test_the_curve_is_drawn_anew_when_a_setting_changes_and_not_otherwise(opened):
    opened.get("/promises")
    first = opened.wait("curve")
    opened.get("/promises")
    promise(opened, k="7")
    assert opened.app.state.tasks.latest("curve") is first
    promise(opened, measure="lm")
    assert opened.app.state.tasks.latest("curve") is not first
    opened.wait("curve")


# -- runs ----------------------------------------------------------------------------------------


def test_a_run_shows_groups_losses_checks_and_the_report(opened):
    made = run(opened)
    page = opened.get("/run").text
    assert "Holds: every row shares its quasi-identifiers" in page
    german = opened.get("/run", headers={"accept-language": "de"}).text
    assert '<li><span lang="de">Eingehalten: Jede Zeile teilt ihre' in german
    assert "What each column lost" in page
    assert page.count(">published <") == 5
    assert ">original<" in page
    report = opened.get(f"/run/{made.id}/report.html")
    assert "unsafe-inline" in report.headers["content-security-policy"]
    assert "script-src" not in report.headers["content-security-policy"]
    assert "sandbox" in report.headers["content-security-policy"]


def test_a_run_is_the_command_lines_run(opened, tmp_path):
    use(opened, "job", method="frequency")
    made = run(opened)
    packed = opened.get(f"/hand-over/{made.id}/keep.zip").content
    with zipfile.ZipFile(io.BytesIO(packed)) as kept:
        kept.extractall(tmp_path)
    run_job(read_job(tmp_path / "job.toml"))
    release = opened.get(f"/hand-over/{made.id}/release.csv").content
    assert (tmp_path / "release.csv").read_bytes() == release


def test_advice_is_applied_with_its_button_and_the_job_runs_again(opened):
    made = run(opened)
    opened.post(f"/run/{made.id}/explain", script=False)
    opened.wait("explain")
    page = opened.get("/run").text
    assert "Apply and run again" in page
    advice = opened.work.kept("explained")["advice"]
    place = next(n for n, each in enumerate(advice) if each["settings"])
    opened.post(f"/run/{made.id}/apply/{place}", script=False)
    opened.wait("run")
    latest, before = history_of(opened.work)[:2]
    assert before.id == made.id
    changed = {difference.place.split(".")[0] for difference in differences(before, latest)}
    assert changed & set(advice[place]["settings"])


def test_advice_of_another_run_is_not_applied(opened):
    made = run(opened)
    before = opened.work.job
    response = opened.post(f"/run/{made.id}/apply/0")
    assert "belongs to another run" in response.json()["error"]
    assert opened.work.job == before


def test_settings_of_an_earlier_run_come_back_with_its_hierarchy(opened):
    use(opened, "job", method="frequency")
    first = run(opened)
    edit(opened, "job", edit="remove-level", level="1")
    promise(opened, k="8")
    second = run(opened)
    page = opened.get("/run").text
    assert "Take these settings" in page
    places = {difference.place for difference in differences(second, first)}
    assert places == {"k", "columns.job.hierarchy"}
    opened.post(f"/run/{first.id}/back", script=False)
    assert opened.work.job.k == 5
    third = run(opened)
    assert differences(first, third) == []
    folders = [opened.work.folder / "results" / each.id for each in (first, third)]
    one, other = ((folder / "release.csv").read_bytes() for folder in folders)
    assert one == other


def test_a_cancelled_run_leaves_no_files_and_is_not_in_the_history(opened, monkeypatch):
    hold = hold_runs(monkeypatch)
    opened.work.update(algorithm="held")
    opened.post("/run", {"suffix": "csv"}, script=False)
    assert hold.begun.wait(120)  # it is at work, and stays there
    task = opened.app.state.tasks.latest("run")
    folders = list((opened.work.folder / "results").iterdir())
    assert (task.state, len(folders)) == ("running", 1)
    assert f'data-task="{task.id}"' in opened.get("/run").text
    assert opened.post(f"/task/{task.id}/cancel").status_code == 200
    hold.go.set()
    assert task.wait(60)
    assert (task.state, task.result) == ("stopped", None)
    assert history_of(opened.work) == []
    assert list((opened.work.folder / "results").iterdir()) == []
    assert "The run was cancelled; nothing was written." in opened.get("/run").text
    run(opened)  # and the next one is not
    assert len(history_of(opened.work)) == 1


def test_a_failed_run_says_one_sentence(opened):
    opened.work.update(k=1000)
    opened.post("/run", {"suffix": "csv"}, script=False)
    task = opened.app.state.tasks.latest("run")
    assert task.wait(60)
    assert task.state == "failed"
    assert "fewer than k = 1000" in opened.get("/run").text


def test_the_state_of_work_survives_a_restart_but_files_are_made_anew(opened):
    made = run(opened)
    from shoal.app.workspace import Workspace

    opened.work.leave()
    again = Workspace(opened.work.folder, opened.work.root)
    assert [each.id for each in history_of(again)] == [made.id]
    assert again.job == opened.work.job
    assert not (again.folder / "results" / made.id).exists()
    again.leave()


# -- hand over -----------------------------------------------------------------------------------


def test_a_signed_release_is_handed_over_whole_and_verified(opened, tmp_path):
    import shoal

    made = run(opened)
    opened.post(
        f"/hand-over/{made.id}/sign",
        {"key": "officer.key", "new": "yes", "passphrase": "a b c"},
        script=False,
    )
    assert "Signed with the public key" in opened.get("/hand-over").text
    packed = opened.get(f"/hand-over/{made.id}/hand-over.zip").content
    with zipfile.ZipFile(io.BytesIO(packed)) as given:
        given.extractall(tmp_path)
    checked = shoal.verify_certificate(
        tmp_path / "release.csv",
        tmp_path / "certificate.json",
        public_key=opened.work.root / "officer.pub",
    )
    assert checked.holds
    key = (opened.work.root / "officer.key").read_text()
    assert "ENCRYPTED" in key


@pytest.mark.parametrize("name", ["../outside.key", "/etc/officer.key", "a\0b"])
def test_a_key_is_read_and_made_only_where_files_may_be_opened(opened, name):
    made = run(opened)
    response = opened.post(f"/hand-over/{made.id}/sign", {"key": name, "new": "yes"})
    assert response.status_code == 400
    assert not opened.work.kept("key")


@pytest.mark.parametrize("name", ["groups.npz", "..%2Fjob.toml", "job.tom", "tmp"])
def test_nothing_but_what_is_listed_can_be_downloaded(opened, name):
    made = run(opened)
    response = opened.get(f"/hand-over/{made.id}/{name}")
    assert response.status_code in (303, 400, 404)
    assert opened.get(f"/hand-over/..%2F..%2Fresults/{made.id}").status_code in (303, 400, 404)


def test_the_commands_of_the_page_are_those_that_do_the_same(opened):
    made = run(opened)
    page = opened.get(f"/hand-over?run={made.id}").text
    assert "shoal anonymize --job job.toml" in page
    assert "shoal verify release.csv --certificate certificate.json" in page


# -- attacks -------------------------------------------------------------------------------------


def test_a_script_in_a_name_a_cell_or_a_label_is_text_on_every_page(pages):
    lines = [f"id,{SCRIPT},ill{SCRIPT}"]
    lines += [f"p{n},v{n % 4}{SCRIPT},{'ab'[n % 2]}{SCRIPT}" for n in range(60)]
    pages.drop("people.csv", ("\n".join(lines) + "\n").encode())
    work = pages.work
    work.update_column(f"{SCRIPT}", role="quasi-identifier", kind=None, hierarchy=None, grid=None)
    work.update_column(f"ill{SCRIPT}", role="sensitive", kind=None, hierarchy=None, grid=None)
    work.update_column("id", role="identifier", kind=None, hierarchy=None, grid=None)
    work.update(k=3, algorithm="mondrian", seed=1)
    use(pages, SCRIPT, method="frequency")
    told = edit(pages, SCRIPT, edit="add", name=f"new {SCRIPT}", to="*")
    assert told.status_code == 200, told.text
    pages.post("/promises", {"k": "3", "algorithm": "mondrian", "add": "l-diversity"})
    pages.post(
        "/run", {"suffix": "csv", "title": SCRIPT, "owner": SCRIPT, "purpose": ""}, script=False
    )
    pages.wait("run")
    made = history_of(work)[0]
    pages.post(f"/run/{made.id}/explain", script=False)
    pages.wait("explain")
    for path in (
        "/hierarchies", "/hierarchies?find=v1", "/promises", "/promises/curve", "/run",
        "/run/groups", "/hand-over", f"/run/{made.id}/report.html",
    ):  # fmt: skip
        text = pages.get(path).text
        assert SCRIPT not in text, path
        assert "<script>alert" not in text


# -- languages -----------------------------------------------------------------------------------


def test_every_text_of_the_rooms_below_that_a_form_shows_can_be_translated(opened):
    from shoal import registry
    from shoal.app.fields import option_fields
    from shoal.messages.language import Language

    shown = [registry.load("privacy", name).title for name in registry.privacy_models()]
    for panel in ("Promises", "Search"):
        shown += [
            each.help for each in option_fields(opened.work.job, panel, ("k", "max_suppression"))
        ]
    german = Language("de")
    assert [text for text in shown if german(text) == text] == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/hierarchies", "Was wird aus den Werten?"),
        ("/promises", "findet mindestens 5 Zeilen"),
        ("/run", "Rechnen und ansehen"),
        ("/hand-over", "Es gibt noch nichts zu übergeben"),
    ],
)
def test_the_further_steps_speak_german(opened, path, text):
    page = opened.get(path, headers={"accept-language": "de"}).text
    assert text in page


def test_a_promise_that_nobody_knows_is_a_sentence_on_its_page(pages, patients):
    pages.drop("patients.csv", patients)
    pages.work.update(privacy=({"model": "foo"},))
    answer = pages.get("/promises")
    assert answer.status_code == 400
    assert "Unknown privacy model" in answer.text

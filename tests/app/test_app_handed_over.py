"""What is handed over is of the settings as they are, and fits together."""

import csv
import io
import re
import shlex
import zipfile

import polars as pl
import pytest
from tests.helpers.app_people import people

from shoal.app.runs import history_of

OLDER = "The settings have changed since this run"


@pytest.fixture
def opened(pages):
    people(120).write_csv(pages.work.root / "people.csv")
    pages.open_file("people.csv")
    pages.work.update(k=5, algorithm="mondrian", seed=3)
    return pages


def run(pages, suffix="csv"):
    assert pages.post("/run", {"suffix": suffix}, script=False).status_code == 303
    pages.wait("run")
    return history_of(pages.work)[0]


def archive(pages, made, name="hand-over.zip"):
    packed = pages.get(f"/hand-over/{made.id}/{name}").content
    with zipfile.ZipFile(io.BytesIO(packed)) as found:
        return {each: found.read(each) for each in found.namelist()}


def rule(pages, widths):
    pages.post("/hierarchies/1/use", {"method": "intervals", "widths": widths}, script=False)


CHANGES = {
    "k": lambda pages: pages.work.update(k=8),
    "role": lambda pages: pages.post("/columns/3", {"role": "drop"}),
    "promise": lambda pages: pages.work.update(privacy=[{"model": "l-diversity", "l": 2}]),
    "seed": lambda pages: pages.work.update(seed=4),
    "rule": lambda pages: rule(pages, "4, 8"),
    "tree": lambda pages: pages.post(
        "/hierarchies/3/use", {"method": "frequency", "fanout": "2"}, script=False
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_result_older_than_the_settings_says_so_and_is_not_handed_over(opened, change):
    rule(opened, "5, 10")
    made = run(opened)
    pages = ("/run", "/hand-over", f"/run/{made.id}/report.html")
    assert [OLDER in opened.get(path).text for path in pages] == [False] * 3
    change(opened)
    assert [OLDER in opened.get(path).text for path in pages] == [True] * 3
    assert "/hand-over.zip" not in opened.get("/hand-over").text
    for name in ("hand-over.zip", "release.csv", "certificate.json", "report.html"):
        told = opened.get(f"/hand-over/{made.id}/{name}", headers={"accept": "application/json"})
        assert told.status_code == 400
        assert OLDER in told.json()["error"]
    signing = opened.post(f"/hand-over/{made.id}/sign", {"key": "a.key", "new": "yes"})
    assert OLDER in signing.json()["error"]
    assert not (opened.work.root / "a.key").exists()
    opened.post(f"/run/{made.id}/back", script=False)
    assert [OLDER in opened.get(path).text for path in pages] == [False] * 3
    assert "release.csv" in archive(opened, made)


def test_of_several_runs_those_of_other_settings_are_marked(opened):
    run(opened)
    opened.work.update(k=8)
    run(opened)
    page = opened.get("/run").text
    assert page.count("other settings") == 1
    assert OLDER not in page


def test_an_error_of_a_run_goes_when_its_cause_does(opened):
    opened.work.update(k=1000)
    opened.post("/run", {"suffix": "csv"}, script=False)
    assert opened.app.state.tasks.latest("run").wait(60)
    error = "fewer than k = 1000"
    failed = re.compile(rf'class="flash bad" role="alert">[^<]*{error}')
    assert failed.search(opened.get("/run").text)
    opened.work.update(k=5)
    assert error not in opened.get("/run").text


# -- what fits together --------------------------------------------------------------------------


def test_only_a_signed_certificate_is_said_to_hold_a_signature(opened):
    made = run(opened)
    assert "a signature is in it" not in opened.get("/hand-over").text
    assert "officer.pub" not in archive(opened, made)
    opened.post(f"/hand-over/{made.id}/sign", {"key": "me.key", "new": "yes"}, script=False)
    assert "your signature is in it" in opened.get("/hand-over").text
    assert "officer.pub" in archive(opened, made)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_every_file_of_a_command_in_the_report_is_in_the_archive(opened, suffix):
    made = run(opened, suffix)
    opened.post(f"/hand-over/{made.id}/sign", {"key": "me.key", "new": "yes"}, script=False)
    given = archive(opened, made)
    commands = re.findall(r"<code>(shoal [^<]*)</code>", given["report.html"].decode())
    assert any(line.startswith("shoal verify") for line in commands)
    named = {
        word
        for line in commands
        for word in shlex.split(line)[2:]
        if re.fullmatch(r"[\w-]+\.\w+", word)
    }
    assert named - {"officer.key"} <= set(given)
    assert f"release.{suffix}" in named


def test_the_commands_of_the_page_name_files_that_are_there(opened, tmp_path):
    made = run(opened)
    opened.post(f"/hand-over/{made.id}/sign", {"key": "me.key", "new": "yes"}, script=False)
    verify = re.search(r"shoal verify [^\n]*", opened.get("/hand-over").text)[0]
    named = {word for word in shlex.split(verify)[2:] if not word.startswith("--")}
    assert named == {"release.csv", "certificate.json", "officer.pub"}
    assert named <= set(archive(opened, made))
    assert "officer.pub" in archive(opened, made, "keep.zip")


def test_the_dictionary_of_labels_holds_what_is_published_and_the_secret_half_stays(opened):
    opened.work.update(k=10, max_suppression=0.3)
    opened.post("/hierarchies/3/use", {"method": "frequency", "fanout": "2"}, script=False)
    made = run(opened)
    given = archive(opened, made)
    told = list(csv.DictReader(io.StringIO(given["labels.csv"].decode())))
    tree = {}
    with opened.work.job.columns["job"].hierarchy.open() as lines:
        for value, *above in csv.reader(lines, delimiter=";"):
            tree[value] = above[:-1]  # the last is the top, which stands for anything
    shown = set(pl.read_csv(given["release.csv"])["job"]) - {"*"}
    rows = opened.work.table.frame["job"].to_list()
    import numpy as np

    groups = np.load(made.files(opened.work.folder / "results").groups)["groups"].tolist()
    present = {job for job, group in zip(rows, groups, strict=True) if group >= 0}
    expected = {
        ("job", label, value) for value in present for label in tree[value] if label in shown
    }
    assert expected
    assert {(row["column"], row["label"], row["value"]) for row in told} == expected
    assert "labels.csv" in opened.get("/hand-over").text
    secret = ("job.toml", "me.key", "groups.npz")
    assert not any(name in given or name.endswith(".people") for name in secret)


def test_a_value_of_a_row_that_is_left_out_is_not_in_the_dictionary():
    from shoal.publish.release_data import label_rows

    paths = {"a": ["x", "*"], "b": ["x", "*"], "c": ["y", "*"], "d": ["y", "*"], "e": ["*"]}
    rows = ["a", "a", "b", "c", "c", "d", None, "e"]
    groups = [0, 0, -1, 1, 1, 1, 1, 0]
    found = label_rows(paths, rows, groups, {"x", "y", "*"})
    assert sorted(found) == [("x", "a"), ("y", "c"), ("y", "d")]
    assert list(label_rows(paths, rows, groups, {"a", "*"})) == []


def test_without_listed_hierarchies_there_is_no_dictionary(opened):
    made = run(opened)
    assert "labels.csv" not in archive(opened, made)

"""Grids and scales from the command line: flags, job files, init, verify and score."""

import json

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def visits(tmp_path):
    """A file of places, moments and birthdays."""
    rng = np.random.default_rng(8)
    n = 120
    start, birth = np.datetime64("2023-01-01T00:00:00"), np.datetime64("1940-01-01")
    pl.DataFrame(
        {
            "lon": rng.normal(8, 2, n),
            "seen": (start + rng.integers(0, 10**7, n).astype("m8[s]")).astype("M8[us]"),
            "born": birth + rng.integers(0, 25_000, n).astype("m8[D]"),
            "age": rng.integers(18, 90, n),
        }
    ).write_csv(tmp_path / "visits.csv")
    return tmp_path / "visits.csv"


COLUMNS = ("--qi", "lon,seen,born,age")
QI = (*COLUMNS, "--seed", "1")


def test_a_grid_goes_from_the_flag_to_the_file_and_is_verified_there(shoal_runs, visits, tmp_path):
    safe, told = tmp_path / "safe.csv", tmp_path / "c.json"
    flags = ("--grid", "age=5", "--grid", "born=year", "--certificate", told)
    assert shoal_runs("anonymize", visits, "-o", safe, "--k", "5", *QI, *flags).status == 0
    columns = {c["name"]: c["grid"] for c in json.loads(told.read_text())["columns"]}
    assert columns["age"] == {"step": "5", "chosen": "as asked"}
    assert columns["lon"] == {"step": "0.01", "chosen": "by default"}
    assert columns["seen"]["chosen"] == "by default"
    for born in pl.read_csv(safe)["born"].to_list():
        assert born[5:11] == "-01-01"
        assert born.endswith("-12-31]")
    right = ("--grid", "age=5", "--grid", "born=year", "--grid", "lon=0.01")
    assert shoal_runs("verify", safe, "--k", "5", *COLUMNS, *right).status == 0
    wrong = shoal_runs("verify", safe, "--k", "5", *COLUMNS, "--grid", "age=7")
    assert wrong.status == 1
    assert "grid of 'age'" in wrong.out
    assert "100 %" in wrong.out  # what is promised


def test_one_flag_turns_the_default_off(shoal_runs, visits, tmp_path):
    exact = set(pl.read_csv(visits)["lon"].to_list())
    for flags, shown in (((), False), (("--no-grid",), True)):
        path = tmp_path / f"safe{len(flags)}.csv"
        assert shoal_runs("anonymize", visits, "-o", path, "--k", "5", *QI, *flags).status == 0
        ends = {
            float(end)
            for cell in pl.read_csv(path)["lon"].to_list()
            for end in cell.strip("[]").split("-")
        }
        assert bool(ends & exact) is shown


def test_a_release_is_scored_on_its_grid(shoal_runs, visits, tmp_path):
    safe, told = tmp_path / "safe.csv", tmp_path / "c.json"
    flags = ("--grid", "age=5", "--grid", "born=month")
    assert (
        shoal_runs(
            "anonymize", visits, "-o", safe, "--k", "5", *QI, *flags, "--certificate", told
        ).status
        == 0
    )
    scored = shoal_runs("score", visits, safe, *COLUMNS, "--measures", "ncp", *flags)
    assert scored.status == 0
    ncp = json.loads(told.read_text())["scores"]["ncp"]
    assert f"{ncp:.6f}"[:6] in scored.out
    off = shoal_runs("score", visits, safe, *COLUMNS, "--no-grid")
    assert off.status == 2
    assert "stand for no value of the original" in off.err


def test_init_writes_a_grid_that_the_job_then_uses(shoal_runs, visits, tmp_path):
    job = tmp_path / "job.toml"
    assert shoal_runs("init", visits, "-o", job, "--yes").status == 0
    text = job.read_text()
    assert "grid = " in text
    assert "no end is somebody's exact value" in text
    told = tmp_path / "c.json"
    done = shoal_runs(
        "anonymize", visits, "--job", job, "-o", tmp_path / "s.csv", "--certificate", told
    )
    assert done.status == 0
    grids = [c["grid"] for c in json.loads(told.read_text())["columns"] if c["grid"]]
    assert grids
    assert {each["chosen"] for each in grids} == {"as asked"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--grid", "age=fortnight"), "grid of column"),
        (("--grid", "age"), "--grid"),
        (("--grid", "born=5"), "holds dates"),
        (("--grid", "age=0.5"), "must be a whole number"),
        (("--grid", "agee=5"), "agee"),
        (("--scale", "age=ranks"), "must be one of range, rank, trimmed"),
    ],
)
def test_a_wrong_grid_or_scale_is_one_sentence_and_status_2(
    shoal_runs, visits, tmp_path, flags, message
):
    safe = tmp_path / "safe.csv"
    done = shoal_runs("anonymize", visits, "-o", safe, "--k", "5", *QI, *flags)
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert not safe.exists()


def test_the_certificate_tells_a_scale_and_the_summary_both_shares(shoal_runs, visits, tmp_path):
    told = tmp_path / "c.json"
    flags = ("--scale", "born=rank", "--certificate", told)
    done = shoal_runs("anonymize", visits, "-o", tmp_path / "s.csv", "--k", "5", *QI, *flags)
    assert done.status == 0
    assert "of the people" in done.out
    content = json.loads(told.read_text())
    assert {c["name"]: c["scale"] for c in content["columns"]} == {
        "lon": "range",
        "seen": "range",
        "born": "rank",
        "age": "range",
    }
    assert set(content["by_column"]["covered"]) == {"lon", "seen", "born", "age"}


def test_a_dry_run_shows_the_grids(shoal_runs, visits, tmp_path):
    done = shoal_runs("anonymize", visits, "-o", tmp_path / "s.csv", "--k", "5", *QI, "--dry-run")
    assert done.status == 0
    assert "grid" in done.out
    assert "0.01" in done.out


@pytest.fixture
def lands(tmp_path):
    """A file of places in a hierarchy and ordered words, beside the hierarchy."""
    tree = {"Asia": ["India", "Japan"], "Europe": ["Spain", "Latvia", "France"]}
    lines = [f"{leaf};{above};World" for above, leaves in tree.items() for leaf in leaves]
    (tmp_path / "land.csv").write_text("\n".join(lines) + "\n")
    leaves = [leaf for each in tree.values() for leaf in each]
    moods = ["bad", "fair", "good", "great", "superb"]
    pl.DataFrame(
        {
            "land": [leaves[n % 5] for n in range(80)],
            "mood": [moods[(n + n // 5) % 5] for n in range(80)],
        }
    ).write_csv(tmp_path / "people.csv")
    return tmp_path


WORDS = ("--order", "mood=bad,fair,good,great,superb", "--grid", "mood=2")


def test_levels_and_steps_of_words_go_from_flags_to_job_file_certificate_and_verify(
    shoal_runs, lands
):
    data, safe, told = lands / "people.csv", lands / "safe.csv", lands / "c.json"
    columns = ("--qi", "land,mood", "--hierarchy", f"land={lands / 'land.csv'}", *WORDS)
    level = ("--grid", "land=level 1")
    flags = ("--k", "4", "--seed", "1", "--algorithm", "mondrian", *columns, *level)
    done = shoal_runs("anonymize", data, "-o", safe, *flags, "--certificate", told)
    assert done.status == 0, done.err
    table = pl.read_csv(safe)
    assert set(table["land"]) <= {"Asia", "Europe", "World"}
    assert set(table["mood"]) <= {"[bad-fair]", "[good-great]", "superb", "[bad-great]"}
    grids = {c["name"]: c["grid"]["step"] for c in json.loads(told.read_text())["columns"]}
    assert grids == {"land": "level 1", "mood": "2"}
    assert shoal_runs("verify", safe, "--k", "4", *columns, *level).status == 0
    assert shoal_runs("verify", safe, "--certificate", told).status == 0
    again, job = lands / "again.csv", lands / "job.toml"
    job.write_text(
        'k = 4\nalgorithm = "mondrian"\n'
        '[columns.land]\nrole = "quasi-identifier"\nhierarchy = "land.csv"\ngrid = "level 1"\n'
        '[columns.mood]\nrole = "quasi-identifier"\n'
        'order = ["bad", "fair", "good", "great", "superb"]\ngrid = 2\n'
    )
    assert shoal_runs("anonymize", data, "--job", job, "-o", again, "--seed", "1").status == 0
    assert again.read_bytes() == safe.read_bytes()
    finer = lands / "finer.csv"
    data_alone = ("--qi", "land,mood", "--k", "4", "--algorithm", "mondrian")
    assert shoal_runs("anonymize", data, "-o", finer, *data_alone).status == 0
    broken = shoal_runs("verify", finer, "--k", "4", *columns, *level)
    assert broken.status == 1
    assert "grid of 'land'" in broken.out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--grid", "land=level 2"), "has level 1 only between its values"),
        (("--grid", "land=2"), "give the lowest level"),
        (("--grid", "land=level"), "must be a number above 0"),
        (("--order", "mood=bad,fair,good,great,superb", "--grid", "mood=5"), "has only 5 values"),
        (("--grid", "mood=2"), "an order or a hierarchy"),
    ],
)
def test_a_wrong_level_or_step_is_one_sentence_and_status_2(shoal_runs, lands, flags, message):
    tree = ("--hierarchy", f"land={lands / 'land.csv'}")
    safe = lands / "safe.csv"
    done = shoal_runs(
        "anonymize",
        lands / "people.csv",
        "-o",
        safe,
        "--k",
        "4",
        "--qi",
        "land,mood",
        *tree,
        *flags,
    )
    assert done.status == 2
    assert message in done.err
    assert not safe.exists()


def test_explain_names_the_line_of_a_job_file(shoal_runs, lands):
    tree = ("--hierarchy", f"land={lands / 'land.csv'}")
    done = shoal_runs(
        *("explain", lands / "people.csv", "--k", "30", "--qi", "land,mood", *tree, *WORDS[:2]),
        *("--algorithm", "mondrian", "--out", lands / "e.json"),
    )
    assert done.status == 0
    said = json.loads((lands / "e.json").read_text())["changes"]
    coarser = {c["column"]: c["settings"] for c in said if c["what"] == "coarsen"}
    assert coarser == {
        "land": {"columns": {"land": {"grid": "level 1"}}},
        "mood": {"columns": {"mood": {"grid": 2}}},
    }
    assert "in a job file: " in done.out


@pytest.mark.parametrize("number", ["1e25", "1E25", "1e+25", "1.0e25"])
def test_a_power_is_a_line_however_json_writes_it(shoal_runs, tmp_path, number):
    line = f'{{"x_low":{number},"x_high":1e26,"ill":"flu"}}\n'
    (tmp_path / "t.jsonl").write_text(line * 3, encoding="utf-8")
    asked = ("--k", 3, "--qi", "x_low,x_high", "--grid", "x=powers of 10")
    outcome = shoal_runs("verify", tmp_path / "t.jsonl", *asked)
    assert outcome.status == 0, outcome.out + outcome.err

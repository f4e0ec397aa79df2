"""A short, seeded part of the campaign; `make fuzz` is the long one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.helpers.effort import further

from fuzz.campaign import PARTS, run_campaign, run_one, seed_of
from fuzz.parts import FAILURES, HELD

ROOT = Path(__file__).parents[2]


def hunt(part, first, count):
    """Run inputs and return the verdicts; every failure says how to run it again."""
    verdicts = Counter()
    for number in range(first, first + count):
        seed = seed_of(part, 2026, number)
        outcome = run_one(seed)
        verdicts[outcome.verdict] += 1
        again = f"python -m fuzz --replay {seed}"
        assert outcome.verdict not in FAILURES, f"{again}\n" + "\n".join(outcome.detail)[:3000]
    return verdicts


@pytest.mark.parametrize("first", further([0, 60, 120], lambda first: first == 0))
def test_random_releases_keep_their_promises_and_give_nothing_away(first):
    assert hunt("releases", first, 60)[HELD] > 30


def test_releases_over_time_leave_nobody_alone_beside_each_other():
    assert hunt("sequences", 0, 16)[HELD] > 8


def test_visitors_without_the_session_see_and_change_nothing():
    assert hunt("visitors", 0, 40)[HELD] == 40


def test_further_rows_keep_the_promises_alone_and_together():
    assert hunt("further", 0, 12)[HELD] > 6


def test_promises_about_a_population_hold_when_people_are_counted():
    assert hunt("populations", 0, 40)[HELD] > 25


def test_numbers_at_the_ends_of_floating_point_are_covered_by_their_cells():
    assert hunt("extremes", 0, 40)[HELD] > 15


def test_what_a_reader_tells_apart_does_not_hold_and_what_lies_beside_is_named():
    assert hunt("handmade", 0, 60)[HELD] > 20


def test_damaged_release_files_end_in_a_sentence():
    assert hunt("kept", 0, 40)[HELD] > 5


def test_the_order_of_a_release_is_that_of_its_rows():
    assert hunt("order", 0, 15)[HELD] > 10


@pytest.mark.parametrize("first", further([0, 150], lambda first: first == 0))
def test_mutated_command_lines_end_in_a_sentence_and_the_right_status(first):
    assert hunt("commands", first, 150)[HELD] > 9


@pytest.mark.parametrize("first", further([0, 150], lambda first: first == 0))
def test_damaged_files_end_in_a_sentence_and_show_nothing(first):
    assert hunt("damage", first, 150)[HELD] > 4


def test_runs_in_threads_are_as_if_alone():
    assert hunt("threads", 0, 3)[HELD] == 3


@pytest.mark.long
def test_a_stopped_process_leaves_the_old_file_or_the_new_one():
    assert hunt("kills", 0, 2)[HELD] == 2


@pytest.mark.long
def test_a_full_disk_leaves_the_old_file():
    assert hunt("disk", 0, 2)[HELD] == 2


# The campaign itself.


def test_every_part_has_a_share_and_the_shares_are_a_whole():
    assert sum(part.share for part in PARTS.values()) == pytest.approx(1)


def test_an_input_is_the_same_whenever_it_is_made():
    from fuzz.releases import case_of

    assert case_of("releases:1:7") == case_of("releases:1:7")
    assert case_of("releases:1:7") != case_of("releases:1:8")


def test_a_process_that_dies_is_a_crash_and_the_hunt_goes_on(tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(
        "import os\n"
        "from fuzz.parts import Outcome\n"
        "def run(seed, folder):\n"
        "    if seed.endswith(':3'):\n"
        "        os.abort()\n"
        "    return Outcome()\n"
    )
    from fuzz import campaign

    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'src'}:{tmp_path}")
    monkeypatch.setenv("SHOAL_FUZZ_PART", "deadly:run")
    monkeypatch.setitem(campaign.PARTS, "extra", campaign.Part("deadly:run", 1, 4, "dies"))
    tally = run_campaign(
        seed=1, minutes=None, inputs=8, processes=2, names=["extra"], tell=lambda _: None
    )
    assert tally.counts["extra"] == {HELD: 7, "crashed": 1}
    assert [failure["seed"] for failure in tally.failures] == ["extra:1:3"]


def test_the_command_counts_saves_failures_and_says_so_in_its_status(tmp_path):
    words = [
        "--parts",
        "damage",
        "--inputs",
        "20",
        "--seed",
        "2026",
        "--processes",
        "1",
        "--out",
        str(tmp_path),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    summary = json.loads((tmp_path / "summary.json").read_text())
    failures = (tmp_path / "failures.jsonl").read_text().splitlines()
    assert summary["inputs"] == sum(summary["parts"]["damage"].values()) == 20
    assert summary["failures"] == len(failures)
    assert done.returncode == bool(failures), done.stderr

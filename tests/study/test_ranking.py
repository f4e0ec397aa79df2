"""Average ranks, their critical difference, loss over time, and pictures as files."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from scipy.stats import studentized_range

from shoal.study.frontier import Comparison, Outcome
from shoal.study.ranking import (
    average_ranks,
    critical_difference,
    overall,
    pareto_svg,
    ranks_svg,
)


def compared(losses, seconds=None):
    """A comparison of losses[algorithm] = one for each table, k = 5."""
    outcomes = [
        Outcome(
            key=f"{name}{number}",
            algorithm=name,
            k=5,
            measure="ncp",
            loss=loss,
            table=f"t{number}",
            seconds=(seconds or {}).get(name, 1.0),
        )
        for name, row in losses.items()
        for number, loss in enumerate(row)
    ]
    return Comparison(tuple(outcomes), {f"t{n}": 10 for n in range(3)})


THREE = {"a": [0.1, 0.2, 0.4], "b": [0.2, 0.2, 0.1], "c": [0.3, 0.6, 0.8]}


def test_ranks_are_averaged_over_tables_and_ties_share_theirs():
    ranks = average_ranks(compared(THREE).cells("ncp"))
    assert ranks == {"a": pytest.approx(4.5 / 3), "b": pytest.approx(4.5 / 3), "c": 3.0}


def test_a_cell_in_which_a_run_failed_is_left_out():
    cells = compared({**THREE, "c": [0.3, None, 0.8]}).cells("ncp")
    assert len(cells) == 2
    ranks = average_ranks(cells)
    assert ranks["a"] == ranks["b"] == 1.5
    assert average_ranks(compared({**THREE, "c": [None] * 3}).cells("ncp")) == {}


def test_the_critical_difference_is_that_of_the_studentised_range():
    for n in range(2, 25):
        exact = studentized_range.ppf(0.95, n, 1e6) / 2**0.5 * (n * (n + 1) / (6 * 10)) ** 0.5
        assert critical_difference(n, 10) == pytest.approx(exact, rel=1e-3)
    assert critical_difference(25, 10) is None
    assert critical_difference(3, 1) is None


def test_loss_over_time_is_a_geometric_mean_over_the_least():
    found = overall(compared(THREE, {"a": 2.0}).cells("ncp"))
    assert found["a"] == pytest.approx((4 ** (1 / 3), 2.0))
    assert found["b"] == pytest.approx((2 ** (1 / 3), 1.0))


def test_the_line_joins_what_nothing_beats_in_both():
    drawn = pareto_svg(compared(THREE, {"a": 0.1, "b": 1.0, "c": 10.0}).cells("ncp"), "ncp")
    line = ET.fromstring(drawn).find("polyline[@class='frontier']").get("points").split()
    assert len(line) == 2  # c is slower and worse
    assert pareto_svg(compared({"a": [0.1, 0.2, 0.3]}).cells("ncp"), "ncp") == ""


def test_names_are_escaped_and_pictures_are_whole():
    names = {"<b>&": [0.1, 0.2, 0.3], "x": [0.2, 0.3, 0.4]}
    for draw in (pareto_svg, ranks_svg):
        picture = draw(compared(names).cells("ncp"), "ncp")
        assert "<b>" not in picture
        assert "<b>&" in "".join(ET.fromstring(picture).itertext())


def test_files_stand_alone(tmp_path):
    names = compared(THREE).figures(tmp_path / "figures")
    assert sorted(names) == [
        "frontier-t0-ncp.svg",
        "frontier-t1-ncp.svg",
        "frontier-t2-ncp.svg",
        "ranks-ncp.svg",
        "time-ncp.svg",
    ]
    for name in names:
        text = (tmp_path / "figures" / name).read_text(encoding="utf-8")
        assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "--ink: #14212b" in text
        assert "prefers-color-scheme: dark" not in text

"""What a notebook shows of a release: counts and losses, and nothing that is private."""

import html
import re

import polars as pl
import pytest

import shoal
from shoal.report.notebook import Plot


@pytest.fixture(scope="module")
def release():
    frame = pl.DataFrame(
        {
            "<age>": [20 + 3 * n % 60 for n in range(60)] + [900],
            "town": [f"SECRET-{n % 7}" for n in range(61)],
            "ill": [f"SECRET-ill-{n % 4}" for n in range(61)],
        }
    )
    return shoal.anonymize(
        frame, k=5, quasi_identifiers=["<age>", "town"], sensitive="ill",
        algorithm="mondrian", max_suppression=0.02,
        privacy=shoal.LDiversity(2, kind="distinct"),
    )  # fmt: skip


def shown(release):
    """Everything that is shown: as text and as HTML."""
    summary, plot = release.summary(), release.plot()
    return [
        repr(release), release._repr_html_(), str(summary), repr(summary), summary._repr_html_(),
        repr(plot), plot._repr_html_(),
    ]  # fmt: skip


def test_no_cell_and_no_exact_score_is_shown(release):
    for text in shown(release)[1:]:
        assert "SECRET" not in text
        assert "900" not in text
    exact, public = release.scores["ncp"], release.public_scores["ncp"]
    assert f"{exact:.4f}" != f"{public:.4f}"
    assert f"{100 * public:.1f}" in str(release.summary())


def test_names_of_columns_are_text_to_a_notebook(release):
    for page in (release._repr_html_(), release.plot()._repr_html_()):
        assert "<age>" not in page
    assert "&lt;age&gt;" in release.plot()._repr_html_()
    assert "<age>" in str(release.summary())


def test_a_summary_says_what_was_promised_kept_and_lost(release):
    text = str(release.summary())
    assert f"{release.n_published:,} of 61" in text
    assert "k-anonymity: 5, " in text
    assert "l-diversity of 'ill': 2, " in text
    assert text.count("holds") == 2
    for warning in release.warnings:
        assert f"Warning: {warning}" in text


def test_the_pictures_show_every_column_and_every_group_once(release):
    plot = release.plot()
    assert {name for name, _ in plot.losses} == {"<age>", "town"}
    assert sum(number for _, number in plot.sizes) == release.n_groups
    page = plot._repr_html_()
    assert page.count("<svg width=") == 2
    assert "<script" not in page


def test_styles_touch_nothing_else_on_the_page(release):
    style = release.plot()._repr_html_().partition("<style>")[2].partition("</style>")[0]
    for rule in filter(str.strip, style.split("}")):
        selectors = rule.partition("{")[0]
        assert all(each.strip().startswith(".shoal-shown") for each in selectors.split(","))


def test_pictures_are_kept_as_a_page(release, tmp_path):
    release.plot().save(tmp_path / "plot.html")
    assert (tmp_path / "plot.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_frames_of_any_kind_are_drawn(kind):
    frame = pl.DataFrame({"age": [1, 1, 2, 2]})
    given = frame.to_pandas() if kind == "pandas" else frame.to_arrow()
    release = shoal.anonymize(given, k=2, quasi_identifiers="age", algorithm="mondrian")
    assert release.plot() == Plot(losses=(("age", 0.0),), sizes=(("2", 2.0),))


def test_there_is_one_count_of_groups():
    # Two groups of the given ones publish the same cells: nobody can tell them apart.
    frame = pl.DataFrame({"age": [1, 1, 1, 1, 5, 5], "ill": list("abcdef")})
    release = shoal.refine(
        frame, [0, 0, 1, 1, 2, 2], k=2, quasi_identifiers="age", sensitive="ill", effort="fast"
    )
    counts = {
        release.n_groups,
        release.verification.n_groups,
        release.certificate()["risk"]["groups"],
        release.frame.select("age").n_unique(),
    }
    assert counts == {2}
    assert "6 rows in 2 groups" in repr(release)
    assert "Groups              2" in str(release.summary())


def results(folder):
    """One of every result, of tables whose cells are told by their names."""
    frame = pl.DataFrame(
        {
            "age": [20 + 3 * n % 60 for n in range(60)],
            "town": [f"SECRET-{n % 7}" for n in range(60)],
            "ill": [f"SECRET-ill-{n % 4}" for n in range(60)],
        }
    )
    asked = {"quasi_identifiers": ["age", "town"], "sensitive": "ill", "rows_are_people": True}
    made = shoal.anonymize(frame, k=5, algorithm="mondrian", **asked)
    made.save(folder / "made.shoal")
    frame.write_csv(folder / "in.csv")
    columns = {name: shoal.JobColumn(role="quasi-identifier") for name in ("age", "town")}
    job = shoal.Job(
        input=shoal.Input(path=str(folder / "in.csv")),
        output=shoal.Output(
            table=str(folder / "out.csv"), certificate=str(folder / "c.json"), replace=True
        ),
        columns={**columns, "ill": shoal.JobColumn(role="sensitive")},
        k=5,
        algorithm="mondrian",
    )
    shoal.write_job(job, folder / "job.toml")
    job_result = shoal.run_job(folder / "job.toml")
    frame.with_columns(new=pl.lit("SECRET")).write_csv(folder / "in.csv")
    visits = pl.DataFrame({"id": [n % 60 for n in range(90)], "ward": ["SECRET-w"] * 90})
    tables = shoal.anonymize_tables(
        {"people": frame.with_row_index("id"), "visits": visits},
        k=3,
        links={"visits.id": "people.id"},
        roles={
            "people": {"quasi_identifiers": ["age"], "sensitive": "ill", "drop": ["town"]},
            "visits": {"quasi_identifiers": ["ward"]},
        },
    )
    return [
        made,
        made.verification,
        made.scores,
        made.audit(frame, targets=20),
        made.summary(),
        made.plot(),
        made.report(),
        job_result,
        shoal.load_release(folder / "made.shoal"),
        shoal.apply(frame, made),
        shoal.verify_certificate(folder / "out.csv", folder / "c.json"),
        shoal.drift(folder / "job.toml"),
        shoal.suggest_job(frame),
        shoal.explain(frame, k=5, algorithm="mondrian", **asked),
        shoal.compare(frame, k=[2, 5], algorithms="mondrian", workers=1, **asked),
        shoal.utility(frame, made.frame, quasi_identifiers=["age", "town"], sensitive="ill"),
        shoal.tabulate(frame.select("age"), "age", minimum=3),
        tables,
        tables.verification,
    ]


# What reports and pages show of published cells: labels of a column and its values.
PUBLISHED = {"Page", "Comparison"}


def test_every_result_shows_itself_without_a_script_a_network_or_a_cell(tmp_path):
    found = results(tmp_path)
    for result in found:
        name = type(result).__name__
        page = result._repr_html_()
        assert page.startswith(("<style>", "<iframe ")), name
        assert "<script" not in page, name
        assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page), name
        if name not in PUBLISHED:
            assert "SECRET" not in page, name
    classes = {type(result).__name__ for result in found}
    known = [getattr(shoal, name) for name in shoal.__all__ if name[0].isupper()]
    # named by no result here: several tables as a job, sites and Spark show what these show
    assert {each.__name__ for each in known if hasattr(each, "_repr_html_")} - classes == {
        "TablesJobResult"
    }
    without = {each.__name__ for each in known} - classes - {"TablesJobResult"}
    assert {
        name for name in without if name.endswith(("Release", "Result", "Verification"))
    } == set()


def test_a_report_without_a_path_is_the_page_that_would_be_written(release, tmp_path):
    assert release.report(tmp_path / "r.html", title="<b>") is None
    written = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = release.report(title="<b>")
    assert len(page.html) == len(written)
    assert "SECRET" not in repr(page)
    shown = html.unescape(re.search(r'srcdoc="([^"]*)"', page._repr_html_())[1])
    assert shown == page.html

"""Jobs with rules: nothing of the data in the file, and next week's values run."""

import polars as pl
import pytest

ROLES = ("--qi", "zip,born", "--sensitive", "ill", "--algorithm", "mondrian", "--seed", 1)


def rows(start):
    return "".join(
        f"{start + n % 40:05d},{1950 + n % 50}-0{1 + n % 9}-1{n % 10},{'xyz'[n % 3]}\n"
        for n in range(200)
    )


@pytest.fixture
def weeks(tmp_path):
    for name, start in (("first", 10_000), ("second", 77_000)):
        (tmp_path / f"{name}.csv").write_text("zip,born,ill\n" + rows(start))
    return tmp_path


def test_init_writes_rules_and_no_value_and_the_next_week_runs(shoal_runs, weeks):
    job = weeks / "job.toml"
    assert shoal_runs("init", weeks / "first.csv", "--yes", "-o", job).status == 0
    text = job.read_text()
    assert 'rule = "prefix"' in text
    assert 'rule = "dates"' in text
    assert not (weeks / "job-hierarchies").exists()
    values = {cell for row in rows(10_000).splitlines() for cell in row.split(",")[:2]}
    assert not any(value in text for value in values)
    for week in ("first", "second"):
        target = weeks / f"safe-{week}.csv"
        source = weeks / f"{week}.csv"
        done = shoal_runs("anonymize", source, "-o", target, "--job", job, "--k", 4, *ROLES)
        assert done.status == 0, done.err
        assert pl.read_csv(target).height == 200


def test_a_nightly_job_goes_on_with_values_that_its_hierarchy_lacks(shoal_runs, weeks):
    tree = weeks / "zip.csv"
    listed = sorted({row.split(",")[0] for row in rows(10_000).splitlines()})
    tree.write_text("".join(f"{value};{value[:4]}*;*\n" for value in listed[:-2]))
    command = ("anonymize", weeks / "first.csv", "--k", 4, *ROLES, "--hierarchy", f"zip={tree}")
    refused = shoal_runs(*command, "-o", weeks / "a.csv")
    assert refused.status == 2
    assert "2 of 40 distinct values" in refused.err
    assert "--unknown-values root" in refused.err
    done = shoal_runs(*command, "-o", weeks / "a.csv", "--unknown-values", "root")
    assert done.status == 0
    assert "does not list" in done.out
    scored = shoal_runs(
        *("score", weeks / "first.csv", weeks / "a.csv", "--qi", "zip,born"),
        *("--hierarchy", f"zip={tree}", "--unknown-values", "root"),
    )
    assert scored.status == 0

"""Random tables of random shapes: nothing that must not be published is in the bytes."""

import random

import polars as pl
import pytest

import shoal


def planted(seed):
    """Return a tree of tables with random levels, columns, gaps and planted names."""
    chance = random.Random(seed)
    n = chance.randrange(12, 50)
    tables = {
        "t0": pl.DataFrame(
            {
                "key": [f"planted key {i} of t0" for i in range(n)],
                "a": [chance.choice([None, 1.0, 2.5, 7.0]) for _ in range(n)],
                "name": [f"planted name {i}" for i in range(n)],
            }
        )
    }
    links = {}
    for level in range(1, chance.randrange(2, 5)):
        above = f"t{chance.randrange(level)}"
        size = chance.randrange(1, 4) * tables[above].height
        keys = tables[above]["key"].to_list()
        tables[f"t{level}"] = pl.DataFrame(
            {
                "key": [f"planted key {i} of t{level}" for i in range(size)],
                "up": [chance.choice(keys) for _ in range(size)],
                "a": [chance.choice([None, "u", "v", "w|x", "rare" * (chance.random() < 0.1)])
                      for _ in range(size)],
                "b": [chance.randrange(20) for _ in range(size)],
            }
        )  # fmt: skip
        links[f"t{level}.up"] = f"{above}.key"
    return tables, links


@pytest.mark.parametrize("seed", range(8))
def test_no_key_and_no_name_is_written_and_the_bytes_keep_the_promise(seed, tmp_path):
    tables, links = planted(seed)
    roles = {name: {"quasi_identifiers": ["a", "b"], "key": "key"} for name in tables}
    roles["t0"] = {"quasi_identifiers": ["a"], "identifiers": "name", "key": "key"}
    m, form = 1 + seed % 3, ("csv", "parquet")[seed % 2]
    release = shoal.anonymize_tables(
        tables, 2 + seed % 3, links=links, roles=roles, knows_events=m, seed=seed
    )
    written = release.write(tmp_path / "out", format=form)
    assert written.verification
    assert {path.stem for path in (tmp_path / "out").iterdir()} == set(tables)
    for path in (tmp_path / "out").iterdir():
        assert b"planted" not in path.read_bytes()
        if form == "parquet":  # bytes may be compressed
            cells = pl.read_parquet(path).cast(pl.String)
            assert not any("planted" in (cell or "") for row in cells.rows() for cell in row)
    report = tmp_path / "report.html"
    release.report(report)
    assert "planted" not in report.read_text(encoding="utf-8") + str(release.certificate())

"""Untidy sensitive columns: what the search makes passes verification, in memory and in files."""

import tempfile
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share

import shoal

TEXTS = ["flu", "Flu", "flu ", "cold", "", "NA", "?", None, "5", "5.0", "1e5", "12e4", '"flu"']
TEXTS += ["x\ny", "a,b", 'q"q', "\u00e9", "e\u0301", "\u200bflu", "-0", "0", "none", "tab\tx"]
NUMBERS = [0.0, -0.0, float("nan"), None, 1.5, 1e16, 1e-7, 0.3]
WHOLE = [1, 2, 3, 2**53, 2**53 + 1, None]
POOLS = {pl.String: TEXTS, pl.Float64: NUMBERS, pl.Int64: WHOLE}
MODELS = [
    shoal.LDiversity(2, kind="distinct"),
    shoal.LDiversity(2),
    shoal.LDiversity(1.5, kind="entropy"),
    shoal.LDiversity(2, kind="recursive", c=3.5),
    shoal.TCloseness(0.4),
    shoal.TCloseness(0.4, distance="ordered"),
    shoal.AlphaK(0.6),
]


@st.composite
def runs(draw):
    """A table, promises that its sensitive column can be asked for, and a format."""
    dtype = draw(st.sampled_from(list(POOLS)))
    n_rows = draw(st.integers(8, 40))
    cells = draw(st.lists(st.sampled_from(POOLS[dtype]), min_size=n_rows, max_size=n_rows))
    ages = draw(st.lists(st.integers(0, 20), min_size=n_rows, max_size=n_rows))
    towns = draw(st.lists(st.sampled_from(["x", "X", "", None]), min_size=n_rows, max_size=n_rows))
    frame = pl.DataFrame({"age": ages, "town": towns, "ill": pl.Series(cells, dtype=dtype)})
    models = (
        MODELS
        if dtype != pl.String
        else [m for m in MODELS if m.to_dict().get("distance") != "ordered"]
    )
    chosen = draw(st.lists(st.sampled_from(models), min_size=1, max_size=2, unique=True))
    ending = draw(st.sampled_from(["csv", "tsv.gz", "jsonl", "parquet", "arrow", "xlsx"]))
    return frame, chosen, ending


@settings(max_examples=share(60))
@given(runs())
def test_a_release_of_an_untidy_column_is_refused_before_the_search_or_written(run):
    frame, models, ending = run
    if frame.get_column("town").null_count() == frame.height:
        frame = frame.drop("town")
    try:
        release = shoal.anonymize(
            frame,
            3,
            quasi_identifiers=[name for name in frame.columns if name != "ill"],
            sensitive="ill",
            privacy=models,
            algorithm="mondrian",
            seed=1,
        )
    except shoal.PromiseError as error:
        # Never because the release that was found does not pass its verification.
        assert str(error).startswith("No release of all rows can keep the promise")  # noqa: PT017
        return
    with tempfile.TemporaryDirectory() as folder:
        written = release.write(Path(folder) / f"safe.{ending}")
    assert written.verification.holds
    assert written.verification.n_rows == frame.height

"""Any small table with any people, promise, algorithm, blocks and suppression: k people hold."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.contract_checks import _keeps
from tests.helpers.effort import share
from tests.helpers.panels import counted_once, fewest_people

import shoal
from shoal.errors import PromiseError

ALGORITHMS = ("auto", "k-member", "mondrian", "kaca", "sequential", "hilbert", "agglomerative")
MODELS = (
    shoal.LDiversity(2, kind="distinct"),
    shoal.LDiversity(2),
    shoal.LDiversity(1.5, kind="entropy"),
    shoal.TCloseness(0.5),
    shoal.AlphaK(0.7),
)
QUASI = ["age", "city"]


@st.composite
def visits(draw):
    """Rows of few people or many, some of them nobody's, some of them alike."""
    n_rows = draw(st.integers(4, 60))
    seed = draw(st.integers(0, 10_000))
    n_people = draw(st.integers(2, 40))
    rng = np.random.default_rng(seed)
    who = rng.integers(0, n_people, n_rows)
    if draw(st.booleans()):
        who[rng.random(n_rows) < 0.4] = 0
    stays = draw(st.booleans())
    age = rng.integers(20, 40, n_people)[who] + (0 if stays else rng.integers(0, 9, n_rows))
    ids = pl.Series([f"id {each}" for each in who])
    if draw(st.booleans()):
        ids = ids.set(pl.Series(rng.random(n_rows) < 0.2), None)
    return pl.DataFrame(
        {
            "who": ids,
            "age": age,
            "city": rng.choice(["Ur", "Uruk", "Eridu"], n_people)[who],
            "sick": rng.choice(["flu", "Flu", "gout", "none"], n_rows),
        }
    )


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@settings(max_examples=share(120), deadline=None)
@given(
    visits(),
    st.sampled_from(ALGORITHMS),
    st.integers(2, 5),
    st.sampled_from([None, *MODELS]),
    st.sampled_from([None, 12]),
    st.sampled_from([0.0, 0.2]),
)
def test_every_release_holds_in_people_or_is_refused(frame, algorithm, k, model, blocks, share):
    try:
        release = shoal.anonymize(
            frame,
            k,
            quasi_identifiers=QUASI,
            sensitive="sick",
            person="who",
            algorithm=algorithm,
            privacy=[] if model is None else [model],
            block_rows=blocks,
            max_suppression=share,
            shuffle=False,
            seed=1,
            threads=1,
        )
    except PromiseError:
        # not without reason: too few people, or everybody together breaks the promise
        if frame["who"].n_unique() >= k:
            assert model is not None
            together = frame.select(pl.lit(0).alias("all"), "who", pl.col("sick"))
            for table in (together, together.with_columns(pl.col("sick").str.to_lowercase())):
                [group], whole = counted_once(table, ["all"], frame["who"].to_list(), "sick")
                if not _keeps(model, Counter(group), Counter(whole)):
                    break
            else:
                raise
        return
    ids = frame["who"].filter(pl.Series(release.groups >= 0)).to_list()
    assert fewest_people(release.frame, QUASI, ids) >= k
    assert release.n_suppressed <= share * frame.height
    if model is not None:
        cleaned = release.frame.with_columns(pl.col("sick").str.to_lowercase())
        for table in (release.frame, cleaned):
            groups, whole = counted_once(table, QUASI, ids, "sick")
            assert all(_keeps(model, Counter(group), Counter(whole)) for group in groups)

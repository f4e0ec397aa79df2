"""Two pieces of code say which sensitive values a person would call equal; they say the same."""

import unicodedata

import narwhals as nw
import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.privacy import judge
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.arrays import PrivateArrays
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.publish.cells import MISSING, clean, read_cells
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema
from shoal.table.sensitive import person_would_say

NUMERALS = st.from_regex(r"\A ?[+-]?[0-9]{0,3}\.?[0-9]{0,3}(?:[eE][+-]?[0-9]{1,2})?\Z")
ODD = (
    'flu|FLU|Flu|\u200b|\ufeff|\ufe0f|\u3164|"|\u00df|SS|\u0130|\ufb02u|e\u0301|\u00e9|5|5.0|\uff15'
    "|\0|.|N/A|nan|?|-|none|Unknown|\u1e9e|\u0345|\u03c2|\u03a3| |\t|\n|\u00a0|\u2028"
)
PIECES = st.sampled_from(ODD.split("|"))
TEXTS = st.one_of(
    st.text(max_size=6),
    NUMERALS,
    st.lists(PIECES, max_size=4).map("".join),
    st.sampled_from(sorted(MISSING)).map(lambda text: f" {text.upper()}\u200b"),
)


def agree(text):
    """Whether both give the same text, both a number, or both a missing value."""
    key, said = clean(text), person_would_say(text)
    if key is None or said == ():
        return key is None and said == ()
    if key.startswith("\0") or len(said) > 1:
        return key.startswith("\0") and len(said) > 1
    return said == (key,)


@given(TEXTS, TEXTS)
def test_search_and_verification_call_the_same_texts_equal(one, other):
    assert agree(one)
    assert agree(other)
    assert (clean(one) == clean(other)) == (person_would_say(one) == person_would_say(other))


def test_search_and_verification_agree_on_every_character_of_the_basic_plane():
    letters = (chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000)
    assert [hex(ord(each)) for each in letters if not agree(f"a{each}b")] == []
    further = (chr(code) for code in range(0x10000, 0x110000, 7))
    assert [hex(ord(each)) for each in further if not agree(each)] == []


@given(TEXTS)
def test_a_cleaned_text_is_clean(text):
    key = clean(text)
    if key is not None and not key.startswith("\0") and not key.startswith('"'):
        assert clean(key) == key
        assert unicodedata.is_normalized("NFKC", key)


COLUMNS = st.one_of(
    st.lists(st.none() | TEXTS, min_size=1, max_size=12).map(
        lambda c: pl.Series("s", c, pl.String)
    ),
    st.lists(
        st.none() | st.sampled_from([0.0, -0.0, float("nan"), 1.5, -2.0]), min_size=1, max_size=12
    ).map(lambda cells: pl.Series("s", cells, pl.Float64)),
    st.lists(st.none() | st.sampled_from(["low", "LOW", "mid", "?"]), min_size=1, max_size=9).map(
        lambda cells: pl.Series("s", cells, pl.Enum(["low", "LOW", "mid", "?"]))
    ),
    st.lists(st.none() | st.integers(-2, 2), min_size=1, max_size=9).map(
        lambda cells: pl.Series("s", cells, pl.Int64)
    ),
)


def encoded(column):
    frame = pl.DataFrame({"a": ["x"] * len(column), "s": column})
    schema = build_schema(frame.columns, quasi_identifiers=["a"], sensitive=["s"])
    return encode(frame, infer_kinds(schema, nw.from_native(frame)))


@given(COLUMNS)
def test_both_readings_of_a_column_are_those_of_verification(column):
    table = encoded(column)
    (searched,) = table.sensitive
    verified = read_cells(column, missing=MISSING)
    for mine, other in ((searched, verified.written), (searched.cleaned, verified.cleaned)):
        assert mine.size == other.size
        assert len(set(zip(mine.codes, other.codes, strict=True))) == other.size
        assert mine.counts.tolist() == np.bincount(mine.codes, minlength=mine.size).tolist()
        if searched.ordered:
            assert mine.codes.tolist() == other.codes.tolist()
    assert (searched.cleaned is searched) == (verified.cleaned is verified.written)


MODELS = [
    LDiversity(2),
    LDiversity(2, kind="distinct"),
    LDiversity(2, kind="entropy"),
    LDiversity(2, kind="recursive", c=2),
    AlphaK(0.5),
    TCloseness(0.3),
]


@given(COLUMNS, st.data(), st.sampled_from(MODELS))
def test_the_reading_that_a_model_names_is_the_stricter_one(column, data, model):
    (sensitive,) = encoded(column).sensitive
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(column))))[: len(column)]
    verdicts = {
        reading: judge(model, labels, 3, each.codes, each.size).holds
        for reading, each in (("written", sensitive), ("cleaned", sensitive.cleaned))
    }
    (strict,) = model.readings
    both = verdicts["written"] & verdicts["cleaned"]
    assert verdicts[strict].tolist() == both.tolist()


def test_kernels_are_given_a_column_once_for_each_reading():
    table = encoded(pl.Series("s", [0.0, -0.0, 1.0]))
    models = [LDiversity(2), TCloseness(0.5), TCloseness(0.5, distance="ordered"), AlphaK(0.5)]
    rules = PrivateArrays.of(table, models).rules
    assert rules.private.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert (rules.whole.tolist(), rules.first.tolist()) == ([2, 1, 1, 1, 1], [0, 2, 5])
    assert len(rules.kinds) == 5
    assert rules.numbers[:, 2].tolist() == [0, 1, 1, 0, 0]


def test_cleaning_costs_by_distinct_values_and_only_if_somebody_asks(monkeypatch):
    asked = []

    def count(text):
        asked.append(text)
        return person_would_say(text)

    monkeypatch.setattr("shoal.table.sensitive.person_would_say", count)
    (column,) = encoded(pl.Series("s", ["a", "b", "A", None] * 1000)).sensitive
    assert asked == []
    assert column.cleaned.size == 3
    assert column.cleaned is column.cleaned
    assert sorted(asked) == ["A", "a", "b"]

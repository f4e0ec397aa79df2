"""A name that no file can have ends in a sentence, wherever it is read or written."""

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError

FRAME = pl.DataFrame({"a": ["x", "x"]})


@pytest.mark.parametrize(
    "use",
    [
        lambda: shoal.read_table("a\0.csv"),
        lambda: shoal.read_table("sqlite:///a\0.db?table=x"),
        lambda: shoal.write_table(FRAME, "a\0.csv"),
        lambda: shoal.write_table(FRAME, "sqlite:///a\0.db?table=x"),
        lambda: shoal.read_job("a\0.toml"),
        lambda: shoal.score(FRAME, [0, 0], quasi_identifiers="a", hierarchies={"a": "x\0.csv"}),
        lambda: shoal.anonymize(FRAME, 2, quasi_identifiers="a").report("r\0.html"),
    ],
    ids=["read", "read a table", "write", "write a table", "job", "hierarchy", "report"],
)
def test_a_name_with_the_character_nul_is_refused_in_a_sentence(use):
    with pytest.raises((OptionError, DataError), match=r"NUL|There is no file"):
        use()

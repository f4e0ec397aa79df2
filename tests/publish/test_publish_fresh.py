"""A published column holds what it shows, and its memory holds nothing else."""

import datetime as dt
import decimal
import io
import pickle
import re
import struct

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from shoal.io.columns import fresh_column, fresh_frame

N_ROWS = 300
TEXTS = [f"a-long-diagnosis-number-{number:04d}" for number in range(N_ROWS)]
SHOWN = np.random.default_rng(3).permutation(N_ROWS)[:290]

COLUMNS = {
    "text": pl.Series(TEXTS),
    "binary": pl.Series([text.encode() for text in TEXTS]),
    "enumeration": pl.Series(TEXTS, dtype=pl.Enum(TEXTS)),
    "category": pl.Series(TEXTS, dtype=pl.Categorical),
    "list": pl.Series([[text, None] for text in TEXTS]),
    "struct": pl.Series([{"what": text, "when": 1} for text in TEXTS]),
    "array": pl.Series([[text, text] for text in TEXTS], dtype=pl.Array(pl.String, 2)),
    "list of enumerations": pl.Series([[t] for t in TEXTS], dtype=pl.List(pl.Enum(TEXTS))),
    "struct of enumerations": pl.Series(
        [{"what": t} for t in TEXTS], dtype=pl.Struct({"what": pl.Enum(TEXTS)})
    ),
}

TYPED = [
    pl.Series([1, None, 3]),
    pl.Series([1], dtype=pl.Int128),
    pl.Series([1.5, None, 0.0], dtype=pl.Float32),
    pl.Series([True, None]),
    pl.Series([dt.date(2020, 1, 1), None]),
    pl.Series([dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None]),
    pl.Series([dt.timedelta(1), None]),
    pl.Series([dt.time(1), None]),
    pl.Series([decimal.Decimal("1.50"), None]),
    pl.Series([None, None]),
    pl.Series([None, None], dtype=pl.String),
    pl.Series([None], dtype=pl.Int8),
    pl.Series([], dtype=pl.String),
    pl.Series([], dtype=pl.Enum(["a"])),
    pl.Series(["a", None, ""]),
    pl.Series(["a", None], dtype=pl.Categorical),
    pl.Series([[], None, [None]], dtype=pl.List(pl.Int64)),
    pl.Series([{"a": None}, None], dtype=pl.Struct({"a": pl.Int64})),
    pl.Series([dt.datetime(2020, 1, 1)], dtype=pl.Datetime("ns")).dt.offset_by("1ns"),
]


def arrow(column):
    memory = io.BytesIO()
    column.to_frame("cells").write_ipc(memory)
    return memory.getvalue()


def parquet(column):
    memory = io.BytesIO()
    column.to_frame("cells").write_parquet(memory, compression="uncompressed")
    return memory.getvalue()


WRITERS = {"arrow": arrow, "parquet": parquet, "pickle": pickle.dumps}


def numbers_in(data):
    found = re.findall(rb"a-long-diagnosis-number-([0-9]{4})", data)
    return list(dict.fromkeys(int(number) for number in found))


@pytest.mark.parametrize("write", WRITERS.values(), ids=list(WRITERS))
@pytest.mark.parametrize("kind", COLUMNS)
def test_bytes_of_a_fresh_column_hold_the_shown_texts_only(kind, write):
    picked = COLUMNS[kind].gather(SHOWN)
    fresh = fresh_column(picked)
    found = numbers_in(write(fresh))
    assert set(found) == set(SHOWN.tolist())
    honest = pl.Series(picked.to_list(), dtype=fresh.dtype)  # made of the shown cells
    assert found == numbers_in(write(honest))


def test_without_it_all_texts_would_be_written_in_the_order_of_the_input():
    picked = COLUMNS["text"].gather(SHOWN)
    assert numbers_in(arrow(picked)) == list(range(N_ROWS))


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_fresh_column_shows_the_same_cells(kind):
    picked = COLUMNS[kind].gather(SHOWN).alias("name")
    fresh = fresh_column(picked)
    assert fresh.name == "name"
    assert fresh.to_list() == picked.to_list()


@pytest.mark.parametrize("column", TYPED, ids=lambda column: str(column.dtype))
def test_cells_of_every_type_stay(column):
    fresh = fresh_column(column)
    assert fresh.to_list() == column.to_list()
    if not isinstance(column.dtype, pl.Enum):
        assert fresh.dtype == column.dtype


def test_levels_keep_their_order():
    levels = ["low", "middle", "high"]
    column = pl.Series(["high", None, "low"], dtype=pl.Enum(levels))
    assert fresh_column(column).dtype == pl.Enum(["low", "high"])


def test_objects_stay():
    things = [object(), None]
    assert fresh_column(pl.Series(things, dtype=pl.Object)).to_list() == things


def test_nothing_lies_under_a_missing_cell():
    secret = struct.pack("<q", 1234567890123)
    cells = pa.Array.from_buffers(
        pa.int64(), 3, [pa.py_buffer(b"\x06"), pa.py_buffer(secret + struct.pack("<2q", 2, 3))]
    )
    frame = pl.from_arrow(pa.table({"cells": cells}))
    assert secret in arrow(frame.get_column("cells"))
    fresh = fresh_frame(frame).get_column("cells")
    assert secret not in arrow(fresh)
    assert secret not in pickle.dumps(fresh)
    assert fresh.to_list() == [None, 2, 3]


def test_nothing_lies_under_a_missing_text():
    data = b"a-long-diagnosis-number-0000" + b"shown"
    offsets = struct.pack("<3i", 0, 28, 33)
    cells = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    column = pl.from_arrow(pa.table({"cells": cells})).get_column("cells")
    assert column.to_list() == [None, "shown"]
    assert b"diagnosis" not in arrow(fresh_column(column))


def test_zero_has_no_sign_and_what_is_no_number_is_one_value():
    odd = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]
    column = pl.Series(np.array([-0.0, odd, 1.5]))
    data = arrow(fresh_column(column))
    assert struct.pack("<d", -0.0) not in data
    assert struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF) not in data
    assert fresh_column(column)[2] == 1.5

"""Files in and out: tables of every common format, and writes that are whole or do not happen.

Polars is imported when the first table is read or written, not before.
"""

from __future__ import annotations

from shoal.io.atomic import (
    AtomicGroup,
    atomic_write_bytes,
    atomic_write_text,
    sha256_of,
    write_together,
)
from shoal.io.formats import FORMATS, Format, detect_format
from shoal.io.read import read_table
from shoal.io.write import stage_table, write_table

__all__ = [
    "FORMATS",
    "AtomicGroup",
    "Format",
    "atomic_write_bytes",
    "atomic_write_text",
    "detect_format",
    "read_table",
    "sha256_of",
    "stage_table",
    "write_table",
    "write_together",
]

"""Tables in and out of files and databases, and writes that are whole or do not happen.

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
from shoal.io.location import hide_credentials, is_database, shown_name
from shoal.io.read import read_table
from shoal.io.secret import keyed_sha256, make_secret
from shoal.io.sql import rows_sha256
from shoal.io.write import stage_table, write_table

__all__ = [
    "FORMATS",
    "AtomicGroup",
    "Format",
    "atomic_write_bytes",
    "atomic_write_text",
    "detect_format",
    "hide_credentials",
    "is_database",
    "keyed_sha256",
    "make_secret",
    "read_table",
    "rows_sha256",
    "sha256_of",
    "shown_name",
    "stage_table",
    "write_table",
    "write_together",
]

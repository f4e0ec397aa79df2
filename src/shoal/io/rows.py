"""How many rows a file has, without reading it."""

from __future__ import annotations

from pathlib import Path

from shoal.io.formats import detect_format
from shoal.io.overwrite_guard import note_input

__all__ = ["guess_rows"]

_SAMPLE = 1 << 20


def guess_rows(source: str, format: str | None = None) -> int | None:  # noqa: A002 - as in read_table
    """Return about how many rows a file has; None if that cannot be told without reading it.

    Parquet knows; text is judged by the length of its first lines (compressed text by what its
    first megabyte becomes). A stream, a database or another format is not.
    """
    path = Path(source)
    found = detect_format(source, format)
    if not path.is_file():
        return None
    note_input(source)
    if found.name == "parquet":
        return _parquet_rows(path)
    if not found.is_text:
        return None
    size = path.stat().st_size
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    lines, n_bytes = 0, len(sample)
    if found.compression == "gz" or sample.startswith(b"\x1f\x8b"):
        lines, n_bytes = _lines_in_gzip(sample)
    elif found.compression is None:
        lines = sample.count(b"\n")
    return max(round(lines * size / n_bytes) - 1, 0) if lines else None


def _parquet_rows(path: Path) -> int | None:
    import polars as pl

    try:
        counted = pl.scan_parquet(path, glob=False).select(pl.len()).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None  # whoever reads it says what is wrong
    return int(counted.item())


def _lines_in_gzip(sample: bytes) -> tuple[int, int]:
    """Return how many lines there are in the first bytes of a gzip file, and in how many bytes."""
    import zlib

    unpack = zlib.decompressobj(wbits=31)
    try:
        # A bomb would become a thousand times as much.
        lines = unpack.decompress(sample, 32 * _SAMPLE).count(b"\n")
    except zlib.error:
        return 0, len(sample)
    return lines, max(len(sample) - len(unpack.unconsumed_tail), 1)

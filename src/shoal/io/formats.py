"""Which format a file is in, by its suffix or by what the user says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from shoal.errors import DataError, OptionError, did_you_mean

_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_COMPRESSIONS = {".gz": "gz", ".zst": "zst"}
_TEXT = frozenset({"csv", "tsv", "jsonl"})

FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
"""The names of the formats, as ``format=`` takes them."""


@dataclass(frozen=True)
class Format:
    """How a file is written.

    Attributes:
        name: one of ``FORMATS``.
        compression: ``"gz"``, ``"zst"`` or None; text formats only.
    """

    name: str
    compression: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether the format is lines of text, which may be compressed."""
        return self.name in _TEXT


def named_like_a_table(path: str) -> bool:
    """Return whether a name ends as those of tables do; ``.txt`` may be any text."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    return any(each in _SUFFIXES and each != ".txt" for each in suffixes[-2:])


def detect_format(path: str, format: str | None = None) -> Format:  # noqa: A002 - the option's name
    """Return the format of a file: the one given, else the one its suffix says.

    ``-`` (a standard stream) is CSV unless a format is given, which may carry a compression
    as in ``csv.gz``.

    Raises:
        OptionError: the format given is unknown.
        DataError: the suffix is unknown and no format is given.
    """
    if format is not None:
        name, _, given = format.lower().lstrip(".").partition(".")
        named = Format(_SUFFIXES.get(f".{name}", name), given or None)
        if named.name not in FORMATS or not _fits(named):
            raise OptionError(
                "The format must be one of {formats} (csv, tsv and jsonl also with .gz or "
                ".zst), not {format!r}.{hint}",
                formats=", ".join(FORMATS),
                format=format,
                hint=did_you_mean(name, FORMATS),
            )
        if named.compression is None and named.is_text:
            suffix = PurePath(path).suffix.lower()
            return Format(named.name, _COMPRESSIONS.get(suffix))
        return named
    if path == "-":
        return Format("csv")
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    found = Format(_SUFFIXES.get(suffix, ""), compression)
    if found.name and _fits(found):
        return found
    what = f"The ending {suffix!r} of {path!r}" if suffix else f"The name {path!r}"
    if found.name:
        what = f"The ending {suffix + PurePath(path).suffix!r} of {path!r}"
    raise DataError(
        "{what} does not say which format it is in; use one of {suffixes} (text formats also "
        "with .gz or .zst), or give the format.{hint}",
        what=what,
        suffixes=" ".join(_SUFFIXES),
        hint=did_you_mean(suffix, _SUFFIXES),
    )


def check_delimiter(delimiter: str | None) -> str | None:
    """Return the delimiter, after a check that it is one character that can separate fields."""
    if delimiter is None:
        return None
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
    single = named.get(delimiter, delimiter)
    if len(single) != 1 or not single.isascii() or single in '"\r\n\0':
        raise OptionError(
            "The delimiter must be one ASCII character such as ',' ';' 'tab' or '|', not "
            "{delimiter!r}.",
            delimiter=delimiter,
        )
    return single


def check_decimal(decimal: str | None) -> str | None:
    """Return what stands before decimals, after a check that it is a point or a comma."""
    if decimal not in (None, ",", "."):
        raise OptionError("The decimal sign must be ',' or '.', not {decimal!r}.", decimal=decimal)
    return decimal


def _fits(format_: Format) -> bool:
    return format_.compression is None or (
        format_.is_text and format_.compression in _COMPRESSIONS.values()
    )

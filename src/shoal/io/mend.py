"""Small faults of a text file, mended in its bytes: as many as before, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["mend"]

_QUOTE, _NEWLINE, _RETURN, _SPACE, _TAB = 34, 10, 13, 32, 9


def mend(data: bytes, delimiter: str | None, *, last: bool) -> bytes:
    r"""Return the bytes of some records with faults that have one reading only put right.

    A return without a newline, outside quotation marks, ends a record as a newline does. Spaces
    between a delimiter and a quotation mark go inside the marks, so that the cell keeps them: a
    release in which they tell rows apart is still told apart.

    Args:
        data: bytes that begin with a record.
        delimiter: between fields; None mends line ends only.
        last: whether the file ends with them.

    >>> mend(b'a, "b, c" ,d\re,f', ",", last=True)
    b'a," b, c ",d\ne,f'
    """
    returns = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
    blanks = (b" ", b"\t") if delimiter != "\t" else (b" ",)
    spaces = delimiter is not None and any(
        each + b'"' in data or b'"' + each in data for each in blanks
    )
    if not returns and not spaces:
        return data
    import numpy as np

    piece = np.frombuffer(data, dtype=np.uint8).copy()
    inside = np.bitwise_xor.accumulate((piece == _QUOTE).view(np.uint8)).view(np.bool_)
    if returns:
        after = np.append(piece[1:], np.uint8(0 if last else _NEWLINE))
        piece[(piece == _RETURN) & (after != _NEWLINE) & ~inside] = _NEWLINE
    if spaces and delimiter is not None:
        quotes = np.flatnonzero(piece == _QUOTE)
        opening = inside[quotes]
        kinds = [ord(each) for each in blanks]
        stops = [ord(delimiter), _NEWLINE, _RETURN]
        _swap(piece, quotes[opening], -1, kinds, stops)
        _swap(piece, quotes[~opening], 1, kinds, stops)
    return piece.tobytes()


def _swap(
    piece: npt.NDArray[np.uint8],
    quotes: npt.NDArray[np.intp],
    step: int,
    blanks: list[int],
    stops: list[int],
) -> None:
    """Let quotation marks change places with the blanks between them and the end of a field."""
    import numpy as np

    def at(places: npt.NDArray[np.intp]) -> npt.NDArray[np.uint8]:
        # Beyond either end there is a line end.
        beyond = (places < 0) | (places >= piece.size)
        return np.where(beyond, np.uint8(_NEWLINE), piece[np.clip(places, 0, piece.size - 1)])

    quotes = quotes[np.isin(at(quotes + step), blanks)]
    ends = quotes.copy()
    open_ends = np.arange(ends.size)
    while open_ends.size:
        goes_on = np.isin(at(ends[open_ends] + step), blanks)
        open_ends = open_ends[goes_on]
        ends[open_ends] += step
    whole = np.isin(at(ends + step), stops)
    quotes, ends = quotes[whole], ends[whole]
    piece[quotes] = piece[ends]
    piece[ends] = _QUOTE

"""Text in any encoding as UTF-8: said by the user, by the file's first bytes, or told by a rule.

Every encoding that is guessed maps different bytes to different letters, so a wrong guess shows
wrong letters but never makes two values one.
"""

from __future__ import annotations

import codecs
import io
import re
from typing import Protocol

from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import HowRead, note_read

UTF8 = "utf-8"
_WESTERN = "cp1252"
_START = 1 << 12
_PART = 1 << 16
_WHOLE = 1 << 24
# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_TEXT = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
)
# Bytes that are nothing in Windows-1252.
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_PAIR = re.compile(rb"[\x80-\xff]{2,}")
# What Windows-1252 has for signs, between two letters: the letters of another alphabet.
_SIGN_IN_WORD = re.compile(
    rb"(?<=[A-Za-z])[\x80\x82-\x89\x8b\x91\x93-\x95\x98\x99\x9b\xa1-\xa9\xab\xac\xae-\xb4\xb6"
    rb"\xb8\xb9\xbb-\xbf\xd7\xf7](?=[A-Za-z])"
)
_LETTER = re.compile(rb"[\x8a\x8c\x8e\x9a\x9c\x9e\x9f\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff]")
_COMMON_SIGN = re.compile(rb"[\x80\x85\x91-\x94\x96\x97\xa0\xa3\xa7\xab\xad\xb0\xb2\xb3\xb7\xbb]")


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def check_encoding(name: str) -> str:
    """Return the usual name of an encoding of text.

    Raises:
        OptionError: Python knows none of this name.
    """
    try:
        found = codecs.lookup(name)
        usable = getattr(found, "_is_text_encoding", True) and found.name not in _NO_TEXT
    except (LookupError, ValueError):
        usable = False
    if not usable:
        raise OptionError(
            "There is no encoding {name!r}; common ones are utf-8, cp1252 (Western Europe on "
            "Windows), cp1250, cp1251, utf-16, shift_jis and gb18030.",
            name=name,
        )
    return found.name


def guess_encoding(data: bytes) -> str | None:
    """Return the encoding of text that is not UTF-8; None if there is more than one candidate.

    Args:
        data: bytes of the text, with at least one that is not ASCII.
    """
    n_high = len(_HIGH.findall(data))
    if _UNDEFINED.search(data) or _SIGN_IN_WORD.search(data):
        return None
    # Letters with accents stand alone among others; those of other alphabets stand together.
    together = sum(len(run) for run in _HIGH_PAIR.findall(data))
    if 2 * together > n_high:
        return None
    usual = len(_LETTER.findall(data)) + len(_COMMON_SIGN.findall(data))
    return _WESTERN if 10 * usual >= 9 * n_high else None


def to_utf8(data: bytes, encoding: str | None, *, name: str, table: bool = True) -> bytes:
    """Return a whole text as UTF-8; the encoding is found out, and said, if it is not given.

    Args:
        data: the bytes.
        encoding: of the text, if it is known.
        name: of the file, for messages.
        table: whether it is the table itself, rather than something about it.

    Raises:
        DataError: the bytes are no text in this encoding.
    """
    stream = Utf8Stream(io.BytesIO(data), name=name, encoding=encoding)
    text = b"".join(iter(lambda: stream.read(_WHOLE), b""))
    if encoding is not None or stream.guessed:
        how = HowRead(encoding=stream.encoding if table else UTF8)
        how.notes.extend([stream.note()] if stream.guessed else [])
        note_read(name, how)
    return text


class Utf8Stream:
    """The bytes of a text file as UTF-8.

    Nothing is read twice: as long as every byte is ASCII nothing has to be known, and the first
    bytes that are not tell.

    Attributes:
        encoding: what the file is in, as far as is known by now.
        guessed: whether nobody has said so.
        found: whether its first bytes have said so.
    """

    def __init__(self, file: _Readable, *, name: str, encoding: str | None = None) -> None:
        self._file = file
        self._name = name
        self._ahead = b""
        self._offset = 0
        self._known = encoding is not None
        self._started = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self.encoding = UTF8
        self.guessed = self.found = False
        if encoding is not None:
            self._take(check_encoding(encoding))

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, none only at the end; they may be more than asked for.

        Raises:
            DataError: the bytes are no text in the encoding of the file.
        """
        if not self._started:
            self._started = True
            self._start()
        while True:
            data = self._next(size)
            if not self._known and not data.isascii():
                data = self._decide(data)
            if self._decoder is None:
                return data
            text = self._decode(data)
            if text or not data:
                return text

    def note(self) -> str:
        """Return what to say about an encoding that was guessed."""
        return (
            f"{self._name} is not UTF-8; it was read as {self.encoding} (Western European). If "
            "letters look wrong, say what it is in, as in --encoding cp1250."
        )

    def _next(self, size: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        return self._file.read(size)

    def _start(self) -> None:
        """Look at the first bytes for a mark, or for the zeros of two bytes per letter."""
        if self._known:
            return
        while len(self._ahead) < _START and (more := self._file.read(_START - len(self._ahead))):
            self._ahead += more
        for mark, encoding in _MARKS:
            if self._ahead.startswith(mark):
                self._take(encoding)
                self.found = True
                return
        even, odd = self._ahead[::2].count(0), self._ahead[1::2].count(0)
        if 8 * (even + odd) > 2 * len(self._ahead):
            for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
                if zeros > 20 * others:
                    self._take(encoding)
                    self.found = True

    def _decide(self, data: bytes) -> bytes:
        """Find out by the first bytes that are not ASCII; return them and what was read on."""
        while True:
            decoder = codecs.getincrementaldecoder(UTF8)()
            try:
                # A letter may be cut at the end of what has been read.
                text = decoder.decode(data)
            except UnicodeDecodeError:
                break
            if not text.isascii():
                self._known = True
                return data
            more = self._file.read(_PART)
            if not more:
                break
            data += more
        self._known = True
        text = data.decode(UTF8, errors="replace")
        n_bad = text.count("\ufffd")
        if len(text) - len(text.encode("ascii", "ignore")) < 2 * n_bad:
            found = guess_encoding(data)
            if found is not None:
                self._take(found)
                self.guessed = True
        return data  # otherwise the reader says at which line it is no UTF-8

    def _take(self, encoding: str) -> None:
        self._known = True
        self.encoding = encoding
        if encoding not in (UTF8, "utf-8-sig"):
            self._decoder = codecs.getincrementaldecoder(encoding)()

    def _decode(self, data: bytes) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(data, final=not data)
            self._offset += len(data)
            return text.encode(UTF8)
        except UnicodeError as error:
            at = self._offset
            if isinstance(error, UnicodeDecodeError):
                at += error.start - (len(error.object) - len(data))
            raise DataError(
                "{name} is not text in the encoding {encoding} (byte {n}); say which one it "
                "is in, as in --encoding cp1252.",
                name=self._name,
                encoding=self.encoding,
                n=max(at, 0) + 1,
            ) from None

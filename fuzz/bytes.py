"""What a written file holds: its cells as other libraries read them, and all of its bytes.

Nothing of the package is imported here. The bytes are looked at in every layer: as they are on
the disk, decompressed, member by member of a zip, page by page of a Parquet file, buffer by
buffer of an Arrow file.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import pickle
import sqlite3
import struct
import zipfile
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST = 1 << 28  # decompressed bytes that are looked at


@dataclass
class Published:
    """A published table as a reader finds it.

    Attributes:
        names: its columns.
        rows: its rows, cells as the format gives them (text in a CSV).
        textual: whether an empty text and a missing cell are the same to a reader.
    """

    names: list[str]
    rows: list[tuple[Any, ...]]
    textual: bool = False

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


def read(path: Path, format: str) -> Published:  # noqa: A002 - what it is
    """Return what another library reads from a file that was written."""
    if format == "db":
        return _read_sqlite(path)
    if format == "parquet":
        return _from_arrow(pq.read_table(path))
    if format == "arrow":
        with pa.ipc.open_file(path) as file:
            return _from_arrow(file.read_all())
    if format == "xlsx":
        return _read_excel(path)
    data = path.read_bytes()
    if format.endswith(".gz"):
        data = gzip.decompress(data)
    elif format.endswith(".zst"):
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    text = data.decode("utf-8")
    if format.startswith("jsonl"):
        records = [json.loads(line) for line in text.split("\n") if line]
        names = list(records[0]) if records else []
        return Published(names, [tuple(record.values()) for record in records])
    rows = list(
        csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "tsv" in format else ",")
    )
    # A line without any character is a row whose only cell is missing.
    return Published(rows[0], [tuple(row) if row else ("",) for row in rows[1:]], textual=True)


def of_frame(frame: Any) -> Published:
    """Return the cells of a frame in memory."""
    module = type(frame).__module__.split(".")[0]
    if module == "polars":
        return Published(list(frame.columns), frame.rows())
    if module == "pandas":
        return _from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    return _from_arrow(frame)


def _from_arrow(table: pa.Table) -> Published:
    columns = [table.column(place).to_pylist() for place in range(table.num_columns)]
    return Published(table.column_names, list(zip(*columns, strict=True)))


def _read_excel(path: Path) -> Published:
    book = openpyxl.load_workbook(path)
    try:
        rows = list(book.worksheets[0].iter_rows(values_only=True))
    finally:
        book.close()
    return Published([str(name) for name in rows[0]], rows[1:], textual=True)


def _read_sqlite(path: Path) -> Published:
    with contextlib.closing(sqlite3.connect(path)) as base:
        table = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchone()[0]
        cursor = base.execute(f'SELECT * FROM "{table}"')
        return Published([each[0] for each in cursor.description], cursor.fetchall())


def layers(data: bytes) -> Iterator[bytes]:
    """Yield everything that a file's bytes say, in every layer."""
    yield data
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)[:MOST]
    elif data[:4] == b"\x28\xb5\x2f\xfd":
        yield zstandard.ZstdDecompressor().decompressobj().decompress(data)
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                member = archive.read(name)
                yield member
                yield unescape(member.decode("utf-8", "replace")).encode()
    elif data[:4] == b"PAR1":
        yield from parquet_pages(data)
        yield from _arrow_buffers(pq.read_table(io.BytesIO(data)))
    elif data[:6] == b"ARROW1":
        with pa.ipc.open_file(data) as file:
            yield from _arrow_buffers(file.read_all())
    elif data[:1] in b'{["' and b"\\" in data:
        with contextlib.suppress(ValueError):
            yield json_texts(data)
    elif data.lstrip()[:1] == b"<":
        yield unescape(data.decode("utf-8", "replace")).encode()


def json_texts(data: bytes) -> bytes:
    """Return JSON lines (or one document) with their texts unescaped."""
    try:
        documents = [json.loads(data)]
    except ValueError:
        documents = [json.loads(line) for line in data.decode().split("\n") if line]
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in documents).encode()


def layers_of_frame(frame: Any) -> Iterator[bytes]:
    """Yield what a frame holds that leaves the process with it: pickled, and as Arrow."""
    yield pickle.dumps(frame, protocol=5)
    module = type(frame).__module__.split(".")[0]
    if module == "polars":
        memory = io.BytesIO()
        frame.write_ipc(memory)
        yield memory.getvalue()
        yield from _arrow_buffers(frame.to_arrow())
    elif module == "pandas":
        for name in frame.columns:
            levels = getattr(frame[name].dtype, "categories", None)
            if levels is not None:
                yield "\n".join(map(str, levels)).encode()
    else:
        yield from _arrow_buffers(frame)


def _arrow_buffers(table: pa.Table) -> Iterator[bytes]:
    for column in table.columns:
        for chunk in column.chunks:
            yield from _buffers(chunk)
    for key, value in (table.schema.metadata or {}).items():
        yield key
        yield value


def _buffers(array: Any) -> Iterator[bytes]:
    for buffer in array.buffers():
        if buffer is not None:
            yield buffer.to_pybytes()
    if pa.types.is_dictionary(array.type):
        yield from _buffers(array.dictionary)


def parquet_pages(data: bytes) -> Iterator[bytes]:
    """Yield every page of a Parquet file decompressed, dictionaries included, and the footer."""
    metadata = pq.read_metadata(io.BytesIO(data))
    size = struct.unpack("<I", data[-8:-4])[0]
    yield data[-8 - size : -8]
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                start = min(start, chunk.dictionary_page_offset)
            end = start + chunk.total_compressed_size
            yield from _pages(data[start:end], chunk.compression)


def _pages(chunk: bytes, codec: str) -> Iterator[bytes]:
    while chunk:
        header, chunk = _Thrift(chunk).struct_and_rest()
        body, chunk = chunk[: header[3]], chunk[header[3] :]
        levels = 0
        if 8 in header:  # a page of the second version: its levels are never compressed
            levels = header[8].get(5, 0) + header[8].get(6, 0)
        yield body[:levels]
        rest = body[levels:]
        whole = header[2] - levels
        yield (
            rest if codec == "UNCOMPRESSED" or whole == len(rest) else _inflate(rest, codec, whole)
        )


def _inflate(data: bytes, codec: str, size: int) -> bytes:
    if not data:
        return b""
    name = {"LZ4": "lz4_raw"}.get(codec, codec.lower())
    return pa.decompress(data, decompressed_size=size, codec=name, asbytes=True)


class _Thrift:
    """Reads one struct of Thrift's compact protocol: what a page header is written in."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct_and_rest(self) -> tuple[dict[int, Any], bytes]:
        return self._struct(), self.data[self.at :]

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _number(self) -> int:
        raw = self._varint()
        return (raw >> 1) ^ -(raw & 1)

    def _struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 0x0F)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._number()
        if kind == 7:
            self.at += 8
            return self.data[self.at - 8 : self.at]
        if kind == 8:
            length = self._varint()
            self.at += length
            return self.data[self.at - length : self.at]
        if kind in (9, 10):
            head = self._byte()
            length = head >> 4 if head >> 4 != 15 else self._varint()
            return [self._value(head & 0x0F) for _ in range(length)]
        if kind == 12:
            return self._struct()
        message = f"a page header holds a value of the unknown kind {kind}"
        raise ValueError(message)

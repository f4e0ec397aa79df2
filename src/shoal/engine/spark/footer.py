"""Parquet files whose bytes follow from their rows alone.

Parquet's writer in Java keeps the encodings of a column in a set without order, so that the list
of them in the footer stands in another order in another process: two files of the same rows differ
there. It tells nothing about a row, but it tells which files one process has written. So the lists
are sorted before anybody sees the files. Pages are copied as they are.
"""

from __future__ import annotations

from typing import Any

from shoal.errors import DataError

__all__ = ["settle_footer"]

MAGIC = b"PAR1"
_TAIL = 8
"""Bytes behind a footer: its length, and the name of the format."""


def settle_footer(session: Any, files: Any, path: Any, beside: Any) -> bool:
    """Sort what has no order in the footer of a file; return whether that changed anything.

    Args:
        session: of Spark.
        files: the file system, as Hadoop has it.
        path: the file.
        beside: a name that nobody has, in the same folder.

    Raises:
        DataError: it is no Parquet file, or cannot be put in place.
    """
    jvm = session._jvm  # noqa: SLF001 - the only way there
    size = int(files.getFileStatus(path).getLen())
    tail = _read(jvm, files, path, size - _TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length + _TAIL > size:
        raise DataError("What was written is no Parquet file; nothing was published.")
    pages = size - _TAIL - length
    old = _read(jvm, files, path, pages)[:length]
    new = _sorted(jvm, old)
    if new == old:
        return False
    source, target = files.open(path), files.create(beside, True)
    try:
        jvm.org.apache.commons.io.IOUtils.copyLarge(source, target, 0, pages)
        target.write(bytearray(new + len(new).to_bytes(4, "little") + MAGIC))
    finally:
        source.close()
        target.close()
    if not (files.delete(path, False) and files.rename(beside, path)):
        raise DataError("What was written could not be put in order; look at the folder's rights.")
    return True


def _read(jvm: Any, files: Any, path: Any, start: int) -> bytes:
    """Return a file from some place to its end."""
    stream = files.open(path)
    try:
        stream.seek(start)
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
    finally:
        stream.close()


def _sorted(jvm: Any, footer: bytes) -> bytes:
    """Return a footer with sorted encodings, by the library that wrote it."""
    formats = jvm.org.apache.parquet.format.Util
    found = formats.readFileMetaData(jvm.java.io.ByteArrayInputStream(bytearray(footer)))
    for group in found.getRow_groups():
        for column in group.getColumns():
            jvm.java.util.Collections.sort(column.getMeta_data().getEncodings())
    written = jvm.java.io.ByteArrayOutputStream()
    formats.writeFileMetaData(found, written)
    return bytes(written.toByteArray())

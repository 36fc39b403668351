"""The pages of an SQLite file read by hand, for files that SQLite itself refuses.

The format is documented and frozen (https://www.sqlite.org/fileformat2.html). A row lies in one
leaf page and, if it is long, in a chain of overflow pages; nothing above them is needed to read it.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..base.errors import BadData

_MAGIC = b"SQLite format 3\x00"
_USUAL_SIZE = 4096
_INDEX_INTERIOR, _INDEX_LEAF, _TABLE_LEAF = 0x02, 0x0A, 0x0D
_LONGEST = 2**31  # bytes of a row; SQLite allows no longer ones
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # type of a value: its bytes

Row = tuple[Any, ...]


class Damaged(ValueError):
    """A row that cannot be read."""


class Pages:
    """Pages of a database, those in its write-ahead log included.

    Parameters
    ----------
    path : Path
        The database; the log lies beside it.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:  # a store may be larger than the memory
            if not path.stat().st_size:
                raise BadData(f"{path} is empty: there is nothing to save")
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        log = path.with_name(path.name + "-wal")
        wal = log.read_bytes() if log.exists() else b""
        self._size = self._page_size(wal)
        self._newer = dict(_committed(wal, self._size))
        self._last = max([-(-len(self._file) // self._size), *self._newer])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _page_size(self, wal: bytes) -> int:
        if self._file[:16] == _MAGIC and len(self._file) >= 100:
            [size] = struct.unpack(">H", self._file[16:18])
            return 65536 if size == 1 else size
        if len(wal) >= 32:
            return int(struct.unpack(">I", wal[8:12])[0])
        return _USUAL_SIZE

    def __iter__(self) -> Iterator[bytes]:
        for number in range(1, self._last + 1):
            yield self.page(number)

    def page(self, number: int) -> bytes:
        """Bytes of a page; fewer than its size, or none, if the file ends before."""
        start = (number - 1) * self._size
        return self._newer.get(number) or self._file[start : start + self._size]

    def rows(self) -> Iterator[Row]:
        """Rows of all tables that can be read."""
        yield from self._records((_TABLE_LEAF,))

    def index_entries(self) -> Iterator[Row]:
        """Entries of all indices that can be read."""
        yield from self._records((_INDEX_LEAF, _INDEX_INTERIOR))

    def _records(self, kinds: tuple[int, ...]) -> Iterator[Row]:
        for number, page in enumerate(self, start=1):
            head = 100 if number == 1 else 0
            if len(page) < head + 8 or page[head] not in kinds:
                continue
            [count] = struct.unpack(">H", page[head + 3 : head + 5])
            start = head + (12 if page[head] == _INDEX_INTERIOR else 8)
            for place in range(start, min(start + 2 * count, len(page) - 1), 2):
                [at] = struct.unpack(">H", page[place : place + 2])
                try:
                    yield _values(self._payload(page, at, page[head]))
                except (Damaged, IndexError, struct.error, UnicodeDecodeError):
                    continue

    def _payload(self, page: bytes, at: int, kind: int) -> bytes:
        """Bytes of a record, collected from its page and the overflow pages."""
        if kind == _INDEX_INTERIOR:
            at += 4  # number of the page below
        length, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            _, at = _varint(page, at)  # number of the row
        if length > _LONGEST:
            raise Damaged
        size = self._size
        most = size - 35 if kind == _TABLE_LEAF else (size - 12) * 64 // 255 - 23
        least = (size - 12) * 32 // 255 - 23
        here = least + (length - least) % (size - 4)
        local = length if length <= most else here if here <= most else least
        found = bytearray(page[at : at + local])
        if len(found) < local:
            raise Damaged
        following = page[at + local : at + local + 4]
        while len(found) < length:
            next_page = self.page(struct.unpack(">I", following)[0])
            part = next_page[4 : 4 + length - len(found)]
            if not part:
                raise Damaged
            found += part
            following = next_page[:4]
        return bytes(found)


def _committed(wal: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Pages of the transactions in a write-ahead log that were committed, the newest last."""
    frames = []
    for start in range(32, len(wal) - 24 - size + 1, 24 + size):
        number, total = struct.unpack(">II", wal[start : start + 8])
        if wal[start + 8 : start + 16] != wal[16:24]:
            return  # what follows was left over from before the log was used again
        frames.append((number, wal[start + 24 : start + 24 + size]))
        if total:  # the last page of a transaction
            yield from frames
            frames = []


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Number of one to nine bytes, and where it ends."""
    value = 0
    for i in range(8):
        byte = data[at + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return value << 8 | data[at + 8], at + 9


def _values(payload: bytes) -> Row:
    """Values of a record: first their types, then their bytes."""
    end, at = _varint(payload, 0)
    types = []
    while at < end:
        kind, at = _varint(payload, at)
        types.append(kind)
    found: list[Any] = []
    for kind in types:
        length = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0)
        raw = payload[at : at + length]
        if len(raw) < length or kind in (10, 11):
            raise Damaged
        at += length
        if kind in _INTEGERS:
            found.append(int.from_bytes(raw, "big", signed=True))
        elif kind == 7:
            found.append(struct.unpack(">d", raw)[0])
        elif kind >= 12:
            found.append(raw.decode() if kind % 2 else raw)
        else:
            found.append({0: None, 8: 0, 9: 1}[kind])
    return tuple(found)

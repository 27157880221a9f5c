"""Compressed files: rotated logs, and what tools write to ``FILE.gz``; unpacked within a bound."""

import gzip
import io
import zlib
from typing import BinaryIO, Final, cast

from loadcurve.tools.figures import Unreadable

GZIP: Final = "gzip"
_MAGIC: Final = {
    b"\x1f\x8b": GZIP,
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"PK\x03\x04": "zip",
}
"""What the files of each begin with, by their specifications, such as RFC 1952 and RFC 8878."""
_UNPACKED_BY_POLARS: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"x\x01", b"x\x9c", b"x\xda")
"""What it takes for gzip, zstd or zlib at the start of a table."""
MAGIC_BYTES: Final = max(map(len, _MAGIC))
UNPACKED_BYTES_FREE: Final = 64 * 2**20
RATIO_MAX: Final = 200
"""How much longer than the file its content may be. Logs are 10 to 30 times as long; gzip reaches 1,032."""


def packer_of(head: bytes) -> str | None:
    """Return what has packed a file that begins so; ``None`` where nothing known has."""
    return next((packer for magic, packer in _MAGIC.items() if head.startswith(magic)), None)


def require_plain(name: str, line: int, block: bytes, expected: str) -> None:
    """Raise ``Unreadable`` for lines that polars would unpack, which it does without a bound."""
    if block.startswith(_UNPACKED_BY_POLARS):
        raise Unreadable(name, line, "bytes that gzip, zlib or zstd has packed", expected)


def unpacked(name: str, file: BinaryIO) -> BinaryIO:
    """Return what a file holds that gzip has packed, which is unpacked as it is read.

    Reading raises ``Unreadable`` where it is cut off or damaged, and where there is more than the bound.
    """
    return cast("BinaryIO", io.BufferedReader(_Unpacked(name, file)))


class _Unpacked(io.RawIOBase):
    def __init__(self, name: str, file: BinaryIO) -> None:
        self._name = name
        self._bytes_max = max(UNPACKED_BYTES_FREE, RATIO_MAX * file.seek(0, io.SEEK_END))
        file.seek(0)
        self._unpacking = gzip.GzipFile(fileobj=file)
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override] # what BufferedReader gives
        try:
            data = self._unpacking.read1(len(into))
        except EOFError:
            raise self._unreadable("the end of the file within what gzip packed: it is cut off") from None
        except (OSError, zlib.error) as error:
            raise self._unreadable(f"what gzip cannot unpack ({error}): it is damaged") from error
        self._bytes += len(data)
        if self._bytes > self._bytes_max:
            raise self._unreadable(
                f"more than {self._bytes_max:,} bytes in it, {RATIO_MAX} times what it takes: it is little "
                "but repetitions"
            )
        into[: len(data)] = data
        return len(data)

    def _unreadable(self, found: str) -> Unreadable:
        return Unreadable(self._name, None, found, "a whole file that gzip has packed")

"""The binary ``simulation.log`` that Gatling writes from 3.13 on.

It is a run and then records, each behind a byte for its kind. Numbers are big-endian. A text is its length,
its bytes and a byte for its coding; where it stood before, it is the negative of its number there.

Source: ``LogFileDataWriter.scala`` of Gatling 3.13 and 3.15, Apache License 2.0.
"""

import re
import struct
from typing import BinaryIO

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.gatling.requests import MOMENTS_MS, Requests, figures_of_requests
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.source import Source

_RUN, _REQUEST, _USER, _GROUP, _ERROR = range(5)
_FIRST = (3, 13)
_VERSION = re.compile(rb"(\d{1,2})\.(\d{1,2})(?:\.[\w.-]{1,20})?", re.ASCII)
_CODINGS = ("latin-1", "utf-16-le")
_BYTES_OF_A_VERSION = 32
_BYTES_OF_A_TEXT = 1 << 20
"""More than Gatling's buffer holds, which no text of it exceeds."""
_TEXTS_AT_MOST = 1 << 20
"""Different ones: what takes more memory was not written by a person's simulation."""
_INT, _LONG = struct.Struct(">i"), struct.Struct(">q")


class _Ended(Exception):  # noqa: N818 - the end of a file is no error until it is known where it lies
    """The file has ended within a record."""


def is_binary_log(head: bytes) -> bool:
    """Say whether a file begins as Gatling's binary log: with a run and its version."""
    length = int.from_bytes(head[1:5], "big")
    if head[:1] != bytes([_RUN]) or length > _BYTES_OF_A_VERSION:
        return False
    return _VERSION.fullmatch(head[5 : 5 + length]) is not None


def read_binary_log(source: Source) -> ToolFigures:
    """Return the figures of Gatling's binary log."""
    with source.opened() as file:
        return _Log(source, file).figures()


class _Log:
    """A log that is read from its start to its end."""

    def __init__(self, source: Source, file: BinaryIO) -> None:
        self.source = source
        self.file = file
        self.texts: dict[int, str] = {}
        self.requests = Requests()
        self.left_out = LeftOut(source)
        self.position = self.record_begin = 0

    def figures(self) -> ToolFigures:
        try:
            version, start_ms = self._run()
        except _Ended:
            raise self._cut_off() from None
        try:
            while kind := self._kind():
                self._record(kind[0], start_ms)
        except _Ended:
            self.left_out.end(self._cut_off())
        self.left_out.rows = len(self.requests)
        return figures_of_requests(self.source, version, self.requests, self.left_out)

    def _cut_off(self) -> Unreadable:
        return self._unreadable(
            "its end within a record", "records to their end; Gatling was killed, or the file was cut off"
        )

    def _kind(self) -> bytes:
        self.record_begin = self.position
        self.position += 1
        return self.file.read(1)

    def _run(self) -> tuple[str, int]:
        """Read the run; return the version of Gatling and when it began, in ms since 1970."""
        if self._kind() != bytes([_RUN]):
            raise self._unreadable("no run", "Gatling's binary log, which begins with its run")
        version = self._text()
        parts = _VERSION.fullmatch(version.encode())
        if parts is None or (int(parts[1]), int(parts[2])) < _FIRST:
            raise self._unreadable(f"version {version[:20]!r}", "a binary log of Gatling 3.13 or newer")
        self._text()
        start_ms = _LONG.unpack(self._bytes(_LONG.size))[0]
        if start_ms not in MOMENTS_MS:
            raise self._unreadable(f"a begin at {start_ms:,} ms", "ms since 1970")
        self._text()
        for _ in range(self._count()):
            self._text()
        for _ in range(self._count()):
            self._bytes(self._length())
        return f"{int(parts[1])}.{int(parts[2])}", start_ms

    def _record(self, kind: int, start_ms: int) -> None:
        if kind == _REQUEST:
            self._request(start_ms)
        elif kind == _USER:
            self._bytes(_INT.size + 1 + _INT.size)
        elif kind == _GROUP:
            self._groups()
            self._bytes(3 * _INT.size + 1)
        elif kind == _ERROR:
            self._known_text()
            self._bytes(_INT.size)
        else:
            raise self._unreadable(f"a record of kind {kind}", "a request, a user, a group or an error")

    def _request(self, start_ms: int) -> None:
        self._groups()
        name = self._known_text()
        begin, end = self._int(), self._int()
        is_ok, message = self._bytes(1) == b"\1", self._known_text()
        if not 0 <= begin <= end or start_ms + end not in MOMENTS_MS:
            raise self._unreadable(f"a request from {begin} to {end} ms", "an end at or after its start")
        self.requests.add(start_ms + begin, start_ms + end, name, message, is_ok=is_ok)

    def _groups(self) -> None:
        for _ in range(self._count()):
            self._known_text()

    def _known_text(self) -> str:
        number = self._int()
        if number < 0:
            text = self.texts.get(-number)
            if text is None:
                raise self._unreadable(
                    f"text {-number}, which has not stood there", "one that was written before"
                )
            return text
        if len(self.texts) >= _TEXTS_AT_MOST:
            raise self._unreadable(
                f"more than {_TEXTS_AT_MOST:,} different texts", "names and messages of requests"
            )
        return self.texts.setdefault(number, self._text())

    def _text(self) -> str:
        length = self._length()
        if not length:
            return ""
        data, coding = self._bytes(length), self._bytes(1)[0]
        if coding >= len(_CODINGS):
            raise self._unreadable(f"a text in coding {coding}", "0 (Latin-1) or 1 (UTF-16)")
        return data.decode(_CODINGS[coding], "replace")

    def _length(self) -> int:
        length = self._int()
        if not 0 <= length <= _BYTES_OF_A_TEXT:
            raise self._unreadable(f"a text of {length:,} bytes", f"at most {_BYTES_OF_A_TEXT:,}")
        return length

    def _count(self) -> int:
        count = self._int()
        if not 0 <= count <= _TEXTS_AT_MOST:
            raise self._unreadable(f"a list of {count:,}", f"at most {_TEXTS_AT_MOST:,}")
        return count

    def _int(self) -> int:
        number: int = _INT.unpack(self._bytes(_INT.size))[0]
        return number

    def _bytes(self, count: int) -> bytes:
        data = self.file.read(count)
        if len(data) < count:
            raise _Ended
        self.position += count
        return data

    def _unreadable(self, found: str, expected: str) -> Unreadable:
        place = f"{found} (record at byte {self.record_begin:,})"
        return self.source.unreadable(None, place, expected, f"{len(self.requests):,} requests")

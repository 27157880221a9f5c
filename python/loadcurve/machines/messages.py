"""The messages between a run and the agent on another machine: one line of JSON each, of bounded length.

``{"id": n, "call": name, "arguments": {…}}`` is followed by any number of ``{"id": n, "event": …}``, and then
by ``{"id": n, "result": …}`` or ``{"id": n, "error": {"kind": …, "text": …, …}}``. Calls are answered in any
order. The far side's first line names format and version, see :func:`greeting`. Both sides say that they are
there by ``{"beat": 1}``, see :data:`BEAT_S`.
"""

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from loadcurve.errors import LoadcurveError

FORMAT: Final = "loadcurve-agent/1"
LINE_BYTES_MAX = 16 << 20
"""A part of a load that had as many periods and histograms as there can be takes less than a half of it."""
BEAT_S = 1.0
"""How often each side shows that it is there, even where there is nothing to say."""
SILENT_BEATS_MAX = 5
"""After this number of beats without a line from the other side it is given up."""

Message = dict[str, Any]


class BadMessage(LoadcurveError):  # noqa: N818 -- as the other errors
    """What came, or was to be sent, is no message."""


def encoded(message: Mapping[str, Any]) -> bytes:
    """Return a message as its line; raises BadMessage where it holds what JSON has not, or is too long."""
    try:
        line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise BadMessage(f"a message cannot be written as JSON: {error}") from None
    if len(line) > LINE_BYTES_MAX:
        raise BadMessage(f"a message has {len(line):,} bytes; expected at most {LINE_BYTES_MAX:,}")
    return line


def decoded(line: bytes) -> Message:
    """Return the message of a line; raises BadMessage where it is none."""
    try:
        message = json.loads(line, parse_constant=_refused)
        if b"\\u" in line:
            # Half a pair of surrogates is in JSON, and in no text that can be written.
            json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise BadMessage(f"found {shown(line)}; expected a message, which is one line of JSON")
    return message


def _refused(constant: str) -> None:
    """Refuse NaN and infinities, which JSON has not."""
    raise ValueError(constant)


def shown(line: bytes, bytes_max: int = 80) -> str:
    """Return the start of a line, as it can be shown to a person."""
    text = ascii(line[:bytes_max].decode(errors="replace"))
    return text if len(line) <= bytes_max else f"{text} and {len(line) - bytes_max:,} bytes more"


class Lines:
    """Cuts what arrives into lines, however it was split on its way."""

    def __init__(self, bytes_max: int | None = None) -> None:
        """Begin without anything; a line and its end have at most ``bytes_max``, or what all lines have."""
        self.bytes_max = LINE_BYTES_MAX if bytes_max is None else bytes_max
        """May change with what is expected next."""
        self._buffer = bytearray()

    def of(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that these bytes complete, without their ends.

        Raises ``BadMessage`` for a line that is longer than allowed, as soon as it is.
        """
        begin = len(self._buffer)
        self._buffer += data
        while (end := self._buffer.find(b"\n", begin)) >= 0:
            self._require_bounded(end)
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            begin = 0
            yield line
        self._require_bounded(len(self._buffer))

    def _require_bounded(self, length: int) -> None:
        if length >= self.bytes_max:
            text = f"a line has {length:,} bytes or more; expected less than {self.bytes_max:,}"
            raise BadMessage(text)


def greeting() -> Message:
    """Return the far side's first message: what it speaks, and what it is."""
    # Looking the version up takes a while, and only this message needs it.
    from loadcurve.version import VERSION  # noqa: PLC0415

    return {
        "format": FORMAT,
        "version": VERSION,
        "python": platform.python_version(),
        "processor": platform.machine(),
        "pid": os.getpid(),
        "user_id": os.geteuid(),
        "program": sys.executable,
    }

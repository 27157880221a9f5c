r"""Lines of an access log as text: the common or combined format, and anything that follows it.

Servers escape what a client sent: Apache writes ``\"``, ``\\``, ``\n``, ``\xc3`` (``ap_escape_logitem`` of
``server/util.c``), nginx ``\x22``, ``\x5C``, ``\xC3`` (``ngx_http_log_escape``), and with ``escape=json`` as
JSON does, with ``\u0001``. So a quote that ends the request has no backslash before it.
"""

import re
from functools import lru_cache
from typing import Final

from loadcurve.imported.left_out import Reason
from loadcurve.imported.log_line import Line, Odd

WHAT: Final = (
    'a line of an access log (common or combined): host, user, [time], "GET /path HTTP/1.1", status, bytes'
)
_QUOTED: Final = rb'(?P<request>[^"\\]*+(?:\\.[^"\\]*+)*+)'
_LINE: Final = re.compile(
    rb"\S++ \S++ [^\[\n]{1,200}\[(?P<time>[^\]\n]{1,40})\] "
    rb'"' + _QUOTED + rb'" (?P<status>\d{3}|-) (?:\d++|-)(?P<rest> .*)?'
)
_REQUEST: Final = re.compile(rb"(?P<method>[A-Z]{1,20}) (?P<target>/.*) HTTP/\d(?:\.\d)?", re.DOTALL)
_ESCAPED: Final = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_REQUESTS_REMEMBERED: Final = 2**16
_REMEMBERED_BYTES_MAX: Final = 512
"""Of one, so that long ones do not take the memory."""


def read(text: bytes) -> Line | Odd:
    """Return what a line says."""
    found = _LINE.fullmatch(text.rstrip(b"\r"))
    if found is None:
        return Reason.NO_LINE if text.strip() else Reason.BLANK
    if found["status"] == b"-":
        return Reason.NO_STATUS
    escaped = found["request"]
    request = (_remembered if len(escaped) <= _REMEMBERED_BYTES_MAX else _request)(escaped)
    if request is None:
        return Reason.NO_PATH
    return Line(*request, int(found["status"]), found["time"], found["rest"] or b"")


def _request(escaped: bytes) -> tuple[bytes, bytes] | None:
    """Return the method and the target of a request; ``None`` where it has no path or no version.

    A request without its version was cut off, or is one of HTTP/0.9, which a load does not send. nginx and
    Apache take no account of a fragment (``#`` and what follows), so it is not a part of what was asked for.
    """
    asked = request_of(unescaped(escaped))
    return None if asked is None else (asked[0], asked[1].partition(b"#")[0])


_remembered = lru_cache(maxsize=_REQUESTS_REMEMBERED)(_request)


def request_of(line: bytes) -> tuple[bytes, bytes] | None:
    """Return the method and the target of the first line of a request; ``None`` as :func:`_request`."""
    found = _REQUEST.fullmatch(line)
    return None if found is None else (found["method"], found["target"])


def unescaped(text: bytes) -> bytes:
    """Return the bytes that a server has escaped for its log."""
    return _ESCAPED.sub(_byte, text) if b"\\" in text else text


def _byte(found: re.Match[bytes]) -> bytes:
    byte, character, other = found.groups()
    if byte is not None:
        return bytes([int(byte, 16)])
    if character is not None:
        return chr(int(character, 16)).encode(errors="replace")
    return _CONTROLS.get(other, other)

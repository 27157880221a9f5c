r"""Lines of an access log as JSON: those of Caddy, and nginx's with the usual names of its variables.

Bytes that are not UTF-8 are kept: nginx (``escape=json``) writes them as they are, Apache as ``\xc3``, which
is not JSON. Caddy replaces them by U+FFFD, so that the path which was asked for is lost.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from loadcurve.imported import log_text
from loadcurve.imported.left_out import Reason
from loadcurve.imported.log_line import Line, Odd

WHAT: Final = (
    'a line of an access log as JSON: an object with "status", and with "request" (a line, or an object '
    'with "method" and "uri") or with "request_method" and "request_uri"'
)
_METHODS: Final = ("request_method", "method")
_TARGETS: Final = ("request_uri", "uri", "path")
_TIMES: Final = ("msec", "ts", "timestamp", "@timestamp", "time_iso8601", "time_local", "time")
"""The most exact one first."""
_BYTE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|.)", re.DOTALL)
_ASCII_END: Final = 0x80
_REPLACED: Final = "\ufffd".encode()
_NGINX_DECIMALS, _CADDY_DECIMALS = 3, 6
"""Of seconds since 1970. A number of 64 bits has seven of them, and Caddy writes no zeros at its end."""


def read(text: bytes) -> Line | Odd:
    """Return what a line says."""
    if not text.strip():
        return Reason.BLANK
    try:
        members = json.loads(_as_json(text.decode(errors="surrogateescape")), strict=False)
        return _request(members) if isinstance(members, dict) and "status" in members else Reason.NO_LINE
    except (ValueError, RecursionError, OverflowError):
        # Not JSON, nested too deeply, text that no bytes stand for, or numbers that are no times.
        return Reason.NO_LINE


def _request(members: Mapping[str, Any]) -> Line | Odd:
    asked, time, status = _asked(members), _time(members), _status(members["status"])
    if status is None:
        return Reason.NO_STATUS
    if asked is None:
        return Reason.NO_PATH
    return Reason.LOST_BYTES if _REPLACED in asked[1] else Line(*asked, status, time, b"")


def _as_json(text: str) -> str:
    """Return a line with Apache's escapes of bytes as JSON has them."""
    return _BYTE.sub(_character, text) if "\\x" in text else text


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    byte = int(found[1], 16)
    # What stands for a byte that is not ASCII where a text is decoded with surrogateescape (PEP 383).
    return f"\\u{byte if byte < _ASCII_END else 0xDC00 + byte:04x}"


def _status(given: Any) -> int | None:  # noqa: ANN401 - any value that JSON has
    """Return a status; ``None`` where there is none, which Caddy writes as 0 and nginx as 000."""
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) == len("200"):
        given = int(given)
    return given if isinstance(given, int) and given > 0 else None


def _asked(members: Mapping[str, Any]) -> tuple[bytes, bytes] | None:
    """Return the method and the target; ``None`` where there is no path."""
    request = members.get("request")
    if isinstance(request, dict):
        # Caddy's, whose library takes a "#" for a character of the path (net/url, ParseRequestURI).
        return _pair(request, "method", "uri")
    named = _pair(
        members,
        next((name for name in _METHODS if name in members), ""),
        next((name for name in _TARGETS if name in members), ""),
    )
    if "request_uri" not in members and isinstance(request, str):
        found = log_text.request_of(_bytes(request))
    else:
        found = named
    return None if found is None else (found[0], found[1].partition(b"#")[0])


def _pair(members: Mapping[str, Any], method: str, target: str) -> tuple[bytes, bytes] | None:
    by, asked = members.get(method), members.get(target)
    if not isinstance(by, str) or not isinstance(asked, str) or not by or not asked.startswith("/"):
        return None
    return _bytes(by), _bytes(asked)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _time(members: Mapping[str, Any]) -> bytes:
    """Return the most exact time of a line, which only a recording requires: empty where there is none."""
    for name in _TIMES:
        given = members.get(name)
        if isinstance(given, str) and given:
            return given.strip("[]").encode(errors="replace")
        if isinstance(given, int | float) and not isinstance(given, bool):
            decimals = _NGINX_DECIMALS if name == "msec" else _CADDY_DECIMALS
            return f"{given:.{decimals}f}".encode()
    return b""

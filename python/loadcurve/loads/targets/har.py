"""Requests that a browser or a proxy has recorded in an HTTP archive (HAR 1.2)."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from loadcurve.errors import BadInput
from loadcurve.loads.targets.target import BadTarget, NotHttp, Target, require_url
from loadcurve.loads.values import is_status

WHAT = 'an HTTP archive (HAR): {"log": {"entries": […]}}'
_BEGINS = re.compile(r'\s*\{\s*"log"\s*:')
_OF_THE_CONNECTION = frozenset(
    {"host", "content-length", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)
"""Fields that belong to the recorded connection; those of the load are made anew."""
_SCHEME = re.compile(r"\A(?!https?:)([A-Za-z][A-Za-z0-9+.-]*):", re.IGNORECASE)


def is_archive(text: str) -> bool:
    """Whether a text that begins with a brace is an archive, and not an object on each line."""
    return _BEGINS.match(text) is not None


def targets_in(text: str) -> Iterator[Target | tuple[str, BadTarget]]:
    """Yield the requests of an archive; where an entry has none, its place and why.

    That is :class:`NotHttp` of what a page loads without HTTP.

    Raises ``BadInput``: it is no archive.
    """
    try:
        entries = json.loads(text)["log"]["entries"]
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON ({error}); expected {WHAT}") from None
    except (KeyError, TypeError):
        entries = None
    if not isinstance(entries, list):
        raise BadInput(f"no log.entries; expected {WHAT}")
    for number, entry in enumerate(entries, start=1):
        place = f", entry {number}"
        try:
            yield _target(entry, place)
        except (KeyError, TypeError, AttributeError):
            yield place, BadTarget("no request with method, url and headers; expected one of HAR 1.2")
        except BadTarget as bad:
            yield place, bad


def _target(entry: Mapping[str, Any], place: str) -> Target:
    request = entry["request"]
    if (other := _SCHEME.match(str(request["url"]))) is not None:
        raise NotHttp(other[1].lower())
    named = ((str(one["name"]), str(one["value"])) for one in request.get("headers", ()))
    headers = [
        (name, value)
        for name, value in named
        if not name.startswith(":") and name.lower() not in _OF_THE_CONNECTION
    ]
    status = (entry.get("response") or {}).get("status")
    return Target(
        place,
        str(request["method"]),
        require_url(str(request["url"])),
        headers,
        _body(request.get("postData") or {}),
        None,
        # A request that was broken off has 0.
        status if is_status(status) else None,
    )


def _body(posted: Mapping[str, Any]) -> bytes | None:
    text = posted.get("text")
    if not isinstance(text, str) or not text:
        return None
    if posted.get("encoding") != "base64":
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise BadTarget("postData is not base64, which its encoding says") from None

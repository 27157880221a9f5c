"""Fetching a file that somebody has published, within bounds of size and time."""

import time
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Final

from loadcurve.errors import BadInput

SCHEMES: Final = ("https://", "http://")
SILENCE_S: Final = 15.0
"""A server that says nothing for so long is given up."""
FETCH_S: Final = 600.0
_BLOCK_BYTES: Final = 1 << 18


class _OnlyToHttps(urllib.request.HTTPRedirectHandler):
    """Follows redirects of HTTP alone, as :func:`may_follow` says; others the base class refuses."""

    def redirect_request(  # noqa: PLR0917 -- as the base class has it
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the request that follows, or refuse it."""
        if not may_follow(req.full_url, newurl):
            raise BadInput(f"{req.full_url} redirects to {newurl}, which is not followed.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def may_follow(url: str, redirected_to: str) -> bool:
    """Say whether a redirect is followed: one that began encrypted stays so."""
    return redirected_to.startswith("https://") or not url.startswith("https://")


def fetch(url: str, path: Path, bytes_max: int) -> None:
    """Write what a URL answers into a new file.

    Raises ``BadInput``: it cannot be reached, answers with an error, is larger than ``bytes_max``, or takes
    longer than :data:`FETCH_S`.
    """
    opener = urllib.request.build_opener(_OnlyToHttps)
    until_s = time.monotonic() + FETCH_S
    request = urllib.request.Request(url)  # noqa: S310 - HTTP alone, as asked
    try:
        with opener.open(request, timeout=SILENCE_S) as answer, path.open("xb") as file:
            written = 0
            while block := answer.read(_BLOCK_BYTES):
                written += len(block)
                if written > bytes_max:
                    raise BadInput(f"{url} is larger than {bytes_max:,} bytes, and was not fetched.")
                if time.monotonic() > until_s:
                    raise BadInput(f"{url} took longer than {FETCH_S:g} s, and was not fetched.")
                file.write(block)
    except urllib.error.HTTPError as error:
        raise BadInput(f"{url} cannot be fetched: it answers with the status {error.code}") from error
    except (OSError, HTTPException) as error:
        cause = getattr(error, "reason", error)
        reason = getattr(cause, "strerror", None) or cause
        raise BadInput(f"{url} cannot be fetched: {reason}") from error

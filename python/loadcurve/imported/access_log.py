"""Access logs of nginx or Apache, line by line.

Common and combined formats are known, with anything that follows them, such as a time. Only requests by GET
are taken, because a load sends the paths of its list by one method.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from loadcurve.errors import BadInput
from loadcurve.files import write_whole
from loadcurve.generate.tools.blocks import blocks
from loadcurve.generate.tools.source import Source, shown
from loadcurve.loads.requests import REQUEST_PATH_PATTERN

WHAT = 'a line of an access log (common or combined): host, user, [time], "GET /path HTTP/1.1", status, bytes'
_LINE = re.compile(
    rb"\S+ \S+ [^\[\n]{1,200}\[(?P<time>[^\]\n]{1,40})\] "
    rb'"(?:(?P<method>[A-Z]{1,20}) (?P<path>[^"\s]+)(?: HTTP/[\d.]+)?|[^"\n]*)" \d{3} (?:\d+|-)(?P<rest> .*)?'
)
_PATH = re.compile(REQUEST_PATH_PATTERN)
DISTINCT_MAX = 5_000_000
"""A list of more paths would not be useful with weights."""


class Logged(NamedTuple):
    """A request of a log; of millions of them a tuple is made in a fraction of the time of an object."""

    line: int
    path: bytes | None
    """``None`` for one by another method than GET, or without a path."""
    time: bytes
    """The text in brackets."""
    rest: bytes
    """What follows the number of bytes."""


class Paths:
    """The different paths of a log, numbered from 0."""

    def __init__(self, source: Source) -> None:
        """Begin without any; ``source`` is named where there are too many."""
        self.texts: list[str] = []
        self.left_out = 0
        """How many requests have no number."""
        self._source = source
        self._places: dict[bytes, int | None] = {}

    def place(self, request: Logged) -> int | None:
        """Return the number of a request's path; ``None`` for one by another method, or without a path.

        Nor has a number what no request may have: some servers log an absolute address, or bytes that cannot
        be part of a path. Raises ``BadInput`` for too many paths.
        """
        place = None if request.path is None else self._place(request.path)
        if place is None:
            self.left_out += 1
        return place

    def _place(self, path: bytes) -> int | None:
        try:
            return self._places[path]
        except KeyError:
            pass
        if len(self._places) >= DISTINCT_MAX:
            raise BadInput(
                f"{self._source.name}: more than {DISTINCT_MAX:,} paths; expected at most that many in a list"
            )
        text = path.decode(errors="replace")
        place = len(self.texts) if _PATH.match(text) else None
        if place is not None:
            self.texts.append(text)
        self._places[path] = place
        return place


def requests_of(source: Source) -> Iterator[Logged]:
    """Yield the requests of a log; raises ``BadInput`` where a line is not that of an access log."""
    with source.opened() as file:
        for first, block in blocks(source, file, 1, WHAT, has_quotes=False):
            for number, line in enumerate(block.split(b"\n")[:-1], start=first):
                found = _LINE.fullmatch(line.rstrip(b"\r"))
                if found is None:
                    text = shown(line.decode(errors="replace"))
                    raise source.unreadable(number, text, WHAT, f"{number - 1:,} lines")
                path = found["path"] if found["method"] == b"GET" else None
                yield Logged(number, path, found["time"], found["rest"] or b"")


def require_requests(source: Source, count: int) -> None:
    """Raise ``BadInput`` for a log without a request that a list could have."""
    if not count:
        raise BadInput(f"{source.name}: no GET request; expected at least one")


def write_list(out: Path, parts: Iterable[bytes]) -> None:
    """Write a new file; raises ``BadInput`` where there is one, or it cannot be written."""
    if out.exists():
        raise BadInput(f"--out {out}: it already exists and is never overwritten; choose another name")
    try:
        write_whole(out, parts)
    except OSError as error:
        raise BadInput(f"--out {out}: it cannot be written: {error.strerror}") from error

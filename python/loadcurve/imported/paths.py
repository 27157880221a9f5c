"""The different paths of a log, and the list of requests that is written of them."""

from collections.abc import Iterable
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.files import write_whole
from loadcurve.imported.access_log import Logged, RequestFilter
from loadcurve.imported.left_out import LeftOut, Reason
from loadcurve.loads.limits import LIST_LINE_BYTES_MAX
from loadcurve.loads.requests import encoded_path
from loadcurve.tools.source import Source

DISTINCT_MAX = 5_000_000
"""A list of more paths would not be useful with weights."""
_BEHIND_BYTES_MAX = 64
"""What a list has on a line behind the path."""


class Paths:
    """The different paths of a log, numbered from 0."""

    def __init__(self, source: Source, left_out: LeftOut) -> None:
        """Begin without any; ``source`` is named where there are too many."""
        self._source = source
        self._left_out = left_out
        self._places: dict[bytes, int | None] = {}
        self._numbers: dict[str, int] = {}
        """By the text: some clients encode what others do not."""

    @property
    def texts(self) -> list[str]:
        """By number, as a list has them: what cannot be in a request is percent-encoded."""
        return list(self._numbers)

    def place(self, request: Logged) -> int | None:
        """Return the number of a request's path; ``None`` for one that is too long for a list.

        Raises ``BadInput`` for too many paths.
        """
        try:
            place = self._places[request.target]
        except KeyError:
            place = self._new(request.target)
        if place is None:
            self._left_out.add(Reason.LONG, request.number, request.text)
        return place

    def _new(self, target: bytes) -> int | None:
        if len(self._places) >= DISTINCT_MAX:
            raise BadInput(
                f"{self._source.name}: more than {DISTINCT_MAX:,} paths; expected at most that many in a list"
            )
        text = encoded_path(target)
        is_short = len(text) + _BEHIND_BYTES_MAX <= LIST_LINE_BYTES_MAX
        place = self._numbers.setdefault(text, len(self._numbers)) if is_short else None
        self._places[target] = place
        return place


def require_requests(source: Source, count: int, wanted: RequestFilter, left_out: LeftOut) -> None:
    """Raise ``BadInput`` for a log without a request that a list could have."""
    if not count:
        why = "".join(f"\n{line}" for line in left_out.words())
        raise BadInput(f"{source.name}: no {wanted.method} request; expected at least one{why}")


def write_list(out: Path, parts: Iterable[bytes]) -> None:
    """Write a new file; raises ``BadInput`` where there is one, or it cannot be written."""
    if out.exists():
        raise BadInput(f"--out {out}: it already exists and is never overwritten; choose another name")
    try:
        write_whole(out, parts)
    except OSError as error:
        raise BadInput(f"--out {out}: it cannot be written: {error.strerror}") from error

"""What another load generator's output says of one load, whichever tool wrote it; ``None`` where it does not.

A reader makes figures of files, and both a driven tool and an import make results of figures. Nothing is made
up on the way: percentiles stay percentiles, and a histogram exists where every measured time is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from loadcurve.errors import BadInput
from loadcurve.protocol import HttpVersion
from loadcurve.result.distribution import Distribution
from loadcurve.result.load import LoadResult, Operation, SeriesPeriod
from loadcurve.result.outcomes import VerdictNote

LatencyBasis = Literal["due", "send"]
"""Whether a latency begins when its request was due, or when it was sent."""
Completeness = Literal["complete", "sampled", "percentiles", "summary"]
"""Whether every time is known, those of a sample, some percentiles of all, or a mean and extremes alone."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """A distribution of times as a tool gives it."""

    distribution: Distribution
    """In ms; what the tool does not give is ``None``, as is a percentile that its samples do not bound."""
    completeness: Completeness
    resolution_ms: float | None
    """The step between two times that the tool can tell apart; where it grows with them, that of the longest
    one shown; ``None`` where it is not known."""
    histogram: str | None = None
    """An HdrHistogram of nanoseconds (V2, deflate, base64) where each time, or its count, is known."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the files themselves say of the load that was asked for."""

    target: str | None = None
    """The URL, or the host and port."""
    paths: Sequence[str] = ()
    connections: int | None = None
    rate_rps: float | None = None
    """``None`` for a closed loop, and where it is not known."""
    connection_rate_cps: float | None = None
    """Of sessions."""
    threads: int | None = None
    duration_s: float | None = None
    requests_total: int | None = None
    http: HttpVersion | None = None
    streams: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Whatever else is known, by the tool's own names."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason for which a result is suspect, that only the words of its tool give."""

    code: str
    """Of :data:`loadcurve.result.outcomes.REASONS`."""
    text: str


@dataclass(frozen=True, kw_only=True)
class ToolFigures:
    """One load as a tool reports it."""

    tool: str
    """Its folder's name, such as ``wrk``."""
    basis: LatencyBasis
    duration_s: float
    """The measured window."""
    answered: int
    """Answers of any status, within the window."""
    failed: int | None
    """Requests without an answer for a reason that the tool counts; ``None`` where its files lack that."""
    version: str | None = None
    never_sent: int | None = None
    """Requests that fell due and were never sent; ``None`` where that is not counted."""
    ok: int | None = None
    """Of the answers, those without an error status; ``None`` where statuses are not counted."""
    began_unix_s: float | None = None
    """When it began, by the wall clock."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """Of ``failed``, by class of :mod:`loadcurve.result.outcomes`, as far as the tool tells them apart."""
    status: Mapping[str, int] | None = None
    """Answers by the class of their status, such as ``{"2xx": 10}``; ``None`` where that is not counted."""
    other_length: int | None = None
    """Of ``answered``: those that were shorter or longer than the first one, or cut off."""
    latency: Times | None = None
    service: Times | None = None
    """From when it was sent, where ``latency`` counts from when it was due, and both are measured."""
    connect: Times | None = None
    connects_before: bool = False
    """Whether a latency begins when its connection is open, so that ``connect`` is no part of it."""
    first_byte: Times | None = None
    connections_opened: int | None = None
    bytes_received: int | None = None
    bytes_header: int | None = None
    bytes_body: int | None = None
    series: Sequence[SeriesPeriod] = ()
    """Where the files have a time for each request."""
    operations: Sequence[Operation] = ()
    """Of a database, or of several requests, where the tool tells them apart."""
    asked: Asked = Asked()
    notes: Sequence[VerdictNote] = ()
    """What a reader should know of the file: what of it no figure includes, or why one is null."""
    measured: LoadResult | None = None
    """The whole result of a load of our own, which lacks nothing; ``None`` of any other tool."""
    doubts: Sequence[Doubt] = ()
    """What the tool does not tell apart, so that some of it may be no right answers."""
    contradictions: Sequence[str] = ()
    """Where the file contradicts itself by more than its rounding, each in a clause."""
    not_measured: Sequence[str] = ()
    """What the file leaves out, and what its latencies hide."""


class Unreadable(BadInput):
    """A file that is not what its reader expects; nothing is guessed."""

    def __init__(
        self, file: str, line: int | None, found: str, expected: str, read_until_then: str | None = None
    ) -> None:
        """Make it of a place, with lines from 1, what was found and expected, and what was read before."""
        self.file, self.line = file, line
        self.found, self.expected, self.read_until_then = found, expected, read_until_then
        place = file if line is None else f"{file}, line {line}"
        rest = f"; read until then: {read_until_then}" if read_until_then else ""
        super().__init__(f"{place}: found {found}; expected {expected}{rest}")

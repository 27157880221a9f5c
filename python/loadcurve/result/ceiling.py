"""The rig's ceiling: the most that this generator reaches here, against a server that does nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from loadcurve.loads.record import LoadAsRun
from loadcurve.loads.tls import Scheme
from loadcurve.loads.values import Count, Many, Record, Time
from loadcurve.result.load import LoadResult
from loadcurve.result.verdict import Verdict

NEAR_CEILING = 0.9
"""A rate of at least this share of the ceiling says more of the rig than of the server."""


class Rig(Record):
    """What a ceiling depends on: another rig has another one."""

    cpu_model: str | None
    kernel: str
    loadcurve_version: str
    server_cpus: tuple[int, ...]
    load_cpus: tuple[int, ...]
    io: str


class Spoken(NamedTuple):
    """What a load and a server speak; each has another ceiling."""

    http: Literal["1.1", "2"]
    scheme: Scheme

    @property
    def title(self) -> str:
        """Its name, for people."""
        if self.http == "1.1":
            return "HTTPS" if self.scheme == "https" else "HTTP/1.1"
        return "HTTP/2 over TLS" if self.scheme == "https" else "HTTP/2"


class CeilingPoint(Record):
    """The ceiling of a closed loop of so many connections: medians over ``runs`` loads."""

    http: Literal["1.1", "2"] = "1.1"
    scheme: Scheme = "http"
    connections: Annotated[int, Field(gt=0)]
    streams: Annotated[int, Field(gt=0)] = 1
    """Requests at once on each connection of HTTP/2."""
    runs: Count
    requests_per_s: Annotated[float, Field(gt=0)]
    lowest_requests_per_s: float
    highest_requests_per_s: float
    p50_ms: Time
    p99_ms: Time | None
    generator_cpu_share: float
    """How busy the generator's threads were; near 1 the ceiling is the generator's alone."""
    verdict: Verdict
    """The verdict on the load of the median."""

    @property
    def spoken(self) -> Spoken:
        """What was spoken."""
        return Spoken(self.http, self.scheme)


@dataclass(frozen=True, slots=True)
class CeilingCurve:
    """The ceiling of loads that speak the same, with the same number of streams on each connection."""

    streams: int
    measured: Mapping[int, Sequence[tuple[int, float]]]
    """By streams: connections in rising order, and the requests per second that they reach."""

    def requests_per_s_at(self, connections: int) -> float:
        """Return the ceiling at a number of connections: straight lines between the measured numbers.

        Below the first and above the last of these it is taken as level; and so by streams.
        """
        levels = [(streams, _between(points, connections)) for streams, points in self.measured.items()]
        return _between(levels, self.streams)


class Ceiling(Record):
    """What one rig reaches with each that can be spoken, by connections and streams."""

    format: Literal["loadcurve-ceiling/1"] = "loadcurve-ceiling/1"
    measured_at: str
    body_bytes: Count
    """The length of the answers' bodies; longer answers have a lower ceiling."""
    rig: Rig
    host: dict[str, Any]
    """What the machine was like then, as in ``run.json``."""
    points: Annotated[Many[CeilingPoint], Field(min_length=1)]

    def curve_of(self, load: LoadAsRun) -> CeilingCurve | None:
        """Return the ceiling of what a load speaks, by connections; ``None`` where that is not measured."""
        if not load.has_ceiling or load.scheme is None:
            return None
        spoken = Spoken("2" if load.http == "2" else "1.1", load.scheme)
        measured: dict[int, list[tuple[int, float]]] = {}
        for point in sorted(self.points, key=lambda point: (point.streams, point.connections)):
            if point.spoken == spoken:
                measured.setdefault(point.streams, []).append((point.connections, point.requests_per_s))
        return CeilingCurve(load.streams, measured) if measured else None


def _spoken_by(load: LoadAsRun) -> str:
    """Return the words behind a load's connections, where it speaks not HTTP/1.1 in clear text."""
    streams = (
        f" of {load.streams:,} {'stream' if load.streams == 1 else 'streams'}" if load.http == "2" else ""
    )
    return f"{streams}{' over TLS' if load.scheme == 'https' else ''}"


def _between(known: Sequence[tuple[int, float]], at: int) -> float:
    """Return the value at a place between known ones, which are in rising order: on a straight line."""
    if at <= known[0][0]:
        return known[0][1]
    for (left, low), (right, high) in pairwise(known):
        if at <= right:
            return low + (at - left) / (right - left) * (high - low)
    return known[-1][1]


def marked_at_ceiling(result: LoadResult, ceiling: Ceiling) -> LoadResult:
    """Return a result that is suspect if its rate is within a tenth of the rig's ceiling, or above it.

    The ceiling is that of what the load speaks. Loads that pipeline or make new connections, and
    those on databases, are left as they are: they have another one, which is not measured, and so have those
    that another generator sends.
    """
    if result.tool is not None:
        return result
    answered_rps, load = result.rate_rps.answered, result.load
    curve = ceiling.curve_of(load)
    if answered_rps is None or curve is None or load.connections is None:
        return result
    ceiling_rps = curve.requests_per_s_at(load.connections)
    if answered_rps < NEAR_CEILING * ceiling_rps:
        return result
    spoken = _spoken_by(load)
    text = (
        f"{answered_rps:,.0f} requests per second are {answered_rps / ceiling_rps:.0%} of the "
        f"{ceiling_rps:,.0f} that this rig reaches with {load.connections:,} connections{spoken} against "
        "a server that does nothing: the rig, not the server, is the limit"
    )
    verdict = result.verdict.with_reason("rig_ceiling", text, "suspect")
    return result.model_copy(update={"verdict": verdict})

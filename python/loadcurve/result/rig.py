"""The rig: what a generator, and several machines, reach here at most, and how far noise spreads ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field

from loadcurve.loads.record import LoadAsRun
from loadcurve.loads.tls import Scheme
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.protocol import (
    HTTP1_1,
    HTTP2,
    HTTP3,
    WEBSOCKET,
    AnsweredMessages,
    HttpFamily,
    has_streams,
    http_family,
)
from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Verdict
from loadcurve.units import whole_percent

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


class _Words(NamedTuple):
    title: str
    unit: str
    """What is counted."""


_OF_MESSAGES: dict[AnsweredMessages | None, _Words] = {
    None: _Words("HTTP", "requests"),
    "websocket": _Words("WebSocket", "messages"),
    "unary": _Words("unary calls of gRPC", "calls"),
    "bidirectional": _Words("bidirectional calls of gRPC", "messages"),
}


class Spoken(NamedTuple):
    """What a load and a server speak; each has another ceiling."""

    http: HttpFamily
    scheme: Scheme
    messages: AnsweredMessages | None = None
    """The messages, answered by one each; ``None`` of requests for a file."""

    @property
    def title(self) -> str:
        """Its name, for people."""
        if self.messages is not None:
            over = f" over HTTP/{HTTP2}" if self.messages == WEBSOCKET and self.http == HTTP2 else ""
            over += (" and TLS" if over else " over TLS") if self.scheme == "https" else ""
            return f"{_OF_MESSAGES[self.messages].title}{over}"
        if self.http == HTTP3:
            return "HTTP/3"
        if not has_streams(self.http):
            return "HTTPS" if self.scheme == "https" else f"HTTP/{self.http}"
        return f"HTTP/{self.http} over TLS" if self.scheme == "https" else f"HTTP/{self.http}"


class Sender(NamedTuple):
    """The generator of a load; each, and each version of another tool, has another ceiling."""

    name: str = ENGINE_NAME
    version: str | None = None
    """Of another tool; ``None`` where it does not report one, and of the engine, which the rig names."""

    @classmethod
    def of(cls, result: LoadResult) -> Self:
        """Return who sent a load."""
        return cls() if result.tool is None else cls(result.tool.name, result.tool.version)

    @property
    def title(self) -> str:
        """Its name and version, for people; nothing of the engine."""
        return "" if self.name == ENGINE_NAME else f"{self.name} {self.version or ''}".strip()


class CeilingPoint(Record):
    """The ceiling of a closed loop of this many connections: medians over ``runs`` loads."""

    generator: str = ENGINE_NAME
    generator_version: str | None = None
    """Of another tool than the engine, if it reports one."""
    http: HttpFamily = HTTP1_1
    scheme: Scheme = "http"
    messages: AnsweredMessages | None = None
    """The messages that were sent, answered by one each; ``None`` of requests for a file."""
    connections: Annotated[int, Field(gt=0)]
    streams: Annotated[int, Field(gt=0)] = 1
    """Requests at once on each connection of HTTP/2 and HTTP/3."""
    runs: Count
    requests_per_s: Annotated[float, Field(gt=0)]
    lowest_requests_per_s: float
    highest_requests_per_s: float
    p50_ms: Time | None
    """``None`` where the generator does not measure it."""
    p99_ms: Time | None
    generator_cpu_share: float
    """How busy the generator's threads were; near 1 the ceiling is the generator's alone."""
    verdict: Verdict
    """The verdict on the load of the median."""

    @property
    def spoken(self) -> Spoken:
        """What was spoken."""
        return Spoken(self.http, self.scheme, self.messages)

    @property
    def sender(self) -> Sender:
        """Who sent the loads."""
        return Sender(self.generator, self.generator_version)


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
    """What one rig reaches with each generator and all that it can speak, by connections and streams."""

    format: Literal["loadcurve-ceiling/1"] = "loadcurve-ceiling/1"
    measured_at: str
    """When the last of its points were."""
    body_bytes: Count
    """The length of the files asked for; longer answers, and longer messages, have a lower ceiling."""
    rig: Rig
    host: dict[str, Any]
    """What the machine was like then, as in ``run.json``."""
    points: Annotated[Many[CeilingPoint], Field(min_length=1)]

    def beside(self, older: Self | None) -> Self:
        """Return it with those points of an older one of whose generators and messages it has no points."""
        measured = {(point.generator, point.messages) for point in self.points}
        older_points = [] if older is None else older.points
        others = [one for one in older_points if (one.generator, one.messages) not in measured]
        return self.model_copy(update={"points": [*others, *self.points]})

    def curve_of(self, result: LoadResult) -> CeilingCurve | None:
        """Return the ceiling of a load's generator and of what the load speaks, by connections.

        It is ``None`` where that is not measured.
        """
        load = result.load
        if not load.has_ceiling or load.scheme is None:
            return None
        sender = Sender.of(result)
        spoken = Spoken(http_family(load.http or HTTP1_1), load.scheme, load.answered_messages)
        measured: dict[int, list[tuple[int, float]]] = {}
        for point in sorted(self.points, key=lambda point: (point.streams, point.connections)):
            if (point.sender, point.spoken) == (sender, spoken):
                measured.setdefault(point.streams, []).append((point.connections, point.requests_per_s))
        return CeilingCurve(load.streams, measured) if measured else None


def _spoken_by(load: LoadAsRun) -> str:
    """Return the words behind a load's connections, where it speaks not HTTP/1.1 in clear text."""
    streams = (
        f" of {load.streams:,} {'stream' if load.streams == 1 else 'streams'}"
        if has_streams(load.http)
        else ""
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

    The ceiling is that of its generator and of what the load speaks. Loads that pipeline or make new
    connections, those with streamed answers or subscribers, and those on databases are left as they are:
    they have another one, which is not measured.
    """
    answered_rps, load = result.rate_rps.answered, result.load
    curve = ceiling.curve_of(result)
    if answered_rps is None or curve is None or load.connections is None:
        return result
    ceiling_rps = curve.requests_per_s_at(load.connections)
    if answered_rps < NEAR_CEILING * ceiling_rps:
        return result
    spoken, tool = _spoken_by(load), Sender.of(result).title
    unit = _OF_MESSAGES[load.answered_messages].unit
    text = (
        f"{answered_rps:,.0f} {unit} per second are {whole_percent(answered_rps / ceiling_rps)} of the "
        f"{ceiling_rps:,.0f} that {f'{tool} reaches on this rig' if tool else 'this rig reaches'} with "
        f"{load.connections:,} connections{spoken} against a server that does nothing: the rig, not the "
        "server, is the limit"
    )
    verdict = result.verdict.with_reason("rig_ceiling", text, "suspect")
    return result.model_copy(update={"verdict": verdict})


class NoiseSpread(Record):
    """The spread of one measure's ratios between trials of the same block."""

    log_ratio_sd: Annotated[float, Field(ge=0)]
    """The standard deviation of the ratios' natural logarithms."""
    degrees_of_freedom: Annotated[int, Field(gt=0)]


class Noise(Record):
    """An A/A study of one rig: the same server under two names."""

    format: Literal["loadcurve-noise/1"] = "loadcurve-noise/1"
    measured_at: str
    rig: Rig
    host: dict[str, Any]
    """What the machine was like then, as in ``run.json``."""
    server: str
    server_version: str | None
    trials: Count
    """Trials under each of the two names."""
    duration_s: Annotated[float, Field(gt=0)]
    """How long each load was measured."""
    connections: Annotated[Many[int], Field(min_length=1)]
    """The points, over which a spread is pooled."""
    spreads: dict[str, NoiseSpread]
    """By the name of the measure."""


class MachinesCeilingPoint(Record):
    """What some machines reach together: medians over ``runs`` loads."""

    machines: Annotated[Many[str], Field(min_length=1)]
    runs: Count
    requests_per_s: Annotated[float, Field(gt=0)]
    lowest_requests_per_s: float
    highest_requests_per_s: float
    generator_cpu_share: float
    """How busy the threads of the busiest machine were; near 1 it is the limit."""
    verdict: Verdict
    """The verdict on the load of the median."""


class MachinesCeiling(Record):
    """The same load from more and more machines."""

    format: Literal["loadcurve-machines-ceiling/1"] = "loadcurve-machines-ceiling/1"
    measured_at: str
    server_machine: str
    connections: Count
    """Of all machines together."""
    body_bytes: Count
    points: Annotated[Many[MachinesCeilingPoint], Field(min_length=1)]
    """Those of fewer machines first."""

    @property
    def enough(self) -> MachinesCeilingPoint:
        """The fewest machines beyond which no others have reached more.

        More is what lies above by all of the loads, so that a difference within their spread is none.
        """
        best = self.points[0]
        for point in self.points[1:]:
            if point.lowest_requests_per_s > best.highest_requests_per_s:
                best = point
        return best

"""Measuring the rig's ceiling."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, get_args

from loadcurve.errors import BadInput
from loadcurve.host.cpus import CpuDivision, own_threads_on
from loadcurve.host.facts import host_facts
from loadcurve.loads.grpc import BIDIRECTIONAL, UNARY, GrpcTable
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.tls import Scheme
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.protocol import (
    GRPC,
    HTTP1_0,
    HTTP1_1,
    HTTP2,
    HTTP3,
    HTTP_FAMILIES,
    WEBSOCKET,
    HttpVersion,
    has_streams,
)
from loadcurve.result.load import LoadResult
from loadcurve.result.rig import Ceiling, CeilingPoint, Sender, Spoken
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.plan import plan_at_point
from loadcurve.runs.rig_cache import rig_of
from loadcurve.runs.running_servers import utc_now
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder
from loadcurve.server.transport import HTTP2_SETTING, HTTP3_SETTING, TLS
from loadcurve.tools.catalog import Tool

CONNECTIONS = (1, 10, 100, 1000)
STREAMS = (1, 10, 100)
"""Requests at once on each connection of HTTP/2 and HTTP/3."""
REQUESTS_AT_ONCE_MAX = 10_000
SPOKEN = tuple(
    Spoken(version, scheme)
    for version in HTTP_FAMILIES
    for scheme in get_args(Scheme)
    if (version, scheme) != (HTTP3, "http")
)
"""All that ``limit`` answers requests over: HTTP/3 is always encrypted."""
SPOKEN_IN_MESSAGES: Mapping[str, Sequence[Spoken]] = {
    WEBSOCKET: [Spoken(http, scheme, WEBSOCKET) for http in (HTTP1_1, HTTP2) for scheme in get_args(Scheme)],
    GRPC: [
        *(Spoken(HTTP2, scheme, kind) for kind in (UNARY, BIDIRECTIONAL) for scheme in get_args(Scheme)),
        Spoken(HTTP3, "https", UNARY),
    ],
}
"""The same of messages that are answered by one each, by their kind."""
MESSAGES_AT_ONCE_MAX = 1_000
"""Each of them has a stream or a connection that is opened first, in the warm-up."""
MESSAGE = "sixteen letters."
"""What is sent by WebSocket; calls of gRPC have messages without fields. Longer ones have a lower ceiling."""
METHOD = "/loadcurve.Echo/Call"
RUNS = 3
DURATION_S = 0.5
WARMUP_S = 0.2
TOOL_DURATION_S = 2.0
"""Another tool takes whole seconds, and counts the time in which it connects."""
FILE = "1k.txt"
BODY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class CeilingLoad:
    """One load of those by which a ceiling is measured."""

    spoken: Spoken
    connections: int
    streams: int
    tool: Tool | None = None
    """Another generator than the engine."""

    @property
    def closed(self) -> ClosedLoad:
        """The load, for a generator."""
        load = ClosedLoad(
            model="closed",
            connections=self.connections,
            http=_http_of(self.tool, self.spoken),
            **_asked_for(self.spoken),
            duration=DURATION_S if self.tool is None else TOOL_DURATION_S,
            warmup=WARMUP_S if self.tool is None else 0.0,
            generator=ENGINE_NAME if self.tool is None else self.tool.name,
        )
        return load.model_copy(update={"streams": self.streams})


@dataclass(frozen=True, slots=True)
class Reached:
    """What loads of one kind reached, in requests per second, and the one of the median."""

    rates_rps: Sequence[float]
    """Of those that were answered."""
    median_rps: float
    median: LoadResult

    @classmethod
    def by(cls, results: Sequence[LoadResult]) -> Self:
        """Return what these reached; raises ``StatisticsError`` where none was answered."""
        rated = [(result.rate_rps.answered, result) for result in results]
        known = [(rate, result) for rate, result in rated if rate is not None]
        median_rps = statistics.median_low(rate for rate, _ in known)
        median = next(result for rate, result in known if rate == median_rps)
        return cls([rate for rate, _ in known], median_rps, median)


def measure_ceiling(
    cpus: CpuDivision,
    begin_point: Callable[[CeilingLoad], None] = lambda _: None,
    runs: int = RUNS,
    spoken: Sequence[Spoken] = SPOKEN,
    tool: Tool | None = None,
) -> Ceiling:
    """Measure closed loops against ``limit`` over each of ``spoken``, ``runs`` times each.

    All that requests are made over takes over a minute with three runs, and so do messages of one kind.
    Another generator, ``tool``, is measured over those of ``spoken`` that Loadcurve drives it with.

    ``begin_point`` is called with each load before it begins.

    Raises:
        BadInput: the tool is not installed, or sends no closed loops.
        NothingMeasured: the tool did not start, or its output cannot be read.
        ServerFailure: the server did not start, or answered wrongly.

    """
    if tool is not None:
        spoken = spoken_by(tool, spoken)
    with temporary_folder("content", READ_BY_ALL_MODE) as folder, own_threads_on(cpus.load):
        points = [
            point
            for one in spoken
            for point in _points_of(_loads_of(one, tool), folder / one.title, cpus, begin_point, runs)
        ]
    facts = host_facts()
    return Ceiling(
        measured_at=utc_now(), body_bytes=BODY_BYTES, rig=rig_of(cpus, facts), host=facts, points=points
    )


def spoken_by(tool: Tool, spoken: Sequence[Spoken] = SPOKEN) -> list[Spoken]:
    """Return those of ``spoken`` that Loadcurve drives a tool with.

    Raises ``BadInput``: the tool is not installed, or sends no closed loops.
    """
    tool.require_installed()
    can = tool.table.can
    if can is None or "closed" not in can.models:
        raise BadInput(
            f"{tool.name}: sends no closed loops, in which the ceiling is measured over connections; "
            "expected a generator that does (loadcurve generators lists their models)"
        )
    # Loadcurve drives tools in clear text alone.
    return [one for one in spoken if one.scheme == "http" and _http_of(tool, one) in can.http]


def _asked_for(spoken: Spoken) -> dict[str, Any]:
    """Return what a load asks for by which the ceiling of what is spoken is measured."""
    if spoken.messages is None:
        return {"requests": [f"/{FILE}"]}
    if spoken.messages == WEBSOCKET:
        return {"requests": ["/"], "messages": WEBSOCKET, "body": MESSAGE}
    return {"requests": [METHOD], "messages": GRPC, "grpc": GrpcTable(call=spoken.messages)}


def _http_of(tool: Tool | None, spoken: Spoken) -> HttpVersion:
    """Return the version by which something is spoken; that of a tool may be HTTP/1.0 alone."""
    can = None if tool is None else tool.table.can
    is_older = can is not None and can.usual_http == HTTP1_0
    return HTTP1_0 if spoken.http == HTTP1_1 and is_older else spoken.http


def _points_of(
    loads: Sequence[CeilingLoad],
    folder: Path,
    cpus: CpuDivision,
    begin_point: Callable[[CeilingLoad], None],
    runs: int,
) -> list[CeilingPoint]:
    """Return the points of loads that speak the same, of a server that was started for them."""
    spoken = loads[0].spoken
    settings = {
        TLS: spoken.scheme == "https",
        HTTP2_SETTING: spoken.http == HTTP2,
        HTTP3_SETTING: spoken.http == HTTP3,
        "call_messages": "echo" if spoken.messages == BIDIRECTIONAL else "1",
    }
    found = find_server(load_catalog()["limit"], settings)
    if isinstance(found, MissingServer):
        raise found.failure()
    content = make_content(folder, {FILE: BODY_BYTES}, seed=0)
    with Server(found, folder, content, cpus.server) as server:
        server.verify([f"/{FILE}"])
        points = []
        for load in loads:
            begin_point(load)
            plan = plan_at_point(
                load.closed, server.address, content, cpus.load, seed=0, transport=server.transport
            )
            points.append(_point(load, [CHOSEN.run(plan, lambda _: None) for _ in range(runs)]))
    return points


def _loads_of(spoken: Spoken, tool: Tool | None) -> list[CeilingLoad]:
    at_once_max = REQUESTS_AT_ONCE_MAX if spoken.messages is None else MESSAGES_AT_ONCE_MAX
    return [
        CeilingLoad(spoken, connections, streams, tool)
        for streams in (STREAMS if has_streams(spoken.http) else STREAMS[:1])
        for connections in CONNECTIONS
        if connections * streams <= at_once_max
    ]


def _point(load: CeilingLoad, results: Sequence[LoadResult]) -> CeilingPoint:
    reached = Reached.by(results)
    result = reached.median
    generator, sender = result.generator, Sender.of(result)
    return CeilingPoint(
        generator=sender.name,
        generator_version=sender.version,
        http=load.spoken.http,
        scheme=load.spoken.scheme,
        messages=load.spoken.messages,
        connections=load.connections,
        streams=load.streams,
        runs=len(results),
        requests_per_s=reached.median_rps,
        lowest_requests_per_s=min(reached.rates_rps),
        highest_requests_per_s=max(reached.rates_rps),
        p50_ms=result.latency_ms.p50,
        p99_ms=result.latency_ms.p99,
        generator_cpu_share=(generator.cpu_busy_s or 0.0) / (result.duration_s * (generator.threads or 1)),
        verdict=result.verdict,
    )

"""The JSON of ghz's calls of gRPC (``-O json`` or ``-O pretty``).

Its percentiles and extremes are those of calls that ended with OK, its mean is that of all. Which statuses
came from the server it does not say: it has ``Unavailable`` also for calls that it ended itself.
"""

import re

from pydantic import Field

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, contradiction_of
from loadcurve.tools.source import Json, Source, json_of

TESTED = {
    "ghz-json": ("0.121.0",),
}
"""By format, the versions whose real output it is tested with."""
_RIGHT = "OK"
_NS_PER_S, _NS_PER_MS = 1e9, 1e6
_PERCENTILES = {50: "p50", 75: "p75", 90: "p90", 95: "p95", 99: "p99"}
_TEXT = re.compile(
    rb"^Summary:[ \t\r]{0,10}\n(?:[ \t]{0,10}Name:[^\n]{0,300}\n)?"
    rb"[ \t]{0,10}Count:[ \t]{1,20}\d{1,15}[ \t\r]{0,10}\n[ \t]{0,10}Total:",
    re.MULTILINE,
)


class _Percentile(Json):
    percentage: int
    latency: float = Field(ge=0)


class _Options(Json):
    host: str | None = None
    call: str | None = None
    concurrency: int | None = Field(None, ge=0)
    concurrency_until_0_38: int | None = Field(None, alias="c", ge=0)
    connections: int | None = Field(None, ge=0)
    rate: float | None = Field(None, alias="rps", ge=0)


class _Run(Json):
    count: int = Field(ge=1)
    total_ns: float = Field(alias="total", gt=0)
    average_ns: float = Field(alias="average", ge=0)
    fastest_ns: float = Field(alias="fastest", ge=0)
    slowest_ns: float = Field(alias="slowest", ge=0)
    rate: float = Field(alias="rps", ge=0)
    statuses: dict[str, int] = Field(alias="statusCodeDistribution")
    percentiles: list[_Percentile] | None = Field(None, alias="latencyDistribution")
    options: _Options = _Options()


def is_json(head: bytes) -> bool:
    """Say whether a file begins as ghz's JSON."""
    begin = head.lstrip()
    return begin.startswith(b"{") and b'"endReason"' in head and b'"statusCodeDistribution"' in head


def is_text(head: bytes) -> bool:
    """Say whether a file is what ghz prints."""
    return _TEXT.search(head) is not None


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as ghz's CSV, which has the time of each call and no moment."""
    return head.startswith(b"duration (ms),status,error")


def read_json(source: Source) -> ToolFigures:
    """Return the figures of a run of ghz."""
    run = json_of(source, _Run, "the JSON of a run of ghz (-O json)")
    if min(run.statuses.values(), default=0) < 0 or sum(run.statuses.values()) != run.count:
        found = f"{sum(run.statuses.values()):,} calls by status"
        raise source.unreadable(None, found, f"the {run.count:,} of count")
    answered = run.statuses.get(_RIGHT, 0)
    duration_s = run.total_ns / _NS_PER_S
    odd = contradiction_of(run.count, Printed.exact(run.rate), Printed.exact(duration_s), counted="calls")
    return ToolFigures(
        tool="ghz",
        basis="send",
        duration_s=duration_s,
        answered=answered,
        failed=run.count - answered,
        ok=answered,
        latency=_times(run, answered) if answered else None,
        asked=_asked(run.options),
        contradictions=[odd] if odd else [],
    )


def _times(run: _Run, answered: int) -> Times:
    given = {_PERCENTILES.get(one.percentage): one.latency / _NS_PER_MS for one in run.percentiles or ()}
    return Times(
        distribution=distribution(
            answered,
            minimum=run.fastest_ns / _NS_PER_MS,
            mean=run.average_ns / _NS_PER_MS if answered == run.count else None,
            maximum=run.slowest_ns / _NS_PER_MS,
            percentiles={name: time_ms for name, time_ms in given.items() if name is not None},
        ),
        completeness="percentiles",
        resolution_ms=1e-6,
    )


def _asked(options: _Options) -> Asked:
    """Return what was asked for: ``concurrency`` counts calls at once, on however many connections."""
    at_once = options.concurrency or options.concurrency_until_0_38
    connections = options.connections or 1
    each = at_once // connections if at_once and at_once % connections == 0 else None
    return Asked(
        target=options.host,
        paths=[options.call] if options.call else [],
        # One connection is the default, and loads differ in their calls at once.
        connections=connections if each == 1 or connections > 1 else None,
        streams=each if each != 1 else None,
        rate_rps=options.rate or None,
    )

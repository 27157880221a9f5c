"""The JSON of zrk (``--format json``), whose histogram has every latency with three digits.

Unless it is asked not to, it also counts the times of requests that were not answered in time, so that where
there were any its latencies are not those of answers.
"""

from pydantic import Field

from loadcurve.result.histograms import Counted, NoHistogramError, decoded
from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.printed import Printed, window_of
from loadcurve.tools.samples import times_of_counts
from loadcurve.tools.source import Json, Source, json_of

TESTED = {
    "zrk-json": ("1.4.2",),
}
"""By format, the versions whose real output it is tested with."""
RESOLUTION_MS = 0.001
_NS_PER_US = 1_000
_LONGEST_US = 10**9
_WHAT = "the JSON of zrk (--format json)"


class _Target(Json):
    url: str


class _Config(Json):
    connections: int = Field(gt=0)
    launched: int | None = None
    record_timeouts: bool
    deadline_abort: bool = False
    """Whether requests under way are given up at the deadline, too."""


class _Errors(Json):
    connect: int = Field(ge=0)
    read: int = Field(ge=0)
    write: int = Field(ge=0)
    timeout: int = Field(ge=0)
    deadline: int = Field(0, ge=0)
    """Of requests that were not sent any more, or not answered, within the time since they were due."""


class _Run(Json):
    version: str = Field(alias="zrk_version")
    target: _Target
    config: _Config
    duration_s: float = Field(gt=0)
    requests: int = Field(ge=0)
    bytes_received: int = Field(alias="bytes", ge=0)
    achieved_rate: float | None = Field(None, ge=0)
    rate: float = Field(alias="target_rate", gt=0)
    rate_at_end: float | None = Field(None, alias="target_rate_end", gt=0)
    status: dict[str, int] = Field(alias="status_codes")
    errors: _Errors
    histogram: str = Field(alias="latency_histogram")


def is_json(head: bytes) -> bool:
    """Say whether a file begins as zrk's JSON."""
    return head.lstrip().startswith(b"{") and b'"zrk_version"' in head


def read_json(source: Source) -> ToolFigures:
    """Return the figures of a load of zrk at one rate; raises ``Unreadable``."""
    run = json_of(source, _Run, _WHAT)
    if min(run.status.values(), default=0) < 0 or sum(run.status.values()) != run.requests:
        found = f"{sum(run.status.values()):,} statuses of {run.requests:,} requests"
        raise source.unreadable(None, found, "a status of each answer")
    if run.config.launched not in (None, run.config.connections):
        found = f"{run.config.launched} of {run.config.connections} connections"
        raise source.unreadable(None, found, "all that were asked for")
    if run.rate_at_end not in (None, run.rate):
        raise source.unreadable(None, f"a rate from {run.rate:g} to {run.rate_at_end:g}", "one rate")
    window = window_of(run.requests, Printed(run.achieved_rate or 0.0, 0.01), Printed(run.duration_s, 0.001))
    errors = run.errors
    failed = errors.connect + errors.read + errors.write + errors.timeout
    is_sent = run.config.deadline_abort
    return ToolFigures(
        tool="zrk",
        version=run.version,
        basis="due",
        duration_s=window.duration_s,
        answered=run.requests,
        failed=failed + errors.deadline if is_sent else failed,
        # Those that it sent and gave up are not told apart from those that it did not send.
        never_sent=None if is_sent else errors.deadline or None,
        errors={"timeout": errors.timeout},
        status=run.status,
        latency=_latency(source, run),
        bytes_received=run.bytes_received,
        asked=Asked(target=run.target.url, connections=run.config.connections, rate_rps=run.rate),
        contradictions=[window.contradiction] if window.contradiction else [],
    )


def _latency(source: Source, run: _Run) -> Times | None:
    try:
        counted = decoded(run.histogram)
    except NoHistogramError as error:
        raise source.unreadable(None, f"a latency_histogram that cannot be read: {error}", _WHAT) from error
    if run.config.record_timeouts and run.errors.timeout:
        return None
    if counted.total != run.requests:
        found = f"{counted.total:,} latencies of {run.requests:,} answers"
        raise source.unreadable(None, found, "one of each answer")
    if counted.total and int(counted.highest[-1]) > _LONGEST_US:
        raise source.unreadable(None, "a latency of more than 1,000 s", "times of zrk, 60 s at most")
    in_ns = Counted(counted.lowest * _NS_PER_US, counted.highest * _NS_PER_US, counted.counts)
    return times_of_counts(in_ns, RESOLUTION_MS)

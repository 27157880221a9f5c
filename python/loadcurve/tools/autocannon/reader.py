"""The JSON of autocannon (``-j``), of versions 4 to 9.

Its times are whole milliseconds, of which 0 is none, and its shortest one is the shortest that is not 0. At a
rate (``-R``) it adds times for requests that it sent late, so that it has more times than answers.
"""

from datetime import datetime

from pydantic import Field

from loadcurve.protocol import HTTP1_1
from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, Window
from loadcurve.tools.source import Json, Source, json_of

TESTED = {
    "autocannon-json": ("4.6.0", "7.15.0", "9.0.0"),
}
"""By format, the versions whose real output it is tested with."""
RESOLUTION_MS = 1.0
_PERCENTILES = {
    "p50": "p50", "p75": "p75", "p90": "p90", "p99": "p99", "p99_9": "p99_9", "p99_99": "p99_99",
}  # fmt: skip


class _Latency(Json):
    mean: float | None = Field(None, ge=0)
    average: float = Field(ge=0)
    stddev: float = Field(ge=0)
    max: float = Field(ge=0)
    count: int | None = Field(None, alias="totalCount", ge=0)
    p50: float | None = Field(None, ge=0)
    p75: float | None = Field(None, ge=0)
    p90: float | None = Field(None, ge=0)
    p99: float | None = Field(None, ge=0)
    p99_9: float | None = Field(None, ge=0)
    p99_99: float | None = Field(None, ge=0)


class _Requests(Json):
    total: int = Field(ge=0)


class _Throughput(Json):
    total: float = Field(ge=0)


class _Document(Json):
    url: str
    connections: int = Field(gt=0)
    workers: int | None = None
    pipelining: int | None = None
    duration: float = Field(gt=0)
    start: str | None = None
    finish: str | None = None
    errors: int = Field(ge=0)
    """Timeouts among them."""
    timeouts: int = Field(ge=0)
    mismatches: int = Field(0, ge=0)
    """Answers with another body than the one that was expected."""
    of_1xx: int = Field(0, alias="1xx", ge=0)
    of_2xx: int = Field(alias="2xx", ge=0)
    of_3xx: int = Field(0, alias="3xx", ge=0)
    of_4xx: int = Field(0, alias="4xx", ge=0)
    of_5xx: int = Field(0, alias="5xx", ge=0)
    non2xx: int = Field(ge=0)
    latency: _Latency
    requests: _Requests
    throughput: _Throughput


def is_json(head: bytes) -> bool:
    """Say whether a file begins as the JSON of autocannon."""
    begins = head.lstrip().startswith(b"{")
    return begins and b'"non2xx"' in head and b'"throughput"' in head and b'"pipelining"' in head


def is_text(head: bytes) -> bool:
    """Say whether a file has the last lines of autocannon's text in its start."""
    return b"Req/Bytes counts sampled once per second" in head


def read_json(source: Source) -> ToolFigures:
    """Return the figures of ``autocannon -j``; raises ``Unreadable``."""
    run = json_of(source, _Document, "the JSON of autocannon (-j)")
    status = {f"{digit}xx": int(getattr(run, f"of_{digit}xx")) for digit in range(1, 6)}
    total = run.requests.total
    if run.mismatches > total or run.timeouts > run.errors or not total + run.errors:
        found = f"{total:,} answers, {run.mismatches:,} mismatches, {run.errors:,} errors"
        raise source.unreadable(None, found, "the requests of a load")
    window, began_unix_s = _window(run)
    counted = sum(status.values())
    contradictions = [window.contradiction] if window.contradiction else []
    if counted != total:
        contradictions.append(f"{counted:,} answers by status are not the {total:,} of all requests")
    added = max((run.latency.count or total) - total, 0)
    return ToolFigures(
        tool="autocannon",
        basis="send",
        duration_s=window.duration_s,
        answered=total - run.mismatches,
        ok=max(total - run.mismatches - status["4xx"] - status["5xx"], 0),
        failed=run.errors + run.mismatches,
        began_unix_s=began_unix_s,
        errors={"timeout": run.timeouts, "mismatch": run.mismatches},
        status=status,
        latency=_latency(run.latency, total) if total else None,
        bytes_received=round(run.throughput.total),
        contradictions=contradictions,
        not_measured=[f"latencies alone: autocannon added {added:,} for requests that it sent late"]
        if added
        else [],
        asked=Asked(
            target=run.url,
            connections=run.connections,
            threads=run.workers or None,
            http=HTTP1_1,
            options={"pipelining": str(run.pipelining)} if (run.pipelining or 1) > 1 else {},
        ),
    )


def _window(run: _Document) -> tuple[Window, float | None]:
    """Return how long it took, by its moments of start and end, which have ms, and when it began."""
    took = Printed(run.duration, 0.01)
    try:
        begin, end = (datetime.fromisoformat(one) for one in (run.start or "", run.finish or ""))
        by_moments_s, began_unix_s = (end - begin).total_seconds(), begin.timestamp()
    except (ValueError, OverflowError, TypeError):
        return Window(took.value), None
    if abs(by_moments_s - took.value) <= took.step + 1e-3 and by_moments_s > 0:
        return Window(by_moments_s), began_unix_s
    found = f"{by_moments_s:.3f} s from its start to its end, and it says {took.value:g} s"
    return Window(took.value, found), began_unix_s


def _latency(latency: _Latency, count: int) -> Times:
    known = {ours: getattr(latency, name) for name, ours in _PERCENTILES.items()}
    return Times(
        distribution=distribution(
            count,
            mean=latency.average if latency.mean is None else latency.mean,
            stddev=latency.stddev,
            maximum=latency.max or None,
            percentiles={name: value for name, value in known.items() if value},
        ),
        completeness="percentiles",
        resolution_ms=RESOLUTION_MS,
    )

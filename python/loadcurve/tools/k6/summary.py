"""The summaries of k6 in JSON, of three forms.

Latencies are of failures, too; those of answers are the part ``{expected_response:true}``, which it has since
0.31. What it calls failed is what its script did not expect, error statuses among it.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.k6.reader import DROPPED, DURATION
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, contradiction_of
from loadcurve.tools.source import WHOLE_MAX, Json, Source, json_of

EXPECTED = f"{DURATION}{{expected_response:true}}"
"""The times of requests that have not failed."""
FAILED, REQUESTS, RECEIVED = "http_req_failed", "http_reqs", "data_received"
_PERCENTILES = {
    "med": "p50", "p(50)": "p50", "p50": "p50", "p(75)": "p75", "p(90)": "p90", "p90": "p90", "p(95)": "p95",
    "p95": "p95", "p(99)": "p99", "p(99.9)": "p99_9", "p(99.99)": "p99_99",
}  # fmt: skip
NO_TIMES = "latencies of answers: k6 summarises those of failures with them"
_THRESHOLDS = "thresholds"
_RESOLUTION_MS = 1e-6
_WHAT = "a summary of k6 in JSON"

Values = Mapping[str, Mapping[str, Any]]
"""The values of each metric, by their names."""


def is_summary(head: bytes) -> bool:
    """Say whether a file begins as a summary of k6 in JSON."""
    begins = head.lstrip().startswith(b"{") and b'"metrics"' in head
    return begins and (b'"http_req' in head or b'"k6_version"' in head)


class _Summary(Json):
    """Of ``--summary-export``, whose metrics are their values, and of ``handleSummary``."""

    metrics: dict[str, dict[str, Any]]
    state: dict[str, Any] = Field(default_factory=dict)


class _Metric(Json):
    name: str
    values: dict[str, Any]


class _Metrics(Json):
    metrics: list[_Metric]


class _Config(Json):
    duration: float = Field(gt=0)


class _Metadata(Json):
    k6_version: str


class _MachineReadable(Json):
    """Of ``--new-machine-readable-summary``, which has no rates."""

    config: _Config
    metadata: _Metadata
    results: _Metrics


def read_summary(source: Source) -> ToolFigures:
    """Return the figures of ``--summary-export`` in either form, or of what ``handleSummary`` was given."""
    if b'"k6_version"' in source.head():
        document = json_of(source, _MachineReadable, f"{_WHAT} (--new-machine-readable-summary)")
        values: Values = {one.name: one.values for one in document.results.metrics}
        counted = _whole(source, values, REQUESTS, "count")
        return _figures(
            source, values, counted, document.config.duration, version=document.metadata.k6_version
        )
    summary = json_of(source, _Summary, _WHAT)
    values = {name: metric.get("values", metric) for name, metric in summary.metrics.items()}
    _require_failures(source, values)
    counted = _whole(source, values, REQUESTS, "count")
    rate = _number(source, values, REQUESTS, "rate")
    if not counted or not rate:
        raise source.unreadable(None, f"http_reqs of {counted:,} at {rate:g}/s", "requests, and their rate")
    took_ms = summary.state.get("testRunDurationMs")
    return _figures(
        source, values, counted, counted / rate, contradiction=_contradiction(counted, rate, took_ms)
    )


def _contradiction(counted: int, rate: float, took_ms: object) -> str | None:
    is_time = (
        isinstance(took_ms, int | float) and not isinstance(took_ms, bool) and 0 < took_ms < float("inf")
    )
    if not is_time:
        return None
    assert isinstance(took_ms, int | float)  # noqa: S101 -- seen above
    return contradiction_of(counted, Printed.exact(rate), Printed.exact(took_ms / 1e3))


def _require_failures(source: Source, values: Values) -> None:
    if FAILED not in values:
        raise source.unreadable(
            None,
            "a summary without http_req_failed, which does not say how many requests failed",
            "one of k6 0.31 or newer; of an older k6, the file of --out json or --out csv",
        )


def _figures(
    source: Source,
    values: Values,
    counted: int,
    duration_s: float,
    *,
    version: str | None = None,
    contradiction: str | None = None,
) -> ToolFigures:
    _require_failures(source, values)
    if not counted:
        raise source.unreadable(None, "no request", "the requests of a load")
    # What passes the check "has failed" are the failures; the newest form calls them matches.
    name = "matches" if "matches" in values[FAILED] else "passes"
    failed = _whole(source, values, FAILED, name)
    if failed > counted:
        raise source.unreadable(None, f"{failed:,} failures of {counted:,} requests", _WHAT)
    answered = counted - failed
    times = values.get(EXPECTED if failed else DURATION)
    latency = None if times is None else _times(source, times, EXPECTED if failed else DURATION, answered)
    has_bytes = values.get(RECEIVED, {}).get("count") is not None
    return ToolFigures(
        tool="k6",
        version=version,
        basis="send",
        duration_s=duration_s,
        answered=answered,
        failed=failed,
        never_sent=_whole(source, values, DROPPED, "count") if DROPPED in values else None,
        latency=latency,
        bytes_received=int(_number(source, values, RECEIVED, "count")) if has_bytes else None,
        contradictions=[contradiction] if contradiction else [],
        not_measured=[] if latency else [NO_TIMES],
        asked=Asked(),
    )


def _times(source: Source, times: Mapping[str, Any], metric: str, count: int) -> Times:
    """Return what a summary has of some times; a statistic for which it was not asked is null there.

    ``--summary-export`` has the thresholds of a metric among its statistics.
    """
    known = {
        name: _number(source, {metric: times}, metric, name)
        for name in times
        if times[name] is not None and name != _THRESHOLDS
    }
    return times_of(known, count, _RESOLUTION_MS)


def times_of(known_ms: Mapping[str, float], count: int, resolution_ms: float) -> Times:
    """Return times of which the statistics are known that k6 has by these names."""
    return Times(
        distribution=distribution(
            count,
            minimum=known_ms.get("min"),
            mean=known_ms.get("avg"),
            maximum=known_ms.get("max"),
            percentiles={ours: known_ms[name] for name, ours in _PERCENTILES.items() if name in known_ms},
        ),
        completeness="percentiles",
        resolution_ms=resolution_ms,
    )


def _whole(source: Source, values: Values, metric: str, name: str) -> int:
    number = _number(source, values, metric, name)
    if number != int(number):
        raise source.unreadable(None, f"metrics.{metric}.{name} = {number!r}", "a whole number")
    return int(number)


def _number(source: Source, values: Values, metric: str, name: str) -> float:
    found = values.get(metric, {}).get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= WHOLE_MAX:
        raise source.unreadable(None, f"metrics.{metric}.{name} = {found!r}", "a number of 0 or more")
    return float(found)

"""The report of artillery in JSON (``run --output FILE``), of versions 1 and 2.

Its times are milliseconds, most of them whole ones, of which 0 is none. They are of all responses: also of
those in which a check or a capture failed, which it counts by an error as it does what had no response. The
rate of version 2 is a mean of those of its periods, however short these were, so the moments of its first and
last count are used.
"""

from collections.abc import Mapping

from pydantic import Field

from loadcurve.tools.errors import CHECK_FAILED, errors_of
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, window_of
from loadcurve.tools.source import Json, Source, json_of

TESTED = {
    "artillery-json": ("1.5.0", "1.7.9", "2.0.0-7", "2.0.21"),
}
"""By format, the versions whose real output it is tested with."""
NO_TIMES = "latencies of answers: artillery summarises those of failures with them"
NO_CLASSES = "answers by class of their status: artillery counts those of failures with them"
_WHAT = "the report of artillery (run --output FILE)"
_ACCURACY = 0.02
"""Relative: a percentile of version 2 is a bound of the bucket that it is in."""
_MS_PER_S = 1e3
_RESPONSES, _RESPONSE_TIME = "http.responses", "http.response_time"
_PREFIXES = ("engine.", "core.")
"""What names of counters and summaries began with before 2.0."""
_PERCENTILES = {
    "median": "p50", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99_9",
}  # fmt: skip
_CHECKS = ("Failed capture or match", "Failed expectations")


class _Aggregate2(Json):
    counters: dict[str, float]
    summaries: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    first_ms: int = Field(alias="firstCounterAt", gt=0)
    last_ms: int = Field(alias="lastCounterAt", gt=0)


class _Report2(Json):
    aggregate: _Aggregate2


class _Rps(Json):
    count: int = Field(ge=0)
    mean: float = Field(ge=0)


class _Aggregate1(Json):
    completed: int = Field(alias="requestsCompleted", ge=0)
    rps: _Rps
    latency: dict[str, float | None]
    errors: dict[str, int]
    codes: dict[str, int]


class _Report1(Json):
    aggregate: _Aggregate1


def is_report(head: bytes) -> bool:
    """Say whether a file begins as a report of artillery in JSON."""
    if not head.lstrip().startswith(b"{"):
        return False
    is_first = b'"requestsCompleted"' in head and b'"scenariosCompleted"' in head
    return is_first or (b'"counters"' in head and b'http.requests"' in head and b"vusers.created" in head)


def is_text(head: bytes) -> bool:
    """Say whether a file has the last part of artillery's text in its start."""
    return b"Summary report @ " in head and (b"http.requests: ..." in head or b"Scenarios launched:" in head)


def read_report(source: Source) -> ToolFigures:
    """Return the figures of the whole run; raises ``Unreadable``."""
    if b'"requestsCompleted"' in source.head():
        return _of_version_1(source)
    return _of_version_2(source)


def _of_version_2(source: Source) -> ToolFigures:
    run = json_of(source, _Report2, _WHAT).aggregate
    counters = {_as_today(name): int(count) for name, count in run.counters.items()}
    summaries = {_as_today(name): values for name, values in run.summaries.items()}
    took_s = (run.last_ms - run.first_ms) / _MS_PER_S
    if took_s <= 0:
        raise source.unreadable(
            None, f"{took_s:g} s from its first count to its last one", "the time of a load"
        )
    return _figures(
        source,
        sent=counters.get("http.requests", 0),
        responses=counters.get(_RESPONSES, 0),
        codes=_named(counters, "http.codes."),
        errors=_named(counters, "errors."),
        latency=_latency(summaries.get(_RESPONSE_TIME, {}), counters.get(_RESPONSES, 0), _ACCURACY),
        duration_s=took_s,
        began_unix_s=run.first_ms / _MS_PER_S,
        body_bytes=counters.get("http.downloaded_bytes"),
    )


def _of_version_1(source: Source) -> ToolFigures:
    run = json_of(source, _Report1, _WHAT).aggregate
    if run.rps.mean <= 0:
        raise source.unreadable(None, f"a rate of {run.rps.mean:g}/s", "the rate of a load")
    return _figures(
        source,
        sent=run.rps.count,
        responses=run.completed,
        codes=run.codes,
        errors=run.errors,
        latency=_latency({**run.latency, "count": run.completed}, run.completed, 0.0),
        duration_s=window_of(run.rps.count, Printed(run.rps.mean, 0.01), Printed(0.0, 1.0)).duration_s,
    )


def _as_today(name: str) -> str:
    return next((name.removeprefix(one) for one in _PREFIXES if name.startswith(one)), name)


def _named(counters: Mapping[str, int], begin: str) -> dict[str, int]:
    return {name.removeprefix(begin): count for name, count in counters.items() if name.startswith(begin)}


def _figures(
    source: Source,
    *,
    sent: int,
    responses: int,
    codes: Mapping[str, int],
    errors: Mapping[str, int],
    latency: Times | None,
    duration_s: float,
    began_unix_s: float | None = None,
    body_bytes: int | None = None,
) -> ToolFigures:
    failures = sum(errors.values())
    if not sent or responses > sent:
        raise source.unreadable(None, f"{responses:,} responses to {sent:,} requests", "those of a load")
    # Errors of a script come without a request, and what is under way at the end has neither.
    failed = min(max(sent - responses, failures), sent)
    status = _status(source, codes)
    has_own_status = sum(status.values()) <= sent - failed
    has_own_times = failed == sent - responses
    return ToolFigures(
        tool="artillery",
        version=None,
        basis="send",
        duration_s=duration_s,
        answered=sent - failed,
        failed=failed,
        began_unix_s=began_unix_s,
        errors=errors_of(
            {CHECK_FAILED if name in _CHECKS else name: count for name, count in errors.items()}
        ),
        status=status if has_own_status else None,
        latency=latency if has_own_times else None,
        bytes_body=body_bytes,
        contradictions=[f"{failures:,} errors are more than {sent:,} requests"] if failures > sent else [],
        not_measured=[
            *([] if has_own_times else [NO_TIMES]),
            *([] if has_own_status else [NO_CLASSES]),
        ],
    )


def _status(source: Source, codes: Mapping[str, int]) -> dict[str, int]:
    status: dict[str, int] = {}
    for code, count in codes.items():
        if len(code) != len("200") or code[0] not in "12345" or not code.isdecimal():
            raise source.unreadable(None, f"a status of {code[:20]}", "one of HTTP's")
        status[f"{code[0]}xx"] = status.get(f"{code[0]}xx", 0) + count
    return status


def _latency(known: Mapping[str, float | None], responses: int, accuracy: float) -> Times | None:
    count = known.get("count")
    times = {name: value for name, value in known.items() if value}
    if not count or "max" not in times:
        return None
    return Times(
        distribution=distribution(
            int(count),
            minimum=times.get("min"),
            mean=times.get("mean"),
            maximum=times["max"],
            percentiles={ours: times[name] for name, ours in _PERCENTILES.items() if name in times},
        ),
        completeness="percentiles" if count == responses else "sampled",
        resolution_ms=max(1.0 if times["max"].is_integer() else 0.1, accuracy * times["max"]),
    )

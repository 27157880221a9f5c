"""The JSON of fortio's runs, which Nighthawk can write as well.

Its histogram has all calls, those that failed included, so where there were any its percentiles are not those
of answers. It counts in intervals, from which no times follow.
"""

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, contradiction_of
from loadcurve.tools.source import Json, Source, json_of, shown

TESTED = {
    "fortio-json": ("1.3.1", "1.17.1", "1.38.4", "1.63.10"),
}
"""By format, the versions whose real output it is tested with."""
_OTHER_KINDS = {"TCP", "UDP", "GRPC"}
_NS_PER_S = 1e9
_MS_PER_S = 1e3
_PERCENTILES = {
    50.0: "p50", 75.0: "p75", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p99_9", 99.99: "p99_99",
}  # fmt: skip


def _as_number(value: object) -> object:
    """Return a count that is written as a text, as Nighthawk does, as a number."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) <= _DIGITS_MAX else value


_DIGITS_MAX = 18
_Count = Annotated[int, BeforeValidator(_as_number)]


class _Percentile(Json):
    percentile: float = Field(alias="Percentile")
    value: float = Field(alias="Value", ge=0)


class _Histogram(Json):
    count: _Count = Field(alias="Count", ge=0)
    min: float = Field(alias="Min")
    max: float = Field(alias="Max")
    avg: float = Field(alias="Avg")
    stddev: float = Field(alias="StdDev")
    percentiles: list[_Percentile] | None = Field(None, alias="Percentiles")


class _Run(Json):
    start: str | None = Field(None, alias="StartTime")
    version: str | None = Field(None, alias="Version")
    requested_qps: str | float | None = Field(None, alias="RequestedQPS")
    actual_qps: float = Field(alias="ActualQPS", ge=0)
    duration_ns: _Count = Field(alias="ActualDuration", gt=0)
    threads: _Count | None = Field(None, alias="NumThreads", ge=0)
    durations: _Histogram = Field(alias="DurationHistogram")
    codes: dict[str, _Count] = Field(alias="RetCodes")
    sockets: _Count | None = Field(None, alias="SocketCount", ge=0)
    url: str | None = Field(None, alias="URL")
    kind: str = Field("HTTP", alias="RunType")


def is_json(head: bytes) -> bool:
    """Say whether a file begins as fortio's JSON."""
    return head.lstrip().startswith(b"{") and b'"RunType"' in head and b'"ActualQPS"' in head


def read_json(source: Source) -> ToolFigures:
    """Return the figures of a run of fortio against a web server."""
    run = json_of(source, _Run, "the JSON of a run of fortio over HTTP (-json FILE)")
    if run.kind.split(" ")[0] in _OTHER_KINDS:
        raise source.unreadable(None, f"RunType = {shown(run.kind)}", "a run over HTTP; others are not read")
    status: dict[str, int] = {}
    failed = 0
    for code, count in run.codes.items():
        if count < 0:
            raise source.unreadable(None, f"RetCodes.{code} = {count}", "counts by status")
        if code.isdecimal() and code[0] in "12345" and len(code) == len("200"):
            status[f"{code[0]}xx"] = status.get(f"{code[0]}xx", 0) + count
        elif code == "-1":
            failed += count
        else:
            raise source.unreadable(None, f"RetCodes.{code}", "a status, or -1 for no answer")
    answered = sum(status.values())
    calls, timed = answered + failed, run.durations.count
    # Nighthawk may have fewer times than statuses.
    if timed > calls or not calls:
        found = f"{calls:,} calls by status and {timed:,} times"
        raise source.unreadable(None, found, "a status of each time, and at least one")
    return ToolFigures(
        tool="fortio",
        version=run.version,
        basis="send",
        duration_s=run.duration_ns / _NS_PER_S,
        answered=answered,
        failed=failed,
        began_unix_s=_moment(run.start),
        status=status,
        latency=None if failed or not timed else _times(run.durations),
        connections_opened=run.sockets,
        asked=Asked(
            target=run.url,
            connections=run.threads,
            rate_rps=_rate(run.requested_qps),
            threads=run.threads,
        ),
        contradictions=_contradictions(run, calls),
        not_measured=_not_measured(calls, timed, failed),
    )


def _contradictions(run: _Run, calls: int) -> list[str]:
    """Return what does not fit together; Nighthawk's rate may count one more for each connection."""
    duration_s = run.duration_ns / _NS_PER_S
    off = max(run.threads or 0, 1) / duration_s
    found = contradiction_of(calls, Printed(run.actual_qps, off), Printed.exact(duration_s), counted="calls")
    return [found] if found else []


def _not_measured(calls: int, timed: int, failed: int) -> list[str]:
    if failed:
        return ["latencies of answers: fortio summarises those of failures with them"]
    return [f"latencies of {calls - timed:,} of the {calls:,} calls"] if timed < calls else []


def _times(histogram: _Histogram) -> Times:
    given = {_PERCENTILES.get(one.percentile): one.value * _MS_PER_S for one in histogram.percentiles or ()}
    return Times(
        distribution=distribution(
            histogram.count,
            minimum=max(histogram.min, 0.0) * _MS_PER_S,
            mean=max(histogram.avg, 0.0) * _MS_PER_S,
            # Fortio divides by the number of times, and not by one less.
            stddev=max(histogram.stddev, 0.0)
            * _MS_PER_S
            * (histogram.count / max(histogram.count - 1, 1)) ** 0.5,
            maximum=max(histogram.max, 0.0) * _MS_PER_S,
            percentiles={name: value for name, value in given.items() if name is not None},
        ),
        completeness="percentiles",
        resolution_ms=None,
    )


def _moment(text: str | None) -> float | None:
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _rate(text: str | float | None) -> float | None:
    """Return the rate that was asked for; ``max`` is a closed loop."""
    try:
        rate = float(text if text is not None else "")
    except ValueError:
        return None
    return rate if 0 < rate < float("inf") else None

"""What bombardier writes: JSON (``-o json``) and text.

Its times are of failures, too, so where there were any they are not those of answers. Its rate is a mean of
rates over about 10 ms each, which is that of the whole load only where it is high; the JSON says how long the
load took, and the text what was asked for.
"""

from collections.abc import Mapping

from pydantic import Field

from loadcurve.protocol import HTTP1_1, HTTP2
from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import GO_TIME, UNIT, milliseconds
from loadcurve.tools.source import Json, Source, json_of
from loadcurve.tools.text_lines import Lines

TESTED = {
    "bombardier-json": ("1.2.6",),
    "bombardier-text": ("1.2.6",),
}
"""By format, the versions whose real output it is tested with."""
NO_TIMES = "latencies of answers: bombardier summarises those of failures with them"
_US_PER_MS = 1e3
_PERCENTILES = {"50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99"}
_TIME = rf"(\d{{1,12}}\.\d\d(?:{UNIT}))"
_DECIMALS = 2
_CLASSES = "1xx - (\\d{1,15}), 2xx - (\\d{1,15}), 3xx - (\\d{1,15}), 4xx - (\\d{1,15}), 5xx - (\\d{1,15})"


class _Spec(Json):
    connections: int = Field(alias="numberOfConnections", gt=0)
    url: str
    duration_s: float | None = Field(None, alias="testDurationSeconds")
    requests: int | None = Field(None, alias="numberOfRequests")
    client: str | None = None
    rate: float | None = None


class _Error(Json):
    description: str
    count: int = Field(ge=0)


class _Latency(Json):
    """In µs, of which it writes a great one as Go does: ``5.02498e+06``."""

    mean: float = Field(ge=0)
    stddev: float = Field(ge=0)
    max: float = Field(ge=0)
    percentiles: dict[str, float] = Field(default_factory=dict)


class _Result(Json):
    read: int = Field(alias="bytesRead", ge=0)
    took_s: float = Field(alias="timeTakenSeconds", gt=0)
    of_1xx: int = Field(alias="req1xx", ge=0)
    of_2xx: int = Field(alias="req2xx", ge=0)
    of_3xx: int = Field(alias="req3xx", ge=0)
    of_4xx: int = Field(alias="req4xx", ge=0)
    of_5xx: int = Field(alias="req5xx", ge=0)
    others: int = Field(ge=0)
    errors: list[_Error] = Field(default_factory=list)
    latency: _Latency | None = None


class _Document(Json):
    spec: _Spec
    result: _Result


def is_json(head: bytes) -> bool:
    """Say whether a file begins as the JSON of bombardier."""
    return b'"numberOfConnections"' in head and b'"timeTakenSeconds"' in head


def is_text(head: bytes) -> bool:
    """Say whether a file has the parts of bombardier's text in its start."""
    return b"HTTP codes:" in head and b"1xx - " in head and b"Throughput:" in head


def read_json(source: Source) -> ToolFigures:
    """Return the figures of ``bombardier -o json``; raises ``Unreadable``."""
    document = json_of(source, _Document, "the JSON of bombardier (-o json)", begin=r'\{\s*"spec"\s*:')
    spec, result = document.spec, document.result
    status = {f"{digit}xx": getattr(result, f"of_{digit}xx") for digit in range(1, 6)}
    errors = {one.description: one.count for one in result.errors}
    answered, failed = _outcomes(source, status, result.others, errors)
    return ToolFigures(
        tool="bombardier",
        basis="send",
        duration_s=result.took_s,
        answered=answered,
        failed=failed,
        errors=errors_of(errors),
        status=status,
        latency=_latency_of_json(result.latency, answered) if not failed else None,
        bytes_received=result.read,
        not_measured=[NO_TIMES] if failed else [],
        asked=Asked(
            target=spec.url,
            connections=spec.connections,
            rate_rps=spec.rate or None,
            duration_s=spec.duration_s,
            requests_total=spec.requests,
            http=HTTP2 if spec.client == "net/http.v2" else HTTP1_1,
        ),
    )


def _outcomes(
    source: Source, status: Mapping[str, int], others: int, errors: Mapping[str, int]
) -> tuple[int, int]:
    """Return how many were answered, and how many failed; what broke off has a status and an error."""
    total = sum(status.values()) + others
    failed = max(others, sum(errors.values()))
    if not total or failed > total:
        found = f"{failed:,} errors of {total:,} requests"
        raise source.unreadable(None, found, "the requests of a load, and at most as many errors")
    return total - failed, failed


def _latency_of_json(latency: _Latency | None, count: int) -> Times | None:
    if latency is None:
        return None
    return Times(
        distribution=distribution(
            count,
            mean=latency.mean / _US_PER_MS,
            stddev=latency.stddev / _US_PER_MS,
            maximum=latency.max / _US_PER_MS,
            percentiles={
                ours: latency.percentiles[name] / _US_PER_MS
                for name, ours in _PERCENTILES.items()
                if name in latency.percentiles
            },
        ),
        completeness="percentiles" if latency.percentiles else "summary",
        resolution_ms=1 / _US_PER_MS,
    )


def read_text(source: Source) -> ToolFigures:
    """Return the figures of the text of bombardier; raises ``Unreadable``."""
    lines = Lines(source)
    _, codes = lines.once(rf"\s*{_CLASSES}\s*$", "bombardier's answers by class of their status")
    status = {f"{digit}xx": int(count) for digit, count in enumerate(codes.groups(), start=1)}
    behind, others = lines.once(r"\s*others - (\d{1,15})\s*$", "bombardier's line others")
    end, _ = lines.once(r"\s*Throughput:\s+\d[\d.]*[KMGTP]?B?/s\s*$", "bombardier's last line Throughput")
    errors = {
        found[1]: int(found[2])
        for place, found in lines.all_of(r"\s*(\S.{0,1000}) - (\d{1,15})\s*$")
        if behind < place < end
    }
    answered, failed = _outcomes(source, status, int(others[1]), errors)
    asked = _asked(lines)
    latency = _latency_of_text(lines, answered + failed)
    duration_s, whence = _duration(lines, answered + failed, latency, asked)
    return ToolFigures(
        tool="bombardier",
        basis="send",
        duration_s=duration_s,
        answered=answered,
        failed=failed,
        errors=errors_of(errors),
        status=status,
        latency=latency if not failed else None,
        not_measured=[*([NO_TIMES] if failed else []), f"the exact length of the load: {whence}"],
        asked=asked,
    )


def _asked(lines: Lines) -> Asked:
    """Return what its first line says, where it is there (``-p`` can leave it out)."""
    found = lines.optional(
        rf"Bombarding (\S+) (?:with (\d{{1,15}}) request\(s\)|for ({GO_TIME})) using (\d{{1,9}}) connection",
        "bombardier's line Bombarding",
    )
    if found is None:
        return Asked()
    match = found[1]
    return Asked(
        target=match[1],
        connections=int(match[4]),
        requests_total=int(match[2]) if match[2] else None,
        duration_s=milliseconds(match[3], 0).value / 1e3 if match[3] else None,
    )


def _duration(lines: Lines, total: int, latency: Times, asked: Asked) -> tuple[float, str]:
    """Return how long a load took, as far as the text says it, and by which of its figures."""
    if asked.duration_s:
        return asked.duration_s, "bombardier's text has what was asked for"
    by_rate_s = _duration_by_rate(lines, total)
    mean_ms = latency.distribution.mean
    if mean_ms is not None and asked.connections:
        # A connection has one request at a time, so that all of them took at least as long.
        by_latency_s = total * mean_ms / 1e3 / asked.connections
        if by_latency_s > by_rate_s:
            return by_latency_s, "it follows from bombardier's mean latency, as its mean rate is above that"
    return by_rate_s, "it follows from bombardier's mean rate"


def _duration_by_rate(lines: Lines, total: int) -> float:
    what = "bombardier's line Reqs/sec"
    number, found = lines.once(r"\s*Reqs/sec\s+(\d[\d.]*)\s", what)
    rate_rps = lines.value(number, found[1], what)
    if rate_rps <= 0:
        raise lines.source.unreadable(number, "a rate of 0", "the rate of a load, or its line Bombarding")
    return total / rate_rps


def _latency_of_text(lines: Lines, count: int) -> Times:
    _, found = lines.once(rf"\s*Latency\s+{_TIME}\s+{_TIME}\s+{_TIME}\s*$", "bombardier's line Latency")
    mean, stddev, longest = (milliseconds(text, _DECIMALS) for text in found.groups())
    shown = {
        match[1]: milliseconds(match[2], _DECIMALS) for _, match in lines.all_of(rf"\s*(\d\d)%\s+{_TIME}\s*$")
    }
    return Times(
        distribution=distribution(
            count,
            mean=mean.value,
            stddev=stddev.value,
            maximum=longest.value,
            percentiles={ours: shown[name].value for name, ours in _PERCENTILES.items() if name in shown},
        ),
        completeness="percentiles" if shown else "summary",
        resolution_ms=max(one.step for one in (mean, longest, *shown.values())),
    )

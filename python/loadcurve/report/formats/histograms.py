"""The latency of each point in the forms of other tools, so that what draws theirs draws ours.

Counts are merged over the usable trials of a point before anything is computed of them; a point without a
histogram, such as that of a load whose percentiles alone were imported, is in none of these forms.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy

from loadcurve.errors import BadInput
from loadcurve.loads.kinds import WEB
from loadcurve.report.layouts.figures import web_point
from loadcurve.report.layouts.wrk2 import layout
from loadcurve.result.folder import Run
from loadcurve.result.histograms import Counted, NoHistogramError, decoded, merged
from loadcurve.result.measures import is_usable, point_key
from loadcurve.result.records import PointRecord
from loadcurve.result.run_files import TRIALS_FILE
from loadcurve.units import typed

NS_PER_MS, NS_PER_S = 1e6, 1e9
TICKS_PER_HALF = 5
"""Values until the distance to 100 % has halved, as HdrHistogram's programs have them."""
K6_PERCENTILES = (
    ("med", 0.5),
    ("p(75)", 0.75),
    ("p(90)", 0.9),
    ("p(95)", 0.95),
    ("p(99)", 0.99),
    ("p(99.9)", 0.999),
)
FORTIO_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99)
UNIT_COMMENT = "#[Values are in nanoseconds]"
"""A log has no place for the unit of its values; what imports this one looks for the line."""

Files = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Measured:
    """The usable trials of a server at a point, with their histograms."""

    name: str
    """For files."""
    records: Sequence[PointRecord]
    histograms: Sequence[str]
    counted: Counted


def measured_points(run: Run) -> Iterator[Measured]:
    """Yield the points whose latencies were counted, in the order of the curves."""
    by_place: dict[tuple[str, Any], list[PointRecord]] = {}
    for record in run.points:
        if is_usable(record) and record.load.histograms.latency is not None:
            by_place.setdefault((record.server, point_key(record.point)), []).append(record)
    for (server, point), records in sorted(by_place.items()):
        words = "-".join([server, *(f"{key}-{typed(value)}" for key, value in point)])
        texts = [record.load.histograms.latency or "" for record in records]
        try:
            counted = merged([decoded(text) for text in texts])
        except NoHistogramError as error:
            raise BadInput(f"a histogram of latency in {TRIALS_FILE} cannot be decoded: {error}") from error
        if counted.total:
            yield Measured(re.sub(r"[^A-Za-z0-9._-]+", "-", words), records, texts, counted)


def hgrm(run: Run) -> Files:
    """Yield a table of percentiles in ms for each point, as HdrHistogram's programs print and plot it."""
    for one in measured_points(run):
        yield f"report-{one.name}.hgrm", ("\n".join(_spectrum(one.counted)) + "\n").encode()


def _spectrum(counted: Counted) -> Iterator[str]:
    total = counted.total
    values = counted.highest / NS_PER_MS
    below = numpy.cumsum(counted.counts)
    yield f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}"
    yield ""
    level = 0.0
    for value, until in zip(values.tolist(), below.tolist(), strict=True):
        while 100.0 * until / total >= level:
            yield f"{value:12.3f} {level / 100:2.12f} {until:10d} {1 / (1 - level / 100):14.2f}"
            halves = 2 ** (math.log2(100 / (100 - level)) + 1)
            level += 100 / (TICKS_PER_HALF * halves)
            if until == total:
                # The last time is there once at its level, and once more as all of them.
                break
    yield f"{values[-1]:12.3f} {1.0:2.12f} {total:10d}"
    middle = counted.middle / NS_PER_MS
    mean = float((middle * counted.counts).sum()) / total
    deviation = float(numpy.sqrt(((middle - mean) ** 2 * counted.counts).sum() / total))
    yield f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]"
    yield f"#[Max     = {values[-1]:12.3f}, Total count    = {total:12d}]"


def hlog(run: Run) -> Files:
    """Yield a log of HdrHistograms for each point, with a line for each trial."""
    for one in measured_points(run):
        begins = [_moment(record.started_at) for record in one.records]
        first = min((begin for begin in begins if begin is not None), default=0.0)
        lines = [
            "#[Written by Loadcurve]",
            UNIT_COMMENT,
            "#[Histogram log format version 1.3]",
            f"#[StartTime: {first:.3f} (seconds since epoch)]",
            f"#[BaseTime: {first:.3f} (seconds since epoch)]",
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
        ]
        for begin, record, text in zip(begins, one.records, one.histograms, strict=True):
            since = 0.0 if begin is None else begin - first
            # Of a trial without an answer the histogram is empty, whose longest is 0 in these logs.
            longest_ms = max(decoded(text).highest.tolist(), default=0.0) / NS_PER_MS
            lines.append(f"{since:.3f},{record.load.duration_s:.6f},{longest_ms:.3f},{text}")
        yield f"report-{one.name}.hlog", ("\n".join(lines) + "\n").encode()


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def fortio(run: Run) -> Files:
    """Yield fortio's JSON for each point, all its trials as one run; 200 stands for all of 2xx, and so on."""
    for one in measured_points(run):
        loads = [record.load for record in one.records]
        duration_s = sum(load.duration_s for load in loads)
        codes: dict[str, int] = {}
        for load in loads:
            for name, count in (load.status.nonzero() if load.status else {}).items():
                codes[f"{name[0]}00"] = codes.get(f"{name[0]}00", 0) + count
        document = {
            "RunType": "HTTP",
            "Labels": f"{one.records[0].server}, by Loadcurve",
            "StartTime": one.records[0].started_at,
            "RequestedQPS": "max" if (asked := loads[0].rate_rps.asked) is None else f"{asked:g}",
            "RequestedDuration": f"{duration_s:g}s",
            "ActualQPS": _rate_rps(sum(load.requests.answered for load in loads), duration_s),
            "ActualDuration": round(duration_s * NS_PER_S),
            "NumThreads": loads[0].load.connections,
            "Version": f"loadcurve {run.run.loadcurve_version}",
            "DurationHistogram": _buckets(one.counted),
            "RetCodes": codes,
        }
        yield f"report-{one.name}.fortio.json", _json(document)


def _rate_rps(count: int, duration_s: float) -> float | None:
    """Return a rate; ``None`` over no time, as in a trial that was cut off at its start."""
    return count / duration_s if duration_s else None


def _buckets(counted: Counted) -> dict[str, Any]:
    total = counted.total
    below = numpy.cumsum(counted.counts)
    middle = counted.middle / NS_PER_S
    mean = float((middle * counted.counts).sum()) / total
    data = [
        {"Start": low / NS_PER_S, "End": high / NS_PER_S, "Percent": 100 * until / total, "Count": count}
        for low, high, until, count in zip(
            counted.lowest.tolist(),
            counted.highest.tolist(),
            below.tolist(),
            counted.counts.tolist(),
            strict=True,
        )
    ]
    return {
        "Count": total,
        "Min": float(counted.lowest[0]) / NS_PER_S,
        "Max": float(counted.highest[-1]) / NS_PER_S,
        "Sum": mean * total,
        "Avg": mean,
        "StdDev": float(numpy.sqrt(((middle - mean) ** 2 * counted.counts).sum() / total)),
        "Data": data,
        "Percentiles": [
            {"Percentile": percentile, "Value": _at(counted, percentile / 100) / NS_PER_S}
            for percentile in FORTIO_PERCENTILES
        ],
    }


def k6_summary(run: Run) -> Files:
    """Yield what ``k6 run --summary-export`` writes for each point, all its trials as one run."""
    for one in measured_points(run):
        loads = [record.load for record in one.records]
        answered = sum(load.requests.answered for load in loads)
        duration_s = sum(load.duration_s for load in loads)
        failures = [load.requests.failed for load in loads]
        middle = one.counted.middle / NS_PER_MS
        metrics: dict[str, Any] = {
            "http_reqs": {"count": answered, "rate": _rate_rps(answered, duration_s)},
            "http_req_duration": {
                "avg": float((middle * one.counted.counts).sum()) / one.counted.total,
                "min": float(one.counted.lowest[0]) / NS_PER_MS,
                "max": float(one.counted.highest[-1]) / NS_PER_MS,
                **{name: _at(one.counted, share) / NS_PER_MS for name, share in K6_PERCENTILES},
            },
        }
        known = [count for count in failures if count is not None]
        if len(known) == len(failures):
            failed = sum(known)
            metrics["http_reqs"] = {
                "count": answered + failed,
                "rate": _rate_rps(answered + failed, duration_s),
            }
            metrics["http_req_failed"] = {
                "passes": failed,
                "fails": answered,
                "value": failed / max(answered + failed, 1),
            }
        yield f"report-{one.name}.k6.json", _json({"metrics": metrics})


def wrk2(run: Run) -> Files:
    """Yield what wrk2 prints for each trial of each point of a web server."""
    if run.kind is not WEB or run.run.imported is not None:
        return
    for one in measured_points(run):
        found = run.run.servers[one.records[0].server]
        software = " ".join(filter(None, (found.title, found.version)))
        for record in one.records:
            text = "\n".join(layout(web_point(record, software))) + "\n"
            yield f"report-{one.name}-trial-{record.trial}.wrk2.txt", text.encode()


def _at(counted: Counted, share: float) -> float:
    """Return the time of the rank that a share of all times reaches, in ns."""
    rank = max(1, int(numpy.ceil(share * counted.total - 1e-9)))
    return float(counted.highest[int(numpy.searchsorted(numpy.cumsum(counted.counts), rank))])


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, allow_nan=False) + "\n").encode()

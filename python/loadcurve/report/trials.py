"""The figures of single trials, from which the page makes the table of a point that is chosen."""

from collections.abc import Sequence

from loadcurve.explain.finding import Finding
from loadcurve.report import text
from loadcurve.report.charts.figure import Row
from loadcurve.report.columns import Columns, columns
from loadcurve.result.folder import Run
from loadcurve.result.records import PointRecord
from loadcurve.stats.curves import point_key, resource

TRIAL_TITLES = {
    "trial": "trial",
    "throughput": "requests/s",
    "p50": "p50, ms",
    "p90": "p90, ms",
    "p99": "p99, ms",
    "max": "longest, ms",
    "cpu_share": "CPUs in use",
    "cpu_per_request_us": "CPU per request, µs",
    "memory_mib": "memory, MiB",
    "failed": "failed requests",
    "verdict": "verdict",
}
"""The columns of the table of trials, with their titles."""


def findings_of_trials(run: Run, found: Sequence[Finding]) -> list[Row]:
    """Return where each finding was seen, in their order: its server, trials, the places of its points."""
    places = {point_key(point): place for place, point in enumerate(run.sweep_points)}
    return [
        {
            "server": finding.server,
            "trials": finding.trials,
            "places": [places[key] for point in finding.points if (key := point_key(point)) in places],
            "seen": finding.seen,
        }
        for finding in found
    ]


def trial_columns(run: Run) -> Columns:
    """Return every measured point of every trial: its server, the place of its point, and its figures."""
    places = {point_key(point): place for place, point in enumerate(run.sweep_points)}
    return columns(
        [_row(record, places[key]) for record in run.points if (key := point_key(record.point)) in places]
    )


def _row(record: PointRecord, place: int) -> Row:
    latency = record.load.latency_ms
    return {
        "server": record.server,
        "place": place,
        "trial": str(record.trial),
        "throughput": text.number(record.load.rate_rps.answered),
        "p50": text.number(latency.p50),
        "p90": text.number(latency.p90),
        "p99": text.number(latency.p99),
        "max": text.number(latency.max),
        "cpu_share": text.number(resource(record, "cpu_share")),
        "cpu_per_request_us": text.number(resource(record, "cpu_per_request_us")),
        "memory_mib": text.number(resource(record, "memory_mean_mib")),
        "failed": f"{record.load.requests.failed:,}",
        "verdict": record.load.verdict.status,
    }

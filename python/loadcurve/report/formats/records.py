"""What a report says in numbers, as records: the source of the tables, and the object of ``report.json``."""

from typing import Any, Literal

from loadcurve.explain.finding import Finding
from loadcurve.result.load import Count, Record
from loadcurve.result.records import FailureRecord, Point
from loadcurve.stats.capacity import Bound
from loadcurve.stats.curves import VerdictStatus
from loadcurve.stats.interval import Estimate
from loadcurve.stats.peak import Place


class EstimateRecord(Record):
    """A number over trials; ``low`` and ``high`` are ``None`` where ``n`` is too small to bound it."""

    value: float
    low: float | None
    high: float | None
    n: Count
    method: str

    @classmethod
    def of(cls, estimate: Estimate | None) -> "EstimateRecord | None":
        """Return the record of an estimate, if there is one."""
        if estimate is None:
            return None
        return cls(
            value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n, method=estimate.method
        )


class MeasuredRecord(Record):
    """One measure of one server at one point; without an estimate where no usable trial measured it."""

    server: str
    point: Point
    measure: str
    unit: str
    """A unit such as ``ms``, or nothing for a count."""
    estimate: EstimateRecord | None
    trials: Count
    """Trials that measured the point, invalid ones included."""
    verdict: VerdictStatus | None
    """The worst of any trial; ``None`` where no trial measured the point."""


class RankRecord(Record):
    """A server's places by one measure, from 1; ``None`` where the trials cannot rank the servers."""

    measure: str
    point: Point | None
    """``None`` for the ranking over the whole curve."""
    server: str
    best: int | None
    worst: int | None


class RatioRecord(Record):
    """One measure of a server over that of another, paired by block."""

    measure: str
    point: Point | None
    """``None`` for the ratio over the whole curve."""
    first: str
    second: str
    ratio: EstimateRecord | None
    p_value: float | None
    """Adjusted for all pairs by Holm's method; ``None`` with fewer than two blocks in common."""
    told_apart: bool


class PlaceRecord(Record):
    """The load at which something is greatest along a curve."""

    load: float
    place: Place
    """Whether that is the first load, the last one, or inside."""
    alike: tuple[float, ...] | None
    """Loads that cannot be told from it, itself included."""


class CapacityRecord(Record):
    """The highest load at which the limits hold."""

    limits: str
    load: EstimateRecord | None
    """``None`` where some trial only bounds it."""
    bound: Bound | Literal["mixed"]
    safe_load: float
    """The lower end of the interval, or else the least of what the trials say."""
    throughput_rps: EstimateRecord | None


class ShapeRecord(Record):
    """Peak, knee, capacity and price of one server along one load."""

    server: str
    key: str
    fixed: Point
    """The settings that are the same along the curve, where several keys were swept."""
    peak: PlaceRecord | None
    peak_throughput_rps: EstimateRecord | None
    knee: PlaceRecord | None
    capacity: CapacityRecord | None
    usd_per_hour: float | None
    requests_per_usd: EstimateRecord | None


class PublishedRecord(Record):
    """One published value, and what was measured at the same place; their absolute numbers do not compare."""

    figure: str
    point: Point
    """The place along the figure's axis, with the settings that are the same along the measured curve."""
    measure: str
    series: str
    published: float
    published_unit: str
    server: str | None
    """The server that the series stands for; ``None`` where none was measured."""
    estimate: EstimateRecord | None
    unit: str
    """Of the estimate."""


class ServerFacts(Record):
    """Which server was measured."""

    title: str
    version: str | None
    status: Literal["found", "missing"]


class RunFacts(Record):
    """Which run is reported, on what machine, and how to repeat it."""

    title: str
    question: str | None
    started_at: str
    loadcurve_version: str
    seed: int
    complete: bool
    repeat: str
    """The command that repeats it, in the run folder."""
    host: dict[str, Any]
    servers: dict[str, ServerFacts]


class ReportRecord(Record):
    """The report as one object, ``report.json``."""

    format: Literal["loadcurve-report/1"]
    run: RunFacts
    answers: list[str]
    """The ranking over the curve in words, a sentence for each measure."""
    estimates: list[MeasuredRecord]
    ranking: list[RankRecord]
    ratios: list[RatioRecord]
    shapes: list[ShapeRecord]
    published: list[PublishedRecord]
    """Published figures beside the measured ones, where the study names some."""
    findings: list[Finding]
    failures: list[FailureRecord]

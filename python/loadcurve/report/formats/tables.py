"""The tables of a report as polars data frames, in the order in which a workbook shows them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import polars

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint, points_in
from loadcurve.analysis.published import PublishedMatch, PublishedPair
from loadcurve.analysis.shape import Shape, SliceShapes
from loadcurve.analysis.sweep import slices
from loadcurve.analysis.works import works
from loadcurve.explain.finding import Evidence, Finding
from loadcurve.loads.values import Point
from loadcurve.report.claims import claim_rows
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.formats.columns import Column, column, columns, table
from loadcurve.report.formats.records import failures_table, operations_table, points_table
from loadcurve.report.section import Report, Section
from loadcurve.result.measures import PUBLISHED_MEASURES, Measure
from loadcurve.stats.interval import Estimate
from loadcurve.stats.ranking import Ranking


def report_tables(report: Report) -> dict[str, polars.DataFrame]:
    """Return the tables by name; the settings of the sweep are columns of them under their own names.

    Measured columns carry their unit last. What was not measured is null; in ``ranking`` and ``ratios`` the
    settings are null for the whole curve. A table without rows has its columns all the same, but for those of
    what most runs have nothing of; one that a fault leaves out is not there.
    """
    run, analysis, keys = report.run, report.analysis, report.analysis.keys
    makers: dict[str, Callable[[], polars.DataFrame | None]] = {
        "estimates": lambda: table(_estimates(analysis), _ESTIMATES, keys),
        "points": lambda: points_table(run),
        "operation_estimates": lambda: _unless_empty(_of_operations(analysis), _OPERATION_ESTIMATES, keys),
        "operations": lambda: operations_table(run),
        "ranking": lambda: table(_ranks(analysis), _RANKING, keys),
        "ratios": lambda: table(_ratios(analysis), _RATIOS, keys),
        "shapes": lambda: table(_shapes(analysis), _SHAPES, keys),
        "connections": lambda: _unless_empty(analysis.connections, _CONNECTIONS),
        "programs": lambda: _unless_empty(list(_divided(analysis)), _DIVIDED, keys),
        "claims": lambda: _unless_empty(claim_rows(analysis), _CLAIMS),
        "published": lambda: _unless_empty(list(_published(analysis)), _PUBLISHED, keys),
        "findings": lambda: table(_findings(analysis.findings), _FINDINGS),
        "evidence": lambda: table(_evidence(analysis.findings), _EVIDENCE),
        "failures": lambda: failures_table(run),
    }
    made = {name: report.sections.get(f"the table of {name}", make, None) for name, make in makers.items()}
    return {name: table for name, table in made.items() if table is not None}


TABLES: Section[dict[str, polars.DataFrame]] = Section("tables", "tables", report_tables, {})
"""All of them, made once for every form that writes tables."""


def _unless_empty(
    rows: Sequence[Any], of: Iterable[Column], keys: Sequence[str] = ()
) -> polars.DataFrame | None:
    return table(rows, of, keys) if rows else None


def _ends(name: str, path: str, unit: str = "") -> list[Column]:
    """Return an estimate and the ends of its interval under names that end with the unit."""
    return columns(f"{name}{unit}:float=value {name}_low{unit}:float=low {name}_high{unit}:float=high", path)


_ESTIMATE = "value:float low:float high:float n:int method"


class _EstimateRow(NamedTuple):
    measure: Measure
    server: str
    at: CurvePoint
    estimate: Estimate | None


def _estimates(analysis: Analysis) -> Iterator[_EstimateRow]:
    """Yield one row for each measure, server and point, rising along each slice of the sweep.

    Requests are as many as a load has, so that their measures are a table of their own; kinds of operations
    on databases are in both.
    """
    kept = analysis.load_kind.by_operation
    return _rows_of(analysis, [one for one in analysis.measures if one.operation is None or kept])


def _of_operations(analysis: Analysis) -> list[_EstimateRow]:
    """Return the rows of the measures of each operation, where it was measured."""
    rows = _rows_of(analysis, [one for one in analysis.measures if one.operation is not None])
    return [row for row in rows if row.estimate is not None]


def _rows_of(analysis: Analysis, measures: Sequence[Measure]) -> Iterator[_EstimateRow]:
    along = [point for part in slices(analysis.points) for point in part.rising]
    for measure in measures:
        for curve in analysis.curves:
            for at in points_in(curve, along):
                yield _EstimateRow(measure, curve.server, at, at.estimate(measure))


_ESTIMATE_FIGURES = [
    *columns("value:float low:float high:float", "estimate"),
    # It is 0 where nothing usable was measured.
    column("n:int", lambda row: row.estimate.n if row.estimate else 0),
    *columns("method=estimate.method"),
    column("trials:int", lambda row: len(row.at.trials)),
    # Those in which pauses of the platform alone explain half or more of a percentile.
    column("trials_of_pauses:int", lambda row: len(row.at.pauses_explain.get(row.measure.name, []))),
    *columns("verdict=at.verdict"),
]
_ESTIMATES = [
    *columns("measure=measure.column unit=measure.unit server point:point=at.point"),
    *_ESTIMATE_FIGURES,
]
_OPERATION_ESTIMATES = [
    *columns("operation=measure.operation measure=measure.column_of_operation unit=measure.unit server"),
    *columns("point:point=at.point"),
    *_ESTIMATE_FIGURES,
]


class _RankingRow(NamedTuple):
    measure: str
    point: Point | None
    ranking: Ranking
    one: Any
    """A rank, or a pair of servers."""


def _rankings(analysis: Analysis) -> Iterator[tuple[str, Point | None, Ranking]]:
    for part in [one.analysis for one in works(analysis)] or [analysis]:
        for one in part.rankings:
            yield one.measure, None, one.over_curve
            for at in one.at_points:
                yield one.measure, at.point, at.ranking


def _ranks(analysis: Analysis) -> Iterator[_RankingRow]:
    return (_RankingRow(*found, rank) for found in _rankings(analysis) for rank in found[-1].ranks)


def _ratios(analysis: Analysis) -> Iterator[_RankingRow]:
    return (_RankingRow(*found, pair) for found in _rankings(analysis) for pair in found[-1].pairs)


_RANKING = [
    *columns("measure point:point server=one.server"),
    column("rank_best:int", lambda row: row.one.best if row.ranking.decides else None),
    column("rank_worst:int", lambda row: row.one.worst if row.ranking.decides else None),
]
_RATIOS = [
    *columns("measure point:point first=one.first second=one.second"),
    *columns(_ESTIMATE, "one ratio"),
    *columns("p_value:float told_apart:bool", "one"),
]


class _ShapeRow(NamedTuple):
    found: SliceShapes
    one: Shape

    @property
    def limits(self) -> str | None:
        return self.found.objective.text if self.found.objective and self.one.capacity else None


def _shapes(analysis: Analysis) -> Iterator[_ShapeRow]:
    return (_ShapeRow(part, one) for part in analysis.shapes for one in part.shapes)


_SHAPES = [
    *columns("server=one.server load=found.part.key point:point=found.part.fixed"),
    *columns("peak_load:float=load peak_place=place", "one peak"),
    *_ends("peak_throughput", "one peak value", "_rps"),
    *columns("knee_load:float=one.knee.load knee_place=one.knee.place limits"),
    *_ends("capacity_load", "one capacity load"),
    *columns("capacity_bound=bound capacity_safe_load:float=safe_load", "one capacity"),
    *columns("price_usd_per_hour:float=one.cost.usd_per_hour"),
    *_ends("requests_per_usd", "one cost requests_per_usd"),
]


def _reach(name: str, path: str, unit: str = "") -> list[Column]:
    """Return the least and the greatest figure of a range under names that end with the unit."""
    return columns(f"{name}_min{unit}:float=least {name}_max{unit}:float=greatest", path)


def _of_encryption(declared: str, value: Callable[[Any], Any]) -> Column:
    """Return a column of what was encrypted; null of clear text."""
    return column(declared, lambda found: value(found.encryption) if found.encryption else None)


def _different(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))


_CONNECTIONS = [
    *columns("server http:texts"),
    _of_encryption("tls_versions:texts", lambda found: _different(one.version for one in found.agreed)),
    _of_encryption("tls_suites:texts", lambda found: _different(one.suite for one in found.agreed)),
    _of_encryption("tls_groups:texts", lambda found: _different(one.group for one in found.agreed)),
    _of_encryption("certificate_keys:texts", lambda found: _different(one.key for one in found.certificates)),
    _of_encryption(
        "certificate_chain_length:int",
        lambda found: max((one.chain_length for one in found.certificates), default=None),
    ),
    *columns("full_handshakes:int=full resumed_handshakes:int=resumed resumed_share:float", "encryption"),
    *_reach("full_handshakes", "encryption full_per_s", "_per_s"),
    *_reach("resumed_handshakes", "encryption resumed_per_s", "_per_s"),
    *_reach("full_handshake_p50", "encryption full_p50_ms", "_ms"),
    *_reach("resumed_handshake_p50", "encryption resumed_p50_ms", "_ms"),
    *_reach("handshake_p50", "encryption handshake_p50_ms", "_ms"),
    *_reach("streams_asked", "streams asked"),
    *_reach("streams_allowed", "streams allowed"),
    *columns("requests_waited:int=waited", "streams"),
    *_reach("stream_wait_p50", "streams wait_p50_ms", "_ms"),
    *columns(
        "streams_refused:int=refused requests_moved:int=moved connections_ended:int "
        "connections_ended_by_error:int",
        "streams",
    ),
]
"""Runs in clear text without streams have no such table."""


class _DividedRow(NamedTuple):
    server: str
    point: Point
    part: str
    estimate: Estimate | None
    program: str | None = None
    """``None`` of the whole and of what remains."""
    unit: str = "µs"


def _divided(analysis: Analysis) -> Iterator[_DividedRow]:
    """Yield the parts of the time of a request."""
    for one in analysis.divided:
        yield _DividedRow(one.server, one.point, "request", one.request_us)
        for program in one.programs:
            yield _DividedRow(one.server, one.point, "cpu", program.cpu_us, program.name)
            yield _DividedRow(one.server, one.point, "run_delay", program.run_delay_us, program.name)
            yield _DividedRow(one.server, one.point, "cpu_share", program.cpu_share, program.name, "CPUs")
            yield _DividedRow(one.server, one.point, "memory", program.memory_mib, program.name, "MiB")
        yield _DividedRow(one.server, one.point, "elsewhere", one.elsewhere_us)


_DIVIDED = [
    *columns("server point:point part program unit"),
    *columns(_ESTIMATE, "estimate"),
]
_CLAIMS = columns("outcome=title text statement why")


class _PublishedRow(NamedTuple):
    match: PublishedMatch
    pair: PublishedPair
    place: float
    published: float

    @property
    def point(self) -> Point:
        return {**self.match.fixed, self.match.axis: self.place}

    @property
    def measured(self) -> Estimate | None:
        return self.pair.measured.get(self.place)


def _published(analysis: Analysis) -> Iterator[_PublishedRow]:
    for match in analysis.published:
        for pair in match.pairs:
            yield from (_PublishedRow(match, pair, *found) for found in pair.published.items())


_PUBLISHED = [
    *columns("figure=match.title measure=match.measure series=pair.series point:point"),
    *columns("published:float published_unit=match.unit server=pair.server"),
    *columns(_ESTIMATE, "measured"),
    column("unit", lambda row: PUBLISHED_MEASURES[row.match.measure].unit),
]


class _FindingRow(NamedTuple):
    number: int
    finding: Finding
    evidence: Evidence | None = None


def _findings(found: Sequence[Finding]) -> Iterator[_FindingRow]:
    return (_FindingRow(number, finding) for number, finding in enumerate(found, start=1))


def _evidence(found: Sequence[Finding]) -> Iterator[_FindingRow]:
    for number, finding in enumerate(found, start=1):
        yield from (_FindingRow(number, finding, evidence) for evidence in finding.evidence)


_NUMBERED = columns("finding:int=number server=finding.server code=finding.code")
_FINDINGS = [
    *_NUMBERED,
    *columns("weight certainty", "finding"),
    column("seen_at", lambda row: points_in_words(row.finding.points)),
    column("trials:int", lambda row: len(row.finding.trials)),
    *columns("trials_measured:int seen cause advice", "finding"),
]
_EVIDENCE = [*_NUMBERED, *columns("name value:float unit low:float high:float spread", "evidence")]

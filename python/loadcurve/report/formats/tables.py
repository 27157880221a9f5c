"""The tables of a report as polars data frames, in the order in which a workbook shows them."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.connections import ConnectionsOfServer, Range
from loadcurve.analysis.curves import points_in
from loadcurve.analysis.shape import Shape, SliceShapes
from loadcurve.analysis.sweep import slices
from loadcurve.explain.finding import Finding
from loadcurve.loads.values import Point
from loadcurve.report.claims import claim_rows
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.formats.columns import TYPES
from loadcurve.report.formats.records import failures_table, operations_table, points_table
from loadcurve.report.section import Report, Section
from loadcurve.result.measures import PUBLISHED_MEASURES
from loadcurve.stats.interval import Estimate
from loadcurve.stats.peak import Greatest
from loadcurve.stats.ranking import Ranking

Row = dict[str, Any]
Schema = dict[str, Any]
"""The types of columns by their names; None for ``point``, which stands for the settings of the sweep."""


def column_types(columns: str) -> Schema:
    """Read ``NAME:TYPE`` of each column, with blanks between them; one without a type is a text."""
    parts = (column.partition(":") for column in columns.split())
    return {name: None if kind == "point" else getattr(polars, TYPES[kind]) for name, _, kind in parts}


_ESTIMATE = column_types("value:float low:float high:float n:int method")


def report_tables(report: Report) -> dict[str, polars.DataFrame]:
    """Return the tables by name; the settings of the sweep are columns of them under their own names.

    Measured columns carry their unit last. What was not measured is null; in ``ranking`` and ``ratios`` the
    settings are null for the whole curve. A table without rows has its columns all the same; one that a fault
    leaves out is not there.
    """
    run, analysis, keys = report.run, report.analysis, report.analysis.keys
    makers: dict[str, Callable[[], polars.DataFrame | None]] = {
        "estimates": lambda: _table(_estimate_rows(analysis), keys, _ESTIMATES),
        "points": lambda: points_table(run),
        "operations": lambda: operations_table(run),
        "ranking": lambda: _table(_rank_rows(analysis), keys, _RANKING),
        "ratios": lambda: _table(_ratio_rows(analysis), keys, _RATIOS),
        "shapes": lambda: _table(_shape_rows(analysis), keys, _SHAPES),
        "connections": lambda: _connections(analysis),
        "programs": lambda: _divided(analysis),
        "claims": lambda: _claims(analysis),
        "published": lambda: _published(analysis),
        "findings": lambda: _table(_finding_rows(analysis.findings), [], _FINDINGS),
        "evidence": lambda: _table(_evidence_rows(analysis.findings), [], _EVIDENCE),
        "failures": lambda: failures_table(run),
    }
    made = {name: report.sections.get(f"the table of {name}", make, None) for name, make in makers.items()}
    return {name: table for name, table in made.items() if table is not None}


TABLES: Section[dict[str, polars.DataFrame]] = Section("tables", "tables", report_tables, {})
"""All of them, made once for every form that writes tables."""


def _claims(analysis: Analysis) -> polars.DataFrame | None:
    """Return the table of claims; most studies have none, and no table for them."""
    rows = [dataclasses.asdict(row) for row in claim_rows(analysis)]
    return _table([{**row, "outcome": row.pop("title")} for row in rows], [], _CLAIMS) if rows else None


def _connections(analysis: Analysis) -> polars.DataFrame | None:
    """Return the table of connections; runs in clear text without streams have none."""
    rows = map(_connections_row, analysis.connections)
    return _table(rows, [], _CONNECTIONS) if analysis.connections else None


def _divided(analysis: Analysis) -> polars.DataFrame | None:
    """Return the table of what programs spent on a request; runs of servers of one program have none."""
    rows = list(_divided_rows(analysis))
    return _table(rows, analysis.keys, _DIVIDED) if rows else None


def _published(analysis: Analysis) -> polars.DataFrame | None:
    """Return the table of published figures; most studies name none, and have no table for them."""
    rows = list(_published_rows(analysis))
    return _table(rows, analysis.keys, _PUBLISHED) if rows else None


def _estimate_rows(analysis: Analysis) -> Iterator[Row]:
    """Yield one row for each measure, server and point, rising along each slice of the sweep.

    ``n`` is 0 where nothing usable was measured. ``trials_of_pauses`` counts the trials in which pauses of
    the platform alone explain half or more of a percentile.
    """
    along = [point for part in slices(analysis.points) for point in part.rising]
    for measure in analysis.measures:
        for curve in analysis.curves:
            for at in points_in(curve, along):
                estimate = at.estimate(measure)
                yield {
                    "server": curve.server,
                    "point": at.point,
                    "measure": measure.column,
                    "unit": measure.unit,
                    **_estimate(estimate),
                    "n": estimate.n if estimate else 0,
                    "trials": len(at.trials),
                    "trials_of_pauses": len(at.pauses_explain.get(measure.name, [])),
                    "verdict": at.verdict,
                }


_ESTIMATES: Schema = {
    **column_types("measure unit server point:point"),
    **_ESTIMATE,
    **column_types("trials:int trials_of_pauses:int verdict"),
}
_RANKING = column_types("measure point:point server rank_best:int rank_worst:int")
_RATIOS: Schema = {
    **column_types("measure point:point first second"),
    **_ESTIMATE,
    **column_types("p_value:float told_apart:bool"),
}
_SHAPES = column_types(
    "server load point:point peak_load:float peak_place peak_throughput_rps:float "
    "peak_throughput_low_rps:float peak_throughput_high_rps:float knee_load:float knee_place limits "
    "capacity_load:float capacity_load_low:float capacity_load_high:float capacity_bound "
    "capacity_safe_load:float price_usd_per_hour:float requests_per_usd:float requests_per_usd_low:float "
    "requests_per_usd_high:float"
)
_PUBLISHED: Schema = {
    **column_types("figure measure series point:point published:float published_unit server"),
    **_ESTIMATE,
    **column_types("unit"),
}
_NAMES = polars.List(polars.String)
_CONNECTIONS: Schema = {
    "server": polars.String,
    **dict.fromkeys(("http", "tls_versions", "tls_suites", "tls_groups", "certificate_keys"), _NAMES),
    **column_types(
        "certificate_chain_length:int full_handshakes:int resumed_handshakes:int resumed_share:float "
        "full_handshakes_min_per_s:float full_handshakes_max_per_s:float "
        "resumed_handshakes_min_per_s:float resumed_handshakes_max_per_s:float "
        "full_handshake_p50_min_ms:float full_handshake_p50_max_ms:float "
        "resumed_handshake_p50_min_ms:float resumed_handshake_p50_max_ms:float "
        "handshake_p50_min_ms:float handshake_p50_max_ms:float "
        "streams_asked_min:float streams_asked_max:float streams_allowed_min:float streams_allowed_max:float "
        "requests_waited:int stream_wait_p50_min_ms:float stream_wait_p50_max_ms:float "
        "streams_refused:int requests_moved:int connections_ended:int connections_ended_by_error:int"
    ),
}
_DIVIDED: Schema = {**column_types("server point:point part program unit"), **_ESTIMATE}
_CLAIMS = column_types("outcome text statement why")
_FINDINGS = column_types(
    "finding:int server code weight certainty seen_at trials:int trials_measured:int seen cause advice"
)
_EVIDENCE = column_types("finding:int server code name value:float unit low:float high:float spread")


def _table(rows: Iterable[Row], keys: Sequence[str], schema: Schema) -> polars.DataFrame:
    """Return a table in which the column ``point`` has become one column for each of ``keys``."""
    columns: Schema = {}
    for name, kind in schema.items():
        columns |= dict.fromkeys(keys, polars.Float64) if name == "point" else {name: kind}
    flat = [{**_settings(row.get("point"), keys), **_without_point(row)} for row in rows]
    return polars.DataFrame(flat, schema=columns, orient="row")


def _settings(point: Point | None, keys: Sequence[str]) -> Mapping[str, float | None]:
    return {key: (point or {}).get(key) for key in keys}


def _without_point(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "point"}


def _estimate(estimate: Estimate | None) -> Row:
    return {name: getattr(estimate, name, None) for name in _ESTIMATE}


def _rankings(analysis: Analysis) -> Iterator[tuple[str, Point | None, Ranking]]:
    for one in analysis.rankings:
        yield one.measure, None, one.over_curve
        for at in one.at_points:
            yield one.measure, at.point, at.ranking


def _rank_rows(analysis: Analysis) -> Iterator[Row]:
    for measure, point, ranking in _rankings(analysis):
        for rank in ranking.ranks:
            yield {
                "measure": measure,
                "point": point,
                "server": rank.server,
                "rank_best": rank.best if ranking.decides else None,
                "rank_worst": rank.worst if ranking.decides else None,
            }


def _ratio_rows(analysis: Analysis) -> Iterator[Row]:
    for measure, point, ranking in _rankings(analysis):
        for pair in ranking.pairs:
            yield {
                "measure": measure,
                "point": point,
                "first": pair.first,
                "second": pair.second,
                **_estimate(pair.ratio),
                "p_value": pair.p_value,
                "told_apart": pair.told_apart,
            }


def _shape_rows(analysis: Analysis) -> Iterator[Row]:
    return (_shape_row(part, one) for part in analysis.shapes for one in part.shapes)


def _shape_row(found: SliceShapes, shape: Shape) -> Row:
    capacity = shape.capacity
    return {
        "server": shape.server,
        "load": found.part.key,
        "point": found.part.fixed,
        **_place("peak", shape.peak),
        **_ends("peak_throughput", shape.peak.value if shape.peak else None, "_rps"),
        **_place("knee", shape.knee),
        "limits": found.objective.text if found.objective and capacity else None,
        **_ends("capacity_load", capacity.load if capacity else None),
        "capacity_bound": capacity.bound if capacity else None,
        "capacity_safe_load": capacity.safe_load if capacity else None,
        "price_usd_per_hour": shape.cost.usd_per_hour if shape.cost else None,
        **_ends("requests_per_usd", shape.cost.requests_per_usd if shape.cost else None),
    }


def _place(name: str, found: Greatest | None) -> Row:
    return {f"{name}_load": found.load if found else None, f"{name}_place": found.place if found else None}


def _ends(name: str, estimate: Estimate | None, unit: str = "") -> Row:
    """Return a number and the ends of its interval under names that end with the unit."""
    return {
        f"{name}{unit}": estimate.value if estimate else None,
        f"{name}_low{unit}": estimate.low if estimate else None,
        f"{name}_high{unit}": estimate.high if estimate else None,
    }


def _connections_row(found: ConnectionsOfServer) -> Row:
    row: Row = {"server": found.server, "http": found.http}
    if (encryption := found.encryption) is not None:
        row |= {
            "tls_versions": _different(one.version for one in encryption.agreed),
            "tls_suites": _different(one.suite for one in encryption.agreed),
            "tls_groups": _different(one.group for one in encryption.agreed),
            "certificate_keys": _different(one.key for one in encryption.certificates),
            "certificate_chain_length": max(
                (one.chain_length for one in encryption.certificates), default=None
            ),
            "full_handshakes": encryption.full,
            "resumed_handshakes": encryption.resumed,
            "resumed_share": encryption.resumed_share,
            **_reach("full_handshakes", encryption.full_per_s, "_per_s"),
            **_reach("resumed_handshakes", encryption.resumed_per_s, "_per_s"),
            **_reach("full_handshake_p50", encryption.full_p50_ms, "_ms"),
            **_reach("resumed_handshake_p50", encryption.resumed_p50_ms, "_ms"),
            **_reach("handshake_p50", encryption.handshake_p50_ms, "_ms"),
        }
    if (streams := found.streams) is not None:
        row |= {
            **_reach("streams_asked", streams.asked),
            **_reach("streams_allowed", streams.allowed),
            "requests_waited": streams.waited,
            **_reach("stream_wait_p50", streams.wait_p50_ms, "_ms"),
            "streams_refused": streams.refused,
            "requests_moved": streams.moved,
            "connections_ended": streams.connections_ended,
            "connections_ended_by_error": streams.connections_ended_by_error,
        }
    return row


def _divided_rows(analysis: Analysis) -> Iterator[Row]:
    """Yield the parts of the time of a request; the whole and what remains are of no program."""
    for one in analysis.divided:
        at = {"server": one.server, "point": one.point, "unit": "µs"}
        yield {**at, "part": "request", **_estimate(one.request_us)}
        for program in one.programs:
            yield {**at, "program": program.name, "part": "cpu", **_estimate(program.cpu_us)}
            yield {**at, "program": program.name, "part": "run_delay", **_estimate(program.run_delay_us)}
        yield {**at, "part": "elsewhere", **_estimate(one.elsewhere_us)}


def _different(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name is not None))


def _reach(name: str, found: Range | None, unit: str = "") -> Row:
    return {
        f"{name}_min{unit}": found.least if found else None,
        f"{name}_max{unit}": found.greatest if found else None,
    }


def _published_rows(analysis: Analysis) -> Iterator[Row]:
    for match in analysis.published:
        for pair in match.pairs:
            for place, value in pair.published.items():
                yield {
                    "figure": match.title,
                    "measure": match.measure,
                    "series": pair.series,
                    "point": {**match.fixed, match.axis: place},
                    "published": value,
                    "published_unit": match.unit,
                    "server": pair.server,
                    **_estimate(pair.measured.get(place)),
                    "unit": PUBLISHED_MEASURES[match.measure].unit,
                }


def _finding_rows(found: Sequence[Finding]) -> Iterator[Row]:
    for number, finding in enumerate(found, start=1):
        yield {
            "finding": number,
            "server": finding.server,
            "code": finding.code,
            "weight": finding.weight,
            "certainty": finding.certainty,
            "seen_at": points_in_words(finding.points),
            "trials": len(finding.trials),
            "trials_measured": finding.trials_measured,
            "seen": finding.seen,
            "cause": finding.cause,
            "advice": finding.advice,
        }


def _evidence_rows(found: Sequence[Finding]) -> Iterator[Row]:
    for number, finding in enumerate(found, start=1):
        for evidence in finding.evidence:
            yield {
                "finding": number,
                "server": finding.server,
                "code": finding.code,
                **evidence.model_dump(),
            }

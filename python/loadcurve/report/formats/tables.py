"""The tables of a report as polars data frames, in the order in which a workbook shows them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars

from loadcurve.explain.finding import Finding
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.formats.numbers import Numbers
from loadcurve.report.formats.records import (
    EstimateRecord,
    PlaceRecord,
    PublishedRecord,
    RankRecord,
    RatioRecord,
    ShapeRecord,
)
from loadcurve.result.folder import Run
from loadcurve.result.records import Point
from loadcurve.result.tables import failures_table, operations_table, points_table

Row = dict[str, Any]
Schema = dict[str, Any]

_ESTIMATE: Schema = {
    "value": polars.Float64,
    "low": polars.Float64,
    "high": polars.Float64,
    "n": polars.Int64,
    "method": polars.String,
}


def report_tables(run: Run, numbers: Numbers) -> dict[str, polars.DataFrame]:
    """Return the tables by name; the settings of the sweep are columns of them under their own names.

    Measured columns carry their unit last. What was not measured is null; in ``ranking`` and ``ratios`` the
    settings are null for the whole curve. A table without rows has its columns all the same.
    """
    keys = list(dict.fromkeys(key for point in run.sweep_points for key in point))
    return {
        "estimates": estimates_table(numbers, keys),
        "points": points_table(run),
        "operations": operations_table(run),
        "ranking": _table(map(_rank_row, numbers.ranking), keys, _RANKING),
        "ratios": _table(map(_ratio_row, numbers.ratios), keys, _RATIOS),
        "shapes": _table(map(_shape_row, numbers.shapes), keys, _SHAPES),
        # Most studies name no published figures, and have no table for them.
        **({"published": _published_table(numbers.published, keys)} if numbers.published else {}),
        "findings": _table(_finding_rows(numbers.findings), [], _FINDINGS),
        "evidence": _table(_evidence_rows(numbers.findings), [], _EVIDENCE),
        "failures": failures_table(run),
    }


def estimates_table(numbers: Numbers, keys: Sequence[str]) -> polars.DataFrame:
    """Return one row for each measure, server and point; ``n`` is 0 where nothing usable was measured."""
    rows = (
        {
            "server": record.server,
            "point": record.point,
            "measure": record.measure,
            "unit": record.unit,
            **_estimate(record.estimate),
            "n": record.estimate.n if record.estimate else 0,
            "trials": record.trials,
            "verdict": record.verdict,
        }
        for record in numbers.estimates
    )
    return _table(rows, keys, _ESTIMATES)


_ESTIMATES: Schema = {
    "measure": polars.String,
    "unit": polars.String,
    "server": polars.String,
    "point": None,
    **_ESTIMATE,
    "trials": polars.Int64,
    "verdict": polars.String,
}
_RANKING: Schema = {
    "measure": polars.String,
    "point": None,
    "server": polars.String,
    "rank_best": polars.Int64,
    "rank_worst": polars.Int64,
}
_RATIOS: Schema = {
    "measure": polars.String,
    "point": None,
    "first": polars.String,
    "second": polars.String,
    **_ESTIMATE,
    "p_value": polars.Float64,
    "told_apart": polars.Boolean,
}
_SHAPES: Schema = {
    "server": polars.String,
    "load": polars.String,
    "point": None,
    "peak_load": polars.Float64,
    "peak_place": polars.String,
    "peak_throughput_rps": polars.Float64,
    "peak_throughput_low_rps": polars.Float64,
    "peak_throughput_high_rps": polars.Float64,
    "knee_load": polars.Float64,
    "knee_place": polars.String,
    "limits": polars.String,
    "capacity_load": polars.Float64,
    "capacity_load_low": polars.Float64,
    "capacity_load_high": polars.Float64,
    "capacity_bound": polars.String,
    "capacity_safe_load": polars.Float64,
    "price_usd_per_hour": polars.Float64,
    "requests_per_usd": polars.Float64,
    "requests_per_usd_low": polars.Float64,
    "requests_per_usd_high": polars.Float64,
}
_PUBLISHED: Schema = {
    "figure": polars.String,
    "measure": polars.String,
    "series": polars.String,
    "point": None,
    "published": polars.Float64,
    "published_unit": polars.String,
    "server": polars.String,
    **_ESTIMATE,
    "unit": polars.String,
}
_FINDINGS: Schema = {
    "finding": polars.Int64,
    "server": polars.String,
    "code": polars.String,
    "weight": polars.String,
    "certainty": polars.String,
    "seen_at": polars.String,
    "trials": polars.Int64,
    "trials_measured": polars.Int64,
    "seen": polars.String,
    "cause": polars.String,
    "advice": polars.String,
}
_EVIDENCE: Schema = {
    "finding": polars.Int64,
    "server": polars.String,
    "code": polars.String,
    "name": polars.String,
    "value": polars.Float64,
    "unit": polars.String,
    "low": polars.Float64,
    "high": polars.Float64,
    "spread": polars.String,
}


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


def _estimate(estimate: EstimateRecord | None) -> Row:
    return estimate.model_dump() if estimate else dict.fromkeys(_ESTIMATE)


def _rank_row(record: RankRecord) -> Row:
    return {
        "measure": record.measure,
        "point": record.point,
        "server": record.server,
        "rank_best": record.best,
        "rank_worst": record.worst,
    }


def _ratio_row(record: RatioRecord) -> Row:
    return {
        "measure": record.measure,
        "point": record.point,
        "first": record.first,
        "second": record.second,
        **_estimate(record.ratio),
        "p_value": record.p_value,
        "told_apart": record.told_apart,
    }


def _shape_row(record: ShapeRecord) -> Row:
    capacity = record.capacity
    return {
        "server": record.server,
        "load": record.key,
        "point": record.fixed,
        **_place("peak", record.peak),
        **_ends("peak_throughput", record.peak_throughput_rps, "_rps"),
        **_place("knee", record.knee),
        "limits": capacity.limits if capacity else None,
        **_ends("capacity_load", capacity.load if capacity else None),
        "capacity_bound": capacity.bound if capacity else None,
        "capacity_safe_load": capacity.safe_load if capacity else None,
        "price_usd_per_hour": record.usd_per_hour,
        **_ends("requests_per_usd", record.requests_per_usd),
    }


def _place(name: str, found: PlaceRecord | None) -> Row:
    return {f"{name}_load": found.load if found else None, f"{name}_place": found.place if found else None}


def _ends(name: str, estimate: EstimateRecord | None, unit: str = "") -> Row:
    """Return a number and the ends of its interval under names that end with the unit."""
    return {
        f"{name}{unit}": estimate.value if estimate else None,
        f"{name}_low{unit}": estimate.low if estimate else None,
        f"{name}_high{unit}": estimate.high if estimate else None,
    }


def _published_table(records: Sequence[PublishedRecord], keys: Sequence[str]) -> polars.DataFrame:
    rows = ({**record.model_dump(exclude={"estimate"}), **_estimate(record.estimate)} for record in records)
    return _table(rows, keys, _PUBLISHED)


def _finding_rows(found: Sequence[Finding]) -> Iterable[Row]:
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


def _evidence_rows(found: Sequence[Finding]) -> Iterable[Row]:
    for number, finding in enumerate(found, start=1):
        for evidence in finding.evidence:
            yield {
                "finding": number,
                "server": finding.server,
                "code": finding.code,
                **evidence.model_dump(),
            }

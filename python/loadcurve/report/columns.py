"""Rows as columns for the page, where the same names and settings would otherwise stand in every row."""

from collections.abc import Sequence
from typing import Any

from loadcurve.report.charts.figure import Row, Specification

WORTH_NAMING = 3
"""A column whose values come so often on average is stored as places in the list of its values."""

Columns = dict[str, Any]
"""``rows`` counts them, and ``columns`` has each field as values, as one value ``all``, or as places ``at``
in the values ``of``; ``figures.js`` makes rows of it again."""


def columns(rows: Sequence[Row]) -> Columns:
    """Return rows of the same fields as columns; a field that a row lacks is ``None`` there."""
    fields = dict.fromkeys(field for row in rows for field in row)
    return {
        "rows": len(rows),
        "columns": {field: _column([row.get(field) for row in rows]) for field in fields},
    }


def with_columns(specification: Specification) -> Specification:
    """Return a chart's specification with its data as columns."""
    datasets = {name: columns(rows) for name, rows in specification.get("datasets", {}).items()}
    return specification | {"datasets": datasets}


def _column(values: list[Any]) -> list[Any] | dict[str, Any]:
    # True equals 1 and 1.0 equals 1, which are not the same in JSON.
    places: dict[tuple[type, Any], int] = {}
    at = [places.setdefault((type(value), value), len(places)) for value in values]
    if len(places) == 1:
        return {"all": values[0]}
    if len(values) >= WORTH_NAMING * len(places):
        return {"of": [value for _, value in places], "at": at}
    return values

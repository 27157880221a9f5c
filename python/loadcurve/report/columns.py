"""Rows as columns for the page, where the same names and settings would otherwise be in every row."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from loadcurve.report.charts.figure import Row, Specification

WORTH_NAMING = 3
"""A column whose values come so often on average, after one another or not, is stored by its values."""

Columns = dict[str, Any]
"""``rows`` counts them, and ``columns`` has each field as values, as one value ``all``, as the values ``of``
that are ``times`` after one another, or as places ``at`` in the values ``of``; ``figures.js`` makes rows of
it again."""


def columns(rows: Sequence[Row]) -> Columns:
    """Return rows of the same fields as columns; a field that a row lacks is ``None`` there."""
    fields = dict.fromkeys(field for row in rows for field in row)
    return columns_of(len(rows), {field: [row.get(field) for row in rows] for field in fields})


def columns_of(rows: int, fields: Mapping[str, list[Any]]) -> Columns:
    """Return columns of ``rows`` values each in the same form."""
    return {"rows": rows, "columns": {field: _column(values) for field, values in fields.items()}}


def with_columns(specification: Specification) -> Specification:
    """Return a chart's specification with its data as columns."""
    datasets = {name: columns(rows) for name, rows in specification.get("datasets", {}).items()}
    return specification | {"datasets": datasets}


def rows_of(stored: Columns) -> list[Row]:
    """Return the rows that :func:`columns` has stored."""
    values = {field: _values(column, stored["rows"]) for field, column in stored["columns"].items()}
    return [{field: column[row] for field, column in values.items()} for row in range(stored["rows"])]


def _values(column: list[Any] | dict[str, Any], rows: int) -> list[Any]:
    if isinstance(column, list):
        return column
    if "all" in column:
        return [column["all"]] * rows
    if "times" in column:
        runs = zip(column["of"], column["times"], strict=True)
        return [value for value, times in runs for _ in range(times)]
    return [column["of"][place] for place in column["at"]]


def _column(values: list[Any]) -> list[Any] | dict[str, Any]:
    # True equals 1 and 1.0 equals 1, which are not the same in JSON.
    places: dict[tuple[type, Any], int] = {}
    at = [places.setdefault((type(value), value), len(places)) for value in values]
    if len(places) == 1:
        return {"all": values[0]}
    runs = [(value, sum(1 for _ in run)) for (_, value), run in groupby((type(v), v) for v in values)]
    if len(values) >= WORTH_NAMING * len(runs):
        return {"of": [value for value, _ in runs], "times": [times for _, times in runs]}
    if len(values) >= WORTH_NAMING * len(places):
        return {"of": [value for _, value in places], "at": at}
    return values

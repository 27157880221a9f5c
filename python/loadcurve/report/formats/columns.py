"""Columns of tables: each is named once, with its type and where in a row its value is."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import polars

POINT = "point"
"""The type of a column that stands for the settings of the sweep, each a column under its own name."""
TYPES = {
    "": "String",
    "int": "Int64",
    "float": "Float64",
    "bool": "Boolean",
    "texts": "List",
    "point": POINT,
}


class Column(NamedTuple):
    """One column; what was not measured is null."""

    name: str
    type: str
    value: Callable[[Any], Any]


def columns(texts: str, within: str = "", prefix: str = "") -> list[Column]:
    """Read ``NAME:TYPE=PATH`` of each column, with blanks between them.

    One without a type is a text. A path leads through attributes, the first of ``within``, to the value,
    which is null where it ends early; one that is not given is the name. ``prefix`` comes before all names.
    """
    found = []
    for text in texts.split():
        declared, _, path = text.partition("=")
        steps = [*within.split(), *(path or declared.partition(":")[0]).split(".")]
        found.append(column(prefix + declared, _at(steps)))
    return found


def column(declared: str, value: Callable[[Any], Any]) -> Column:
    """Return a column, declared by ``NAME:TYPE``, whose value is computed of a row."""
    name, _, kind = declared.partition(":")
    return Column(name, TYPES[kind], value)


def table(rows: Iterable[Any], of: Iterable[Column], keys: Sequence[str] = ()) -> "polars.DataFrame":
    """Return a table, with the settings ``keys`` where its columns have the point of a row.

    A setting is null where a row has no point. A table without rows has its columns all the same.
    """
    import polars  # noqa: PLC0415 - it takes its time, and only files of tables need it

    flat = [one for found in of for one in (_settings(found, keys) if found.type == POINT else [found])]
    types = {name: getattr(polars, kind) for name, kind, _ in flat}
    schema = {name: kind(polars.String) if kind is polars.List else kind for name, kind in types.items()}
    made = [{name: value(row) for name, _, value in flat} for row in rows]
    return polars.DataFrame(made, schema=schema, orient="row")


def _settings(point: Column, keys: Sequence[str]) -> list[Column]:
    def of(key: str) -> Column:
        return Column(key, "Float64", lambda row: (point.value(row) or {}).get(key))

    return [of(key) for key in keys]


def _at(steps: list[str]) -> Callable[[Any], Any]:
    def value(row: Any) -> Any:  # noqa: ANN401 - rows are of any type
        for step in steps:
            row = getattr(row, step) if row is not None else None
        return row

    return value

"""Columns of tables: each is named once, with its type and where in a row its value is."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import polars

TYPES = {"": "String", "int": "Int64", "float": "Float64", "bool": "Boolean", "texts": "List"}


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
        name, _, kind = declared.partition(":")
        steps = [*within.split(), *(path or name).split(".")]
        found.append(Column(prefix + name, TYPES[kind], _at(steps)))
    return found


def settings(keys: Iterable[str], path: str) -> list[Column]:
    """Return the settings of the point at a path under their own names; null where there is no point."""
    point = _at(path.split("."))

    def of(key: str) -> Column:
        return Column(key, "Float64", lambda row: (point(row) or {}).get(key))

    return [of(key) for key in keys]


def table(rows: Iterable[Any], of: Iterable[Column]) -> "polars.DataFrame":
    """Return a table; one without rows has its columns all the same."""
    import polars  # noqa: PLC0415 - it takes its time, and only files of tables need it

    of = list(of)
    types = {name: getattr(polars, kind) for name, kind, _ in of}
    schema = {name: kind(polars.String) if kind is polars.List else kind for name, kind in types.items()}
    made = [{name: value(row) for name, _, value in of} for row in rows]
    return polars.DataFrame(made, schema=schema, orient="row")


def _at(steps: list[str]) -> Callable[[Any], Any]:
    def value(row: Any) -> Any:  # noqa: ANN401 - rows are of any type
        for step in steps:
            row = getattr(row, step) if row is not None else None
        return row

    return value

"""The load of a study: every load model, as the file gives it and at one point of the sweep."""

from typing import get_args

from loadcurve.load.http import HttpLoad, HttpLoadTables, complete_http_type
from loadcurve.load.table import attributes
from loadcurve.load.ycsb import DatabaseLoad, DatabaseLoadTable

LoadTables = HttpLoadTables | DatabaseLoadTable
"""A load as the file gives it."""

Load = HttpLoad | DatabaseLoad
"""A complete load: what the generator does at one point."""


DURATION_KEYS = frozenset(
    key for table in get_args(LoadTables) for key, name in attributes(table).items() if name.endswith("_s")
)
"""The keys of a load whose values are durations."""


def model_table(model: str) -> type[LoadTables]:
    """Return the table of a load model by its name."""
    tables: tuple[type[LoadTables], ...] = get_args(LoadTables)
    return next(table for table in tables if model in get_args(table.model_fields["model"].annotation))


def complete_type(load: LoadTables) -> type[Load]:
    """Return the type of ``load`` at one point."""
    return DatabaseLoad if isinstance(load, DatabaseLoadTable) else complete_http_type(load)

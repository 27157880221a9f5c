"""The load of a study: every load model, as the file gives it and at one point of the sweep."""

from loadcurve.study.database_load import DatabaseLoad, DatabaseLoadTable
from loadcurve.study.http_loads import HttpLoad, HttpLoadTables, complete_http_type

LoadTables = HttpLoadTables | DatabaseLoadTable
"""A load as the file gives it."""

Load = HttpLoad | DatabaseLoad
"""A complete load: what the generator does at one point."""


def complete_type(load: LoadTables) -> type[Load]:
    """Return the type of ``load`` at one point."""
    return DatabaseLoad if isinstance(load, DatabaseLoadTable) else complete_http_type(load)

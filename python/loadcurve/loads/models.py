"""The load of a study: every load model, as the file gives it and at one point of the sweep."""

from typing import Annotated, get_args

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

from loadcurve.loads.http import HttpLoad, HttpLoadTables
from loadcurve.loads.table import attributes
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable

LoadTables = HttpLoadTables | DatabaseLoadTable
"""A load as the file gives it."""


def _as_written(table: object, load_of: ValidatorFunctionWrapHandler) -> LoadTables:
    load: LoadTables = load_of(table)
    return load.as_written(table) if isinstance(table, dict) else load


WrittenLoad = Annotated[LoadTables, Field(discriminator="model"), WrapValidator(_as_written)]
"""A load as the file gives it, by the table of its model."""

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


def keys_of(model: object) -> dict[str, str]:
    """Return the study's key of each option of a load model, by the option's name; of an unknown one none."""
    for table in get_args(LoadTables):
        if model in get_args(table.model_fields["model"].annotation):
            return {name: key for key, name in attributes(table).items()}
    return {}

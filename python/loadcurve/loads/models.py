"""The load of a study: every load model, as the file gives it and at one point of the sweep."""

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import BaseModel, Field, ValidatorFunctionWrapHandler, WrapValidator

from loadcurve.loads.grpc import GrpcTable
from loadcurve.loads.http import HTTP_TABLES, HttpLoad, HttpLoadTables
from loadcurve.loads.option import Shown, said_of
from loadcurve.loads.table import attributes, by_model
from loadcurve.loads.tls import TlsTable
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable

LoadTables = HttpLoadTables | DatabaseLoadTable
"""A load as the file gives it."""
TABLES: Mapping[str, type[LoadTables]] = {**HTTP_TABLES, **by_model([DatabaseLoadTable])}
"""The table of each load model."""
INNER_TABLES: Mapping[str, type[BaseModel]] = {"grpc": GrpcTable, "tls": TlsTable}
"""The keys of a load that are tables, each key of which is an option of `loadcurve load`."""


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

SHOWN: Mapping[str, Shown] = {
    key: said
    for table in get_args(LoadTables)
    for key, name in attributes(table).items()
    for said in said_of(table, name, Shown)
}
"""What reports call the values of a load's keys."""


def keys_of(model: object) -> dict[str, str]:
    """Return the study's key of each option of a load model, by the option's name; of an unknown one none."""
    table = TABLES.get(model) if isinstance(model, str) else None
    return {} if table is None else {name: key for key, name in attributes(table).items()}

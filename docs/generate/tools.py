"""The tables of driven load generators: what each does unless told otherwise that would change the work."""

from collections.abc import Iterator, Sequence

from docs.generate.markdown import Tables, table

from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.tools.catalog import Tool, driven_tools
from loadcurve.tools.defaults import (
    DATABASE_DEFAULTS,
    WEB_DEFAULTS,
    Absent,
    DatabaseDefault,
    Default,
    KeptOff,
    Stays,
    WebDefault,
)

_TITLES: dict[WebDefault | DatabaseDefault, str] = {
    "redirects": "follows redirects",
    "compression": "accepts compression",
    "cookies": "sends cookies back",
    "http2": "HTTP/2 for 1.1",
    "retries": "sends again",
    "extra_connections": "other connections",
    "keep_alive_field": "field `Connection`",
    "user_agent": "`User-Agent`",
    "other_fields": "other fields",
    "option_order": "order of options counts",
    "batches": "several in one message",
}


def _of_web() -> str:
    return _table(list(driven_tools(WEB).values()), WEB_DEFAULTS)


def _of_databases() -> str:
    return _table(list(driven_tools(DATABASE).values()), DATABASE_DEFAULTS)


def _table(tools: Sequence[Tool], names: Sequence[WebDefault | DatabaseDefault]) -> str:
    rows = (
        (f"`{one.name}`", *(_cell(one.name, one.table.defaults[name]) for name in names)) for one in tools
    )
    return table(("generator", *(_TITLES[name] for name in names)), rows)


def _cell(tool: str, row: Default) -> str:
    match row:
        case KeptOff(off_by=option):
            return f"off: `{tool} … {option}`" if option.startswith("-") else f"off: `{option}`"
        case Absent():
            return "no"
        case Stays():
            return "yes"


def _stay() -> str:
    return table(("generator", "by default", "why that is no harm, or where it shows"), _rows_that_stay())


def _rows_that_stay() -> Iterator[tuple[str, str, str]]:
    for tool in driven_tools().values():
        for name, row in tool.table.defaults.items():
            if isinstance(row, Stays):
                yield f"`{tool.name}`", _TITLES[name], row.stays


TOOL_TABLES: Tables = {
    "tool-defaults": _of_web,
    "tool-defaults-of-databases": _of_databases,
    "tool-defaults-that-stay": _stay,
}

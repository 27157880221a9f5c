"""``loadcurve generators``: what can send a load here, and one of them tried."""

import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID
from loadcurve.loads.kinds import DATABASE, KINDS
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.protocol import HTTP_VERSIONS
from loadcurve.report.column import WORDS, Column
from loadcurve.report.terminal_tables import column_table, facts_table
from loadcurve.tools.catalog import Tool, tool_named, tools
from loadcurve.tools.table import Abilities, ToolTable
from loadcurve.units import ABSENT, time_step
from loadcurve.version import VERSION

FORMAT = "loadcurve-generators/1"
_COMPLETENESS = {
    "complete": "every latency",
    "sampled": "a sample",
    "percentiles": "percentiles",
    "summary": "means",
}


def list_command(*, json_output: bool) -> None:
    """Print the generators: ours, those that are installed, and the rest with the way to install them."""
    if json_output:
        found = [_ours(), *map(_as_json, tools().values())]
        sys.stdout.write(json.dumps({"format": FORMAT, "generators": found}, indent=2) + "\n")
        return
    installed = [tool for tool in tools().values() if tool.program is not None]
    missing = [tool for tool in tools().values() if tool.program is None]
    ours = _Listed(ENGINE_NAME, VERSION, "all", "all, databases", "due", "every latency, 1 ns")
    driven = [_listed(tool) for tool in installed if tool.table.kinds]
    out = new_console()
    out.print(column_table([ours, *driven], _COLUMNS))
    for title, names in _others(installed, missing).items():
        out.print()
        out.print(Text(title, style="dim"))
        for name, hint in names.items():
            out.print(Text(f"  {name}: {hint}" if hint else f"  {name}"))


def _others(installed: list[Tool], missing: list[Tool]) -> dict[str, dict[str, str]]:
    """Return what is not driven here, by the reason."""
    hints = {tool.name: tool.install or tool.table.documentation for tool in missing}
    groups = {
        "not installed": {tool.name: hints[tool.name] for tool in missing if tool.table.kinds},
        "installed, but not driven by this version": {
            tool.name: tool.version or "" for tool in installed if not tool.table.kinds
        },
        "known, but not driven and not installed": {
            tool.name: hints[tool.name] for tool in missing if not tool.table.kinds
        },
    }
    return {title: names for title, names in groups.items() if names}


class _Listed(NamedTuple):
    name: str
    version: str
    models: str
    protocols: str
    basis: str
    """What latency counts from."""
    latency: str


_COLUMNS: Sequence[Column[_Listed]] = (
    Column("generator", lambda row: row.name, WORDS),
    Column("version", lambda row: row.version, WORDS),
    Column("models", lambda row: row.models, WORDS),
    Column("HTTP", lambda row: row.protocols, WORDS),
    Column("from", lambda row: row.basis, WORDS),
    Column("latency", lambda row: row.latency, WORDS),
)


def _listed(tool: Tool) -> _Listed:
    table = tool.table
    return _Listed(
        tool.name,
        tool.version or ABSENT,
        ", ".join(_models(table)) or ABSENT,
        ", ".join([*_http(table), *tool.bindings]) or ABSENT,
        table.latency_basis,
        _latency(table),
    )


def _latency(table: ToolTable) -> str:
    resolution = "" if table.resolution_ms is None else f", {time_step(table.resolution_ms)}"
    return f"{_COMPLETENESS[table.completeness]}{resolution}"


def _models(table: ToolTable) -> list[str]:
    return [*(table.can.models if table.can else []), *(DATABASE.models if table.databases else [])]


def _http(table: ToolTable) -> list[str]:
    return [*table.can.http] if table.can else []


def _as_json(tool: Tool) -> dict[str, Any]:
    table = tool.table
    return {
        "name": tool.name,
        "title": table.title,
        "program": None if tool.program is None else str(tool.program),
        "version": tool.version,
        "install": tool.install,
        "is_driven": bool(table.kinds),
        "models": _models(table),
        "http": _http(table),
        "databases": [*tool.bindings],
        "latency_basis": table.latency_basis,
        "resolution_ms": table.resolution_ms,
        "completeness": table.completeness,
        "not_measured": table.not_measured,
        "notes": table.notes,
        "documentation": table.documentation,
    }


def _ours() -> dict[str, Any]:
    return {
        "name": ENGINE_NAME,
        "title": "Loadcurve's own engine",
        "program": None,
        "version": VERSION,
        "install": None,
        "is_driven": True,
        "models": [model for kind in KINDS for model in kind.models],
        "http": [*HTTP_VERSIONS],
        "databases": [*DATABASE.protocols],
        "latency_basis": "due",
        "resolution_ms": 1e-6,
        "completeness": "complete",
        "not_measured": [],
        "notes": [],
        "documentation": "",
    }


def show_command(name: str) -> None:
    """Print what is known of one tool."""
    tool = tools().get(name) or tool_named(name)
    new_console().print(facts_table(_facts(tool).items()))


def _facts(tool: Tool) -> dict[str, str | None]:
    described = tool.table
    can = described.can
    return {
        "title": described.title,
        "program": None if tool.program is None else str(tool.program),
        "version": tool.version,
        "install": None if tool.program is not None else tool.install,
        "driven": None if described.kinds else "no",
        "models": ", ".join(_models(described)),
        "HTTP": ", ".join(_http(described)),
        "databases": ", ".join(tool.bindings),
        "ends by": ", ".join(can.ends) if can else None,
        "connections": _calls(can) if can else None,
        "latency": f"{_latency(described)}, counted from {described.latency_basis}",
        "not measured": ", ".join(described.not_measured),
        "documentation": described.documentation,
        "notes": "\n".join(described.notes),
    }


def _calls(can: Abilities) -> str:
    return {"kept": "kept open", "one or kept": "kept open, or new for each request", "any": "any"}[can.calls]


def check_command(name: str) -> int:
    """Put a short load on a server by a tool, compare what both have counted, and return the exit code.

    Raises:
        BadInput: there is no such tool, or it is not installed.
        NothingMeasured: it did not start, or its output cannot be read.
        ServerFailure: the server did not start.

    """
    from loadcurve.runs.generator_check import check_generator

    tool = tool_named(name)
    checked = check_generator(tool)
    result, out = checked.result, new_console()
    counts = result.requests
    place, what = ("table", "new records") if checked.is_database else ("access log", "requests")
    facts = {
        "command": " ".join(result.tool.command if result.tool else []),
        "server": checked.server,
        result.load.kind.requests: f"{counts.answered:,} answered, {counts.failed:,} failed",
        "inserts": f"{checked.counted:,} answered" if checked.is_database else None,
        place: ABSENT if checked.logged is None else f"{checked.logged:,} {what}",
        "verdict": result.verdict.status,
    }
    out.print(Text(f"{tool.name} {tool.version or ''}".strip()))
    out.print(facts_table(facts.items()))
    at_once = result.load.connections or 0
    if checked.unaccounted is None:
        out.print("the server has no log, so its count is unknown")
        return EXIT_DONE
    agrees = 0 <= checked.unaccounted <= at_once
    if not agrees:
        out.print(f"the two differ by {checked.unaccounted:,}")
    elif not checked.unaccounted:
        out.print("the two agree")
    else:
        out.print(
            f"the two agree: the {place} has {checked.unaccounted:,} {what} more, and at most {at_once:,} "
            "were in flight when the load ended"
        )
    return EXIT_DONE if agrees and result.verdict.status != "invalid" else EXIT_INVALID

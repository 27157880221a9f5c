"""Installed servers that a study runs because those of the system are too old for its settings."""

from collections.abc import Callable, Mapping
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.server.catalog import Catalog
from loadcurve.server.elsewhere import ServerMachine
from loadcurve.server.installed.place import installed_server
from loadcurve.server.settings import UnsupportedVersion
from loadcurve.study.model import Study


def newer_servers(
    study: Study,
    catalog: Catalog,
    look_for: Callable[[str, None], object],
    say: Callable[[str], None],
    machines: Mapping[str, ServerMachine | None],
) -> dict[str, Path]:
    """Return, by the names of servers, the programs of ``loadcurve servers install`` that they run.

    Where one server of an entry of the catalogue finds a program that is too old, all servers of that entry
    on the same machine run the one that is installed there: between two versions a difference is not that of
    a setting alone. A server that names its program is left as it is. ``look_for`` looks for a server by its
    name, without another program, and raises ``BadInput`` as
    :func:`~loadcurve.runs.prepare.find_servers` does; ``machines`` has the machines of those that run on
    another one.
    """
    kinds = {
        name: (server.use, machines.get(name))
        for name, server in study.servers.items()
        if server.binary is None and server.engine is None and server.programs is None
    }
    too_old: dict[tuple[str, ServerMachine | None], Path] = {}
    for name, (use, machine) in kinds.items():
        if (use, machine) in too_old:
            continue
        program = _installed_program(catalog, use, machine)
        if program is None:
            continue
        try:
            look_for(name, None)
        except UnsupportedVersion as error:
            too_old[use, machine] = program
            there = "" if machine is None else f" on machine {machine.name}"
            say(f"{name}: {error.what}{there}; the installed one is measured instead: {program}")
        except BadInput:
            # It is said with its line where all servers are looked for.
            continue
    return {name: too_old[kind] for name, kind in kinds.items() if kind in too_old}


def _installed_program(catalog: Catalog, use: str, machine: ServerMachine | None) -> Path | None:
    """Return the installed program of an entry that may find an older one on the machine's PATH."""
    description = catalog[use].description
    if description.recipe is None or not description.unsupported:
        return None
    if machine is not None:
        return machine.installed_program(description.recipe.name)
    installed = installed_server(description.recipe.name)
    return None if installed is None else installed.program

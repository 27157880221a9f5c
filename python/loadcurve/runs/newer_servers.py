"""Installed servers that a study runs because those of the system are too old for its settings."""

from collections.abc import Callable, Mapping
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.server.catalog import Catalog
from loadcurve.server.installed.place import Installed, installed_server
from loadcurve.server.settings import UnsupportedVersion
from loadcurve.study.model import Study
from loadcurve.study.tables import StudyServer


def newer_servers(
    study: Study,
    catalog: Catalog,
    look_for: Callable[[str, None], object],
    say: Callable[[str], None],
    elsewhere: Mapping[str, object],
) -> dict[str, Path]:
    """Return, by the names of servers, the programs of ``loadcurve servers install`` that they run.

    Where one server of an entry of the catalogue finds a program that is too old, all servers of that entry
    run the installed one: between two versions a difference is not that of a setting alone. A server that
    names its program, or runs elsewhere, is left as it is. ``look_for`` looks for a server by its name,
    without another program, and raises ``BadInput`` as :func:`~loadcurve.runs.prepare.find_servers` does;
    ``elsewhere`` has the machines of those that run on another one.
    """
    installed = {
        name: one
        for name, server in study.servers.items()
        if not elsewhere.get(name) and (one := _installed_beside(catalog, server)) is not None
    }
    too_old: set[str] = set()
    for name, one in installed.items():
        use = study.servers[name].use
        if use in too_old:
            continue
        try:
            look_for(name, None)
        except UnsupportedVersion as error:
            too_old.add(use)
            say(f"{name}: {error.what}; the installed one is measured instead: {one.program}")
        except BadInput:
            # It is said with its line where all servers are looked for.
            continue
    return {name: one.program for name, one in installed.items() if study.servers[name].use in too_old}


def _installed_beside(catalog: Catalog, server: StudyServer) -> Installed | None:
    """Return the installed server of an entry that may find an older one on PATH."""
    description = catalog[server.use].description
    if description.recipe is None or not description.unsupported:
        return None
    names_its_own = server.binary is not None or server.engine is not None or server.programs is not None
    return None if names_its_own else installed_server(description.recipe.name)

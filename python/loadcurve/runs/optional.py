"""The optional servers of a study: a run leaves out those that are not installed."""

from collections.abc import Collection, Mapping

from loadcurve.result.inputs import LeftOut
from loadcurve.server.found import MissingServer
from loadcurve.server.install import install_command_here
from loadcurve.study.model import Study


def not_installed(
    study: Study, servers: Mapping[str, object], asked_for: Collection[str]
) -> dict[str, MissingServer]:
    """Return the optional servers that are not installed; one that ``--only`` asks for is not optional.

    A server that is installed and cannot be measured, of an unknown version for instance, is not among them.
    """
    return {
        name: server
        for name, server in servers.items()
        if isinstance(server, MissingServer)
        and not server.has_trials
        and study.servers[name].optional
        and name not in asked_for
    }


def without(study: Study, left_out: Collection[str]) -> Study:
    """Return the study of the other servers."""
    kept = {name: server for name, server in study.servers.items() if name not in left_out}
    return study.model_copy(update={"servers": kept})


def left_out_record(left_out: Mapping[str, MissingServer]) -> LeftOut | None:
    """Return the servers that a run leaves out, with one command that installs all that this system has."""
    if not left_out:
        return None
    packages = {name: server.entry.description.install for name, server in left_out.items()}
    known = [name for name, given in packages.items() if install_command_here(given) is not None]
    command = install_command_here(*(packages[name] for name in known))
    return LeftOut(servers=list(left_out), installable=known, install=command)

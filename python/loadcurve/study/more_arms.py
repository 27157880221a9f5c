"""Studies with more arms: each server on several machines, or under the same load of other generators."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import show
from loadcurve.toml.problems import Problem, own_problems

KEY = "server_machine"


def beside_machines(study: object) -> object:
    """Return the tables of a study with an arm for each of its servers on each of the swept machines.

    A sweep is of numbers along which a curve is drawn, and machines are compared, so each becomes an arm:
    the server ``nginx`` on the machine ``small`` is ``nginx-small``. A server's own ``server_machine`` holds.
    """
    sweep = study.get("sweep") if isinstance(study, dict) else None
    if not isinstance(study, dict) or not isinstance(sweep, dict) or KEY not in sweep:
        return study
    machines, servers = _names(sweep[KEY]), study.get("servers")
    rest = {key: values for key, values in sweep.items() if key != KEY}
    if not isinstance(servers, dict):
        return {**study, "sweep": rest}
    arms: dict[str, Any] = {}
    for name, server in servers.items():
        arms.update(_on_each(machines, name, server))
    return {**study, "sweep": rest, "servers": arms}


def _on_each(machines: list[str], name: str, server: object) -> Mapping[str, object]:
    if not isinstance(server, dict) or KEY in server:
        return {name: server}
    return {f"{name}-{machine}": {"use": name, **server, KEY: machine} for machine in machines}


def _names(values: object) -> list[str]:
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return values
    text = f'found {show(values)}; expected names of [machines], such as ["small", "large"]'
    raise own_problems([Problem(("sweep", KEY), text)])


def beside_generators(document: TomlDocument, generators: Sequence[str]) -> TomlDocument:
    """Return the study with an arm more for each of its servers and each of these generators.

    The arm of the server ``nginx`` under ``wrk`` is ``nginx-wrk``; it is measured in the same blocks.
    """
    servers = document.data.get("servers", {})
    if not generators or not isinstance(servers, dict):
        return document
    arms: dict[str, Any] = {}
    for name, server in servers.items():
        arms[name] = server
        for generator in generators if isinstance(server, dict) else ():
            load = server.get("load", {})
            own = {**load, "generator": generator} if isinstance(load, dict) else load
            arms[_beside(name, generator)] = {"use": name, **server, "load": own}
    return dataclasses.replace(document, data={**document.data, "servers": arms})


def with_generators(names: Sequence[str], generators: Sequence[str]) -> set[str]:
    """Return the names of arms, and of those that :func:`beside_generators` has added for them."""
    return {*names, *(_beside(name, generator) for name in names for generator in generators)}


def _beside(name: str, generator: str) -> str:
    return f"{name}-{generator}"

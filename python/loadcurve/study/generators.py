"""A study under several generators: each of its servers again, under the same load of another one."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from loadcurve.toml.document import TomlDocument


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

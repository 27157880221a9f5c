"""Studies with more arms for each server: by settings of servers or of loads, by machines, by generators."""

import dataclasses
import itertools
import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from loadcurve.loads.models import TABLES
from loadcurve.loads.table import attributes, sweep_keys
from loadcurve.loads.workload import in_words
from loadcurve.study.tables import StudyServer
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import is_slip, show
from loadcurve.toml.problems import KeyPath, Problem, own_problems

KEY = "server_machine"
_KEYS_OF_LOADS = sorted({key for table in TABLES.values() for key in attributes(table)})
_KEYS_OF_SERVERS = frozenset(StudyServer.model_fields)
_LENT = ("connections", "rate", "connection_rate", "threads")
"""Keys that a load gives to a sweep that would otherwise be empty, so that its curves have a point."""
_SUCH_AS = {
    "closed": "connections = 10",
    "open": "rate = 1000",
    "sessions": "connection_rate = 100",
    "ycsb": "threads = 4",
}
"""How a load of each model names the one at which servers are compared."""
_NAME_CHARACTERS = re.compile(r"[A-Za-z0-9._-]+")


def with_all_arms(study: object) -> object:
    """Return the tables of a study with an arm for each swept value that is no number of the load.

    A sweep is of numbers along which a curve is drawn. Settings of servers, options of a load that are no
    numbers, and machines are compared, so each of their values is an arm: ``nginx`` with ``workers = [1, 2]``
    is ``nginx-workers-1`` and ``nginx-workers-2``, with ``http = ["1.1", "2"]`` it is ``nginx-http-1.1`` and
    ``nginx-http-2``, and on the machine ``small`` it is ``nginx-small``.
    """
    if not isinstance(study, dict) or not isinstance(study.get("servers"), dict):
        return study
    return _with_a_point(study, _beside_machines(_beside_loads(_beside_settings(study))))


def _with_a_point(written: Mapping[str, object], study: Mapping[str, Any]) -> Mapping[str, object]:
    """Let the load give a key to a sweep that had only what is compared."""
    load, compared = study.get("load"), written.get("sweep")
    if not isinstance(compared, dict) or not compared or study["sweep"] or not isinstance(load, dict):
        return study
    key = next((key for key in _LENT if isinstance(load.get(key), int | float)), None)
    if key is None:
        such_as = _SUCH_AS.get(str(load.get("model")))
        if such_as is None:
            return study
        text = (
            f"found only what is compared ({', '.join(compared)}), and no load at which; "
            f"expected a number in [load], such as {such_as}, or a list of numbers here"
        )
        raise own_problems([Problem(("sweep",), text)])
    rest = {name: value for name, value in load.items() if name != key}
    return {**study, "load": rest, "sweep": {key: [load[key]]}}


def _beside_settings(study: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the study with an arm for each value of each setting, of the sweep or of a server's table."""
    given = study.get("sweep")
    sweep: Mapping[str, object] = given if isinstance(given, dict) else {}
    swept = {key: values for key, values in sweep.items() if _is_of_servers(key)}
    return _divided(study, swept, lambda name, server: _with_each_value(name, server, swept))


def _divided(
    study: Mapping[str, Any],
    swept: Container[str],
    arms_of: Callable[[str, Mapping[str, Any]], Mapping[str, object]],
) -> Mapping[str, Any]:
    """Return the study with the arms of each server, and without the swept keys that they stand for."""
    arms: dict[str, Any] = {}
    for name, server in study["servers"].items():
        _add(arms, arms_of(name, server) if isinstance(server, dict) else {name: server})
    sweep = study.get("sweep")
    if not isinstance(sweep, dict):
        return {**study, "servers": arms}
    rest = {key: values for key, values in sweep.items() if key not in swept}
    return {**study, "sweep": rest, "servers": arms}


def _is_of_servers(key: str) -> bool:
    """Say whether a swept key is a setting of servers: none of a load, nor a mistyped one."""
    return not (key == KEY or "." in key or key in _KEYS_OF_LOADS or is_slip(key, _KEYS_OF_LOADS))


def _with_each_value(
    name: str, server: Mapping[str, Any], swept: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the arms of a server; one that runs already has no settings."""
    own = {key: value for key, value in server.items() if key not in _KEYS_OF_SERVERS}
    common = {key: values for key, values in swept.items() if key not in own and "url" not in server}
    lists = {key: _values(("sweep", key), values) for key, values in common.items()}
    for key, value in own.items():
        if isinstance(value, list):
            lists[key] = _values(("servers", name, key), value)
    if not lists:
        return {name: server}
    return {arm: {"use": name, **server, **one} for arm, one in _chosen(name, lists).items()}


def _beside_loads(study: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the study with an arm for each value of each option of the load that is swept and no number."""
    sweep, load = study.get("sweep"), study.get("load")
    if not isinstance(sweep, dict) or not isinstance(load, dict):
        return study
    swept = {
        key: values for key, values in sweep.items() if _is_choice_of_load(load.get("model"), key, values)
    }
    # An option that a load requires is named where it is swept, and need not be named twice.
    first = {key: next(iter(_values(("sweep", key), values))) for key, values in swept.items()}
    whole = {**study, "load": {**first, **load}}
    return _divided(whole, swept, lambda name, server: _under_each_load(name, server, swept))


def _is_choice_of_load(model: object, key: str, values: object) -> bool:
    """Say whether a swept key is an option of the load that takes no number, nor a duration."""
    table = TABLES.get(model) if isinstance(model, str) else None
    if table is None or key == "model" or not isinstance(values, list):
        return False
    return key in attributes(table) and key not in sweep_keys(table)


def _under_each_load(
    name: str, server: Mapping[str, Any], swept: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the arms of a server under each load; an option in its own table of the load holds."""
    own = server.get("load", {})
    if not isinstance(own, dict):
        return {name: server}
    lists = {key: _values(("sweep", key), values) for key, values in swept.items() if key not in own}
    if not lists:
        return {name: server}
    return {arm: {"use": name, **server, "load": {**own, **one}} for arm, one in _chosen(name, lists).items()}


def _chosen(name: str, lists: Mapping[str, Mapping[Any, str]]) -> dict[str, dict[str, Any]]:
    """Return every combination of the values of some keys, by the name of its arm."""
    combined = (dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values()))
    return {
        "-".join([name, *(f"{key}-{lists[key][value]}" for key, value in one.items())]): one
        for one in combined
    }


def _values(place: KeyPath, values: object) -> Mapping[Any, str]:
    """Return what a setting is to be, in turn, and what it is called in the name of an arm."""
    if (
        not isinstance(values, list)
        or not values
        or not all(isinstance(value, bool | int | float | str) for value in values)
        or len(set(values)) < len(values)
    ):
        text = f"found {show(values)}; expected different values of a setting, such as [1, 2, 4]"
        raise own_problems([Problem(place, text)])
    words = [in_words(value) for value in values]
    return {
        value: word if _NAME_CHARACTERS.fullmatch(word) else str(number)
        for number, (value, word) in enumerate(zip(values, words, strict=True), start=1)
    }


def _add(arms: dict[str, Any], more: Mapping[str, object]) -> None:
    """Add arms, each of which must have a name that no server has."""
    for name, server in more.items():
        if name in arms:
            text = (
                "is the name of an arm, too, which another server has by what is swept; choose another name"
            )
            raise own_problems([Problem(("servers", name), text)])
        arms[name] = server


def _beside_machines(study: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the study with an arm for each server on each of the swept machines; its own machine holds."""
    sweep = study.get("sweep")
    if not isinstance(sweep, dict) or KEY not in sweep:
        return study
    machines = _names(sweep[KEY])
    return _divided(study, (KEY,), lambda name, server: _on_each(machines, name, server))


def _on_each(machines: list[str], name: str, server: Mapping[str, Any]) -> Mapping[str, object]:
    if KEY in server:
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

"""What differs between the loads of a run's servers, their machines and their CPUs, in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis, ServerFacts
from loadcurve.analysis.works import Work
from loadcurve.loads.models import keys_of
from loadcurve.loads.workload import in_words
from loadcurve.report.section import Section

THIS_MACHINE = "this machine"
NAMED_MAX = 8
"""Of more load machines only the number is shown."""
LONGEST_VALUE = 40
"""Longer values are not shown, in characters."""
SETTINGS_MAX = 3
"""Of more settings in which arms differ only the number is shown."""


def own_loads(analysis: Analysis) -> dict[str, str]:
    """Return how servers of an analysis differ, as :func:`arms_in_words`."""
    return arms_in_words(analysis.run.load_model, analysis.run.servers)


def arms_in_words(model: str | None, servers: Mapping[str, ServerFacts]) -> dict[str, str]:
    """Return how servers differ in settings, load, machines and CPUs, as ``calls = 1, on web``, if any."""
    are_apart, are_loaded_apart = len(_by_machine(servers)) > 1, len(_by_load_machines(servers)) > 1
    settings = own_settings(servers)
    words = {
        name: [
            *settings.get(name, ()),
            *([own_load_in_words(model, server.load)] if server.load else []),
            *([f"on {server.facts.get('server_machine') or THIS_MACHINE}"] if are_apart else []),
            *([f"load from {_senders(_load_machines(server))}"] if are_loaded_apart else []),
            *([_cpus(server.facts["cpus"])] if server.facts.get("cpus") else []),
        ]
        for name, server in servers.items()
    }
    return {name: ", ".join(said) for name, said in words.items() if said}


def own_settings(servers: Mapping[str, ServerFacts]) -> dict[str, list[str]]:
    """Return in what settings arms of one server of the catalogue differ, where their names do not say it."""
    settings: dict[str, dict[str, dict[str, Any]]] = {}
    for name, server in servers.items():
        if server.status == "found":
            of_entry = settings.setdefault(str(server.facts.get("catalog_entry")), {})
            of_entry[name] = dict(server.facts.get("settings") or {})
    words = {}
    for arms in settings.values():
        keys = dict.fromkeys(key for one in arms.values() for key in one)
        differing = [key for key in keys if len({str(one.get(key)) for one in arms.values()}) > 1]
        for name, one in arms.items():
            own = [(key, in_words(one[key])) for key in differing if key in one]
            unsaid = [f"{key} = {value}" for key, value in own if f"-{key}-{value}" not in name]
            words[name] = unsaid if len(unsaid) <= SETTINGS_MAX else [f"{len(unsaid)} other settings"]
    return words


def own_load_in_words(model: str | None, own: Mapping[str, Any]) -> str:
    """Return options that a server's load has in place of the study's, as ``calls = 1, other headers``."""
    keys = keys_of(model)
    return ", ".join(_setting(keys.get(name, name), _value(name, value)) for name, value in own.items())


def options_in_words(model: str | None, own: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of the ``common`` options that a server's load has, by the study's key of each.

    Of a value that is too long to be shown it is said whose it is.
    """
    keys = keys_of(model)
    found = {}
    for name in common:
        value = _value(name, own[name] if name in own else common[name])
        whose = "its own" if name in own else "the study's"
        found[keys.get(name, name)] = whose if value is None else value or units.ABSENT
    return found


def work_in_words(analysis: Analysis, work: Work) -> str:
    """Return what the servers of a work were asked for, as ``workload = a``."""
    return own_load_in_words(analysis.run.load_model, work.options)


def ranking_caution(analysis: Analysis, ranked: Iterable[str]) -> str | None:
    """Return what must be known of a ranking of these servers; ``None`` where all have the same load."""
    return caution_of_loads({name: analysis.run.servers[name].load for name in ranked})


def caution_of_loads(loads: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the same by the options that each server's load has in place of the study's."""
    own = [name for name, load in loads.items() if load]
    if not own or all(load == loads[own[0]] for load in loads.values()):
        return None
    verb = "has a load" if len(own) == 1 else "have loads"
    return (
        f"{units.listing(own)} {verb} other than the study's: ranks and ratios to other servers compare the "
        "loads, too, not only the servers."
    )


def loads_in_words(analysis: Analysis) -> list[str]:
    """Return a sentence on the servers of each load that differs, and on those with other CPUs."""
    loads: dict[str, list[str]] = {}
    for name, server in analysis.run.servers.items():
        if server.load:
            changes = _differing(analysis, server.load).items()
            words = ", ".join(_change(key, *values) for key, values in changes)
            loads.setdefault(words, []).append(name)
    sentences = [f"The load on {units.listing(names)} differs: {words}." for words, names in loads.items()]
    machines = [*_machines_in_words(analysis), *_load_machines_in_words(analysis)]
    return [*sentences, *machines, *_cpus_in_words(analysis)]


def _by_machine(servers: Mapping[str, ServerFacts]) -> dict[str | None, list[str]]:
    """Return the servers that were measured by the other machine on which they ran; ``None`` for this one."""
    by_machine: dict[str | None, list[str]] = {}
    for name, server in servers.items():
        if server.status == "found":
            by_machine.setdefault(server.facts.get("server_machine"), []).append(name)
    return by_machine


def _machines_in_words(analysis: Analysis) -> Iterator[str]:
    for machine, names in _by_machine(analysis.run.servers).items():
        if machine is not None:
            yield f"{units.listing(names)} ran on machine {machine}."


def _load_machines(server: ServerFacts) -> tuple[str, ...]:
    """Return the machines that shared a server's load; empty if the run sent it."""
    return tuple(server.facts.get("load_machines") or ())


def _by_load_machines(servers: Mapping[str, ServerFacts]) -> dict[tuple[str, ...], list[str]]:
    """Return the servers that were measured by the machines that shared their load."""
    by_machines: dict[tuple[str, ...], list[str]] = {}
    for name, server in servers.items():
        if server.status == "found":
            by_machines.setdefault(_load_machines(server), []).append(name)
    return by_machines


def _load_machines_in_words(analysis: Analysis) -> Iterator[str]:
    for machines, names in _by_load_machines(analysis.run.servers).items():
        if machines:
            yield f"The load on {units.listing(names)} came from {_senders(machines)}."


def _senders(machines: Sequence[str]) -> str:
    if not machines:
        return THIS_MACHINE
    return units.listing(machines) if len(machines) <= NAMED_MAX else f"{len(machines):,} machines"


def _cpus_in_words(analysis: Analysis) -> Iterator[str]:
    bound: dict[tuple[int, ...], list[str]] = {}
    for name, server in analysis.run.servers.items():
        if server.facts.get("cpus"):
            bound.setdefault(tuple(server.facts["cpus"]), []).append(name)
    given = analysis.run.host.get("server_cpus")
    common = tuple(given) if isinstance(given, list | tuple) else ()
    for cpus, names in bound.items():
        if cpus != common:
            others = f" instead of {_cpus(common)}" if common else ""
            yield f"{units.listing(names)} ran on {_cpus(cpus)}{others}."


def _cpus(cpus: Sequence[int]) -> str:
    return f"{'CPU' if len(cpus) == 1 else 'CPUs'} {units.listing(map(str, cpus))}"


def _differing(analysis: Analysis, own: Mapping[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Return both values of each option that differs, the server's and the study's, by the study's key."""
    keys = keys_of(analysis.run.load_model)
    common = analysis.run.conditions["load"]
    return {
        keys.get(name, name): (_value(name, value), _value(name, common.get(name)))
        for name, value in own.items()
    }


def _setting(key: str, own: str | None) -> str:
    if own is None:
        return f"other {key}"
    return f"{key} = {own}" if own else f"no {key}"


def _change(key: str, own: str | None, common: str | None) -> str:
    return f"{key} = {own} instead of {common}" if own and common else _setting(key, own)


def _value(name: str, value: Any) -> str | None:  # noqa: ANN401 -- what JSON may hold
    """Return a value as a study has it, "" where it is not given, and of many paths their number.

    ``None`` of a table, and of what is long.
    """
    if value is None:
        return ""
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return str(value["name"])
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{units.setting(value)}{' s' if name.endswith('_s') else ''}"
    if isinstance(value, list) and value and all(isinstance(one, int | float) for one in value):
        value = list(dict.fromkeys(map(units.setting, value)))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        joined = ", ".join(value)
        value = f"{len(value)} paths" if name == "requests" and len(joined) > LONGEST_VALUE else joined
    return value if isinstance(value, str) and len(value) <= LONGEST_VALUE else None


OWN_LOADS: Section[dict[str, str]] = Section(
    "own_loads", "how loads differ", lambda report: own_loads(report.analysis), {}
)
LOADS_IN_WORDS: Section[list[str]] = Section(
    "loads_in_words",
    "how loads differ in words",
    lambda report: loads_in_words(report.analysis),
    [],
    words=lambda _, sentences: sentences,
    terminal=lambda _, sentences: map(Text, sentences),
)

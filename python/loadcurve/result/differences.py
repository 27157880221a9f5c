"""What differs between two runs, apart from what they measured.

A ratio of two runs says something of the servers only if everything else was the same: the load, the
content, the machine and the generator. What differs of a server itself (its version, its configuration) is
what a comparison is about.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from loadcurve.result.folder import Run
from loadcurve.result.records import IMPORTED_ENTRY, ServerRecord

Aspect = Literal["load", "content", "machine", "generator"]
"""What must be the same before two runs can be compared."""

WITHOUT_INFLUENCE = frozenset({"python", "cpus"})
"""Facts of the host that no figure depends on; the CPUs in use are those of server and load."""

DIGESTS = "sha256"
"""The name of the digests among the facts of a server."""

NEUTRAL: Mapping[str, Any] = {"full_handshakes": 1.0, "pick": "in-order", "batch": 1}
"""Options of loads with the value at which a load is as before the option was known, if that is not off."""

_PLACEHOLDERS = ("{port}", "{folder}", "{content}")
"""What a recorded configuration has in the place of what every start has anew."""
# Each word is looked through once: without the look behind, every one of its characters would begin anew.
_CONTENT_OF_A_RUN = re.compile(r"(?<![^\s\"';=])[^\s\"';=]*/loadcurve-content-[^\s\"';/]+")
_FOLDER_OF_A_START = re.compile(r"(?<![^\s\"';=])[^\s\"';=]*/loadcurve-[^\s\"';/]+")
_PORT_OF_A_START = re.compile(r"\b\d{4,5}\b")
_NAMES_A_PORT = re.compile(r"listen|port|127\.0\.0\.1", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that the two runs record differently; an absent one is ``None``."""

    name: str
    base: Any
    new: Any


@dataclass(frozen=True, slots=True)
class ConditionDifference(Difference):
    """A difference that leaves open whether the servers differ."""

    aspect: Aspect


Facts = Mapping[str, Any]
Found = TypeVar("Found", bound=Difference)
_VERSION = "loadcurve_version"
_OF_POINTS = frozenset({"io", "tools", "threads"})
"""Facts of the generator that its loads record: nobody knows those of a run without any."""


def conditions_of(run: Run) -> dict[Aspect, dict[str, Any]]:
    """Return the conditions of a run: load, content, machine and generator, in this order."""
    return {aspect: dict(conditions(run)) for aspect, conditions in _CONDITIONS.items()}


def is_imported(conditions: Mapping[Aspect, Facts]) -> bool:
    """Say whether these are of an import, which alone does not know what Loadcurve sent its loads."""
    return conditions["generator"].get(_VERSION) is None


def condition_differences(
    base: Mapping[Aspect, Facts], new: Mapping[Aspect, Facts]
) -> list[ConditionDifference]:
    """Return where the conditions of two runs differ; of a run without loads nobody knows theirs.

    An option of the load that one run has off is one that the version of the other may not have known.
    """
    return [
        ConditionDifference(difference.name, difference.base, difference.new, aspect)
        for aspect, conditions in base.items()
        for difference in differences(conditions, new[aspect])
        if not (aspect == "generator" and _is_unknown(difference))
        if not (aspect == "load" and is_unknown_or_off(difference))
    ]


def _is_unknown(difference: Difference) -> bool:
    return difference.name in _OF_POINTS and None in (difference.base, difference.new)


def is_off(name: str, value: object) -> bool:
    """Whether a load with this value of an option is the load of a version that does not know the option."""
    return value is None or (value == NEUTRAL[name] if name in NEUTRAL else not value)


def is_unknown_or_off(one: Difference) -> bool:
    """Whether one of two loads lacks an option that the other has off."""
    return None in (one.base, one.new) and is_off(one.name, one.base) and is_off(one.name, one.new)


def without_off(load: Facts) -> dict[str, Any]:
    """Return the options of a load that are not off; each version of Loadcurve knows more that are."""
    return {name: _without_null(value) for name, value in load.items() if not is_off(name, value)}


def _without_null(value: Any) -> Any:  # noqa: ANN401 -- whatever a load has
    if isinstance(value, Mapping):
        return {name: _without_null(one) for name, one in value.items() if one is not None}
    return [*map(_without_null, value)] if isinstance(value, list | tuple) else value


def _load(run: Run) -> Mapping[str, Any]:
    swept = {key for point in run.sweep_points for key in point}
    load = {key: value for key, value in run.run.study["load"].items() if key not in swept}
    if run.run.imported is not None:
        # How trials were taken is not known.
        return load
    own = {name: one for name in run.run.servers if (one := run.own_load(name))}
    trials = run.run.study["trials"]
    return {
        **load,
        "restart": trials["restart"],
        "between_points": trials.get("between_points", "pause"),
        "warmup_of_starts": trials.get("warmup") or {},
        "servers": own,
        "inputs": _inputs(run),
    }


def _inputs(run: Run) -> Mapping[str, list[str]]:
    """Return the digests of the files of loads and of URLs, by the key that names them.

    Content and what servers are started with are compared elsewhere, and claims change no figure.
    """
    digests: dict[str, list[str]] = {}
    for one in run.run.inputs:
        if one.sha256 is not None and _is_of_a_load(one.key):
            digests.setdefault(one.key, []).append(one.sha256)
    return digests


def _is_of_a_load(key: str) -> bool:
    if key.startswith("servers."):
        return ".load." in key or key.endswith(".url")
    return key.startswith(("load.", "loads.")) and not key.endswith(".claims")


def _content(run: Run) -> Mapping[str, Any]:
    """Return the length of each file, and the digest of those that were not generated from the run's seed."""
    generated = (run.run.study.get("content") or {}).get("folder") is None
    return {
        name: file.bytes if generated else f"{file.bytes} bytes, SHA-256 {file.sha256}"
        for name, file in run.run.content.items()
    }


def _machine(run: Run) -> Mapping[str, Any]:
    facts = run.run.host
    for name, other in run.run.machines.items():
        facts = {**facts, **{f"{name} · {key}": fact for key, fact in other.facts.items()}}
    return {name: fact for name, fact in facts.items() if name.rpartition(" · ")[2] not in WITHOUT_INFLUENCE}


def _generator(run: Run) -> Mapping[str, Any]:
    version = run.run.loadcurve_version if run.run.imported is None else None
    loads = [record.load for record in run.points]
    if not loads:
        return {_VERSION: version, **dict.fromkeys(sorted(_OF_POINTS))}
    plans = [load.load for load in loads]
    threads = sorted({load.generator.threads for load in loads if load.generator.threads is not None})
    tools = [record.load.tool for record in run.points if record.load.tool is not None]
    return {
        _VERSION: version,
        "io": sorted({plan.io for plan in plans if plan.io is not None}),
        "tools": sorted({f"{tool.name} {tool.version or ''}".strip() for tool in tools}),
        "threads": threads,
    }


_CONDITIONS: Mapping[Aspect, Callable[[Run], Mapping[str, Any]]] = {
    "load": _load,
    "content": _content,
    "machine": _machine,
    "generator": _generator,
}


def server_facts(server: ServerRecord, table: Facts | None = None) -> dict[str, Any]:
    """Return what may differ of a server between runs: entry, version, settings, limits, machine and more.

    ``table`` is the server's in the recorded study; what is of it elsewhere among these facts, or among the
    conditions of the run, is not there twice. What is off or empty is as absent as in a study of an earlier
    version, which does not know it.
    """
    elsewhere = {"use", "load", "sweep", *ServerRecord.model_fields, *server.settings}
    return {
        **{key: value for key, value in (table or {}).items() if value and key not in elsewhere},
        "catalog_entry": server.catalog_entry if server.catalog_entry != IMPORTED_ENTRY else None,
        "version": server.version,
        "settings": server.settings,
        "driver": server.driver,
        "limits": None if server.limits is None else server.limits.model_dump(),
        "machine": None if server.machine is None else server.machine.name,
        "beside": [*server.beside],
        "cpus": None if server.cpus is None else list(server.cpus),
        "server_machine": server.server_machine,
        "load_machines": None if server.load_machines is None else [*server.load_machines],
        "configuration": {name: with_placeholders(text) for name, text in server.configuration.items()},
        DIGESTS: {"program": server.binary_sha256, **server.start_sha256},
    }


def server_differences(base: Facts, new: Facts) -> list[Difference]:
    """Return what two runs record differently of a server; a digest that only one has is none."""
    return [
        one
        for one in differences(base, new)
        if not one.name.startswith(f"{DIGESTS}.") or None not in (one.base, one.new)
    ]


def between_reported(found: Iterable[Found], lacking: tuple[bool, bool]) -> list[Found]:
    """Return differences without those in which one run has nothing, where that run is ``lacking`` facts.

    Files of other tools report little of how they were made, which is no difference.
    """
    return [
        one
        for one in found
        if not any(lacks and not has for lacks, has in zip(lacking, (one.base, one.new), strict=True))
    ]


def with_placeholders(configuration: str) -> str:
    """Return a configuration as it is recorded today; older ones have the port and the folders of a start."""
    if any(name in configuration for name in _PLACEHOLDERS):
        return configuration
    lines = (
        _FOLDER_OF_A_START.sub("{folder}", _CONTENT_OF_A_RUN.sub("{content}", line))
        for line in configuration.splitlines(keepends=True)
    )
    return "".join(
        _PORT_OF_A_START.sub("{port}", line) if _NAMES_A_PORT.search(line) else line for line in lines
    )


def differences(base: Facts, new: Facts) -> list[Difference]:
    """Return the facts that two runs record differently, nested ones by names with points."""
    base_facts, new_facts = dict(_flattened(base)), dict(_flattened(new))
    return [
        Difference(name, base_facts.get(name), new_facts.get(name))
        for name in dict.fromkeys([*base_facts, *new_facts])
        if base_facts.get(name) != new_facts.get(name)
    ]


def _flattened(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value

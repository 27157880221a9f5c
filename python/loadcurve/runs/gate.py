"""A gate: a run in which two servers take turns until it is decided whether the second one is worse."""

import dataclasses
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcurve.analysis.gated import GATED
from loadcurve.errors import BadInput
from loadcurve.result.measures import MEASURES
from loadcurve.result.operations import MOST_MEASURED
from loadcurve.result.records import GATE_BLOCKS_MAX, OWN_PROGRAM, GateRecord
from loadcurve.server.catalog import Catalog
from loadcurve.stats.sequential import LEAST_PLANNED
from loadcurve.study.estimate import estimated_total_s
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import nearest, show
from loadcurve.toml.problems import Problem
from loadcurve.units import clock, plural, typed

BASE, HEAD = "base", "head"
"""The names of the two servers that are made of one."""
OVERHEAD = 1.1
"""A block takes somewhat longer than its loads and starts: so the budget has room for the blocks planned."""
BLOCKS_UNKNOWN = 40
"""Planned where nobody knows before how long a load takes."""


@dataclass(frozen=True)
class GateOptions:
    """What a gate compares, and what fails it."""

    base: str
    """A server of the study, a folder, a program, a command or an image."""
    head: str
    least: float = 0.03
    """The least regression that counts."""
    budget_s: float = 600.0
    also: Sequence[str] = ()
    """Measures that are gated besides the usual ones."""
    is_profiled: bool = False
    """Whether both sides are started once more, under ``perf``."""
    given: Sequence[str] = ()
    """The options for the record where these are others than ``--base`` and ``--head``."""

    def words(self) -> list[str]:
        """Return the options as they are given on the command line."""
        sides = self.given or ["--base", _recorded(self.base), "--head", _recorded(self.head)]
        also = [word for name in self.also for word in ("--measure", name)]
        return [
            *sides,
            *("--fail-on-regression", f"{typed(100 * self.least)}%"),
            *("--budget", f"{typed(self.budget_s)}s"),
            *also,
        ]


@dataclass(frozen=True)
class Sides:
    """The study of a gate, with its two servers alone."""

    document: TomlDocument
    base: str
    head: str
    origin: str | None
    """The server that both are made of; ``None`` where the study has the two."""


def sides_of(document: TomlDocument, options: GateOptions, catalog: Catalog) -> Sides:
    """Return the study with the two servers that a gate compares.

    Raises ``BadInput``: they cannot be made of the study's servers.
    """
    servers = document.data.get("servers")
    if "loads" in document.data or not isinstance(servers, dict):
        raise BadInput(f"{document.path}: a gate needs a study with one [load] and tables [servers.NAME]")
    named = {options.base, options.head} & servers.keys()
    if len(named) == 2:  # noqa: PLR2004 - both
        both = {name: servers[name] for name in (options.base, options.head)}
        required = _requiring(document, options.head, options.head)
        return Sides(_with_servers(required, both, {}), options.base, options.head, None)
    origin = next(iter(named or servers), "")
    if len(servers) > 1 and not (named and options.base == options.head):
        raise BadInput(_not_one(document, options, servers))
    table = servers[origin]
    if not isinstance(table, dict):
        raise BadInput(document.report(Problem(("servers", origin), "expected a table")))
    use = table.get("use", origin if origin in catalog else OWN_PROGRAM)
    made = {
        name: {"use": use, **_side(option, text, origin, table)}
        for name, option, text in ((BASE, "--base", options.base), (HEAD, "--head", options.head))
    }
    required = _requiring(document, origin, HEAD)
    return Sides(_with_servers(required, made, dict.fromkeys(made, origin)), BASE, HEAD, origin)


def gate_record(study: Study, options: GateOptions, sides: Sides) -> GateRecord:
    """Return what a gate tests, and for how many blocks its budget has time.

    Raises ``BadInput``: for too few, or the study sweeps something that gives a server several curves.
    """
    if {sides.base, sides.head} != study.arms.keys():
        raise BadInput(
            f"a gate compares two curves, and the sweep of this study gives {len(study.arms)}: "
            f"{', '.join(study.arms)}; sweep keys of the load alone"
        )
    for name in options.also:
        if name not in MEASURES or MEASURES[name].better is None:
            known = [one.name for one in MEASURES.values() if one.better is not None]
            raise BadInput(
                f"--measure {name}: there is no such measure with a better side{nearest(name, known)}; "
                f"expected one of {', '.join(known)}; each request's p50 and p99 are gated without this "
                "option, in a mix of 2 to 20"
            )
    length_s = estimated_total_s([study], dict.fromkeys(study.arms, 1))
    blocks = BLOCKS_UNKNOWN
    if length_s is not None:
        block_s = length_s * OVERHEAD
        blocks = min(GATE_BLOCKS_MAX, math.floor(options.budget_s / block_s))
        if blocks < LEAST_PLANNED:
            raise BadInput(
                f"--budget has time for {plural(blocks, 'block')}, since a start of both servers with the "
                f"study's loads takes about {clock(block_s)}; expected at least {LEAST_PLANNED}: give "
                f"--budget {math.ceil(LEAST_PLANNED * block_s / 60)}m or more, or shorten the study's loads "
                "or sweep"
            )
    return GateRecord(
        base=sides.base,
        head=sides.head,
        origin=sides.origin,
        least=options.least,
        measures=list(dict.fromkeys([*GATED, *options.also])),
        budget_s=options.budget_s,
        blocks=blocks,
        requests=_requests(study, sides),
        asked=list(dict.fromkeys(options.also)),
    )


def _requests(study: Study, sides: Sides) -> list[str]:
    """Return the requests that are gated each alone: where both sides are sent the same, several and few."""
    of_base, of_head = (study.arms[name].load.labels or [] for name in (sides.base, sides.head))
    return of_base if of_base == of_head and 1 < len(of_base) <= MOST_MEASURED else []


def _with_servers(
    document: TomlDocument, servers: Mapping[str, Any], origins: Mapping[str, str]
) -> TomlDocument:
    """Return the study with these servers, whose tables lie where those of their origins do."""
    # What speaks of the study's own servers has no place here.
    kept = {
        name: table for name, table in document.data.items() if name not in {"claims", "published", "quick"}
    }
    places = dict(document.places)
    for name, origin in origins.items():
        for key, place in document.places.items():
            if key[:2] == ("servers", origin):
                places["servers", name, *key[2:]] = place
    return dataclasses.replace(document, data={**kept, "servers": dict(servers)}, places=places)


def _requiring(document: TomlDocument, server: str, head: str) -> TomlDocument:
    """Return the study with what it requires of a server, or of each, as required of the head.

    Nothing is required of the base, which the head is to replace. Raises ``BadInput``: a requirement names a
    server that the study does not have.
    """
    required = document.data.get("require")
    servers = document.data.get("servers")
    if not isinstance(required, list) or not isinstance(servers, dict):
        return document
    kept: list[Any] = []
    places = {key: place for key, place in document.places.items() if key[:1] != ("require",)}
    for place, table in enumerate(required):
        named = table.get("server", server) if isinstance(table, dict) else server
        if named not in servers:
            known = list(servers)
            text = f"found {show(named)}; expected one of {', '.join(known)}{nearest(str(named), known)}"
            raise BadInput(document.report(Problem(("require", str(place), "server"), text)))
        if named != server:
            continue
        for key, at in document.places.items():
            if key[:2] == ("require", str(place)):
                places["require", str(len(kept)), *key[2:]] = at
        kept.append({**table, "server": head} if isinstance(table, dict) else table)
    return dataclasses.replace(document, data={**document.data, "require": kept}, places=places)


def _not_one(document: TomlDocument, options: GateOptions, servers: Mapping[str, Any]) -> str:
    unknown = [text for text in (options.base, options.head) if text not in servers]
    return (
        f"{document.path} has the servers {', '.join(servers)}, and {unknown[0]} is not among them"
        f"{nearest(unknown[0], list(servers))}; name two of them by --base and --head, or give a study with "
        "one server, whose program, folder or command they replace"
    )


def _side(option: str, text: str, origin: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a server with what one side replaces in it.

    Raises ``BadInput``: the text is no server, folder, program or command, or the server has no such place.
    """
    if text == origin:
        return dict(table)
    path = Path(text)
    if "engine" in table and (in_container := _of_container(path, text, table)) is not None:
        return in_container
    if path.is_dir():
        return _in_folder(option, path.resolve(), origin, table)
    if path.is_file():
        return _of_program(option, path.absolute(), origin, table)
    if "{port}" in text or len(text.split()) > 1:
        return _of_command(option, text, origin, table)
    raise BadInput(
        f"{option} {text}: there is no such file or folder; expected a folder in place of the study's, the "
        f"path of a program, a command with {{port}} in it, or {origin}, the server of the study as it is. "
        f'The name of an image needs engine = "podman" or engine = "docker" in [servers.{origin}]'
    )


def _of_container(path: Path, text: str, table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a server that runs in a container with another image or root filesystem.

    ``None`` where the text is a command, or the folder of the server's own files.
    """
    if len(text.split()) > 1 or "{port}" in text:
        return None
    kept = {key: value for key, value in table.items() if key not in {"image", "rootfs"}}
    if not path.exists():
        return {**kept, "image": text}
    is_filesystem = "rootfs" in table or "image" in table or path.is_file()
    return {**kept, "rootfs": str(path.absolute())} if is_filesystem else None


def _of_command(option: str, text: str, origin: str, table: Mapping[str, Any]) -> dict[str, Any]:
    if "programs" in table:
        raise BadInput(f"{option} {text}: {origin} has several programs, which no one command replaces")
    try:
        program, *arguments = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"{option} {text}: not a command: {str(error).lower()}") from None
    return {**table, "start": [_absolute(program), *arguments]}


def _of_program(option: str, path: Path, origin: str, table: Mapping[str, Any]) -> dict[str, Any]:
    if "programs" in table:
        raise BadInput(f"{option} {path}: {origin} has several programs; give a folder that has them all")
    if not os.access(path, os.X_OK):
        raise BadInput(f"{option} {path}: the file is no program that this user may run (chmod +x)")
    # Braces in a path are doubled, as placeholders are filled in there.
    program = _plain(path)
    if "start" not in table:
        return {**table, "binary": str(path)}
    start = _words(table["start"])
    changed = {**table, "start": [program, *start[1:]]}
    version = _words(table.get("version_command", []))
    if version[:1] == start[:1] and version:
        changed["version_command"] = [program, *version[1:]]
    return changed


def _in_folder(option: str, folder: Path, origin: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the server with another folder in the place of the study's."""
    for one in (table, *_tables(table.get("programs"))):
        _require_working_folder(option, folder, origin, one)
    changed = {**table, **_moved(table, folder)}
    if isinstance(binary := table.get("binary"), str):
        changed["binary"] = str(folder / binary)
    programs = table.get("programs")
    if isinstance(programs, list):
        changed["programs"] = [
            {**one, **_moved(one, folder)} if isinstance(one, dict) else one for one in programs
        ]
    if changed == table:
        raise BadInput(
            f"{option} {folder}: {origin} takes nothing from a folder, because it has neither start nor "
            "binary; give the path of a program or a command"
        )
    return changed


def _tables(programs: object) -> list[Mapping[str, Any]]:
    return [one for one in programs if isinstance(one, dict)] if isinstance(programs, list) else []


def _require_working_folder(option: str, folder: Path, origin: str, table: Mapping[str, Any]) -> None:
    """Refuse a folder that lacks the one in it in which the study lets its program work."""
    own = table.get("cwd")
    if isinstance(own, str) and "engine" not in table and not (folder / own).is_dir():
        raise BadInput(
            f'{option} {folder}: has no folder "{own}", which is the cwd of {origin}; this option takes the '
            "place of the folder of the study, so give the one that it is in, or remove cwd from the study "
            "and give the one in which the program works"
        )


def _moved(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what of a server, or of one of its programs, names the folder of the study."""
    changed: dict[str, Any] = {}
    for key in ("start", "version_command"):
        words = _words(table.get(key, []))
        if words:
            program, *arguments = (word.replace("{study}", _plain(folder)) for word in words)
            if "/" in program and not program.startswith(("/", "{")):
                program = _plain(folder / program)
            changed[key] = [program, *arguments]
    if "start" in table and "engine" not in table:
        own = table.get("cwd", "")
        changed["cwd"] = str(folder / own) if isinstance(own, str) else own
    return changed


def _words(command: object) -> list[str]:
    """Return the words of a command as a study gives it; what is none is refused when the study is read."""
    if isinstance(command, str):
        try:
            return shlex.split(command)
        except ValueError:
            return [command]
    return [word for word in command if isinstance(word, str)] if isinstance(command, list) else []


def _recorded(text: str) -> str:
    """Return a path as an absolute one; the name of an image may look like a path, and is none."""
    return str(Path(text).absolute()) if Path(text).exists() else text


def _absolute(text: str) -> str:
    """Return a path that is relative to where the command was given as an absolute one."""
    if text.startswith("/") or len(text.split()) > 1 or not ("/" in text or Path(text).exists()):
        return text
    return str(Path(text).absolute())


def _plain(path: Path) -> str:
    return str(path).replace("{", "{{").replace("}", "}}")

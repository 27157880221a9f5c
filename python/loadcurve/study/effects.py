"""What a study runs and touches: commands, hosts, files and variables, as its text names them.

Read from the text alone, without looking for anything, so that a person can know before anything is run.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loadcurve.loads.values import ENGINE_NAME
from loadcurve.redaction import without_password, without_passwords

EffectKind = Literal["command", "host", "file", "variable"]

FROM_STUDY = frozenset({"command", "url"})
"""Entries of the catalogue that say nothing of their own: the study has the command, or the address."""


@dataclass(frozen=True)
class Effect:
    """One thing that a study runs or touches."""

    kind: EffectKind
    name: str
    where: str
    """The table and the key that name it."""


def effects_of(study: Mapping[str, Any]) -> list[Effect]:
    """Return what a study, as TOML has it, runs and touches; each thing once, in the order of the file."""
    found = {(one.kind, one.name): one for one in _within(study, ())}
    return [*found.values()]


def _within(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, list):
        for one in value:
            yield from _within(one, path)
        return
    if not isinstance(value, dict):
        return
    where = ".".join(path)
    if isinstance(value.get("env"), str):
        yield Effect("variable", value["env"], where)
    if isinstance(value.get("file"), str):
        yield Effect("file", value["file"], where)
    if path[:1] == ("servers",) and len(path) == _SERVER_DEPTH:
        yield from _of_server(path[1], value)
    for key, one in value.items():
        read = _KEYS.get(key)
        if read is not None:
            yield from read(one, (*path, key))
        yield from _within(one, (*path, key))


_SERVER_DEPTH = 2


def _of_server(name: str, table: Mapping[str, Any]) -> Iterator[Effect]:
    """Return the entry of the catalogue that a server is of, and the variables that it gets."""
    entry = table.get("use", name)
    where = f"servers.{name}"
    # Its own command is named for itself.
    is_own = "use" not in table and not {"start", "programs"}.isdisjoint(table)
    if isinstance(entry, str) and entry not in FROM_STUDY and "url" not in table and not is_own:
        yield Effect("command", f"the catalogue's {entry}", where)
    programs = table.get("programs")
    own = [one for one in programs if isinstance(one, dict)] if isinstance(programs, list) else []
    of_programs = [(f"{one.get('name')} of {name}", f"{where}.programs", one) for one in own]
    for owner, place, given in [(name, where, table), *of_programs]:
        environment = given.get("environment")
        if isinstance(environment, dict):
            for variable in environment:
                yield Effect("variable", f"{variable}, set for {owner}", f"{place}.environment")


def _command(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, list):
        yield Effect("command", without_passwords(shlex.join(map(str, value))), ".".join(path))
    elif isinstance(value, str):
        yield Effect("command", without_passwords(value), ".".join(path))


def _catalog(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if path == ("catalog",) and isinstance(value, str):
        yield Effect("command", f"those of the descriptions of servers in {value}", "catalog")


def _blocks(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    for name, text in value.items() if isinstance(value, dict) else ():
        said = " ".join(without_passwords(str(text)).split())
        yield Effect("command", f"in the server's configuration: {said}", ".".join((*path, name)))


def _generator(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    names = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    for name in names:
        if name != ENGINE_NAME:
            yield Effect("command", f"the load generator {name}", ".".join(path))


def _image(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, str):
        yield Effect("command", f"a container of the image {value}", ".".join(path))


def _host(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, str):
        yield Effect("host", without_password(value) if "://" in value else value, ".".join(path))


def _file(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, str):
        yield Effect("file", value, ".".join(path))


def _file_with_mark(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, str) and value.startswith("@"):
        yield Effect("file", value[1:], ".".join(path))


def _file_of_tls(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if "tls" in path[:-1] and value not in ("system", "none"):
        yield from _file(value, path)


def _file_of_content(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if path == ("content", "folder"):
        yield from _file(value, path)


def _file_of_workload(value: object, path: tuple[str, ...]) -> Iterator[Effect]:
    if isinstance(value, str) and len(value) > 1:
        yield from _file(value, path)


_KEYS: Mapping[str, Callable[[object, tuple[str, ...]], Iterator[Effect]]] = {
    "start": _command,
    "version_command": _command,
    "binary": _command,
    "catalog": _catalog,
    "blocks": _blocks,
    "engine_arguments": _command,
    "run_arguments": _command,
    "generator": _generator,
    "image": _image,
    "rootfs": _image,
    "url": _host,
    "ssh": _host,
    "address": _host,
    "connect_to": _host,
    "unix_socket": _host,
    "proxy": _host,
    "cwd": _file,
    "folder": _file_of_content,
    "body": _file_with_mark,
    "message": _file_with_mark,
    "proto": _file,
    "lines": _file,
    "requests": _file,
    "claims": _file,
    "workload": _file_of_workload,
    "verify": _file_of_tls,
    "certificate": _file_of_tls,
    "key": _file_of_tls,
    "key_log": _file,
}
"""What each key of a study means, wherever it is."""

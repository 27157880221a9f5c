"""The files that a study names, and its text with other names for them.

A study is read here as its file has it, before any model: what names a file is a table of places.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from loadcurve._engine import toml_positions
from loadcurve.errors import BadInput
from loadcurve.loads.sent import FILE_MARK
from loadcurve.loads.targets.file import form_of, read_targets
from loadcurve.loads.workload import CORE_WORKLOADS
from loadcurve.redaction import TOML_TOKEN, without_passwords
from loadcurve.study.url_files import files_in_url
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.problems import KeyPath

Kind = Literal["input", "program", "image", "private key", "secret"]
"""What a file is: something that a run needs and may show, or what keeps it out of a folder for others."""

_STUDY_FOLDER = re.compile(r"\{study\}(?:/(?P<name>[^\s\"',;:=]*))?")


@dataclass(frozen=True)
class NamedFile:
    """A file or a folder that a text of a study names."""

    key: KeyPath
    """Of the text, or of the list that it is in."""
    text: str
    """The whole text."""
    begin: int
    end: int
    """Where in the text the name is."""
    file: Path
    """As an absolute path."""
    kind: Kind = "input"
    in_url: str | None = None
    """The name as it is recorded, where the text is a URL, which has it percent-encoded."""
    inside: str | None = None
    """The name in the file that the text names."""

    @property
    def recorded(self) -> str:
        """How a record names it."""
        return self.inside or self.in_url or self.text

    @property
    def is_placeholder(self) -> bool:
        """Whether the name begins with ``{study}``, the folder of the study."""
        return self.text[self.begin :].startswith("{study}")


def files_of(document: TomlDocument) -> list[NamedFile]:
    """Return what a study names, in the order of its tables."""
    folder, data = document.path.parent.absolute(), document.data
    found = [*_of_loads(data, folder), *_of_servers(data, folder)]
    for key in (("claims",), ("catalog",), ("published", "file"), ("content", "folder")):
        found += _plain(data, key, folder)
    return found


def renamed(text: str, files: list[NamedFile], name_of: Callable[[NamedFile], str]) -> str:
    """Return the text of a study in which files have other names; all else stays as it is."""
    offsets = _offsets(text)
    changes: dict[tuple[int, int], str] = {}
    for key, old in dict.fromkeys((one.key, one.text) for one in files):
        names = [one for one in files if (one.key, one.text) == (key, old)]
        known = next(key[:length] for length in range(len(key), 0, -1) if key[:length] in offsets)
        # What is said of a key ends where the next one begins that is not part of it.
        behind = (at for one, at in offsets.items() if at > offsets[known] and one[: len(known)] != known)
        for token in TOML_TOKEN.finditer(text, offsets[known], min(behind, default=len(text))):
            if not token["comment"] and tomllib.loads(f"text = {token[0]}")["text"] == old:
                changes[token.span()] = json.dumps(with_names(old, names, name_of), ensure_ascii=False)
    for (begin, end), new in sorted(changes.items(), reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def in_the_studys_folder(data: Mapping[str, Any], servers: Sequence[str]) -> list[str]:
    """Return the servers whose program works in the folder of the study, because that names no other one."""
    return list(dict.fromkeys(key[1] for key in _without_folder(data, servers)))


def _without_folder(data: Mapping[str, Any], servers: Sequence[str]) -> Iterator[KeyPath]:
    """Yield the table of each program that works in the folder of the study."""
    for name in servers:
        server = _table(data, ("servers", name))
        if {"cwd", "engine"} & server.keys():
            continue
        if "start" in server:
            yield ("servers", name)
        for key in _programs(data, name):
            if "cwd" not in _table(data, key):
                yield key


def _programs(data: Mapping[str, Any], server: str) -> Iterator[KeyPath]:
    """Yield the table of each of the programs of a server."""
    programs = _value(data, ("servers", server, "programs"))
    for place, _ in enumerate(programs if isinstance(programs, list) else ()):
        yield ("servers", server, "programs", str(place))


def with_working_folder(text: str, servers: Sequence[str], folder: Path) -> str:
    """Return the text of a study that says where the programs of these servers work, where it did not."""
    for key in _without_folder(tomllib.loads(text), servers):
        begin = _offsets(text)[*key, "start"]
        ends_line = not text[:begin].rpartition("\n")[2].strip()
        line = f"cwd = {json.dumps(str(folder), ensure_ascii=False)}" + ("\n" if ends_line else ", ")
        text = text[:begin] + line + text[begin:]
    return text


def with_names(text: str, names: list[NamedFile], name_of: Callable[[NamedFile], str]) -> str:
    """Return a text with other names for its files."""
    # What is hidden in a URL has no place there.
    in_text = (one for one in names if one.begin < one.end)
    for one in sorted(in_text, key=lambda one: one.begin, reverse=True):
        text = text[: one.begin] + name_of(one) + text[one.end :]
    return text


def _offsets(text: str) -> dict[KeyPath, int]:
    """Return where each key of a TOML text begins, in their order."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return {tuple(keys): starts[line - 1] + column - 1 for keys, line, column in toml_positions(text)}


def _of_loads(data: Mapping[str, Any], folder: Path) -> Iterator[NamedFile]:
    several: list[KeyPath] = [("loads", name) for name in _table(data, ("loads",))]
    own: list[KeyPath] = [("servers", name, "load") for name in _table(data, ("servers",))]
    for table in [("load",), *several, *own]:
        yield from _of_requests(data, (*table, "requests"), folder)
        yield from _plain(data, (*table, "claims"), folder)
        if _value(data, (*table, "workload")) not in CORE_WORKLOADS:
            yield from _plain(data, (*table, "workload"), folder)
        requests = _value(data, (*table, "requests"))
        count = len(requests) if isinstance(requests, list) else 0
        sent = [table, *((*table, "requests", str(index)) for index in range(count))]
        for one in sent:
            yield from _of_body(data, (*one, "body"), folder)
        yield from _of_body(data, (*table, "grpc", "message"), folder)
        yield from _plain(data, (*table, "grpc", "proto"), folder)
        yield from _of_tls(data, (*table, "tls"), folder)
        for one in sent:
            yield from _secrets(data, (*one, "headers"), folder)


def _of_requests(data: Mapping[str, Any], key: KeyPath, folder: Path) -> Iterator[NamedFile]:
    """Yield the file of the requests, and those that it names where it is one of targets."""
    for named in _plain(data, key, folder):
        try:
            targets = read_targets(named.file) if form_of(named.file) is not None else None
        except BadInput:
            targets = None
        yield named if targets is None or not targets.may_hold_secrets else replace(named, kind="secret")
        for name, file in [] if targets is None else targets.body_files:
            # Its place relative to the targets is that of its copy to theirs.
            yield replace(named, begin=0, end=0, file=file, inside=name)


def _of_body(data: Mapping[str, Any], key: KeyPath, folder: Path) -> Iterator[NamedFile]:
    body = _value(data, key)
    if isinstance(body, str) and body.startswith(FILE_MARK):
        yield NamedFile(key, body, len(FILE_MARK), len(body), folder / body.removeprefix(FILE_MARK))
    yield from _plain(data, (*key, "lines"), folder)


def _of_tls(data: Mapping[str, Any], table: KeyPath, folder: Path) -> Iterator[NamedFile]:
    if _value(data, (*table, "verify")) not in ("system", "none"):
        yield from _plain(data, (*table, "verify"), folder)
    yield from _plain(data, (*table, "certificate"), folder)
    yield from _plain(data, (*table, "key"), folder, "private key")


def _of_servers(data: Mapping[str, Any], folder: Path) -> Iterator[NamedFile]:
    for name in _table(data, ("servers",)):
        server: KeyPath = ("servers", name)
        yield from _plain(data, (*server, "binary"), folder, "program")
        yield from _plain(data, (*server, "rootfs"), folder, "image")
        yield from _plain(data, (*server, "cwd"), folder, "program")
        yield from _of_url(data, (*server, "url"), folder)
        yield from _secrets(data, server, folder)
        yield from _secrets(data, (*server, "environment"), folder)
        for command in ("start", "version_command"):
            yield from _of_command(data, (*server, command), folder)
        for program in _programs(data, name):
            yield from _plain(data, (*program, "cwd"), folder, "program")
            yield from _secrets(data, (*program, "environment"), folder)
            yield from _of_command(data, (*program, "start"), folder)


def _of_url(data: Mapping[str, Any], key: KeyPath, folder: Path) -> Iterator[NamedFile]:
    """Yield the files of a database's URL; its text is as run folders have it, without user and keys."""
    value = _value(data, key)
    if isinstance(value, str):
        url = without_passwords(value)
        shown = [one for one in files_in_url(url, folder) if one.kind == "input"]
        keys = [one for one in files_in_url(value, folder) if one.kind != "input"]
        for one in shown:
            yield NamedFile(key, url, one.begin, one.end, one.file, in_url=one.name)
        for one in keys:
            yield NamedFile(key, url, 0, 0, one.file, one.kind, in_url=one.name)


def _of_command(data: Mapping[str, Any], key: KeyPath, folder: Path) -> Iterator[NamedFile]:
    """Yield what a command names in the folder of its study; its program may be named by a relative path."""
    words = _value(data, key)
    for place, word in enumerate(words if isinstance(words, list) else [words]):
        if not isinstance(word, str):
            continue
        # A command that is one text begins with its program.
        program = word if isinstance(words, list) else word.partition(" ")[0]
        if place == 0 and "/" in program and not program.startswith(("/", "{")):
            yield NamedFile(key, word, 0, len(program), folder / program)
        for found in _STUDY_FOLDER.finditer(word):
            yield NamedFile(key, word, found.start(), found.end(), folder / (found["name"] or ""))


def _secrets(data: Mapping[str, Any], table: KeyPath, folder: Path) -> Iterator[NamedFile]:
    """Yield the files of the secrets among the values of a table, or of lists in it."""
    for name, value in _table(data, table).items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and isinstance(file := one.get("file"), str):
                yield NamedFile((*table, name), file, 0, len(file), folder / file, "secret")


def _plain(data: Mapping[str, Any], key: KeyPath, folder: Path, kind: Kind = "input") -> Iterator[NamedFile]:
    value = _value(data, key)
    if isinstance(value, str):
        yield NamedFile(key, value, 0, len(value), folder / value, kind)


def _value(data: Mapping[str, Any], key: KeyPath) -> object:
    value: object = data
    for part in key:
        if isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _table(data: Mapping[str, Any], key: KeyPath) -> Mapping[str, Any]:
    value = _value(data, key)
    return value if isinstance(value, dict) else {}

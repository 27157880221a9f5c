"""A study of several loads on one machine at once: what its file says, as one ordinary study for each load.

Each load's study has two arms, its server alone and the same server beside the others, and a run folder with
everything that a run folder has. The sweep is common: a key of another load is named ``load.key`` in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, model_validator

from loadcurve.errors import BadInput
from loadcurve.loads.kinds import kind_with_model
from loadcurve.study.model import Study
from loadcurve.toml.document import Place, TomlDocument, TomlTable
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import KeyPath, Problem, own_problems

OWN_CPUS = "load_cpus"
"""The key of a load's table that the study of a single load has in ``[host]``."""
OWN_CLAIMS = "claims"
"""The key of a load's table that the study of a single load has before its tables."""

OWN_MACHINES = "load_machines"

LoadName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$"),
    Expected("a name of letters, digits, hyphens and underscores that begins with a letter or a digit"),
]
Table = Annotated[dict[str, Any], Expected("a table")]


class LoadedServer(TomlTable, extra="allow"):
    """A server, which names the load that is put on it."""

    __pydantic_extra__: dict[str, Any]
    load: Annotated[str, Expected('the name of one of the loads, such as "web"')]


class SeveralLoads(TomlTable, extra="allow"):
    """What the file says of the loads and of their servers; each load's own study reads the rest."""

    __pydantic_extra__: dict[str, Any]
    loads: Annotated[
        dict[LoadName, Table],
        Field(min_length=2),
        Expected("at least two tables [loads.NAME]; a single load has the table [load]"),
    ]
    sweep: Annotated[
        dict[str, Table],
        Field(min_length=1),
        Expected("keys of the loads by name, such as web.connections = [1, 10, 100]"),
    ]
    servers: Annotated[
        dict[str, LoadedServer],
        Field(min_length=2),
        Expected("a table [servers.NAME] for each of the loads"),
    ]

    @model_validator(mode="after")
    def _fit_together(self, info: ValidationInfo) -> Self:
        given: Sequence[str] = info.context["keys"] if info.context else ()
        problems = [
            Problem((key,), "cannot be combined with several loads; remove it")
            for key in ("load", "published", "require")
            if key in given
        ]
        if OWN_CLAIMS in given:
            text = "each of several loads has claims in its own table, [loads.NAME]; move it there"
            problems.append(Problem((OWN_CLAIMS,), text))
        problems += [*self._unknown_loads(), *self._servers_of_loads(), *self._common_cpus()]
        problems += [
            Problem(
                ("servers", name, OWN_MACHINES),
                "not for one of several loads, which start together; put it into [host]",
            )
            for name, table in self.servers.items()
            if OWN_MACHINES in table.__pydantic_extra__
        ]
        if problems:
            raise own_problems(problems)
        return self

    def _unknown_loads(self) -> Iterator[Problem]:
        named: list[tuple[KeyPath, str]] = [(("sweep", name), name) for name in self.sweep]
        named += [(("servers", server, "load"), table.load) for server, table in self.servers.items()]
        for path, name in named:
            if name not in self.loads:
                known = f"{', '.join(self.loads)}{nearest(name, list(self.loads))}"
                yield Problem(path, f"found {show(name)}; expected one of the loads: {known}")

    def _servers_of_loads(self) -> Iterator[Problem]:
        for load in self.loads:
            servers = [name for name, table in self.servers.items() if table.load == load]
            if len(servers) != 1:
                found = ", ".join(servers) or "no server"
                text = f'found {found} with load = "{load}"; expected one server for each load'
                yield Problem(("loads", load), text)

    def _common_cpus(self) -> Iterator[Problem]:
        """Refuse generators that are bound to one CPU by name: each would delay the other."""
        owners: dict[int, str] = {}
        for load, table in self.loads.items():
            cpus = table.get(OWN_CPUS)
            for cpu in cpus if isinstance(cpus, list) else []:
                if isinstance(cpu, int) and owners.setdefault(cpu, load) != load:
                    text = (
                        f"CPU {cpu} is in load_cpus of [loads.{owners[cpu]}], too: two loads bound to one "
                        "CPU delay each other; give each its own CPUs, or leave load_cpus to [host]"
                    )
                    yield Problem(("loads", load, OWN_CPUS), text)


@dataclass(frozen=True)
class PartDocument(TomlDocument):
    """The study of one of several loads; its problems are reported where the whole file has their keys."""

    whole: TomlDocument
    origins: Mapping[KeyPath, KeyPath]
    """Where the whole file has the tables and keys that this one has elsewhere."""

    def report(self, problem: Problem) -> str:
        """Return a problem as a separate line, at the place in the whole file."""
        return self.whole.report(Problem(self._origin(problem.path), problem.text))

    def place(self, path: KeyPath) -> Place:
        """Return the place of a key in the whole file."""
        return self.whole.place(self._origin(path))

    def _origin(self, path: KeyPath) -> KeyPath:
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return (*self.origins[path[:length]], *path[length:])
        return path


@dataclass(frozen=True)
class LoadPart:
    """One of several loads."""

    name: str
    server: str
    together: str
    """The arm of its server beside the others; that of the server alone goes by the server's name."""
    document: PartDocument

    def study(self, others: Sequence[str]) -> Study:
        """Return its own study, whose sweep may name keys of the other loads.

        Raises:
            BadInput: it cannot be used.

        """
        return self.document.to_model(Study, {"beside": others})


def is_of_several(document: TomlDocument) -> bool:
    """Say whether a study puts several loads on a machine at once."""
    return "loads" in document.data


def parts_of(document: TomlDocument) -> list[tuple[LoadPart, Study]]:
    """Return the loads of a study of several, each with its own study.

    Raises:
        BadInput: the study cannot be used; the text has one line for each problem.

    """
    frame = document.to_model(SeveralLoads, {"keys": list(document.data)})
    parts = [_part(document, frame, load) for load in frame.loads]
    studies, problems = [], []
    for part in parts:
        try:
            studies.append(part.study([other.name for other in parts if other is not part]))
        except BadInput as error:
            problems += str(error).splitlines()
    if not problems:
        problems = [document.report(problem) for problem in _windows(parts, studies)]
    if problems:
        raise BadInput("\n".join(dict.fromkeys(problems)))
    return list(zip(parts, studies, strict=True))


def studies_in(file: Path) -> list[Study]:
    """Return the study of a file, or those of its loads where it has several.

    Raises:
        BadInput: the file cannot be read as a study.

    """
    document = TomlDocument.read(file)
    if is_of_several(document):
        return [study for _, study in parts_of(document)]
    return [document.to_model(Study)]


def _part(document: TomlDocument, frame: SeveralLoads, load: str) -> LoadPart:
    """Return the study of one load as a document, and where the whole file has its keys."""
    data = {
        key: value
        for key, value in document.data.items()
        if key not in {"loads", "sweep", "servers", "quick"}
    }
    table = frame.loads[load]
    data["load"] = {key: value for key, value in table.items() if key not in {OWN_CPUS, OWN_CLAIMS}}
    origins: dict[KeyPath, KeyPath] = {("load",): ("loads", load)}
    host = data.get("host", {})
    if OWN_CPUS in table and isinstance(host, dict):
        data["host"] = {**host, OWN_CPUS: table[OWN_CPUS]}
        origins["host", OWN_CPUS] = ("loads", load, OWN_CPUS)
    if OWN_CLAIMS in table:
        data[OWN_CLAIMS] = table[OWN_CLAIMS]
        origins[(OWN_CLAIMS,)] = ("loads", load, OWN_CLAIMS)
    data["sweep"], swept = _own_sweep(frame.sweep, load, ("sweep",))
    origins |= swept
    quick = document.data.get("quick")
    if isinstance(quick, dict):
        data["quick"] = quick
        if isinstance(quick.get("sweep"), dict):
            own, swept = _own_sweep(quick["sweep"], load, ("quick", "sweep"))
            data["quick"], origins = {**quick, "sweep": own}, origins | swept
    if not _serves_content(table) and any(map(_serves_content, frame.loads.values())):
        data.pop("content", None)
    server = next(name for name, one in frame.servers.items() if one.load == load)
    others = [name for name in frame.servers if name != server]
    together = f"{server}-beside-{'-and-'.join(others)}"
    described = {"use": server, **document.data["servers"][server]}
    del described["load"]
    data["servers"] = {server: described, together: described}
    origins[("servers", together)] = ("servers", server)
    return LoadPart(
        load, server, together, PartDocument(document.path, data, document.places, document, origins)
    )


def _own_sweep(
    sweep: Mapping[str, Any], load: str, path: KeyPath
) -> tuple[dict[str, Any], dict[KeyPath, KeyPath]]:
    """Return the sweep as one load's study has it, and where the whole file has its keys."""
    own: dict[str, Any] = {}
    origins: dict[KeyPath, KeyPath] = {}
    for name, keys in sweep.items():
        for key, values in keys.items() if isinstance(keys, dict) else ():
            named = key if name == load else f"{name}.{key}"
            own[named] = values
            origins[(*path, named)] = (*path, name, key)
    return own, origins


def _serves_content(load: Mapping[str, Any]) -> bool:
    kind = kind_with_model(load.get("model"))
    # An unknown model is refused when the load's study is read.
    return kind is None or kind.serves_content


def _windows(parts: Sequence[LoadPart], studies: Sequence[Study]) -> Iterator[Problem]:
    """Yield what keeps the loads from being measured in one window."""
    first, load = parts[0], studies[0].load
    if studies[0].trials.until_drop_share is not None:
        yield Problem(("trials", "until_drop"), "cannot be combined with several loads; remove it")
    if studies[0].trials.continues:
        yield Problem(("trials", "between_points"), "cannot be combined with several loads; remove it")
    for part, study in zip(parts, studies, strict=True):
        for key, wanted_s, found_s in (
            ("duration", load.duration_s, study.load.duration_s),
            ("warmup", load.warmup_s, study.load.warmup_s),
        ):
            if key in study.sweep:
                yield Problem(
                    ("sweep", part.name, key),
                    "cannot be swept where several loads have one window; remove it",
                )
            elif found_s is None:
                text = 'missing; loads at once require a duration, such as "10s", so that all end together'
                yield Problem(("loads", part.name, key), text)
            elif wanted_s is not None and found_s != wanted_s:
                text = (
                    f"found {found_s:g} s; expected {wanted_s:g} s as in [loads.{first.name}]: loads at once "
                    "have one window"
                )
                yield Problem(("loads", part.name, key), text)

"""Several programs that are one server: what a study says of them, and looking for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from loadcurve.host.cgroups import NO_LIMITS, Limits
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.description import SOCKET_PLACE, placeholders
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import (
    FoundServer,
    MissingServer,
    Overrides,
    ReadyQuestion,
    StartableServer,
    WorkingFolder,
    find_server,
    require_as_given,
    version_of_study,
)
from loadcurve.server.settings import SettingValue, UnusableSetting
from loadcurve.toml.expected import show
from loadcurve.toml.secret import SecretText

Sign = Literal["answer", "listen", "live"]
"""By what a program is ready: it answers a question, accepts a connection, or has run for a moment."""


@dataclass(frozen=True)
class GivenProgram:
    """What a study says of one of the programs of a server."""

    name: str
    start: Sequence[str]
    serves: bool
    """Whether the load goes to it."""
    folder: WorkingFolder | None = None
    environment: Mapping[str, SecretText] = field(default_factory=dict)
    ready: ReadyQuestion | None = None
    port: int | None = None
    """The port that it cannot be given."""
    limits: Limits = NO_LIMITS
    """What it alone is held to."""

    @property
    def takes_port(self) -> bool:
        """Whether it is given a free port."""
        variables = (one.text for one in self.environment.values() if one.source is None)
        return any("port" in placeholders(word) for word in self.start) or any(
            "{port}" in one for one in variables
        )

    @property
    def takes_socket(self) -> bool:
        """Whether it is given a path for a Unix socket, on which it listens."""
        variables = (one.text for one in self.environment.values() if one.source is None)
        place = f"{{{SOCKET_PLACE}}}"
        return any(SOCKET_PLACE in placeholders(word) for word in self.start) or any(
            place in one for one in variables
        )

    @property
    def sign(self) -> Sign:
        """By what it is ready."""
        if self.ready is not None:
            return "answer"
        listens = self.port is not None or self.takes_port or self.takes_socket
        return "listen" if listens else "live"


@dataclass(frozen=True)
class FoundProgram:
    """One of the programs of a server, which can be started."""

    given: GivenProgram
    found: FoundServer


@dataclass(frozen=True)
class FoundPrograms(StartableServer):
    """A server of several programs that can be started."""

    programs: Sequence[FoundProgram]
    """In the order of their start."""
    version: str
    settings: Mapping[str, SettingValue]

    @property
    def serving(self) -> FoundProgram:
        """The program that the load goes to."""
        return next(one for one in self.programs if one.given.serves)

    @property
    def binary(self) -> Path:
        """The program that the load goes to, as a file."""
        return self.serving.found.binary


def find_programs(
    entry: CatalogEntry,
    given_settings: Mapping[str, object],
    overrides: Overrides,
    programs: Sequence[GivenProgram],
) -> FoundPrograms | MissingServer:
    """Look for the programs of a server on this machine; ``overrides`` are what the study says of all.

    Raises:
        UnusableSetting: a given setting or key is unknown, does not fit or is missing.
        ServerFailure: the version cannot be found out ("version_unknown").

    """
    version = version_of_study(overrides)
    if version is None:
        text = (
            "The version is unknown, so the server is not measured: set it in the study, such as "
            'version = "1.2"; in a Git repository it is the revision.'
        )
        raise ServerFailure("version_unknown", text)
    found_programs = []
    for place, given in enumerate(programs):
        own = _overrides(overrides, programs, given, version)
        try:
            found = find_server(_entry(entry, given), given_settings if given.serves else {}, own)
        except UnusableSetting as unusable:
            raise _at(place, unusable) from None
        if isinstance(found, MissingServer):
            text = f"{given.name}: {found.reason}"
            return MissingServer(entry, text, None, fault=found.fault or ServerFailure("not_started", text))
        found_programs.append(FoundProgram(given, found))
    serving = next(one for one in found_programs if one.given.serves)
    return FoundPrograms(entry, tuple(found_programs), version, serving.found.settings)


def require_programs_as_given(
    entry: CatalogEntry,
    given_settings: Mapping[str, object],
    overrides: Overrides,
    programs: Sequence[GivenProgram],
) -> None:
    """Require that what a study says of programs fits, which is known without looking for them.

    Raises ``UnusableSetting`` as :func:`find_programs` does.
    """
    known = entry.description.start_names | {"study"}
    for place, given in enumerate(programs):
        if given.name in known:
            text = f"found {show(given.name)}, which is a placeholder of its own; expected another name"
            raise UnusableSetting(f"programs.{place}.name", text)
        if given.serves and given.port is None and not given.takes_port:
            text = "contains no {port}; expected it as the port to listen on, or port = 8080 beside start"
            raise UnusableSetting(f"programs.{place}.start", text)
        own = _overrides(overrides, programs, given, "")
        try:
            require_as_given(_entry(entry, given), given_settings if given.serves else {}, own)
        except UnusableSetting as unusable:
            raise _at(place, unusable) from None


def _overrides(
    overrides: Overrides, programs: Sequence[GivenProgram], given: GivenProgram, version: str
) -> Overrides:
    """Return what a study says of one program, with what it says of all."""
    return replace(
        overrides,
        start=given.start,
        environment={**overrides.environment, **given.environment},
        folder=given.folder or overrides.folder,
        ready=given.ready,
        version=version,
        limits=given.limits,
        known_beside=_known_beside(programs, given),
        needs_port=False,
    )


def _known_beside(programs: Sequence[GivenProgram], given: GivenProgram) -> frozenset[str]:
    """Return the placeholders of a program for the others; a socket is known once its program has started."""
    earlier = programs[: programs.index(given)]
    sockets = (f"{one.name}.{SOCKET_PLACE}" for one in earlier if one.takes_socket)
    return frozenset([*(f"{one.name}.{part}" for one in programs for part in ("port", "address")), *sockets])


def _entry(entry: CatalogEntry, given: GivenProgram) -> CatalogEntry:
    """Return the entry of a program, which messages name by it."""
    title = f"The program {given.name}"
    return replace(entry, description=entry.description.model_copy(update={"title": title}))


def _at(place: int, unusable: UnusableSetting) -> UnusableSetting:
    return UnusableSetting(f"programs.{place}.{unusable.setting}", str(unusable))

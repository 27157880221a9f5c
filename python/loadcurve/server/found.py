"""Looking for a server on this machine: its program, its folders and its version."""

import glob
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from loadcurve.errors import BadInput, sentence
from loadcurve.host.cgroups import NO_LIMITS, Limits
from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.tls import TlsTable
from loadcurve.loads.way import STRAIGHT, Way
from loadcurve.server.build import Build, build_of
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.description import (
    PLACES,
    SOCKET_PLACE,
    VersionSource,
    placeholders,
    require_known_placeholders,
)
from loadcurve.server.environment_beside import program_beside
from loadcurve.server.failure import ServerFailure
from loadcurve.server.install import install_command_here
from loadcurve.server.installed.place import installed_server, servers_folder
from loadcurve.server.location import THIS_MACHINE, Location
from loadcurve.server.members import Named, key_of
from loadcurve.server.packaged import PACKAGE_FOLDER, PACKAGED_CATALOG
from loadcurve.server.privileges import ServerUser, user_of_server
from loadcurve.server.revision import revision_of
from loadcurve.server.settings import SettingValue, UnsupportedVersion, UnusableSetting, choose_settings
from loadcurve.toml.expected import show
from loadcurve.toml.secret import SecretText

OF_ONES_OWN = (
    "; any other name needs a value in this table, such as workers = 2, or its values in [sweep], such as "
    "workers = [1, 2, 4]"
)
"""How a name in the command of one's own program gets what stands for it."""
NATIVE_FOLDER = PACKAGE_FOLDER / "native"
VERSION_TIMEOUT_S = 10.0


ANY_VERSION = r"(\d[\w.+-]*)"
"""What is the version in the output of a study's ``version_command``: what begins with the first digit."""


@dataclass(frozen=True)
class ReadyQuestion:
    """What a server is asked until it is ready: a path, and below which status its answer shows it."""

    path: str
    below_status: int


@dataclass(frozen=True)
class WorkingFolder:
    """Where a study's own program works."""

    path: Path
    is_given: bool
    """Whether the study names it; one that it does not is left, where the program's user cannot enter it."""


@dataclass(frozen=True)
class Overrides:
    """What a study says of a server besides its settings; each replaces what the catalogue says, if given."""

    binary: Path | None = None
    start: Sequence[str] | None = None
    url: str | None = None
    """Where the server runs already."""
    version: str | None = None
    version_command: Sequence[str] | None = None
    tls: TlsTable = field(default_factory=TlsTable)
    """What the load asks for in its handshakes, and so whoever asks a server that runs already."""
    environment: Mapping[str, SecretText] = field(default_factory=dict)
    """Variables of the server, and of what asks for its version."""
    user: str | None = None
    """The user that the server becomes where root starts it."""
    folder: WorkingFolder | None = None
    """Where the server works; in its private folder, unless set."""
    ready: ReadyQuestion | None = None
    blocks: Mapping[str, str] = field(default_factory=dict)
    """What is added to blocks of the server's templates."""
    known_beside: frozenset[str] = frozenset()
    """Placeholders of the programs beside it, where it is one of several."""
    needs_port: bool = True
    """Whether a study's own program must be given a port."""
    way: Way = STRAIGHT
    """How the load reaches a server that runs already."""
    announced_at: str | None = None
    """The path whose answer says where such a server speaks HTTP/3, if the load goes there (`Alt-Svc`)."""
    named: Sequence[Named] = ()
    """By what the processes of a server that runs already are known; by where it listens, unless set."""
    limits: Limits = NO_LIMITS
    location: Location = THIS_MACHINE
    """Where the server is looked for and run."""


NOTHING_ELSE = Overrides()


@dataclass(frozen=True)
class StartableServer:
    """A server of the catalogue that can be started, on whichever machine."""

    entry: CatalogEntry

    status: ClassVar[Literal["found"]] = "found"
    is_started_here: ClassVar[bool] = True
    has_trials: ClassVar[bool] = True
    url: ClassVar[None] = None
    install: ClassVar[None] = None
    reason: ClassVar[None] = None

    @property
    def kind(self) -> LoadKind:
        """The kind of load that it is put under."""
        return self.entry.description.kind


@dataclass(frozen=True)
class FoundServer(StartableServer):
    """A server that can be started. ``settings`` holds each setting of its entry; "auto" is still open."""

    binary: Path
    start: Sequence[str]
    """The command of the server, with placeholders."""
    version: str
    parts: Mapping[str, Path]
    """The folders and files of the installed server, by the names that its description gives them."""
    settings: Mapping[str, SettingValue]
    on_socket: bool = False
    """Whether it listens on a Unix socket, which its command names as ``{socket}``."""
    limits: Limits = NO_LIMITS
    """What the server is held to."""
    location: Location = THIS_MACHINE
    """Where it was found and is run."""
    environment: Mapping[str, SecretText] = field(default_factory=dict)
    """Variables that the study adds."""
    user: str | None = None
    """The user that the study lets it become where root starts it."""
    folder: WorkingFolder | None = None
    """Where it works; in its private folder, unless set."""
    ready: ReadyQuestion | None = None
    """What shows that it is ready, in place of what its description says."""


@dataclass(frozen=True)
class MissingServer:
    """A server that this machine lacks, or that cannot be measured: why, and how to install it."""

    entry: CatalogEntry
    reason: str
    install: str | None
    build: Build | None = None
    """How it is built, where that is all it lacks."""
    fault: ServerFailure | None = None
    """What is wrong with it, where a study may count on it: the failure of each of its trials.

    A server of the catalogue that is not installed is at no fault, and has no trials.
    """
    is_installed: bool = False
    """Whether it is there, in a version that cannot have the settings of the study."""

    status: ClassVar[Literal["missing"]] = "missing"
    version: ClassVar[None] = None
    binary: ClassVar[None] = None
    url: ClassVar[None] = None

    @property
    def is_started_here(self) -> bool:
        """Whether it is started here once it is built."""
        return self.build is not None

    @property
    def has_trials(self) -> bool:
        """Whether it fails in each of its trials; one that is not installed is left out."""
        return self.fault is not None

    @property
    def kind(self) -> LoadKind | None:
        """The kind of load that it is put under; ``None`` if only the URL of a running one determines it."""
        kind, *others = self.entry.description.kinds
        return None if others else kind

    def failure(self) -> ServerFailure:
        """Return the failure of a trial that needs this server."""
        if self.fault is not None:
            return self.fault
        hint = f" Install it with: {self.install}" if self.install else ""
        return ServerFailure(
            "not_installed", f"{self.entry.description.title} is missing: {self.reason}.{hint}"
        )


def find_server(
    entry: CatalogEntry, given_settings: Mapping[str, object], overrides: Overrides = NOTHING_ELSE
) -> FoundServer | MissingServer:
    """Look for a server on this machine; what ``overrides`` says goes before the catalogue.

    Raises:
        UnusableSetting: a given setting or key is unknown, does not fit or is missing.
        ServerFailure: the server is there, and its version cannot be found out ("version_unknown").

    """
    entry = with_blocks(entry, overrides)
    description = entry.description
    settings = choose_settings(entry.name, description.settings, given_settings)
    start = _start(entry, overrides)
    is_program_built = overrides.binary is None and _uses_binary(start)
    build = build_of(entry) if is_program_built or description.has_built_parts else None
    if build is not None and not build.hold():
        return _unbuilt(entry, build)
    program = _program(entry, start, overrides, build, _user(entry, overrides))
    if isinstance(program, str):
        if overrides.binary is not None or overrides.start is not None:
            text = f"{description.title} cannot be started: {program}."
            return MissingServer(entry, program, None, fault=ServerFailure("not_started", text))
        return MissingServer(entry, program, install_command_here(description.install))
    parts = _search_parts(entry, program, overrides.location, build)
    if isinstance(parts, str):
        return MissingServer(entry, parts, install_command_here(description.install))
    version = version_of_study(overrides)
    if version is None:
        version = read_version(
            entry,
            _version_source(entry, overrides),
            program,
            parts,
            overrides.location,
            environment={name: value.text for name, value in overrides.environment.items()},
        )
    _require_supported(entry, settings, given_settings, version)
    if not _uses_binary(start):
        start = ["{binary}", *start[1:]]
    return FoundServer(
        entry=entry,
        binary=program,
        start=start,
        version=version,
        parts=parts,
        settings=settings,
        on_socket=entry.description.is_own_program and SOCKET_PLACE in _taken(start, overrides),
        limits=overrides.limits,
        location=overrides.location,
        environment=overrides.environment,
        user=overrides.user,
        folder=overrides.folder,
        ready=overrides.ready,
    )


def require_as_given(entry: CatalogEntry, given_settings: Mapping[str, object], overrides: Overrides) -> None:
    """Require that what a study says of a server fits its entry, which is known without looking for it.

    Raises ``UnusableSetting`` as :func:`find_server` does.
    """
    choose_settings(entry.name, entry.description.settings, given_settings)
    with_blocks(entry, overrides)
    _start(entry, overrides)


def with_blocks(entry: CatalogEntry, overrides: Overrides) -> CatalogEntry:
    """Return an entry with what a study adds to blocks of its templates; raises UnusableSetting."""
    if not overrides.blocks:
        return entry
    description = entry.description
    try:
        templates = entry.templates.with_blocks(
            description.config.values(), overrides.blocks, description.template_names
        )
    except BadInput as error:
        raise UnusableSetting("blocks", str(error)) from None
    return replace(entry, templates=templates)


def _require_supported(
    entry: CatalogEntry, settings: Mapping[str, SettingValue], given: Mapping[str, object], version: str
) -> None:
    """Raise UnsupportedVersion where a server of this version cannot have its settings."""
    for one in entry.description.unsupported:
        if one.forbids(settings, version):
            asked = next((name for name in one.settings if name in given), min(one.settings))
            together = ", ".join(f"{name} = {show(value)}" for name, value in one.settings.items())
            what = f"{entry.description.title} {version} cannot be started with {together}"
            raise UnsupportedVersion(asked, what, one.reason)


def _start(entry: CatalogEntry, overrides: Overrides) -> Sequence[str]:
    """Return the command that starts a server; raises UnusableSetting where it cannot be one."""
    description = entry.description
    start = overrides.start or description.start or overrides.location.own_command()
    if overrides.url is not None:
        text = f'not used: the server {entry.name} is started by the run; expected use = "url" with it'
        raise UnusableSetting("url", text)
    if overrides.named:
        text = f'not used: the server {entry.name} is started by the run; expected use = "url" with it'
        raise UnusableSetting(key_of(overrides.named[0]), text)
    if start is None:
        text = 'missing; expected the command that starts the server, such as ["server", "--port", "{port}"]'
        raise UnusableSetting("start", text)
    is_own, is_alone = entry.description.is_own_program, _is_own_and_alone(entry, overrides)
    may_use = frozenset({SOCKET_PLACE}) if is_own else frozenset()
    known = description.start_names | overrides.known_beside | may_use
    _require_known("start", start, known, OF_ONES_OWN if is_own else "")
    taken = _taken(start, overrides)
    if is_own and SOCKET_PLACE in taken:
        _require_reachable_socket(taken, overrides)
    elif is_alone and "port" not in taken and overrides.location.fixed_port is None:
        text = "contains no {port}; expected it as the port to listen on, or {socket} for a Unix socket"
        raise UnusableSetting("start", text)
    if overrides.binary is not None and not _uses_binary(start):
        raise UnusableSetting("binary", "not used: start does not contain {binary}; keep one of the two")
    if overrides.binary is None and not description.binary and _uses_binary(start):
        raise UnusableSetting("binary", "missing; expected the program for {binary} in start")
    return start


def _uses_binary(start: Sequence[str]) -> bool:
    return any("binary" in placeholders(word) for word in start)


def _is_own_and_alone(entry: CatalogEntry, overrides: Overrides) -> bool:
    """Whether it is a program of the study, and not one of several, which may listen nowhere."""
    return entry.description.is_own_program and overrides.needs_port


def _taken(start: Sequence[str], overrides: Overrides) -> set[str]:
    """Return which of a port and a socket a server is given to listen on, in its command or a variable."""
    given = set().union(*map(placeholders, start))
    variables = [one.text for one in overrides.environment.values() if one.source is None]
    named = {name for name in ("port", SOCKET_PLACE) if any(f"{{{name}}}" in text for text in variables)}
    return given & {"port", SOCKET_PLACE} | named


def _require_reachable_socket(taken: Collection[str], overrides: Overrides) -> None:
    """Refuse a socket beside a port, and one in a container, whose files are not those of this machine."""
    if "port" in taken:
        raise UnusableSetting("start", "contains {socket} and {port}; expected the one to listen on")
    if not overrides.location.is_this_machine:
        text = "contains {socket}, which cannot be reached from outside of a container; expected {port}"
        raise UnusableSetting("start", text)


def _require_known(key: str, words: Sequence[str], known: frozenset[str], otherwise: str = "") -> None:
    try:
        require_known_placeholders(key, words, known)
    except ValueError as error:
        raise UnusableSetting(key, sentence(f"{error}{otherwise}")) from None


def version_of_study(overrides: Overrides) -> str | None:
    """Return the version that a study gives, or the revision of the folder in which its own program works."""
    if overrides.version or overrides.folder is None or overrides.version_command is not None:
        return overrides.version
    return revision_of(overrides.folder.path)


def _version_source(entry: CatalogEntry, overrides: Overrides) -> VersionSource:
    """Return how to ask for the version; raises ServerFailure where nobody says how."""
    if overrides.version_command is not None:
        known = PLACES | entry.description.part_names
        _require_known("version_command", overrides.version_command, known)
        return VersionSource(command=list(overrides.version_command), pattern=ANY_VERSION)
    if entry.description.version is None:
        text = (
            "The version is unknown, so the server is not measured: set it in the study, such as "
            'version = "1.2", or version_command = ["server", "--version"]; in a Git repository it is the '
            "revision."
        )
        raise ServerFailure("version_unknown", text)
    return entry.description.version


def places(entry: CatalogEntry, binary: Path) -> dict[str, str]:
    """Return the values of the placeholders that are known once the program is."""
    return {
        "entry": str(entry.folder),
        "native": str(NATIVE_FOLDER),
        "servers": str(servers_folder()),
        "binary": str(binary),
        "binary_folder": str(binary.parent),
    }


def _user(entry: CatalogEntry, overrides: Overrides) -> ServerUser | None:
    """Return the user that the server becomes; raises UnusableSetting for an impossible choice."""
    try:
        return user_of_server(entry.description.user, overrides.user)
    except UnusableSetting:
        raise
    except BadInput:
        # It is reported at the start: a server is found without its user.
        return None


def _program(
    entry: CatalogEntry,
    start: Sequence[str],
    overrides: Overrides,
    build: Build | None,
    user: ServerUser | None,
) -> Path | str:
    """Return the path of the server's program, or what is wrong with it."""
    location = overrides.location
    if overrides.binary is not None:
        return location.given_program(overrides.binary)
    if _uses_binary(start):
        return _search_program(entry, location, entry.description.binary, build, user)
    _require_known("start", start[:1], frozenset({"entry", "native"}))
    if "/" in start[0]:
        return location.given_program(Path(start[0].format(entry=entry.folder, native=NATIVE_FOLDER)))
    program = _search_program(entry, location, start[:1], None, user)
    beside = None if overrides.folder is None else program_beside(overrides.folder.path, start[0])
    return program if isinstance(program, Path) or beside is None else f"{program}; there is one at {beside}"


def _unbuilt(entry: CatalogEntry, build: Build) -> MissingServer:
    """Return what is missing of a server that is not built: its program, or what would build it."""
    if shutil.which(build.tool) is None:
        reason = f"it is built from source with {build.tool}, which was not found on PATH"
        return MissingServer(entry, reason, install_command_here(entry.description.install))
    catalog = entry.folder.parent
    words = [] if catalog == PACKAGED_CATALOG else ["--catalog", str(catalog)]
    check = shlex.join(["loadcurve", "servers", "check", entry.name, *words])
    return MissingServer(entry, "it has not been built yet", check, build)


def _search_program(
    entry: CatalogEntry,
    location: Location,
    candidates: Sequence[str],
    build: Build | None,
    user: ServerUser | None,
) -> Path | str:
    """Return the path of the first candidate that is there, or what was looked for."""
    known = {
        "entry": entry.folder,
        "native": NATIVE_FOLDER,
        "servers": servers_folder(),
        "python": sys.executable,
        "build": build and build.folder,
    }
    names = [candidate.format(**known) for candidate in candidates]
    program = location.program_named(list(_programs_of(candidates, names, known, location)), user)
    if program is not None:
        return program
    reason = f"no program {' or '.join(names)} was found {location.searched}"
    recipe = entry.description.recipe
    if recipe is None or candidates != entry.description.binary or not location.is_this_machine:
        return reason
    installed = installed_server(recipe.name)
    return (
        f"{reason}, and none is installed in {servers_folder()}" if installed is None else installed.program
    )


def _programs_of(
    candidates: Sequence[str], names: Sequence[str], known: Mapping[str, object], location: Location
) -> Iterator[str]:
    """Yield the names of programs, where a candidate is a pattern that of its last match."""
    literal = {place: glob.escape(str(path)) for place, path in known.items()}
    for candidate, name in zip(candidates, names, strict=True):
        file = location.last_file(candidate.format(**literal)) if glob.has_magic(candidate) else None
        yield name if file is None else str(file)


def _search_parts(
    entry: CatalogEntry, binary: Path, location: Location, build: Build | None
) -> dict[str, Path] | str:
    """Return the installed server's folders and files, or which of them is missing."""
    known = places(entry, binary) | ({"build": str(build.folder)} if build is not None else {})
    parts: dict[str, Path] = {}
    for name, candidates in entry.description.folders.items():
        paths = [Path(candidate.format(**known)) for candidate in candidates]
        existing = location.first_folder(paths)
        if existing is None:
            return f"its folder of {name} was not found: {', '.join(map(str, paths))}"
        parts[name] = existing
    for name, patterns in entry.description.files.items():
        # What takes the places of names is a path, whose own characters match only themselves.
        literal = {place: glob.escape(str(path)) for place, path in (known | parts).items()}
        filled = [pattern.format(**literal) for pattern in patterns]
        file = next(filter(None, map(location.last_file, filled)), None)
        if file is None:
            return f"its file of {name} was not found: {', '.join(filled)}"
        parts[name] = file
    return parts


def read_version(
    entry: CatalogEntry,
    source: VersionSource,
    binary: Path,
    parts: Mapping[str, Path],
    location: Location = THIS_MACHINE,
    *,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Ask a program for its version.

    Raises ``ServerFailure``: "version_unknown", with what the program said.
    """
    command = [word.format(**places(entry, binary), **parts) for word in source.command]
    asked = (
        f"The version of {entry.description.title} is unknown, so it is not measured: `{' '.join(command)}`"
    )
    try:
        finished = location.output_of(command, VERSION_TIMEOUT_S, environment=environment)
    except subprocess.TimeoutExpired:
        raise ServerFailure(
            "version_unknown", f"{asked} did not end within {VERSION_TIMEOUT_S:g} s."
        ) from None
    except OSError as error:
        raise ServerFailure("version_unknown", f"{asked} cannot be run: {error.strerror}.") from None
    output = finished.stdout.decode(errors="replace")
    match = re.search(source.pattern, output)
    if match is None or not all(match.groups()):
        text = f"{asked} printed nothing that matches the pattern {source.pattern}."
        raise ServerFailure("version_unknown", text, output.strip())
    return " ".join(match.groups())

"""What ``server.toml`` may say: the description of one server as data."""

import re
import signal
import string
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Annotated, Literal, Self

from annotated_types import Gt
from pydantic import AfterValidator, Field, model_validator

from loadcurve.loads.kinds import KINDS, LoadKind, kind_of_protocol
from loadcurve.protocol import Messages, ProtocolName
from loadcurve.server.install import Packages
from loadcurve.server.installed.recipe import Recipe
from loadcurve.server.preparation import PREPARE_LOG
from loadcurve.server.settings import Setting, SettingValue
from loadcurve.server.transport import TLS, require_transport_settings
from loadcurve.server.versions import is_before
from loadcurve.study.container import CONTAINER_KEYS
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.quantities import DurationS

PLACES = frozenset({"entry", "native", "servers", "binary", "binary_folder"})
"""Placeholders known before a start: the entry's folder, that of our programs, that of installed servers, the
server's program."""

BINARY_PLACES = frozenset({"entry", "native", "servers", "python"})
"""Placeholders of the server's program; ``{python}`` is the Python that runs Loadcurve."""

START_PLACES = PLACES | {"private", "scratch", "content", "address", "port"}
"""Placeholders known at a start: besides :data:`PLACES` the folders and the address of this one start.

A database has no content.

The private folder, which holds the configuration, and the one for scratch in it belong to the server's user.
"""

CERTIFICATE_PLACES = frozenset({"certificate_file", "certificate_key_file"})
"""Placeholders of a server that has the setting `tls`, known where :data:`START_PLACES` are; else empty."""

SOCKET_PLACE = "socket"
"""Placeholder of a program of a study that listens on a Unix socket instead of a port."""
TEMPLATE_PLACES = START_PLACES | {"user", "group", "version"}
"""Names known in a template: besides :data:`START_PLACES` the server's version, and whose its workers are."""

SECRET_PLACES = frozenset({"password"})
"""A password that each start draws anew: for what neither a list of processes nor a record shows."""

URL_PLACES = frozenset({"address", "port"}) | SECRET_PLACES
"""Placeholders of the URL under which a database is reached, from this machine."""


STUDY_KEYS = CONTAINER_KEYS | {
    "use",
    "optional",
    "binary",
    "start",
    "url",
    "version",
    "version_command",
    "driver",
    "environment",
    "cwd",
    "ready",
    "blocks",
}
"""What a study may say of any server, besides its settings."""


def placeholders(text: str) -> set[str]:
    """Return the names between braces in a text; raises ValueError where the braces are no placeholder."""
    names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"{{{name}}} is not a placeholder: expected a name between the braces")
    return names


def require_known_placeholders(key: str, texts: Iterable[str], known: frozenset[str]) -> None:
    """Raise ValueError where the texts of a key have a placeholder that is not known there."""
    for text in texts:
        unknown = placeholders(text) - known
        if unknown:
            names = ", ".join(f"{{{name}}}" for name in sorted(known))
            raise ValueError(f"{key} names {{{min(unknown)}}}, which is unknown there: known are {names}")


def _signal_name(name: str) -> str:
    if name not in signal.Signals.__members__:
        raise ValueError(f"{name} is not a signal: expected a name such as SIGTERM")
    return name


Argv = Annotated[list[str], Field(min_length=1)]
Timeout = Annotated[DurationS, Gt(0), Expected('a duration above zero, such as "500ms" or "10s"')]
SignalName = Annotated[str, AfterValidator(_signal_name)]


CONSOLE_LOG = "console.log"
"""The file beside the private folder that takes what the server prints."""

PRIVATE_FOLDER = "private"
"""The private folder, within that of the start, in which the harness alone writes."""

SCRATCH_FOLDER = "scratch"
"""The folder in the private folder where the server may write, whoever it becomes."""


class VersionSource(TomlTable):
    """The command that prints the version, and the regular expression that finds it there.

    The version is what the pattern's groups match, joined by spaces: one for each program that takes part.
    """

    command: Argv
    """The command that prints the version."""
    pattern: str
    """The regular expression that finds it, with a group around each part."""

    @model_validator(mode="after")
    def _check_pattern(self) -> Self:
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"the pattern is not a regular expression: {error}") from None
        if groups == 0:
            raise ValueError("the pattern has no group: expected one around the version")
        return self


class Ready(TomlTable):
    """When a started server counts as ready: it answers ``path`` with status 200 within the timeout.

    Without a path, the first file of the content is asked for. A database has none: it is ready when it lets
    a client in. A server without a TCP port is ready when it answers QUIC.
    """

    path: str | None = Field(default=None, pattern="^/")
    """The path that is requested; the first file of the content unless set. Databases have none."""
    connects: bool = False
    """Whether it is ready when it accepts a connection, because it answers no HTTP/1.1, as one of gRPC."""
    quic: bool = False
    """Whether it is ready when it answers QUIC on its UDP port, because it speaks HTTP/3 alone."""
    timeout_s: Timeout = Field(default=10.0, alias="timeout")
    """How long a start may take."""

    @property
    def is_of_files(self) -> bool:
        """Say whether the server is ready by a file of the content; an application has none."""
        return self.path is None and not self.connects

    @model_validator(mode="after")
    def _check_path(self) -> Self:
        for name in ("connects", "quic"):
            if self.path is not None and getattr(self, name):
                raise ValueError(
                    f"path is given beside {name} = true, which asks for none: remove one of them"
                )
        if self.connects and self.quic:
            raise ValueError(
                "connects = true is given beside quic = true: a port of QUIC is UDP's; remove one"
            )
        return self


class Stop(TomlTable):
    """How a server is asked to stop, and how long it may take before it is killed."""

    signal: SignalName = "SIGTERM"
    """The signal that asks the server to stop."""
    timeout_s: Timeout = Field(default=5.0, alias="timeout")
    """How long it may take before it is killed."""


class Unsupported(TomlTable):
    """Settings that the server cannot have together, or not in older versions."""

    settings: Annotated[dict[str, bool | int | str], Field(min_length=1)]
    """What cannot be had: values of settings, all of them together."""
    before: str | None = None
    """The first version that can; without it, none can."""
    reason: str
    """A sentence for a person who sets them: why they are refused, and what is possible instead."""

    def forbids(self, settings: Mapping[str, SettingValue], version: str) -> bool:
        """Say whether a server of this version cannot have these settings."""
        is_too_old = self.before is None or is_before(version, self.before)
        return is_too_old and all(settings[name] == value for name, value in self.settings.items())


class ServerDescription(TomlTable):
    """One ``server.toml``.

    Its texts may hold placeholders: ``binary`` :data:`BINARY_PLACES`; ``build`` ``{entry}`` and
    ``{build}``, a cache folder for this state of the sources, which ``binary``, ``folders`` and ``files``
    then know, too; ``folders`` all :data:`PLACES`; ``files`` the names of ``folders`` as well, and
    ``version`` those of both; ``start``, ``prepare``, ``check`` and ``environment`` also
    :data:`START_PLACES` and the names of the settings. A
    template of ``config`` knows the same and :data:`TEMPLATE_PLACES`; ``environment`` knows
    :data:`SECRET_PLACES` besides, and ``url`` :data:`URL_PLACES` alone. All that know :data:`START_PLACES`
    know :data:`CERTIFICATE_PLACES`, too, where the server has the setting ``tls``.
    """

    base: str | list[str] | None = None
    """Another description, or several, whose keys apply unless set here: packaged servers by their names,
    such as `"nginx"`, and others by paths from this folder.

    Of several, an earlier one goes before a later one. Tables join key by key, lists are replaced as a whole,
    and this one's templates may include those of its bases.
    """
    title: str
    """What the server is called in reports."""
    language: str | None = None
    """The language of what makes the answers, by which published results can be filtered.

    It is the server's, or that of an application which the server asks.
    """
    documentation: str | None = None
    """The URL of its manual."""
    from_study: Literal["start", "url"] | None = None
    """The key by which a study names what is measured, if the catalogue names no program.

    Otherwise ``binary``, ``version`` and ``start`` are all given here.
    """
    protocol: ProtocolName = "http"
    """The server's protocol, which determines what can be requested and how it is verified."""
    messages: list[Messages] = Field(default_factory=list)
    """What messages it answers, if it is an application of messages that serves no files of the content."""
    url: str | None = None
    """Where a database that was started here is reached."""
    user: Annotated[list[str], Field(min_length=1)] | None = None
    """The user that a server started by root runs as, the first of these that exists; default ``nobody``."""
    binary: list[str] = Field(default_factory=list)
    """Programs that may be this server, the best first: names to search for, paths, or patterns of paths."""
    build: Argv | None = None
    """The command that builds the server from the sources in this folder, before it is first needed."""
    version: VersionSource | None = None
    """How the version is read."""
    install: Packages = Packages()
    """The packages that carry the server."""
    recipe: Recipe | None = None
    """The packages that `loadcurve servers install` installs in the server's own folder."""
    folders: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Folders of the installed server, such as that of its modules: the first that exists is taken."""
    files: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    """Files of the installed server, such as a module: the last match of the first pattern that has any."""
    config: dict[str, str] = Field(default_factory=dict)
    """Files that are written into the private folder, each with the template it is rendered from."""
    prepare: Argv | None = None
    """A command that ends before the server starts, run in the private folder as the server's user."""
    start: Argv | None = None
    """The command of the server, which must stay in the foreground."""
    check: Argv | None = None
    """The command that only checks the configuration; it is run if the server ends before it is ready."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Environment variables of the server, besides those of the command."""
    ready: Ready = Ready()
    """When a started server counts as ready."""
    stop: Stop = Stop()
    """How the server is stopped."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """What a study can set, by name."""
    unsupported: list[Unsupported] = Field(default_factory=list)
    """Settings that the server, or an older version of it, cannot have together."""
    logs: list[str] = Field(default_factory=list)
    """Files in the private folder, besides what the server prints, whose end is shown on failure."""
    notes: list[str] = Field(default_factory=list)
    """Sentences that `loadcurve servers NAME` shows."""

    @property
    def may_serve_files(self) -> bool:
        """Say whether the content may be what is served: a file of it shows then that the server is ready."""
        return self.ready.is_of_files and not self.messages

    @model_validator(mode="after")
    def _check_program(self) -> Self:
        program = {"binary": self.binary, "version": self.version, "start": self.start}
        for key, value in program.items():
            if self.from_study is None and not value:
                raise ValueError(f"{key} is missing: expected {', '.join(program)}, or from_study")
            if self.from_study is not None and value:
                raise ValueError(
                    f"{key} is given together with from_study, which leaves the program to the study"
                )
        return self

    @model_validator(mode="after")
    def _check_protocol(self) -> Self:
        if not self.kind.has_driver and self.url is not None:
            raise ValueError("url is given without a protocol: expected it for a database")
        if self.kind.has_driver and self.url is None:
            raise ValueError("url is missing: expected the URL of the database, as its clients write it")
        if self.kind.has_driver and self.from_study is not None:
            raise ValueError(
                "protocol is given together with from_study, which is only for web servers and URLs"
            )
        if not self.kind.serves_content and not self.ready.is_of_files:
            raise ValueError("ready.path or ready.connects is given for a database, which lets clients in")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        taken = (
            TEMPLATE_PLACES
            | {SOCKET_PLACE}
            | CERTIFICATE_PLACES
            | SECRET_PLACES
            | STUDY_KEYS
            | self.part_names
        )
        for name in self.settings:
            if name in taken or not name.isidentifier():
                raise ValueError(
                    f"a setting cannot be named `{name}`: the name is taken or not an identifier"
                )
        for folder, file in [("config", file) for file in self.config] + [
            ("logs", file) for file in self.logs
        ]:
            if "/" in file or file in {"", ".", "..", CONSOLE_LOG, PREPARE_LOG, SCRATCH_FOLDER}:
                raise ValueError(f'"{file}" in {folder} is taken or not the plain name of a file')
        return self

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if not self.kind.has_driver:
            require_transport_settings(self.settings, is_quic_alone=self.ready.quic)
        for one in self.unsupported:
            for name, value in one.settings.items():
                if name not in self.settings:
                    raise ValueError(f"unsupported names `{name}`, which is not a setting of the server")
                try:
                    self.settings[name].accept(value)
                except ValueError as error:
                    raise ValueError(f"unsupported names `{name}` with another value: {error}") from None
        return self

    @property
    def kind(self) -> LoadKind:
        """The kind of load that it is put under."""
        return kind_of_protocol(self.protocol)

    @property
    def is_own_program(self) -> bool:
        """Whether a study names the program itself, which serves what it likes on the port it is given."""
        return self.from_study == "start"

    @property
    def kinds(self) -> tuple[LoadKind, ...]:
        """The kinds of load that a study may put it under; what runs already is known by its URL alone."""
        return KINDS if self.from_study == "url" else (self.kind,)

    @property
    def may_be_encrypted(self) -> bool:
        """Whether it is a web server that a study may let listen for TLS."""
        return not self.kind.has_driver and TLS in self.settings

    @property
    def part_names(self) -> frozenset[str]:
        """The names of the installed server's folders and files."""
        return frozenset(self.folders.keys() | self.files.keys())

    @property
    def has_built_parts(self) -> bool:
        """Whether folders or files of the server are built from its sources, whatever its program is."""
        parts = chain(self.folders.values(), self.files.values())
        return any("build" in placeholders(text) for text in chain.from_iterable(parts))

    @property
    def start_names(self) -> frozenset[str]:
        """The names that ``prepare``, ``start``, ``check`` and ``environment`` may use."""
        unknown = frozenset() if self.kind.serves_content else frozenset({"content"})
        certificates = CERTIFICATE_PLACES if self.may_be_encrypted else frozenset()
        return START_PLACES - unknown | certificates | self.part_names | self.settings.keys()

    @property
    def template_names(self) -> frozenset[str]:
        """The names that the templates of ``config`` may use."""
        return self.start_names | TEMPLATE_PLACES - START_PLACES

    @model_validator(mode="after")
    def _check_placeholders(self) -> Self:
        built = frozenset({"build"} if self.build else ())
        for key, texts, known in (
            ("binary", self.binary, BINARY_PLACES | built),
            ("build", self.build or [], frozenset({"entry", "build"})),
            ("folders", chain.from_iterable(self.folders.values()), PLACES | built),
            ("files", chain.from_iterable(self.files.values()), PLACES | built | self.folders.keys()),
            ("version.command", self.version.command if self.version else [], PLACES | self.part_names),
            ("prepare", self.prepare or [], self.start_names),
            ("start", self.start or [], self.start_names),
            ("check", self.check or [], self.start_names),
            ("environment", self.environment.values(), self.start_names | SECRET_PLACES),
            ("url", [self.url or ""], URL_PLACES),
        ):
            require_known_placeholders(key, texts, known)
        return self

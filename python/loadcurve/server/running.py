"""A server that runs already, somewhere: it is looked for and verified as others are, but not started."""

import http.client
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from loadcurve._engine import DatabaseError
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.host.cgroups import NO_LIMITS
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import verify_answers
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.database import RunningDatabase, explanation_of, version_at
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides
from loadcurve.server.protocol import ProtocolName, address_of, protocol_of_url, without_password
from loadcurve.server.settings import SettingValue, UnusableSetting, choose_settings
from loadcurve.server.target import Target, reachable_address, read_url

ANSWER_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class RunningServer:
    """A server that runs already and accepts connections."""

    entry: CatalogEntry
    url: str
    """Where it is reached, with user and password where it asks for them."""
    address: str
    """The numeric ``host:port`` of a web server; of a database the hosts as the URL names them."""
    authority: str
    """What a web server's ``Host`` names."""
    version: str
    settings: Mapping[str, SettingValue]
    protocol: ProtocolName
    """What is spoken with it, as the scheme of the URL says."""


def find_running_server(
    entry: CatalogEntry, given_settings: Mapping[str, object], overrides: Overrides
) -> RunningServer | MissingServer:
    """Look for a server where the study says that it runs.

    Raises:
        UnusableSetting: a given setting or key is unknown, does not fit or is missing.
        ServerFailure: the server is there, and does not say which version it is ("version_unknown").

    """
    settings = choose_settings(entry.name, entry.description.settings, given_settings)
    for key in ("binary", "start", "version_command"):
        if getattr(overrides, key) is not None:
            raise UnusableSetting(key, f"given, but the server {entry.name} runs already and is not started")
    if overrides.limits != NO_LIMITS:
        text = f"given, but the server {entry.name} runs already: it is held to nothing from here"
        raise UnusableSetting("limits", text)
    if overrides.url is None:
        raise UnusableSetting(
            "url", 'missing; expected where the server listens, such as "http://127.0.0.1:8080"'
        )
    protocol = protocol_of_url(overrides.url)
    if protocol is not None and protocol != "http":
        return _running_database(entry, overrides.url, protocol, overrides.version, settings)
    target = _target(overrides.url)
    try:
        address = reachable_address(target, ANSWER_TIMEOUT_S)
    except NothingMeasured as error:
        return MissingServer(entry, str(error), None, fault=ServerFailure("not_ready", f"{error}."))
    version = overrides.version or _announced_version(overrides.url, target)
    return RunningServer(entry, overrides.url, address, target.authority, version, settings, "http")


def _running_database(
    entry: CatalogEntry,
    url: str,
    protocol: ProtocolName,
    version: str | None,
    settings: Mapping[str, SettingValue],
) -> RunningServer | MissingServer:
    """Ask a database for its version; every one that lets a client in tells it."""
    try:
        said = version_at(url, ANSWER_TIMEOUT_S)
    except DatabaseError as error:
        text = f"{without_password(url)}: {explanation_of(error)}"
        return MissingServer(entry, text, None, fault=ServerFailure("not_ready", f"{text}."))
    except ValueError as error:
        raise UnusableSetting("url", str(error)) from None
    address = address_of(url)
    return RunningServer(entry, url, address, address, version or said, settings, protocol)


def _target(url: str) -> Target:
    try:
        target = read_url(url)
    except BadInput as error:
        raise UnusableSetting("url", str(error)) from None
    if target.path != "/":
        text = f'found "{url}"; expected no path behind host and port, as each request of the load has one'
        raise UnusableSetting("url", text)
    return target


def _announced_version(url: str, target: Target) -> str:
    """Return the product and version that an answer's ``Server`` names first, such as ``nginx/1.22.1``."""
    connection = http.client.HTTPConnection(target.host, target.port, timeout=ANSWER_TIMEOUT_S)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        said = connection.getresponse().getheader("Server") or ""
    except (OSError, http.client.HTTPException) as error:
        said = str(error) or type(error).__name__
    finally:
        connection.close()
    product = re.search(r"\S+/\d\S*", said)
    if product is None:
        text = (
            f"The version of the server at {url} is unknown, so it is not measured: its answers name none. "
            'Give it in the study, such as version = "1.2".'
        )
        raise ServerFailure("version_unknown", text, said)
    return product[0]


class AttachedServer:
    """A server that runs already, used as :class:`loadcurve.server.instance.Server` is, but not started."""

    def __init__(self, found: RunningServer, content: Mapping[str, ContentRecord] | None) -> None:
        """Take a server as it is; without ``content`` any answer of status 200 counts as the right one."""
        self.settings: dict[str, SettingValue] = {**found.settings, "url": without_password(found.url)}
        self.configuration: dict[str, str] = {}
        """Unknown: the server was configured elsewhere."""
        self._found = found
        self._content = content

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    @property
    def address(self) -> str:
        """Where the server listens: the numeric ``host:port`` of a web server, the hosts of a database."""
        return self._found.address

    @property
    def marks(self) -> None:
        """Nothing: its processes are not known, wherever they are."""

    @property
    def authority(self) -> str:
        """What ``Host`` names."""
        return self._found.authority

    @property
    def url(self) -> str:
        """Where the server is reached by its protocol; that of a database may hold a password."""
        return self._found.url

    def verify(self, paths: Sequence[str] = ()) -> None:
        """Ask for each path once and compare the status, and length and digest where there is content.

        A database is given something to keep, which is read back and removed.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer").

        """
        url = self._found.url
        try:
            if self._found.protocol == "http":
                target = read_url(url)
                verify_answers(target.host, target.port, paths, self._content)
            else:
                RunningDatabase(url).verify(paths)
        except ServerFailure as failure:
            raise ServerFailure(failure.code, f"{without_password(url)}: {failure.text}") from None

    def limit_use(self) -> None:
        """Return nothing: it is held to no limits from here."""

    def require_life(self) -> None:
        """Do nothing: nobody here knows whether it lives, and what goes wrong shows in the load."""

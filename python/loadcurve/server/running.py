"""A server that runs already, somewhere: it is looked for and verified as others are, but not started."""

import http.client
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from loadcurve._engine import DatabaseError
from loadcurve.errors import BadInput, NothingMeasured, in_words, sentence
from loadcurve.host.cgroups import NO_LIMITS
from loadcurve.loads.kinds import LoadKind, kind_of_protocol
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.way import Way, is_socket
from loadcurve.protocol import BY_ALT_SVC, ProtocolName, protocol_of_url
from loadcurve.redaction import hosts_of, without_password
from loadcurve.server.alt_svc import following
from loadcurve.server.asked import plain_load
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.database import explanation_of, version_at
from loadcurve.server.exchange import Asked, answer_within
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides
from loadcurve.server.listeners import Place
from loadcurve.server.members import Named, SeenProcesses, UnseenProcesses, processes_of
from loadcurve.server.settings import SettingValue, UnusableSetting, choose_settings
from loadcurve.server.target import Target, reached, read_url
from loadcurve.server.transport import CLEAR_TEXT, Transport

ANSWER_TIMEOUT_S = 5.0
GIVE_VERSION = 'Give it in the study, such as version = "1.2".'
NOT_LOOKED_FOR = UnseenProcesses("nobody has looked for its processes")


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
    transport: Transport = CLEAR_TEXT
    """How a web server is spoken to."""
    named: Sequence[Named] = ()
    """By what the study names its processes."""
    place: Place | None = None
    """Where it listens, if that is one address."""
    processes: SeenProcesses | UnseenProcesses = NOT_LOOKED_FOR

    status: ClassVar[Literal["found"]] = "found"
    is_started_here: ClassVar[bool] = False
    has_trials: ClassVar[bool] = True
    install: ClassVar[None] = None
    reason: ClassVar[None] = None

    @property
    def kind(self) -> LoadKind:
        """The kind of load that it is put under."""
        return kind_of_protocol(self.protocol)

    @property
    def binary(self) -> Path | None:
        """The program of its main process, where that can be seen."""
        return self.processes.program if isinstance(self.processes, SeenProcesses) else None

    @property
    def what_is_measured(self) -> str:
        """Whose CPU and memory are measured, as a sentence without its end."""
        if isinstance(self.processes, UnseenProcesses):
            return f"CPU and memory of the server are not measured: {self.processes.reason}"
        return "; ".join([f"CPU and memory are those of {self.processes.text}", *self.processes.missing])


def given_of_running(
    entry: CatalogEntry, given_settings: Mapping[str, object], overrides: Overrides
) -> tuple[dict[str, SettingValue], str]:
    """Return the settings and the URL of a server that runs already; raises UnusableSetting as below."""
    settings = choose_settings(entry.name, entry.description.settings, given_settings)
    for key in ("binary", "start", "version_command", "environment", "user"):
        if getattr(overrides, key):
            raise UnusableSetting(
                key, f"not used: the server {entry.name} is already running and is not started"
            )
    if overrides.blocks:
        raise UnusableSetting("blocks", f"not used: the server {entry.name} is already running")
    if overrides.limits != NO_LIMITS:
        text = f"not used: the server {entry.name} is already running, so Loadcurve cannot limit it"
        raise UnusableSetting("limits", text)
    if overrides.url is None:
        raise UnusableSetting(
            "url", 'missing; expected the URL that the server listens on, such as "http://127.0.0.1:8080"'
        )
    return settings, overrides.url


def find_running_server(
    entry: CatalogEntry,
    given_settings: Mapping[str, object],
    overrides: Overrides,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> RunningServer | MissingServer:
    """Look for a server where the study says that it runs; it has ``timeout_s`` for each answer.

    Raises:
        UnusableSetting: a given setting or key is unknown, does not fit or is missing.
        ServerFailure: the server is there, and does not say which version it is ("version_unknown"), or does
            not answer in time ("not_ready").

    """
    settings, url = given_of_running(entry, given_settings, overrides)
    protocol = protocol_of_url(url)
    if protocol is not None and kind_of_protocol(protocol).has_driver:
        found = _running_database(entry, url, protocol, overrides, settings, timeout_s=timeout_s)
    else:
        found = _running_web_server(entry, url, overrides, settings, timeout_s=timeout_s)
    if isinstance(found, MissingServer):
        return found
    return replace(found, processes=processes_of(found.named, found.place))


def _running_web_server(
    entry: CatalogEntry,
    url: str,
    overrides: Overrides,
    settings: Mapping[str, SettingValue],
    *,
    timeout_s: float,
) -> RunningServer | MissingServer:
    """Ask a web server for its version, unless the study has it."""
    target = _target(url)
    try:
        where = reached(target, overrides.way, timeout_s)
    except NothingMeasured as error:
        text = f"{error}{_where_it_listens(overrides)}"
        return MissingServer(entry, text, None, fault=ServerFailure("not_ready", sentence(text)))
    address = where.address
    transport = Transport(target.scheme, overrides.tls, other_addresses=where.others)
    version = overrides.version
    if version is None:
        _require_direct(url, overrides.way)
        is_over_quic = overrides.way.is_over_quic
        version = _version_of(url, target, address, transport, timeout_s, is_over_quic=is_over_quic)
    return RunningServer(
        entry,
        url,
        address,
        target.authority,
        version,
        settings,
        "http",
        transport,
        named=overrides.named,
        place=_place_of_load(target, address, transport, overrides, timeout_s),
    )


def _place_of_load(
    target: Target, address: str, transport: Transport, overrides: Overrides, timeout_s: float
) -> Place | None:
    """Return where the load goes, which over HTTP/3 is a port of UDP: that of the URL, or the announced one.

    Raises ``ServerFailure`` where the server is to announce it and does not.
    """
    way, path = overrides.way, overrides.announced_at
    if way.has_no_port:
        return None
    if path is None or not transport.is_encrypted:
        return Place.of_web_server(address, is_over_quic=way.is_over_quic)
    asking = plain_load(transport).model_copy(
        update={"http": BY_ALT_SVC, "requests": [path], "timeout_s": timeout_s}
    )
    plan = HttpPlan(
        load=asking,
        address=address,
        authority=target.authority,
        scheme=transport.scheme,
        host=target.host,
        verify=transport.tls.verify,
        threads=1,
    )
    return Place.of_web_server(following(plan).address, is_over_quic=True)


def _where_it_listens(overrides: Overrides) -> str:
    """Return where the processes that a study names listen, as the continuation of a sentence."""
    named, over_udp = overrides.named, overrides.way.is_over_quic
    if not named or isinstance(seen := processes_of(named, None), UnseenProcesses):
        return ""
    protocol, ports = "UDP " if over_udp else "", ", ".join(map(str, seen.ports(over_udp=over_udp)))
    return f"; {seen.text}, listens on {f'{protocol}port {ports}' if ports else f'no {protocol}port'}"


def _version_of(
    url: str, target: Target, address: str, transport: Transport, timeout_s: float, *, is_over_quic: bool
) -> str:
    """Return the version that a server names over TCP, even where the load speaks HTTP/3 with it."""
    try:
        return _announced_version(url, target, address, transport, timeout_s)
    except ServerFailure as failure:
        if failure.code != "not_ready" or not is_over_quic:
            raise
        text = (
            f"{sentence(failure.text)} That was asked over TCP, for its version, while the load goes to a "
            f"UDP port. {GIVE_VERSION}"
        )
        raise ServerFailure("version_unknown", text) from None


def _running_database(
    entry: CatalogEntry,
    url: str,
    protocol: ProtocolName,
    overrides: Overrides,
    settings: Mapping[str, SettingValue],
    *,
    timeout_s: float,
) -> RunningServer | MissingServer:
    """Ask a database for its version; every one that lets a client in reports it."""
    try:
        said = version_at(url, timeout_s)
    except DatabaseError as error:
        text = f"{without_password(url)}: {explanation_of(error)}"
        return MissingServer(entry, text, None, fault=ServerFailure("not_ready", sentence(text)))
    except ValueError as error:
        raise UnusableSetting("url", str(error)) from None
    address = hosts_of(url)
    return RunningServer(
        entry,
        url,
        address,
        address,
        overrides.version or said,
        settings,
        protocol,
        named=overrides.named,
        place=Place.of_database(url),
    )


def _target(url: str) -> Target:
    try:
        target = read_url(url)
    except BadInput as error:
        raise UnusableSetting("url", str(error)) from None
    if target.path != "/":
        shown = without_password(url)
        text = f'found "{shown}"; expected no path, as each request of the load has its own'
        raise UnusableSetting("url", text)
    return target


def names_its_version(url: str, timeout_s: float = ANSWER_TIMEOUT_S) -> bool:
    """Say whether a web server that runs at a URL names its version in an answer.

    One that cannot be asked counts as one that does: what looks for it says why it cannot be reached.
    """
    target = read_url(url)
    try:
        where = reached(target, Way(), timeout_s)
        transport = Transport(target.scheme, other_addresses=where.others)
        _announced_version(url, target, where.address, transport, timeout_s)
    except ServerFailure as failure:
        return failure.code != "version_unknown"
    except NothingMeasured:
        return True
    return True


def _require_direct(url: str, way: Way) -> None:
    """Raise ``ServerFailure`` where a server cannot be asked as if nothing were between."""
    if not way.is_direct:
        text = (
            f"The version of the server at {url} is not asked for through a proxy, or behind a PROXY header. "
            f"{GIVE_VERSION}"
        )
        raise ServerFailure("version_unknown", text)


def _announced_version(url: str, target: Target, address: str, transport: Transport, timeout_s: float) -> str:
    """Return the product and version that an answer's ``Server`` names first, such as ``nginx/1.22.1``.

    The address is that of the load: a second look-up of the name may lead elsewhere.
    """
    host, _, port = address.rpartition(":")
    place = address if is_socket(address) else host.strip("[]")
    try:
        with answer_within(
            timeout_s, target.host, target.port, Asked("/"), transport, address=place, port_there=port
        ) as response:
            said = response.getheader("Server") or ""
    except (OSError, http.client.HTTPException) as error:
        text = sentence(f"{url}: GET / was not answered: {in_words(error)}")
        raise ServerFailure("not_ready", text) from None
    product = re.search(r"(?<!\S)\S+/\d\S*", said)
    if product is None:
        text = (
            f"The version of the server at {url} is unknown, so it is not measured: no answer names one. "
            f"{GIVE_VERSION}"
        )
        raise ServerFailure("version_unknown", text, said)
    return product[0]

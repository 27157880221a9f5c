"""Whether the servers of a study fit its load: of its kind, of its protocol, and with what it asks of TLS."""

from collections.abc import Callable, Iterator, Mapping

from loadcurve._engine import Database, DatabaseError
from loadcurve.errors import BadInput
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.plan import DatabaseTarget
from loadcurve.loads.requests import LongList
from loadcurve.loads.sent import header_fields
from loadcurve.loads.values import ENGINE_NAME, Point
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import BY_ALT_SVC, HTTP2, HTTP3, WEBSOCKET, AskedHttp
from loadcurve.runs.generators import scheme_in
from loadcurve.runs.plan import DatabasePlans
from loadcurve.server.catalog import Catalog
from loadcurve.server.description import SOCKET_PLACE
from loadcurve.server.elsewhere import ServerOnMachine
from loadcurve.server.found import FoundServer, MissingServer
from loadcurve.server.running import RunningServer
from loadcurve.server.settings import BooleanSetting
from loadcurve.server.several import FoundPrograms
from loadcurve.server.transport import HTTP2_SETTING, HTTP3_SETTING, TLS, scheme_of
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import show
from loadcurve.toml.problems import KeyPath, Problem, never_used

AnyServer = FoundServer | FoundPrograms | RunningServer | ServerOnMachine | MissingServer


def misfits(arm: Arm, server: AnyServer, point: Point) -> Iterator[Problem]:
    """Yield what keeps a server from being put under the load of its arm; ``point`` is any of the sweep."""
    name, driver = arm.name, arm.server.driver
    description, found = server.entry.description, server.kind
    if driver and not arm.kind.has_driver:
        text = f"not used by a load on {arm.kind.servers}; remove it"
        yield Problem(("servers", name, "driver"), text)
    if isinstance(arm.load, HttpLoadTable):
        if description.from_study != "url":
            yield from _misfits_of_started(arm, arm.load)
        yield from _misfits_of_http(arm, arm.load, server)
        yield from _misfits_of_websocket(arm, arm.load)
        if _listens_on_socket(arm, server):
            yield from _misfits_of_socket(arm, arm.load, server)
    if found is not None and found is not arm.kind:
        models = " or ".join(f'"{model}"' for model in found.models)
        text = f"{description.title} is {found.server}; expected model = {models} in [load], or "
        yield Problem(("servers", name), f"{text}{arm.kind.server} here")
    elif found is not None and found.has_driver:
        target = _target(arm, server.url or f"{description.protocol}://127.0.0.1", point)
        try:
            Database(target.to_json())
        except ValueError as error:
            yield Problem(("servers", name, "driver" if driver else "use"), str(error))


def _misfits_of_started(arm: Arm, load: HttpLoadTable) -> Iterator[Problem]:
    """Yield what does not lead to a server that the run starts, on this machine's address of IPv4."""
    for key in ("unix_socket", "connect_to", "proxy", "proxy_credentials", "addresses"):
        if getattr(load, key) is not None:
            text = f'only used with a server that runs already, use = "url"; {arm.name} is started by the run'
            yield Problem(("load", key), text)
    if any(":" in str(one) for one in load.source_addresses):
        text = "a server that is started listens on an address of IPv4; expected addresses of IPv4"
        yield Problem(arm.place("source_addresses"), text)


def _misfits_of_http(arm: Arm, load: HttpLoadTable, server: AnyServer) -> Iterator[Problem]:
    """Yield what keeps a server, as it is set, from speaking the load's version of HTTP."""
    description, given = server.entry.description, arm.server.settings
    place: KeyPath = ("servers", arm.name)
    why = f'because http = "{load.http}" in [load]'
    for name in _switches(load.http, of_catalogue=description.from_study is None):
        setting = description.settings.get(name)
        if isinstance(setting, BooleanSetting) and given.get(name, setting.default) is not True:
            found = "found false" if name in given else "missing"
            yield Problem((*place, name), f"{found}; expected true, {why}")
    if description.ready.quic and load.http != HTTP3:
        text = f'{description.title} speaks HTTP/3 alone; expected http = "{HTTP3}" in [load]'
        yield Problem(place, text)
    if TLS in description.settings or scheme_of(description.settings, given, arm.server.url) == "https":
        return
    if load.http not in (HTTP3, BY_ALT_SVC):
        yield from _misfits_of_proxy(arm, load)
    elif arm.server.url is None:
        yield Problem(place, f"{description.title} has no TLS; expected a server that has it, {why}")
    else:
        yield Problem((*place, "url"), f"HTTP/3 has no clear text; expected a URL of https://, {why}")


def _misfits_of_proxy(arm: Arm, load: HttpLoadTable) -> Iterator[Problem]:
    """Yield what a proxy does not pass on in clear text."""
    if load.proxy is None:
        return
    if load.http == HTTP2:
        text = 'not used: a proxy passes on no HTTP/2 in clear text; expected https://, or http = "1.1"'
        yield Problem(arm.place("proxy"), text)
    elif load.messages == WEBSOCKET:
        text = "not used: a WebSocket in clear text goes through no proxy here; expected a URL of wss://"
        yield Problem(arm.place("proxy"), text)


def _misfits_of_websocket(arm: Arm, load: HttpLoadTable) -> Iterator[Problem]:
    """Yield the requests that are no messages of one WebSocket."""
    if load.messages != WEBSOCKET:
        return
    place = arm.place("requests")
    if isinstance(load.requests, LongList):
        text = "found a long list of paths, which has no messages; expected requests with a body in the study"
        yield Problem(place, text)
        return
    first, *others = load.asked
    if any(one.chunked for one in (first, *others)):
        text = "messages of a WebSocket are sent without chunks; remove chunked"
        yield Problem(arm.place("chunked") if load.chunked else place, text)
    handshake = (first.path, header_fields(first.headers))
    for index, one in enumerate(others, start=1):
        if (one.path, header_fields(one.headers)) != handshake:
            text = (
                f"found {show(one.path)}; all messages of a load go to one WebSocket, that of the first "
                f"request; expected its path, {show(first.path)}, and its headers"
            )
            yield Problem((*place, str(index)), text)


def tls_in_vain(study: Study, catalog: Catalog, as_written: Callable[[KeyPath], KeyPath]) -> list[Problem]:
    """Return the options of TLS that only servers in clear text are given.

    Beside servers with TLS some may have none: what the study gives all of them is for the others. A place
    is where the file has an option, by ``as_written``: that of the server of several arms, for theirs.
    """
    uses = (
        (as_written(place), isinstance(arm.load, HttpLoadTable) and scheme_in(catalog, arm) == "https")
        for arm in study.arms.values()
        for place in _places_of_tls(study, arm)
    )
    text = "only used with TLS, which no server here has; expected tls = true in its table, or https://"
    return [Problem(place, text) for place in never_used(uses)]


def _places_of_tls(study: Study, arm: Arm) -> Iterator[KeyPath]:
    for key in ("tls", "full_handshakes", "early_data"):
        if key in arm.load.overriding or study.load.gives(key):
            yield arm.place(key)
        if key in study.sweep:
            yield ("sweep", key)
        if key in (arm.server.sweep or {}):
            yield (*arm.place_of_sweep, key)


def _switches(http: AskedHttp, *, of_catalogue: bool) -> tuple[str, ...]:
    """Return the settings without which a server does not speak a version of HTTP.

    A program that only the study names may speak HTTP/2 alone, which no setting of it says.
    """
    switches = {
        HTTP2: (HTTP2_SETTING,) if of_catalogue else (),
        HTTP3: (TLS, HTTP3_SETTING),
        BY_ALT_SVC: (TLS,),
    }
    return switches.get(http, ())


def _listens_on_socket(arm: Arm, server: AnyServer) -> bool:
    if isinstance(server, ServerOnMachine):
        return any(f"{{{SOCKET_PLACE}}}" in word for word in arm.server.start or ())
    return isinstance(server, FoundServer) and server.on_socket


def _misfits_of_socket(arm: Arm, load: HttpLoadTable, server: AnyServer) -> Iterator[Problem]:
    """Yield what cannot be done over the Unix socket of a server."""
    if isinstance(server, ServerOnMachine):
        text = "contains {socket}, which only this machine reaches; expected {port} on another machine"
        yield Problem(("servers", arm.name, "start"), text)
    if load.generator != ENGINE_NAME:
        text = f"{load.generator} is only driven over TCP; {arm.name} listens on a socket: give it {{port}}"
        yield Problem(arm.place("generator"), text)
    if load.http in (HTTP3, BY_ALT_SVC):
        text = f"found {load.http}; {arm.name} listens on a socket, which has no UDP port: give it {{port}}"
        yield Problem(arm.place("http"), text)
    if load.source_addresses:
        text = f"not used: {arm.name} listens on a socket, which has no addresses; remove it"
        yield Problem(arm.place("source_addresses"), text)


def require_own_tables(study: Study, document: TomlDocument, servers: Mapping[str, AnyServer]) -> None:
    """See that no load would write into, or remove, what another has made in a database that runs already.

    Raises:
        BadInput: the table is there, and was not made by Loadcurve.

    """
    if not study.kind.has_driver:
        return
    for name, server in servers.items():
        if server.url is None:
            continue
        target = _target(study.arms[name], server.url, study.points()[0])
        if _is_foreign(target):
            where = f"{target.namespace}.{target.table}"
            text = (
                f"{where} already exists and was not created by Loadcurve, so it may contain other data; "
                "choose another namespace or table in [load], or remove it"
            )
            raise BadInput(document.report(Problem(("servers", name, "url"), text)))


def _is_foreign(target: DatabaseTarget) -> bool:
    """Say whether there is a table that is not ours; what keeps from asking is reported in the trials."""
    database = Database(target.to_json())
    try:
        return database.exists() and not database.is_ours()
    except DatabaseError:
        return False


def _target(arm: Arm, url: str, point: Point) -> DatabaseTarget:
    plans = DatabasePlans(url, arm.server.driver, cpus=(0,))
    load = arm.load_at(point)
    if not isinstance(load, DatabaseLoad):
        raise TypeError("the load is not for databases")
    return plans.load_phase(load, seed=0).target

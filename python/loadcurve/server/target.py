"""Where a URL leads, and the address behind it."""

import socket
import time
import unicodedata
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.host.tracking import no_place_in_words
from loadcurve.loads.tls import DEFAULT_PORTS, Scheme
from loadcurve.loads.way import Way, socket_address
from loadcurve.protocol import MESSAGE_SCHEMES
from loadcurve.redaction import without_passwords
from loadcurve.server.lookup import Endpoint, endpoints_of
from loadcurve.server.quic_port import speaks_quic

EXPECTED = "expected a URL such as http://127.0.0.1:8080/path or https://127.0.0.1:8443/path"
LEAST_TIMEOUT_S = 1e-3


@dataclass(frozen=True)
class Target:
    """Where a URL leads."""

    scheme: Scheme
    host: str
    """In ASCII; an IPv6 address without its zone."""
    zone: str | None
    """The interface through which a link-local IPv6 address is reached, by its name or number."""
    port: int
    authority: str
    """What ``Host`` names."""
    path: str
    messages: str | None = None
    """What its scheme says that answers are streams of."""


def read_url(url: str) -> Target:
    """Return where ``url`` leads; raises BadInput where it cannot be used."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        text = f"{without_passwords(url)}: not a URL: {error}; {EXPECTED}"
        raise BadInput(text) from None
    messages, scheme_of_http = MESSAGE_SCHEMES.get(parts.scheme, (None, parts.scheme))
    parts = parts._replace(scheme=scheme_of_http)
    if fault := _fault(parts):
        raise BadInput(f"{without_passwords(url)}: {fault}; {EXPECTED}")
    if parts.username is not None:
        text = "a URL with a user is not supported; set the header with -H 'Authorization: …'"
        raise BadInput(f"{without_passwords(url)}: {text}")
    try:
        host = _in_ascii(parts.hostname or "")
    except UnicodeError:
        text = "the ASCII form of this host name is not certain; write its ASCII form, xn--…, in the URL"
        raise BadInput(f"{without_passwords(url)}: {text}") from None
    zone = None
    if ":" in host:
        host, _, written = host.partition("%")
        zone = _zone(written)
    path = parts.path or "/"
    scheme: Scheme = "https" if parts.scheme == "https" else "http"
    return Target(
        scheme=scheme,
        host=host,
        zone=zone,
        port=DEFAULT_PORTS[scheme] if parts.port is None else parts.port,
        authority=_bracketed(host) if parts.port is None else _endpoint(host, parts.port),
        path=f"{path}?{parts.query}" if parts.query else path,
        messages=messages,
    )


def _fault(parts: SplitResult) -> str | None:
    """Say what keeps a URL from being loaded."""
    if not parts.scheme:
        return "the scheme is missing"
    if parts.scheme not in DEFAULT_PORTS:
        return f"the scheme is {parts.scheme!r}"
    if not parts.hostname:
        return "the host is missing"
    try:
        is_port = parts.port != 0
    except ValueError:
        is_port = False
    return None if is_port else "the port is not a number from 1 to 65535"


def _in_ascii(host: str) -> str:
    """Return the name of a host as it is looked up and sent.

    Raises ``UnicodeError``: it has none, or the rule of 2003, which Python's library has, leads
    to another host than that of today: "ß" would be "ss".
    """
    if host.isascii():
        return host
    encoded = host.encode("idna")
    if encoded.decode("idna") != unicodedata.normalize("NFKC", host).lower():
        raise UnicodeError
    return encoded.decode("ascii").lower()


def _zone(written: str) -> str | None:
    """Return the zone of an address, whose "%" is written "%25" in a URL (RFC 6874), and often is not."""
    is_encoded = written.startswith("25") and written != "25"
    return (written[2:] if is_encoded else written) or None


def reachable_address(target: Target, timeout_s: float, *, is_over_quic: bool = False) -> str:
    """Return the first address of the host that accepts a connection, as ``host:port``.

    Over QUIC one that accepts none of TCP is asked by a datagram. Finding the host and all of its addresses
    together have ``timeout_s``.

    Raises ``NothingMeasured``: the host is not found, or nobody answers there.
    """
    host = target.host if target.zone is None else f"{target.host}%{target.zone}"
    where = _endpoint(host, target.port)
    deadline_s = time.monotonic() + timeout_s
    try:
        found = endpoints_of(host, target.port, timeout_s)
    except TimeoutError as error:
        raise NothingMeasured(f"{where}: the host is not found: {error}") from error
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a host name"
        raise NothingMeasured(f"{where}: the host is not found ({reason}); check the name") from error
    reasons = []
    for *_, address in found:
        host, port = _numeric(address), int(address[1])
        left_s = max(LEAST_TIMEOUT_S, deadline_s - time.monotonic())
        try:
            with socket.create_connection((host, port), timeout=left_s):
                return _endpoint(host, port)
        except TimeoutError:
            reasons.append(f"{host}: no connection within {timeout_s:g} s")
        except OSError as error:
            reasons.append(f"{host}: {error.strerror or error}")
        if is_over_quic:
            if speaks_quic(host, port, max(LEAST_TIMEOUT_S, deadline_s - time.monotonic())):
                return _endpoint(host, port)
            reasons[-1] += f", and no QUIC on UDP port {port}"
    raise NothingMeasured(
        f"{where}: no connection ({'; '.join(dict.fromkeys(reasons))}); "
        + (no_place_in_words() or "check that the server is running and that this is its address")
    )


@dataclass(frozen=True)
class Reached:
    """Where connections to a server go."""

    address: str
    """The first address that has accepted one, as plans have it."""
    others: tuple[str, ...] = ()
    """Further addresses of its host; each has accepted one where all are loaded."""


def reached(target: Target, way: Way, timeout_s: float) -> Reached:
    """Return where the connections of a load go.

    Finding it has ``timeout_s``.

    Raises ``NothingMeasured``: nobody answers there, or at one of the addresses that are all loaded.
    """
    if way.unix_socket is not None:
        _require_listener(way.unix_socket, timeout_s)
        return Reached(socket_address(way.unix_socket))
    if (elsewhere := way.elsewhere()) is not None:
        parts = urlsplit(f"//{elsewhere}")
        host, _, zone = (parts.hostname or "").partition("%")
        target = replace(target, host=host, zone=zone or None, port=parts.port or target.port)
    deadline_s = time.monotonic() + timeout_s
    first = reachable_address(target, timeout_s, is_over_quic=way.is_over_quic)
    if way.proxy is not None:
        return Reached(first)
    left_s = max(LEAST_TIMEOUT_S, deadline_s - time.monotonic())
    others = _others(target, first, left_s)
    if way.takes_all_addresses:
        for other in others:
            _require_address(target, other, max(LEAST_TIMEOUT_S, deadline_s - time.monotonic()))
    return Reached(first, others)


def _others(target: Target, first: str, timeout_s: float) -> tuple[str, ...]:
    """Return the other addresses of a host, of the same family."""
    if target.zone is not None:
        return ()
    found = [_endpoint(_numeric(address), target.port) for *_, address in _found(target, timeout_s)]
    is_ipv6 = first.startswith("[")
    return tuple(one for one in dict.fromkeys(found) if one != first and one.startswith("[") == is_ipv6)


def _found(target: Target, timeout_s: float) -> list[Endpoint]:
    try:
        return endpoints_of(target.host, target.port, timeout_s)
    except (OSError, UnicodeError):
        # It was found a moment ago.
        return []


def _require_address(target: Target, address: str, timeout_s: float) -> None:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s):
            pass
    except OSError as error:
        raise NothingMeasured(
            f"{address}: no connection ({error.strerror or error}), although it is an address of "
            f"{target.host}; leave out --addresses all, or name one address with --connect-to"
        ) from error


def _require_listener(path: str, timeout_s: float) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(path)
        except OSError as error:
            raise NothingMeasured(
                f"{path}: no connection ({error.strerror or error}); check that the server is running and "
                "that this is its socket"
            ) from error


def _numeric(address: Any) -> str:  # noqa: ANN401 -- two or four parts, as of the address family
    """Return the address of a socket without its port, with the zone of a link-local one."""
    host, _, *of_ipv6 = address
    return f"{host}%{of_ipv6[1]}" if of_ipv6 and of_ipv6[1] else str(host)


def _endpoint(host: str, port: int) -> str:
    """Return host and port as they are in a URL."""
    return f"{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    """Return a host as it is in a URL, where an IPv6 address is put into brackets."""
    return f"[{host}]" if ":" in host else host

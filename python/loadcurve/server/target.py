"""Where a URL leads, and the address behind it."""

import socket
import time
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.loads.tls import Scheme
from loadcurve.redaction import without_passwords
from loadcurve.server.lookup import endpoints_of

DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}
EXPECTED = "expected a URL such as http://127.0.0.1:8080/path or https://127.0.0.1:8443/path"
LEAST_TIMEOUT_S = 1e-3


@dataclass(frozen=True)
class Target:
    """Where a URL leads."""

    scheme: Scheme
    host: str
    port: int
    authority: str
    """What ``Host`` names."""
    path: str


def read_url(url: str) -> Target:
    """Return where ``url`` leads; raises BadInput where it cannot be used."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        text = f"{without_passwords(url)}: not a URL: {error}; {EXPECTED}"
        raise BadInput(text) from None
    fault = _fault(parts)
    if fault:
        raise BadInput(f"{without_passwords(url)}: {fault}; {EXPECTED}")
    if parts.username is not None:
        text = "a URL with a user is not supported; set the header with -H 'Authorization: …'"
        raise BadInput(f"{without_passwords(url)}: {text}")
    path = parts.path or "/"
    scheme: Scheme = "https" if parts.scheme == "https" else "http"
    return Target(
        scheme=scheme,
        host=parts.hostname or "",
        port=DEFAULT_PORTS[scheme] if parts.port is None else parts.port,
        authority=parts.netloc,
        path=f"{path}?{parts.query}" if parts.query else path,
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


def reachable_address(target: Target, timeout_s: float) -> str:
    """Return the first address of the host that accepts a connection, as ``host:port``.

    Finding the host and all of its addresses together have ``timeout_s``.

    Raises ``NothingMeasured``: the host is not found, or nobody answers there.
    """
    where = _endpoint(target.host, target.port)
    deadline_s = time.monotonic() + timeout_s
    try:
        found = endpoints_of(target.host, target.port, timeout_s)
    except TimeoutError as error:
        raise NothingMeasured(f"{where}: the host is not found: {error}") from error
    except (socket.gaierror, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a host name"
        raise NothingMeasured(f"{where}: the host is not found ({reason}); check the name") from error
    reasons = []
    for *_, address in found:
        host, port = str(address[0]), int(address[1])
        left_s = max(LEAST_TIMEOUT_S, deadline_s - time.monotonic())
        try:
            with socket.create_connection((host, port), timeout=left_s):
                return _endpoint(host, port)
        except TimeoutError:
            reasons.append(f"{host}: no connection within {timeout_s:g} s")
        except OSError as error:
            reasons.append(f"{host}: {error.strerror or error}")
    raise NothingMeasured(
        f"{where}: no connection ({'; '.join(dict.fromkeys(reasons))}); check that the server is running "
        "and that this is its address"
    )


def _endpoint(host: str, port: int) -> str:
    """Return host and port as they stand in a URL, where an IPv6 address is put into brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

"""The way to a web server that a load asks for: another address than the URL's, a socket, or a proxy."""

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, InstanceOf, PlainSerializer, ValidationInfo

from loadcurve.loads.limits import SOCKET_PATH_BYTES_MAX
from loadcurve.redaction import remember
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import own_problem
from loadcurve.toml.secret import SecretText, read_secret

UNIX: Final = "unix:"
"""What a socket's path comes behind where an address is a text."""
SOCKET_HOST: Final = "localhost"
"""What ``Host`` names where a server listens on a socket."""
PORT_MAX = 65535
IN_WORDS = {
    "unix_socket": f'a path of at most {SOCKET_PATH_BYTES_MAX} bytes, such as "/run/app.sock"',
    "connect_to": 'a host and a port, such as "10.0.0.5:8443"',
    "proxy": 'the URL of an HTTP proxy with its port, such as "http://10.0.0.5:3128"',
}


def _path(text: str, info: ValidationInfo) -> str:
    """Return a path that counts from the folder of the study."""
    folder = info.context["folder"] if info.context else Path()
    path = str(Path(folder, text))
    if not text or "\0" in text or len(path.encode()) > SOCKET_PATH_BYTES_MAX:
        raise own_problem(f"found {show(text)}; expected {IN_WORDS['unix_socket']}")
    return path


def _split(text: str) -> SplitResult | None:
    """Return the parts of a URL that has a host and a port, and no user."""
    try:
        parts = urlsplit(text)
        fits = bool(parts.hostname and parts.port) and parts.username is None
    except ValueError:
        return None
    return parts if fits else None


def _endpoint(text: str) -> str:
    if "/" in text or _split(f"//{text}") is None:
        raise own_problem(f"found {show(text)}; expected {IN_WORDS['connect_to']}")
    return text


def _proxy(text: str) -> str:
    if "@" in text:
        # It may hold a password, which records and lists of processes would show.
        text = (
            "user and password do not belong here, where others may read them: give them by proxy_credentials"
        )
        raise own_problem(f"{text}; expected {IN_WORDS['proxy']}")
    parts = _split(text)
    if parts is None or parts.scheme != "http" or parts.path not in ("", "/") or parts.query:
        raise own_problem(f"found {show(text)}; expected {IN_WORDS['proxy']}")
    return f"http://{parts.netloc}"


def _credentials(value: object, info: ValidationInfo) -> SecretText:
    """Read ``USER:PASSWORD``; no refusal repeats any of it."""
    given = read_secret(value, info)
    if given.source is None:
        raise own_problem(f"a password does not belong in a study; expected {CREDENTIALS_IN_WORDS}")
    user, colon, password = given.text.partition(":")
    if not user or not colon or any(ord(sign) < ord(" ") or sign == "\x7f" for sign in given.text):
        raise own_problem("what it holds is no USER:PASSWORD on one line")
    remember(password)
    remember(basic(given))
    return given


def basic(credentials: SecretText) -> str:
    """Return the value of ``Proxy-Authorization`` (RFC 7617, in UTF-8)."""
    return f"Basic {b64encode(credentials.text.encode()).decode()}"


SocketPath = Annotated[str, AfterValidator(_path), Expected(IN_WORDS["unix_socket"])]
HostAndPort = Annotated[str, AfterValidator(_endpoint), Expected(IN_WORDS["connect_to"])]
ProxyUrl = Annotated[str, AfterValidator(_proxy), Expected(IN_WORDS["proxy"])]
CREDENTIALS_IN_WORDS = '{ env = "VARIABLE" } or { file = "PATH" }, which holds USER:PASSWORD'
ProxyCredentials = Annotated[
    InstanceOf[SecretText],
    BeforeValidator(_credentials),
    PlainSerializer(lambda secret: secret.recorded),
    Expected(CREDENTIALS_IN_WORDS),
]
ProxyProtocol = Literal["1", "2"]


@dataclass(frozen=True)
class Way:
    """Where connections go instead of the address of the URL; straight there without any of these."""

    unix_socket: str | None = None
    connect_to: str | None = None
    proxy: str | None = None
    takes_all_addresses: bool = False
    proxy_protocol: ProxyProtocol | None = None
    is_over_quic: bool = False
    """Whether they are those of UDP."""

    @property
    def is_direct(self) -> bool:
        """Whether a client that knows nothing of it would be understood."""
        return self.proxy is None and self.proxy_protocol is None

    @property
    def has_no_port(self) -> bool:
        """Whether it leads to no port of the server: to a socket, or to a proxy."""
        return self.unix_socket is not None or self.proxy is not None

    def elsewhere(self) -> str | None:
        """Return the ``host:port`` that is looked up instead of the URL's."""
        return urlsplit(self.proxy).netloc if self.proxy else self.connect_to


STRAIGHT = Way()


def socket_url(url: str) -> tuple[str, str] | None:
    """Return the socket that ``unix:SOCKET:/PATH`` names, and the path; ``None`` for other URLs."""
    if not url.startswith(UNIX):
        return None
    socket, colon, path = url.removeprefix(UNIX).rpartition(":")
    return (socket, path) if colon and path.startswith("/") else (url.removeprefix(UNIX), "/")


def planned_way(
    options: dict[str, Any], others: list[str], proxied: str, credentials: SecretText | None = None
) -> dict[str, Any]:
    """Return the engine's part of the options of a way; ``proxied`` is the server's host and port.

    ``credentials`` are those for the proxy, of which ``options`` has the source alone.
    """
    way: dict[str, Any] = {}
    if options.get("addresses"):
        way["other_addresses"] = others
    if options.get("proxy_protocol"):
        way["proxy_protocol"] = int(options["proxy_protocol"])
    if options.get("proxy"):
        way["proxied"] = proxied
        if credentials is not None:
            way["proxy_authorization"] = basic(credentials)
    return way


def is_socket(address: str) -> bool:
    """Whether an address is that of a Unix socket."""
    return address.startswith(UNIX)


def socket_address(path: str) -> str:
    """Return the address of a socket as plans have it."""
    return f"{UNIX}{path}"

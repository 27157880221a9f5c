"""Asking a server for something in HTTP/1.1, within a time that is a total, however the answer comes.

What its answers to a load are verified by is asked by the engine, as the load asks: see
:mod:`loadcurve.server.asked`.

The timeout of a socket is one for each read: a server that sends a byte now and then would hold its client
forever.
"""

import contextlib
import errno
import http.client
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPResponse
from pathlib import Path
from typing import cast

from loadcurve.files import NOT_REGULAR, read_given
from loadcurve.loads.tls import TlsTable
from loadcurve.loads.way import UNIX, is_socket
from loadcurve.server.lookup import Endpoint, endpoints_of
from loadcurve.server.transport import CLEAR_TEXT, Transport

SHOWN_CHARACTERS = 60
CERTIFICATES_BYTES_MAX = 16 << 20
HEAD_BYTES_MAX = 64 * 1024
"""With any interim answers before it: more than any server sends."""


@dataclass(frozen=True)
class Asked:
    """A request."""

    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@contextlib.contextmanager
def answer_within(
    timeout_s: float,
    host: str,
    port: int,
    asked: Asked,
    transport: Transport = CLEAR_TEXT,
    *,
    address: str | None = None,
    port_there: str | None = None,
) -> Iterator[HTTPResponse]:
    """Send a request, and give the answer, of which the head was read, for the length of a block.

    From now on the head has ``timeout_s``, finding the host, a handshake of TLS and interim answers (1xx)
    included. ``address`` is the numeric one of the host, or ``unix:`` with a socket's path, where that is
    known already, and ``port_there`` its port where that is not the URL's. Head and body together
    have at most ``HEAD_BYTES_MAX`` bytes here.

    Raises ``OSError`` or ``HTTPException`` where there is no such answer.
    """
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = bounded = _connected(
            address or host, int(port_there) if port_there and port_there.isdecimal() else port, timeout_s
        )
        if transport.is_encrypted:
            connection.sock = bounded = _encrypted(bounded, host, transport.tls)
        headers = {**asked.headers, "Connection": "close"}
        connection.request(asked.method, asked.path, asked.body, headers)
        connection.response_class = _Answer
        with connection.getresponse() as response:
            yield response
    finally:
        connection.close()


class _InTime(socket.socket):
    """A socket whose reads and writes together end in time, and whose reads are bounded."""

    timeout_s = 0.0
    began_s = 0.0
    left_bytes = HEAD_BYTES_MAX

    def begin(self, timeout_s: float, began_s: float) -> None:
        """Have this timeout since the moment ``began_s``."""
        self.timeout_s, self.began_s = timeout_s, began_s

    def recv_into(self, *arguments: object, **more: object) -> int:
        """Receive, as :class:`socket.socket` does; raises HTTPException for more than an answer may have."""
        with self.in_time():
            received = super().recv_into(*arguments, **more)  # type: ignore[arg-type]
        self.left_bytes -= received
        if self.left_bytes < 0:
            raise http.client.HTTPException(f"the answer has more than {HEAD_BYTES_MAX // 1024} KiB")
        return received

    def sendall(self, *arguments: object) -> None:
        """Send, as :class:`socket.socket` does."""
        with self.in_time():
            super().sendall(*arguments)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """Give what is done in the block the time that is left."""
        too_late = TimeoutError(f"no complete answer within {self.timeout_s:.3g} s")
        left_s = self.began_s + self.timeout_s - time.monotonic()
        if left_s <= 0:
            raise too_late
        self.settimeout(left_s)
        try:
            yield
        except TimeoutError:
            raise too_late from None


class _Encrypted(_InTime, ssl.SSLSocket):
    """One of TLS, whose handshake takes of the same time."""


def _encrypted(connected: _InTime, host: str, tls: TlsTable) -> _Encrypted:
    """Shake hands with the server of this host; only HTTP/1.1 is offered.

    Raises ``OSError``, of which ``ssl.SSLError`` is one, where that fails.
    """
    is_file = tls.verify not in {"system", "none"}
    context = ssl.create_default_context(cadata=_authorities(Path(tls.verify)) if is_file else None)
    if tls.verify == "none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate is not None:
        for file in filter(None, (tls.certificate, tls.key)):
            if not Path(file).is_file():
                raise OSError(errno.EINVAL, NOT_REGULAR, file)
        context.load_cert_chain(tls.certificate, tls.key)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = _Encrypted
    wrapped = cast(
        "_Encrypted",
        context.wrap_socket(
            connected, server_hostname=tls.server_name or host, do_handshake_on_connect=False
        ),
    )
    wrapped.begin(connected.timeout_s, connected.began_s)
    with wrapped.in_time():
        wrapped.do_handshake()
    return wrapped


def _authorities(file: Path) -> str:
    """Return the certificates of a file; raises ``OSError`` where it has none, or is no file."""
    data, _ = read_given(file, CERTIFICATES_BYTES_MAX)
    if not data.strip():
        # Without any, those of the system would be trusted.
        raise ssl.SSLError(f"{file} is empty; expected certificates in PEM")
    return data.decode("ascii", errors="replace")


class _Answer(HTTPResponse):
    """The final answer, behind any interim ones; what may be read in two ways is none."""

    def begin(self) -> None:
        """Read the head, as the base class does; that skips 100 alone.

        Raises ``HTTPException`` for 101, as no request asks for another protocol.
        """
        self._begin()
        while self.status < HTTPStatus.OK:
            if self.status == HTTPStatus.SWITCHING_PROTOCOLS:
                raise http.client.HTTPException(
                    "the server switched protocols (status 101) without a request to do so"
                )
            # Whoever has read a head once reads none again.
            self.headers = None  # type: ignore[assignment]
            self._begin()

    def _begin(self) -> None:
        try:
            super().begin()
        except http.client.RemoteDisconnected:
            raise
        except http.client.BadStatusLine as error:
            begin = ascii(str(error)[:SHOWN_CHARACTERS])
            raise http.client.HTTPException(f"the answer is not HTTP/1.x: it begins with {begin}") from None


def _endpoints(host: str, port: int, timeout_s: float) -> list[Endpoint]:
    if is_socket(host):
        path = host.removeprefix(UNIX)
        return [Endpoint(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", path)]
    return endpoints_of(host, port, timeout_s)


def _connected(host: str, port: int, timeout_s: float) -> _InTime:
    """Return a connection to the first address of the host that accepts one."""
    began_s = time.monotonic()
    problem: OSError | None = None
    for endpoint in _endpoints(host, port, timeout_s):
        bounded = _InTime(endpoint.family, endpoint.kind, endpoint.protocol)
        bounded.begin(timeout_s, began_s)
        try:
            with bounded.in_time():
                bounded.connect(endpoint.address)
        except OSError as error:
            bounded.close()
            problem = error
        else:
            return bounded
    raise problem or OSError(f"{host} has no address")

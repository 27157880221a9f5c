"""What a server does over TLS and HTTP/2, seen by OpenSSL, and by frames as RFC 9113 has them."""

import socket
import ssl
import struct
import subprocess
import time
from contextlib import suppress
from typing import Any

ANSWER_S = 3.0
REQUESTS_TRIED = 2500
TICKETS_WAIT_S = 1.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MAX_CONCURRENT_STREAMS = 3
WINDOW = 1 << 30


def context_of(version: ssl.TLSVersion | None = None, *alpn: str) -> ssl.SSLContext:
    """Return a client that believes everyone; what is measured is not the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


def ticket_behaviour(port: int) -> dict[str, Any]:
    """Return how many tickets come in TLS 1.3, and in which versions a session is resumed."""
    versions = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
    return {
        "tickets_tls_1_3": tickets(port),
        "resumes_tls": [name for name, version in versions.items() if resumes_or_refuses(port, version)],
    }


def tickets(port: int) -> int:
    """Return how many session tickets follow a handshake of TLS 1.3, whether or not the server is asked."""
    command = ["openssl", "s_client", "-tls1_3", "-connect", f"127.0.0.1:{port}"]
    request = b"GET /1k.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process, suppress(BrokenPipeError):
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.flush()
        # It leaves at the end of its input, and prints each ticket as it comes.
        time.sleep(TICKETS_WAIT_S)
        output, _ = process.communicate()
    return output.count(b"New Session Ticket arrived")


def resumes(port: int, version: ssl.TLSVersion) -> bool:
    """Say whether a second connection resumes the session of the first."""
    context = context_of(version)
    session = None
    for _ in range(2):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as plain,
            context.wrap_socket(plain, session=session) as connection,
        ):
            connection.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(65536)
            session, resumed = connection.session, connection.session_reused
    return bool(resumed)


def resumes_or_refuses(port: int, version: ssl.TLSVersion) -> bool:
    """Say the same; a server that ends the second handshake resumes nothing."""
    try:
        return resumes(port, version)
    except (ssl.SSLError, ConnectionError):
        return False


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def request(stream: int, scheme: bytes) -> bytes:
    """Return a request, its fields without indexing and without compression."""
    # :method GET and :scheme are in the static table, the others have their names there.
    block = bytes([0x82, 0x87 if scheme == b"https" else 0x86])
    for name, value in ((4, b"/1k.txt"), (1, b"localhost")):
        block += bytes([name, len(value)]) + value
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, block)


class Frames:
    """The frames that come on a connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Read from a connection."""
        self._connection = connection
        self._received = b""

    def next(self) -> tuple[int, int, int, bytes] | None:
        """Return type, flags, stream and payload of the next frame; ``None`` where there is no more."""
        header = self._take(9)
        if header is None:
            return None
        length, kind, flags = int.from_bytes(header[:3], "big"), header[3], header[4]
        payload = self._take(length)
        if payload is None:
            return None
        return kind, flags, int.from_bytes(header[5:], "big") & 0x7FFFFFFF, payload

    def _take(self, count: int) -> bytes | None:
        while len(self._received) < count:
            try:
                part = self._connection.recv(65536)
            except ConnectionError:
                part = b""
            if not part:
                return None
            self._received += part
        taken, self._received = self._received[:count], self._received[count:]
        return taken


def http2_behaviour(port: int, *, is_encrypted: bool) -> dict[str, Any]:
    """Return the limit on streams that it announces, and after how many requests it ends a connection."""
    seen: dict[str, Any] = {"http2": True}
    plain = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
    connection = context_of(None, "h2").wrap_socket(plain) if is_encrypted else plain
    with connection:
        connection.sendall(
            PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", WINDOW))
        )
        frames = Frames(connection)
        scheme = b"https" if is_encrypted else b"http"
        answered, stream, goaway = 0, 1, None
        connection.sendall(request(stream, scheme))
        while answered < REQUESTS_TRIED and goaway is None:
            arrived = frames.next()
            if arrived is None:
                break
            kind, flags, of_stream, payload = arrived
            if kind == SETTINGS and not flags & ACK:
                seen |= settings_in(payload)
                connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                connection.sendall(frame(PING, ACK, 0, payload))
            elif kind == GOAWAY:
                goaway = struct.unpack_from("!II", payload)
            elif kind in {DATA, HEADERS} and flags & END_STREAM and of_stream == stream:
                answered, stream = answered + 1, stream + 2
                if answered < REQUESTS_TRIED:
                    connection.sendall(request(stream, scheme))
    if goaway is None:
        seen["http2_requests_tried"] = answered
    else:
        # The last of its requests that a server has taken says how many it allows.
        seen["http2_requests_per_connection"] = (goaway[0] + 1) // 2 if goaway[0] < WINDOW else answered
        seen["goaway_code"] = goaway[1]
    return seen


def settings_in(payload: bytes) -> dict[str, Any]:
    """Return what is of interest in a server's SETTINGS."""
    settings = {
        struct.unpack_from("!H", payload, at)[0]: struct.unpack_from("!I", payload, at + 2)[0]
        for at in range(0, len(payload), 6)
    }
    known = settings.get(MAX_CONCURRENT_STREAMS)
    return {} if known is None else {"http2_streams": known}

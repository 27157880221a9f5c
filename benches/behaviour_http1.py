"""What a server does with connections of HTTP/1.x, seen by bare sockets."""

import re
import select
import socket
import struct
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

REQUEST = b"GET /1k.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER_S = 2.0
REQUESTS_TRIED = 2500
CONNECTIONS_TRIED = 1100
CONNECTING_S = 20.0
"""How long connections are opened at most, well before the first are closed for being idle."""
PIPELINED = 5
SEGMENTS_OVER = 50
"""Answers over which segments are counted."""
DATA_SEGMENTS_IN = 152
"""Where struct tcp_info of linux/tcp.h has tcpi_data_segs_in."""


@dataclass(frozen=True)
class Endpoint:
    """A server on this machine."""

    port: int

    def connect(self) -> socket.socket:
        """Return a new connection."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


@dataclass(frozen=True)
class Answer:
    """One answer, or what came instead."""

    status: int
    says_close: bool


def answer_on(connection: socket.socket, request: bytes = REQUEST) -> Answer | None:
    """Ask once; ``None`` where the connection was closed before the answer was complete."""
    try:
        connection.sendall(request)
        received = b""
        while b"\r\n\r\n" not in received:
            part = connection.recv(65536)
            if not part:
                return None
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if length is None:
            return None
        while len(body) < int(length[1]):
            part = connection.recv(65536)
            if not part:
                return None
            body += part
    except ConnectionError:
        return None
    says_close = re.search(rb"\r\nconnection: *close", head, re.IGNORECASE) is not None
    return Answer(int(head.split()[1]), says_close)


def first_answers(endpoint: Endpoint) -> dict[str, Any]:
    """Return what one connection after the other shows."""
    seen: dict[str, Any] = {}
    with endpoint.connect() as connection:
        count, ended = 0, None
        while count < REQUESTS_TRIED and ended is None:
            answer = answer_on(connection)
            if answer is None:
                ended = "silently"
            else:
                count += 1
                ended = "announced" if answer.says_close else None
    seen["keepalive"] = count > 1
    if count > 1:
        if ended is None:
            seen["requests_tried"] = count
        else:
            seen |= {"requests_per_connection": count, "end_of_connection": ended}
    seen["http_1_0_keepalive"] = keeps_http_1_0(endpoint)
    if seen["keepalive"]:
        seen["pipelined_of_5"] = pipelined_answers(endpoint)
        seen["segments_per_answer"] = segments_per_answer(endpoint, min(SEGMENTS_OVER, count - 1))
    return seen


def keeps_http_1_0(endpoint: Endpoint) -> bool:
    """Say whether a client of HTTP/1.0 that asks for it gets a second answer on its connection."""
    request = b"GET /1k.txt HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
    with endpoint.connect() as connection:
        return answer_on(connection, request) is not None and answer_on(connection, request) is not None


def pipelined_answers(endpoint: Endpoint) -> int:
    """Return how many of five requests that arrive together are answered."""
    received = b""
    with endpoint.connect() as connection:
        connection.sendall(REQUEST * PIPELINED)
        try:
            while received.count(b"HTTP/1.1 200") < PIPELINED and (part := connection.recv(65536)):
                received += part
        except (TimeoutError, ConnectionError):
            pass
    return received.count(b"HTTP/1.1 200")


def segments_per_answer(endpoint: Endpoint, answers: int) -> float:
    """Return the segments with data that an answer of 1 KiB came in: how many writes it was."""
    with endpoint.connect() as connection:
        for _ in range(answers):
            answer_on(connection)
        information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    segments: int = struct.unpack_from("I", information, DATA_SEGMENTS_IN)[0]
    return round(segments / answers, 1)


def listen_backlog(endpoint: Endpoint) -> int:
    """Return the length of its queue of connections not yet accepted, as the kernel has it."""
    command = ["ss", "--tcp", "--listening", "--no-header", "--numeric", f"sport = :{endpoint.port}"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[2])


class IdleConnections:
    """A connection that has carried a request, where such are kept, and one that has carried none."""

    def __init__(self, endpoint: Endpoint, *, is_kept: bool) -> None:
        """Open them."""
        self._open: dict[str, tuple[socket.socket, float]] = {}
        self._ends: dict[str, tuple[float, str]] = {}
        kinds = ["idle", "fresh"] if is_kept else ["fresh"]
        for kind in kinds:
            connection = endpoint.connect()
            if kind == "idle":
                answer_on(connection)
            self._open[kind] = (connection, time.monotonic())

    def look(self) -> bool:
        """Note what has ended; say whether any is open."""
        for kind, (connection, since_s) in [*self._open.items()]:
            if select.select([connection], [], [], 0)[0]:
                try:
                    said = connection.recv(65536)
                except ConnectionError:
                    said = b""
                status = re.match(rb"HTTP/1\.\d (\d+)", said)
                how = status[1].decode() if status else "closed"
                self._ends[kind] = (round(time.monotonic() - since_s, 1), how)
                connection.close()
                del self._open[kind]
        return bool(self._open)

    def seen(self, patience_s: int) -> dict[str, Any]:
        """Return what was noted, and how long was waited for what has not ended; the rest is closed."""
        seen: dict[str, Any] = {}
        for kind, (after_s, how) in self._ends.items():
            seen |= {f"{kind}_timeout_s": after_s, f"{kind}_end": how}
        for kind, (connection, _) in self._open.items():
            seen[f"{kind}_tried_s"] = patience_s
            connection.close()
        return seen


def connection_limit(endpoint: Endpoint) -> dict[str, Any]:
    """Return how many kept connections there can be, each with a request answered, and what is beyond."""
    with ExitStack() as stack:
        kept: list[socket.socket] = []
        beyond = None
        deadline_s = time.monotonic() + CONNECTING_S
        while beyond is None and len(kept) < CONNECTIONS_TRIED and time.monotonic() < deadline_s:
            try:
                connection = stack.enter_context(endpoint.connect())
                answer = answer_on(connection)
            except TimeoutError:
                beyond = "waits"
            except ConnectionError:
                beyond = "refused"
            else:
                if answer is None:
                    beyond = "closed"
                elif answer.status != HTTPStatus.OK:
                    beyond = f"status {answer.status}"
                elif answer.says_close:
                    beyond = "is answered, then closed"
                else:
                    kept.append(connection)
            if beyond is None and is_closed(kept[0]):
                return {"connections": len(kept) - 1, "beyond": "closes idle ones"}
    if beyond is None:
        return {"connections_tried": len(kept)}
    return {"connections": len(kept), "beyond": beyond}


def is_closed(connection: socket.socket) -> bool:
    """Say whether the server has ended a connection."""
    return bool(select.select([connection], [], [], 0)[0])

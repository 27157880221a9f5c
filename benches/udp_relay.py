"""A link in user space, on this machine alone: each way takes a time, and at times nothing arrives."""

import heapq
import itertools
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LARGEST_BYTES = 65_535
HOST = "127.0.0.1"
BUFFER_BYTES = 4 << 20
LONGEST_WAIT_S = 0.05
"""So that the relay ends soon after its block."""


@dataclass(frozen=True)
class Link:
    """What becomes of datagrams."""

    one_way_s: float = 0.0
    outage_s: tuple[float, float] | None = None
    """When nothing arrives, from and to, from the first datagram on."""

    def delivers(self, age_s: float) -> bool:
        """Return whether a datagram arrives that is sent so long after the first one."""
        return self.outage_s is None or not self.outage_s[0] <= age_s < self.outage_s[1]


@dataclass
class Relay:
    """The relay of one server: each client has its own socket towards that, as behind a router."""

    link: Link
    server: tuple[str, int]
    front: socket.socket
    is_over: threading.Event = field(default_factory=threading.Event)
    dropped: int = 0
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _towards_server: dict[tuple[str, int], socket.socket] = field(default_factory=dict)
    _waiting: list[tuple[float, int, bytes, socket.socket, tuple[str, int]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _began_s: float | None = None

    def run(self) -> None:
        """Relay datagrams until it is over."""
        self._selector.register(self.front, selectors.EVENT_READ)
        while not self.is_over.is_set():
            due_in_s = self._waiting[0][0] - time.monotonic() if self._waiting else LONGEST_WAIT_S
            for key, _ in self._selector.select(max(0.0, min(due_in_s, LONGEST_WAIT_S))):
                self._take_in(key.fileobj, key.data)
            self._deliver()
        for one in [self.front, *self._towards_server.values()]:
            one.close()
        self._selector.close()

    def _take_in(self, arrived_at: object, client: tuple[str, int] | None) -> None:
        assert isinstance(arrived_at, socket.socket)
        while True:
            try:
                bytes_, sender = arrived_at.recvfrom(LARGEST_BYTES)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            if client is None:
                self._send_later(bytes_, self._socket_of(sender), self.server)
            else:
                self._send_later(bytes_, self.front, client)

    def _socket_of(self, client: tuple[str, int]) -> socket.socket:
        if client not in self._towards_server:
            self._towards_server[client] = bound_socket()
            self._selector.register(self._towards_server[client], selectors.EVENT_READ, client)
        return self._towards_server[client]

    def _send_later(self, bytes_: bytes, by: socket.socket, to: tuple[str, int]) -> None:
        now_s = time.monotonic()
        self._began_s = now_s if self._began_s is None else self._began_s
        if not self.link.delivers(now_s - self._began_s):
            self.dropped += 1
            return
        heapq.heappush(self._waiting, (now_s + self.link.one_way_s, next(self._numbers), bytes_, by, to))

    def _deliver(self) -> None:
        now_s = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now_s:
            _, _, bytes_, by, to = heapq.heappop(self._waiting)
            try:
                by.sendto(bytes_, to)
            except OSError:
                # No room, or nobody there: as lost as on any other path.
                self.dropped += 1


def bound_socket() -> socket.socket:
    """Return a socket on a free port that does not wait."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    made.settimeout(0)
    made.bind((HOST, 0))
    return made


@contextmanager
def relayed(address: str, link: Link) -> Iterator[tuple[str, Relay]]:
    """Relay to a server as long as the block lasts; yields the address that clients are to use."""
    host, _, port = address.rpartition(":")
    relay = Relay(link, (host, int(port)), bound_socket())
    at = "{}:{}".format(*relay.front.getsockname())
    running = threading.Thread(target=relay.run)
    running.start()
    try:
        yield at, relay
    finally:
        relay.is_over.set()
        running.join()

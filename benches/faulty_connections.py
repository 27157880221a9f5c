"""What a server does with its connections that a load has to name: more faults of `benches.faulty_server`.

Each is a coroutine that serves one connection; its number is a limit on answers, connections or seconds.
"""

import asyncio
import json
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass

BODY = b"x" * 1000
HEAD_END = b"\r\n\r\n"
PLACE = "/there"
LINGER_S = 5.0
READ_BYTES = 1 << 16


@dataclass
class Counts:
    """What the server has done with its connections."""

    connections: int = 0
    requests: int = 0
    """Those that arrived whole where they could be answered."""
    answered: int = 0
    """Those whose answers were sent whole."""
    ended: int = 0
    """Connections that it has ended first."""
    late: int = 0
    """Requests that came on a connection when it was ended, or that ended it in place of an answer."""
    forgotten: int = 0
    """Requests that were pipelined behind an answered one and dropped."""
    said_408: int = 0
    """Idle connections that it has ended by an answer to no request."""
    at_once: int = 0
    """The most connections that it has served at once."""
    died_at_s: float | None = None
    """When it ended its process, on the monotonic clock."""


class Connection:
    """One connection of a client, and what is counted of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: Counts) -> None:
        """Begin with nothing read."""
        self._reader, self._writer, self.counts = reader, writer, counts

    async def request(self, limit_s: float | None = None) -> None:
        """Read a request; ``TimeoutError`` where none came within the limit."""
        async with asyncio.timeout(limit_s):
            await self._reader.readuntil(HEAD_END)
        self.counts.requests += 1

    async def requests(self) -> int:
        """Read what one write of the client has brought, and return how many requests that is."""
        read = await self._reader.readuntil(HEAD_END)
        # What came in the same segment is in the reader already.
        try:
            async with asyncio.timeout(0):
                read += await self._reader.read(READ_BYTES)
        except TimeoutError:
            pass
        count = read.count(HEAD_END)
        self.counts.requests += count
        return count

    def answer(self, *fields: bytes, status: bytes = b"200 OK", behind: bytes = b"") -> None:
        """Answer one request in one write."""
        self._writer.write(head(status, *fields) + BODY + behind)
        self.counts.answered += 1

    def answer_in_two(self) -> None:
        """Answer by two writes, the second of which waits until the first is acknowledged."""
        self._writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        self._writer.write(head(b"200 OK"))
        self._writer.write(BODY)
        self.counts.answered += 1

    def say_408(self) -> None:
        """Answer although nothing was asked."""
        self._writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.counts.said_408 += 1

    async def end(self) -> None:
        """End the sending side, so that what was sent arrives, and count what still comes."""
        self._writer.write_eof()
        self.counts.ended += 1
        async with asyncio.timeout(LINGER_S):
            while read := await self._reader.read(READ_BYTES):
                self.counts.late += read.count(HEAD_END)


def head(status: bytes, *fields: bytes) -> bytes:
    """Return the header of an answer with the one body."""
    lines = (b"HTTP/1.1 " + status, b"Content-Length: %d" % len(BODY), *fields)
    return b"\r\n".join(lines) + HEAD_END


async def announces(one: Connection, number: float) -> None:
    """Say with the last of a number of answers that the connection closes."""
    for _ in range(int(number) - 1):
        await one.request()
        one.answer()
    await one.request()
    one.answer(b"Connection: close")
    await one.end()


async def closes_silently(one: Connection, number: float) -> None:
    """Close after a number of answers without a word."""
    for _ in range(int(number)):
        await one.request()
        one.answer()
    await one.end()


async def closes_late(one: Connection, number: float) -> None:
    """Read one request more than are answered, and close in its place."""
    for _ in range(int(number)):
        await one.request()
        one.answer()
    await one.request()
    one.counts.late += 1
    await one.end()


async def says_408(one: Connection, limit_s: float) -> None:
    """End a connection that was idle for some seconds by an answer."""
    try:
        while True:
            await one.request(limit_s)
            one.answer()
    except TimeoutError:
        one.say_408()
        await one.end()


async def says_408_first(one: Connection, limit_s: float) -> None:
    """End a connection by an answer where nothing was ever asked on it, and without a word later."""
    try:
        await one.request(limit_s)
    except TimeoutError:
        one.say_408()
        await one.end()
        return
    one.answer()
    await closes_idle(one, limit_s)


async def closes_idle(one: Connection, limit_s: float) -> None:
    """End a connection that was idle for some seconds without a word."""
    try:
        while True:
            await one.request(limit_s)
            one.answer()
    except TimeoutError:
        await one.end()


async def sends_empty_line(one: Connection, _: float) -> None:
    """Send an empty line behind each answer."""
    while True:
        await one.request()
        one.answer(behind=b"\r\n")


async def writes_twice(one: Connection, _: float) -> None:
    """Send header and body apart, with Nagle's algorithm."""
    while True:
        await one.request()
        one.answer_in_two()


async def forgets(one: Connection, _: float) -> None:
    """Answer the first of the requests that came together, and forget the others."""
    while True:
        together = await one.requests()
        one.counts.forgotten += together - 1
        one.answer()


async def forgets_and_closes(one: Connection, _: float) -> None:
    """Answer the first of the requests that came together; close without a word where there were others."""
    more = 0
    while not more:
        more = await one.requests() - 1
        one.answer(b"Connection: keep-alive")
    one.counts.forgotten += more
    await one.end()


async def redirects(one: Connection, _: float) -> None:
    """Answer that what was asked for is elsewhere."""
    while True:
        await one.request()
        one.answer(b"Location: " + PLACE.encode(), status=b"302 Found")


async def serves(one: Connection, _: float) -> None:
    """Answer as it should."""
    while True:
        await one.request()
        one.answer()


STARVE, DIE = "starve", "die"
CONNECTION_FAULTS: Mapping[str, Callable[[Connection, float], Awaitable[None]]] = {
    "announce": announces,
    "silent": closes_silently,
    "silentlate": closes_late,
    "idle408": says_408,
    "idle408first": says_408_first,
    "idleclose": closes_idle,
    "crlfafter": sends_empty_line,
    "nagle": writes_twice,
    "drop": forgets,
    "dropclose": forgets_and_closes,
    "redirect": redirects,
    STARVE: serves,
    DIE: serves,
}


class FaultyConnections:
    """Serves connections with a fault; with `starve`, as many at once as its number says."""

    def __init__(self, fault: str, number: float) -> None:
        """Begin with nothing done; with ``die``, the number is its seconds from the second connection on.

        The first is the command's look, behind which it may take longer until the load begins.
        """
        self._fault, self._number = fault, number
        self._places = asyncio.Semaphore(int(number)) if fault == STARVE else None
        self._at_once = 0
        self._dies: asyncio.TimerHandle | None = None
        self.truth = Counts()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end, once there is a place for it."""
        self.truth.connections += 1
        if self._fault == DIE and self._dies is None and self.truth.connections > 1:
            self._dies = asyncio.get_running_loop().call_later(self._number, self._die)
        try:
            if self._places is None:
                await self._serve(Connection(reader, writer, self.truth))
            else:
                async with self._places:
                    await self._serve(Connection(reader, writer, self.truth))
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _serve(self, one: Connection) -> None:
        self._at_once += 1
        self.truth.at_once = max(self.truth.at_once, self._at_once)
        try:
            await CONNECTION_FAULTS[self._fault](one, self._number)
        finally:
            self._at_once -= 1

    def _die(self) -> None:
        """End the process as a crash does, without an end of what is open."""
        self.truth.died_at_s = time.monotonic()
        print(json.dumps(asdict(self.truth)), flush=True)
        os._exit(1)

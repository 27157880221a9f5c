"""A web server whose faults are known: `python -m benches.faulty_server FAULT [NUMBER]`.

It listens on a free port of 127.0.0.1 and prints the port. Every tenth request meets the fault, or every
connection, where the fault is one of connections (benches/faulty_connections.py). When its input is closed it
prints what happened, as JSON, and ends.
"""

import argparse
import asyncio
import json
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial

from benches.faulty_connections import BODY, CONNECTION_FAULTS, HEAD_END, FaultyConnections

EVERY = 10
STALL_AFTER_S, STALL_S = 1.0, 1.0
ACCEPT_AFTER_S = 0.5
BACKLOG = 1024
SLOW_ACCEPT = "slow accept"
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing sends a reset."""


@dataclass
class Truth:
    """What the server has done."""

    requests: int = 0
    """Those that arrived whole."""
    answered: int = 0
    """Those whose right answers were sent whole."""
    faults: int = 0


Answer = Callable[[asyncio.StreamWriter], None]


def whole(status: bytes, body: bytes, length: int | None = None) -> bytes:
    """Return an answer, whose header may promise another length than it has."""
    promised = len(body) if length is None else length
    # A client of HTTP/1.0 keeps a connection only where it is said.
    head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: Keep-Alive\r\n\r\n"
    return head % (status, promised) + body


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset the connection in place of an answer."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


def cut_off(writer: asyncio.StreamWriter) -> None:
    """Send half of the body that the header promises, and close."""
    writer.write(whole(b"200 OK", BODY[:500], len(BODY)))
    writer.close()


def shorter(writer: asyncio.StreamWriter) -> None:
    """Send another body than the others: half as long, with its right length."""
    writer.write(whole(b"200 OK", BODY[:500]))


def unavailable(writer: asyncio.StreamWriter) -> None:
    """Answer that the service is unavailable."""
    writer.write(whole(b"503 Service Unavailable", BODY))


def closed(writer: asyncio.StreamWriter) -> None:
    """Close the sending side in place of an answer, and leave the other open."""
    writer.write_eof()


FAULTS: Mapping[str, Answer | None] = {
    "reset": reset,
    "cut off": cut_off,
    "shorter": shorter,
    "503": unavailable,
    "half-closed": closed,
    "stall": None,
    SLOW_ACCEPT: None,
    "none": None,
}


class FaultyServer:
    """Answers requests, with a fault in every tenth, or none for a second in the middle."""

    def __init__(self, fault: str) -> None:
        """Begin with nothing done."""
        self._fault = FAULTS[fault]
        self._stalls = fault == "stall"
        self._began_s: float | None = None
        self.truth = Truth()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while await reader.readuntil(HEAD_END):
                self.truth.requests += 1
                await self._stall()
                if self._fault is not None and self.truth.requests % EVERY == 0:
                    self.truth.faults += 1
                    self._fault(writer)
                else:
                    writer.write(whole(b"200 OK", BODY))
                    self.truth.answered += 1
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _stall(self) -> None:
        """Wait where the request came while nothing is answered."""
        now_s = asyncio.get_running_loop().time()
        self._began_s = now_s if self._began_s is None else self._began_s
        over_s = self._began_s + STALL_AFTER_S + STALL_S - now_s
        if self._stalls and 0 < over_s < STALL_S:
            self.truth.faults += 1
            await asyncio.sleep(over_s)


async def serve_late(
    faulty: FaultyServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Take up a connection half a second after it is open, which to a client is a late accept."""
    await asyncio.sleep(ACCEPT_AFTER_S)
    await faulty.serve(reader, writer)


async def run(fault: str, number: float) -> None:
    """Serve until the input is closed."""
    faulty: FaultyServer | FaultyConnections
    if fault in CONNECTION_FAULTS:
        faulty = FaultyConnections(fault, number)
        serve = faulty.serve
    else:
        faulty = FaultyServer(fault)
        serve = partial(serve_late, faulty) if fault == SLOW_ACCEPT else faulty.serve
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(asdict(faulty.truth)), flush=True)


def main() -> None:
    """Serve, and print what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", choices=[*FAULTS, *CONNECTION_FAULTS])
    parser.add_argument(
        "number", type=float, nargs="?", default=0.0, help="of a fault of connections: its limit"
    )
    arguments = parser.parse_args()
    asyncio.run(run(arguments.fault, arguments.number))


if __name__ == "__main__":
    main()

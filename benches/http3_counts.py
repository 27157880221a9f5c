"""Whether every answer over HTTP/3 is one that the server gave: `python -m benches.http3_counts [--only X]`.

Each server answers a million requests for an object of each size, with each number of requests at once on
each of its connections. Nothing may fail, every body must be whole, and the answers counted must be as many
as the requests in the server's own log. Speed is no matter here, so other work on the machine does no harm.

Caddy, nginx (1.25 or newer) and Envoy are those of the catalogue, as `loadcurve servers install` brings them;
gtlsserver is Debian's (ngtcp2-server). It logs every packet, so only its lines about requests are kept.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benches.quic_cases import (
    OTHERS_ARE_NO_FAULT,
    PLACES,
    free_udp_port,
    loaded,
    make_certificate,
    wait_for_port,
)
from benches.rig import machine, named_with
from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.found import FoundServer, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.server.installed.place import installed_server

REQUESTS = 1_000_000
KIB = (1, 20, 128)
STREAMS = (1, 8, 64)
CONNECTIONS = 10
SEED = 1
LOG_PATIENCE_S = 30.0
"""A log may be written in parts: Envoy's is after 10 s at most."""


@dataclass(frozen=True)
class Running:
    """A server under load: where it is, and how many requests for a path are in its log so far."""

    address: str
    logged: Callable[[str], int]


def name_of(kib: int) -> str:
    """Return the name of the file of this size."""
    return f"{kib}k.bin"


@contextmanager
def of_catalogue(name: str, folder: Path) -> Iterator[Running]:
    """Run a server of the catalogue that writes an access log, as long as the block lasts."""
    installed = installed_server(name)
    settings = {"tls": True, "http3": True, "access_log": True, "workers": 1}
    if name == "nginx":
        # It counts streams among its connections, twice over while it replaces one, and the kernel's usual
        # receive buffer loses datagrams of 640 streams.
        settings |= {"worker_connections": 4096, "udp_receive_buffer": 4 << 20}
    other = Overrides(binary=None if installed is None else installed.program)
    try:
        found = find_server(load_catalog()[name], settings, other)
    except BadInput as error:
        sys.exit(str(error))
    if not isinstance(found, FoundServer):
        sys.exit(str(found.failure()))
    content = make_content(folder, {name_of(kib): kib << 10 for kib in KIB}, SEED)
    # The server's own folder, with its log, is a temporary one.
    tempfile.tempdir = str(folder)
    with Server(found, folder, content) as server:

        def logged(path: str) -> int:
            (log,) = folder.rglob("access.log")
            with log.open("rb") as lines:
                return sum(1 for line in lines if path.encode() in line and b"HTTP/3" in line)

        yield Running(server.address, logged)


@contextmanager
def gtlsserver(_: str, folder: Path) -> Iterator[Running]:
    """Run gtlsserver as long as the block lasts, whose requests are counted while it writes its log."""
    program = shutil.which("gtlsserver", path=PLACES)
    if program is None:
        sys.exit("gtlsserver is not installed; on Debian: apt-get install ngtcp2-server")
    make_certificate(folder)
    files = folder / "files"
    files.mkdir()
    for kib in KIB:
        (files / name_of(kib)).write_bytes(bytes(kib << 10))
    port = free_udp_port()
    keys = [str(folder / "key.pem"), str(folder / "certificate.pem")]
    command = [program, "-d", str(files), "127.0.0.1", str(port), *keys]
    requests = folder / "requests"
    with (
        requests.open("wb") as kept,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
        subprocess.Popen(["grep", "--line-buffered", "-F", "[:path: /"], stdin=process.stdout, stdout=kept),
    ):
        assert process.stdout is not None
        process.stdout.close()
        try:
            wait_for_port(port, process, requests)
            yield Running(
                f"127.0.0.1:{port}",
                lambda path: sum(1 for line in requests.read_text().splitlines() if path in line),
            )
        finally:
            process.terminate()


SERVERS = {"caddy": of_catalogue, "nginx": of_catalogue, "envoy": of_catalogue, "gtlsserver": gtlsserver}


@dataclass(frozen=True)
class Cell:
    """One load."""

    server: str
    kib: int
    streams: int

    def __str__(self) -> str:
        """Return it as ``caddy 20 KiB x 8``."""
        return f"{self.server} {self.kib} KiB x {self.streams}"


def tried(cell: Cell, requests: int, timeout: str) -> tuple[str, bool]:
    """Load a server that has just started; return what was seen, and whether every answer is the server's."""
    tempfile.tempdir = None
    with tempfile.TemporaryDirectory(prefix="loadcurve-counts-") as name:
        folder = Path(name)
        # A server that root starts reads the files as another user.
        folder.chmod(0o755)
        with SERVERS[cell.server](cell.server, folder) as server:
            path = f"/{name_of(cell.kib)}"
            before = server.logged(path)
            options = ["-c", str(CONNECTIONS), "--streams", str(cell.streams), "-n", str(requests)]
            options += ["--timeout", timeout]
            done = loaded(f"https://{server.address}{path}", options)
            if done.returncode not in OTHERS_ARE_NO_FAULT:
                return (done.stderr.strip().splitlines() or ["it ended in silence"])[-1], False
            result = json.loads(done.stdout)
            answered, body_bytes = result["requests"]["answered"], result["bytes"]["body"]
            logged = settled(lambda: server.logged(path) - before, answered)
    failed = {error: count for error, count in result["errors"].items() if count}
    words = [f"{answered:,} answered", f"{logged:,} in the log", f"{body_bytes:,} bytes"]
    if moved := result["requests"]["moved"]:
        # Each may be in the log twice: as it was rejected, and as it was answered.
        words.append(f"{moved:,} sent again")
    words += [f"{count:,} {error}" for error, count in failed.items()]
    words += [json.dumps(one) for one in result["error_messages"]]
    is_whole = body_bytes == answered * cell.kib << 10
    return ", ".join(words), answered == requests == logged and is_whole and not failed


def settled(count: Callable[[], int], expected: int) -> int:
    """Return a count when it is the expected one, or does not become it within some time."""
    deadline_s = time.monotonic() + LOG_PATIENCE_S
    while (found := count()) < expected and time.monotonic() < deadline_s:
        time.sleep(1.0)
    return found


def main() -> None:
    """Try all cells, print what was seen of each, and fail where one is not as it must be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="the loads whose names contain this text")
    parser.add_argument("--requests", type=int, default=REQUESTS, metavar="N", help="of each load")
    parser.add_argument("--timeout", default="10s", metavar="TIME", help="of each request")
    asked = parser.parse_args()
    print(machine())
    cells = {str(cell): cell for cell in (Cell(*one) for one in product(SERVERS, KIB, STREAMS))}
    failed: list[str] = []
    for name in named_with(asked.only, cells):
        words, is_right = tried(cells[name], asked.requests, asked.timeout)
        print(f"{name:24} {'passed' if is_right else 'FAILED'}  {words}", flush=True)
        failed += [] if is_right else [name]
    _end(len(named_with(asked.only, cells)), asked.requests, failed)


def _end(count: int, requests: int, failed: Sequence[str]) -> None:
    """Print the sum, and fail where a load was not as it must be."""
    print(f"{count} loads of {requests:,} requests, {len(failed)} with a failure or another count")
    if failed:
        sys.exit(f"these failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

"""The engine against h2specd, the conformance test of clients of HTTP/2 (github.com/summerwind/h2spec)."""

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from loadcurve._engine import Load

pytestmark = [pytest.mark.long, pytest.mark.needs("go")]

MODULE = """module conformance
go 1.21
require github.com/summerwind/h2spec v2.2.1+incompatible
"""
HANDED_OVER = Path(__file__).parent / "handed_over.py"
CASES = 57
TIMEOUT_S = 1.0
"""Of a request; h2specd gives a client 3 s for each case, and waits for 1 s where it expects silence."""
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])

DEVIATIONS: dict[str, str] = {}
"""By the name of a case that fails, why the client does otherwise."""


@pytest.fixture(scope="module")
def h2specd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built from its source."""
    folder = tmp_path_factory.mktemp("h2specd")
    (folder / "go.mod").write_text(MODULE)
    build = ["go", "build", "-mod=mod", "github.com/summerwind/h2spec/cmd/h2specd"]
    built = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"h2specd cannot be built here: {built.stderr[-500:]}")
    return folder / "h2specd"


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Write into one connection what the other brings, and end it when that has ended."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()


def relay(listener: socket.socket, server: tuple[str, int]) -> None:
    """Answer the connection before a load, and hand on that of the load.

    h2specd takes its first connection for the one that it tests, and a load looks first whether its server
    speaks HTTP/2.
    """
    look, _ = listener.accept()
    with look:
        look.sendall(SETTINGS)
        while look.recv(65536):
            pass
    client, _ = listener.accept()
    with client, socket.create_connection(server) as upstream:
        sending = threading.Thread(target=pass_on, args=(client, upstream))
        sending.start()
        pass_on(upstream, client)
        sending.join()


def make_request(url: str) -> None:
    """Put a load of one request on a server, which judges how it ends."""
    server = urlsplit(url)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        handing_on = threading.Thread(target=relay, args=(listener, (server.hostname, server.port)))
        handing_on.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        request = {"method": "GET", "target": "/", "headers": [], "body": "empty", "weight": 1.0}
        request |= {"expected_body_bytes": None, "body_varies": True}
        plan = {
            "model": {"closed": {"connections": 1}},
            "stop": {"requests_total": 1},
            "warmup_s": 0,
            "timeout_s": TIMEOUT_S,
            "threads": 1,
            "work": {"address": address, "authority": address, "http": "2", "requests": {"given": [request]}},
        }
        Load.start(json.dumps({"http": plan})).finish()
        handing_on.join()


@contextmanager
def client() -> Iterator[str]:
    """A client as h2specd wants it: a command that takes a URL."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile() as lines:
                make_request(lines.readline().strip())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        yield f"{sys.executable} -I -S {HANDED_OVER} {listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    serving.join()


def free_ports(count: int) -> int:
    """Return the first of a row of ports that nobody listens on; h2specd has one for each case."""
    for first in range(20_000, 30_000, count):
        try:
            for port in range(first, first + count):
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return first
    pytest.fail("no row of ports is free")


def test_every_case_of_h2specd_passes_or_is_named_with_its_reason(h2specd: Path, tmp_path: Path) -> None:
    with client() as command:
        run = subprocess.run(
            [h2specd, "-o", "1", "-f", str(free_ports(CASES + 3)), "-e", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=CASES * 4,
            check=False,
        )
    text = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout)
    [figures] = re.findall(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", text)
    failed = set(re.findall("^ *\N{MULTIPLICATION SIGN} [0-9]+: (.*)$", text, re.MULTILINE))
    assert failed == set(DEVIATIONS), text
    assert int(figures[0]) == int(figures[1]) + len(DEVIATIONS) == CASES, text

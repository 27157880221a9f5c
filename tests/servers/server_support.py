"""What the tests of servers share: starting a server in one line, and looking for what is left of one."""

import http.client
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pytest

import loadcurve.server.here as instance_module
from loadcurve.server import presence
from loadcurve.server.catalog import CatalogEntry, load_catalog
from loadcurve.server.check import check_server
from loadcurve.server.content import content_of_folder
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.ledger import MARK_VARIABLE
from loadcurve.server.processes import running_processes, uses_folder

T = TypeVar("T")
NOBODY = 65534
CATALOG = load_catalog()
APACHES = ["apache-event", "apache-worker", "apache-prefork", "apache-php"]
PROXIES = ["haproxy", "varnish", "envoy"]
SERVERS = [
    *("nginx", *APACHES, "lighttpd", "mini-httpd", "h2o", "caddy", "node", "python-http"),
    *("gunicorn", "uvicorn", "puma", *PROXIES),
]
"""Every real server of the catalogue that Debian has."""


KEEPING = {"gunicorn": {"worker_class": "gthread"}}
"""The settings with which a server keeps connections that by default keeps none."""

CHANGED_SETTINGS = {"access_log": True, "keepalive_requests": 3, "listen_backlog": 77}
"""Other values of settings that several servers share."""


OWNER_SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from server_support import server_of
from loadcurve.server.catalog import read_entry
entry, *content_folder = map(Path, sys.argv[2:])
with server_of(read_entry(entry), content_folder[0] if content_folder else None) as server:
    print(server.pid, flush=True)
    time.sleep(3600)
"""


def servers(*names: str, fixture: str = "name") -> pytest.MarkDecorator:
    """Run a test with each of these servers that is installed: its name, or a fixture of that server."""
    parameters = [pytest.param(name, marks=pytest.mark.needs_server(name)) for name in names]
    return pytest.mark.parametrize(fixture, parameters, indirect=fixture != "name")


def servers_with(setting: str, fixture: str = "name") -> pytest.MarkDecorator:
    """Run a test with each installed server that has a setting of this name."""
    having = [name for name in SERVERS if setting in CATALOG[name].description.settings]
    return servers(*having, fixture=fixture)


def marked_processes(state: Path) -> set[int]:
    """Return the ids of the processes that run as servers of a test with this place, forked ones included."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                environment = (folder / "environ").read_bytes()
                process_state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            # Other runs on this machine have servers, too.
            ours = f"TMPDIR={state / 'tmp'}".encode() in environment
            if ours and f"{MARK_VARIABLE}=".encode() in environment and process_state != "Z":
                found.add(int(folder.name))
    return found


def processes_using(folder: Path) -> set[int]:
    """Return the ids of the processes that work in a folder or have a file of it open.

    So those are found, too, that have left their session and written over their environment.
    """
    return {process.identity.pid for process in running_processes() if uses_folder(process.identity, folder)}


@contextmanager
def own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep ledger and private folders in an own place, open to every user, where nothing may remain."""
    # The folders of pytest itself must not move into the place that is taken away again.
    tmp_path_factory.getbasetemp()
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        tempfile.TemporaryDirectory(prefix="loadcurve-test-") as name,
    ):
        folder = Path(name)
        for child in (folder, folder / "state", folder / "tmp"):
            child.mkdir(exist_ok=True)
            child.chmod(0o777)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield folder
        for place in [*presence._held]:
            # This process keeps its lock until it ends, and would itself be one of those that use the folder.
            if place.is_relative_to(folder):
                os.close(presence._held.pop(place).descriptor)
        left = marked_processes(folder) | processes_using(folder / "tmp")
        for pid in left - {os.getpid()}:
            # What one test leaves running would disturb all tests behind it.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert left == set()
        assert list((folder / "tmp").glob("loadcurve-*")) == []
        assert list((folder / "state").rglob("*.json")) == []


def members_of_session(session: int) -> set[int]:
    """Return the ids of all running processes of a session."""
    members = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                members.add(int(folder.name))
    return members


def wait_until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    """Look again and again until a condition holds; fail where it never does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def found(entry: CatalogEntry, **settings: object) -> FoundServer:
    server = find_server(entry, settings)
    assert isinstance(server, FoundServer)
    return server


def server_of(entry: CatalogEntry, content_folder: Path | None, **settings: object) -> Server:
    """Prepare a web server that serves a folder, or a database, which has none."""
    content = {} if content_folder is None else content_of_folder(content_folder)
    return Server(found(entry, **settings), content_folder, content)


def spawn_owner(entry_folder: Path, content_folder: Path | None = None) -> subprocess.Popen[str]:
    """Run a process that starts a server, prints the server's id and then waits."""
    folders = [entry_folder, *filter(None, [content_folder])]
    command = [sys.executable, "-c", OWNER_SCRIPT, str(Path(__file__).parent), *map(str, folders)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def start_owner(entry_folder: Path, content_folder: Path | None = None) -> tuple[subprocess.Popen[str], int]:
    """Run such a process until its server is ready; return it and the server's id."""
    owner = spawn_owner(entry_folder, content_folder)
    return owner, int(owner.stdout.readline())


def kill_owner(owner: subprocess.Popen[str], also: int | None = None) -> None:
    """Kill such a process, and perhaps its server before it, and wait for its end."""
    for pid in filter(None, (also, owner.pid)):
        os.kill(pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()


def version_checked_by_nobody(name: str) -> str:
    """Check a server of the catalogue as an ordinary user; return its version."""
    # A fork needs no interpreter that the ordinary user may reach.
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=fork, initializer=_become_nobody) as as_nobody:
        return as_nobody.submit(_checked_version, name).result()


def _become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def _checked_version(name: str) -> str:
    return check_server(CATALOG[name]).found.version


def user_of(pid: int) -> int:
    """Return the user that a process belongs to."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^Uid:\t(\d+)", status, re.MULTILINE)[1])


def results_of_each(ask: Callable[[int], T], pids: set[int]) -> list[T]:
    """Return what ``ask`` gives for each process that has not ended meanwhile, as children of servers may."""
    results = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            results.append(ask(pid))
    return results


def give_port_first(monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    """Let the next server be started on this port, and on any free one after that."""
    ports = chain([taken], iter(instance_module.free_port, None))
    monkeypatch.setattr(instance_module, "free_port", lambda address: next(ports))


def answer_to(server: Server, path: str) -> http.client.HTTPResponse:
    """Ask a running server for a path, as a client that would keep the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def bytes_answered_to_head(port: int, path: str) -> bytes:
    """Return all that a server sends when it is asked for the header of a path and to close behind it."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def listen_backlog(port: int) -> int:
    """Return how many connections may wait on a port, which for one that listens is its "Send-Q"."""
    command = ["ss", "-ltnH", f"sport = :{port}"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[2])


def thread_count(pid: int) -> int:
    """Return how many threads a process has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


is_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to start a server as another user")

"""Where a benchmark runs: the server has one CPU, and what is measured has another."""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import loadcurve._engine as native
from loadcurve.errors import BadInput
from loadcurve.host.facts import host_facts
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, find_server
from loadcurve.server.here import Server

LOADCURVE = str(Path(sys.executable).with_name("loadcurve"))
"""The command of the environment that runs the benchmark."""
CONTENT_BYTES = {"1k.txt": 1 << 10, "20k.txt": 20 << 10, "128k.txt": 128 << 10}
PATH = "/1k.txt"
SEED = 1
ANSWER_TIMEOUT_S = 5.0
MEASURED_EXIT_CODES = (0, 3)
"""3: measured, and the verdict speaks against it, as where one CPU is all that the generator has."""


@dataclass(frozen=True)
class Cpus:
    """Which CPU has the server, and which what is measured."""

    server: int
    generator: int


@dataclass(frozen=True)
class Target:
    """A running server, and what one request to it brings."""

    host: str
    port: str
    request: str
    answer_bytes: int
    """Length of the whole answer, header included."""

    @property
    def address(self) -> str:
        """Where the server listens, as ``host:port``."""
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Where generators are sent."""
        return f"http://{self.address}{PATH}"


@dataclass(frozen=True)
class Finished:
    """A program that ran to its end: what it printed, and what it used from its start on."""

    exit_code: int
    output: str
    complaint: str
    cpu_s: float


def own_cpus() -> Cpus:
    """Return the first and the last CPU of this process; ends the program where it has only one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) == 1:
        sys.exit("server and generator need a CPU each, and this process may use only one")
    return Cpus(server=cpus[0], generator=cpus[-1])


def machine() -> str:
    """Say in one line what machine this is, and whether the native parts are those of a release."""
    facts = host_facts()
    words = f"{facts['cpu_model']}, {len(facts['cpus'])} CPUs, Linux {facts['kernel']}"
    return f"{words}; native parts with debug assertions" if native.HAS_DEBUG_ASSERTIONS else words


@contextmanager
def running_web_server(name: str, settings: Mapping[str, object], cpu: int) -> Iterator[Server]:
    """Run a server of the catalogue on one CPU, serving a few files, as long as the block lasts."""
    try:
        found = find_server(load_catalog()[name], settings)
    except BadInput as error:
        sys.exit(str(error))
    if not isinstance(found, FoundServer):
        sys.exit(str(found.failure()))
    with tempfile.TemporaryDirectory() as folder:
        # A server that root starts reads the files as another user.
        Path(folder).chmod(0o755)
        content = make_content(Path(folder), CONTENT_BYTES, SEED)
        with Server(found, Path(folder), content, [cpu]) as server:
            server.verify([PATH])
            yield server


@contextmanager
def running_server(name: str, cpu: int) -> Iterator[Target]:
    """Run a server as :func:`running_web_server` does, and look at its answer, in clear text."""
    with running_web_server(name, {}, cpu) as server:
        host, _, port = server.address.partition(":")
        request = f"GET {PATH} HTTP/1.1\r\nHost: {server.address}\r\nUser-Agent: loadcurve\r\n\r\n"
        yield Target(host, port, request, _answer_bytes(host, port, request))


@contextmanager
def running_database(name: str, settings: Mapping[str, object], cpu: int) -> Iterator[str]:
    """Run a database of the catalogue on one CPU as long as the block lasts; yields its URL."""
    try:
        entry = load_catalog()[name]
        found = find_server(entry, settings)
        if isinstance(found, MissingServer) and found.build is not None:
            found.build.run(print)
            found = find_server(entry, settings)
    except (BadInput, ServerFailure) as error:
        sys.exit(str(error))
    if not isinstance(found, FoundServer):
        sys.exit(str(found.failure()))
    with Server(found, None, {}, [cpu]) as server:
        server.verify()
        yield server.url


def run_on_cpu(command: Sequence[str], cpu: int) -> Finished:
    """Run a program to its end on one CPU."""
    with (
        tempfile.TemporaryFile("w+") as complaint,
        subprocess.Popen(
            ["taskset", "-c", str(cpu), *command], stdout=subprocess.PIPE, stderr=complaint, text=True
        ) as process,
    ):
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        complaint.seek(0)
        return Finished(
            exit_code=process.returncode,
            output=output,
            complaint=complaint.read(),
            cpu_s=usage.ru_utime + usage.ru_stime,
        )


def run_or_exit(command: Sequence[str], cpu: int, accepted_exit_codes: Sequence[int] = (0,)) -> Finished:
    """Run a program to its end on one CPU; ends this program, too, where that one fails."""
    finished = run_on_cpu(command, cpu)
    if finished.exit_code not in accepted_exit_codes:
        sys.exit(f"{' '.join(command)} ended with {finished.exit_code}: {finished.complaint.strip()}")
    return finished


def load_by(command: str, cpu: int, url: str, options: Sequence[str]) -> dict[str, float]:
    """Let a build's command load a server; returns answers per second, and µs of CPU for each answer."""
    finished = run_or_exit([command, "load", url, "--json", *options], cpu, MEASURED_EXIT_CODES)
    # Builds differ in what their results hold, so only what is needed is read.
    result = json.loads(finished.output)
    rps, cpu_us = result["rate_rps"]["answered"], result["generator"]["cpu_per_request_us"]
    if not rps or not cpu_us:
        sys.exit(f"{command}: nothing was answered: {finished.complaint.strip()}")
    return {"requests/s": rps, "CPU": cpu_us}


def allow_open_files(count: int) -> None:
    """Raise the limit of open files of this process and what it starts; ends it where that is forbidden."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        sys.exit(f"{count} open files are needed and {hard} allowed: raise the hard limit (ulimit -Hn)")
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def _answer_bytes(host: str, port: str, request: str) -> int:
    """Return the length of the whole answer to one request."""
    with socket.create_connection((host, int(port)), ANSWER_TIMEOUT_S) as connection:
        connection.sendall(request.encode())
        header_bytes, body_bytes = 0, None
        with connection.makefile("rb") as lines:
            for line in lines:
                header_bytes += len(line)
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    body_bytes = int(value)
                if line == b"\r\n":
                    break
    if body_bytes is None:
        sys.exit(f"the answer to {PATH} has no Content-Length; the floor needs answers of one known length")
    return header_bytes + body_bytes


def named_with(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that have this text; raises SystemExit where none has: nothing would be tried."""
    found = [name for name in names if text in name]
    if not found:
        raise SystemExit(f"--only: no name has the text {text!r}")
    return found

"""The engine beside the fastest other generators on real servers: rate, latency, and the server's CPU.

On one machine the generator is a part of what limits a server: the server's CPU pays for delivering requests
and for waking whoever waits for answers. Here the server has one CPU, which is busy all the time, and the
generator, of one thread, another. In each round all generators have their turn; what counts is the median of
the ratios within rounds, with its 95 % interval.

Each generator sends the request that it sends by itself: wrk and gcannon name the host alone, ours and h2load
themselves, too, which the server has to parse. With `--same-request` all of them send the same header fields.

The others count from their first connection on: a turn must be long beside the time until a server has
answered on all of them, which for Node at 500 connections takes most of a second. h2load's times of requests
do not include what passes before they are sent, so that over HTTP/2 they lie below what Little's law allows.

No distribution has the newest of these generators: `--gcannon PROGRAM`, `--wrk PROGRAM` and
`--h2load PROGRAM` take others than those of the PATH. One that is missing is left out.
"""

import argparse
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import sysconf
from pathlib import Path
from urllib.parse import urlsplit

from benches.pairs import MedianWithin
from benches.rig import (
    LOADCURVE,
    MEASURED_EXIT_CODES,
    PATH,
    machine,
    own_cpus,
    run_or_exit,
    running_web_server,
)
from loadcurve.result.load import LoadResult
from loadcurve.server.here import Server
from loadcurve.version import VERSION

OURS = "loadcurve"
USER_AGENT = f"loadcurve/{VERSION}"
WARM_UP_S = 0.1
"""As long as gcannon loads the server before it counts. The others count from their first connection on."""
TICKS_PER_S = sysconf("SC_CLK_TCK")
SESSION = 3
TIMES = slice(11, 15)
"""Fields of ``/proc/PID/stat`` behind the name (proc(5)): user and system time, also of ended children."""


@dataclass(frozen=True)
class Case:
    """One load: connections, and over HTTP/2 streams on each of them."""

    connections: int
    streams: int = 1
    tls: bool = False

    def __str__(self) -> str:
        """Return it as ``HTTPS 50`` or ``HTTP/2 10x100``."""
        if self.is_http2:
            return f"HTTP/2 {self.connections}x{self.streams}"
        return f"{'HTTPS' if self.tls else 'HTTP'} {self.connections}"

    @property
    def is_http2(self) -> bool:
        """Whether it has streams."""
        return self.streams > 1 or (self.tls and self.connections == HTTP2_ALONE)

    @property
    def settings(self) -> Mapping[str, object]:
        """What the server is started with."""
        return {**({"tls": True} if self.tls else {}), **({"http2": True} if self.is_http2 else {})}


LASTING: Mapping[str, Mapping[str, object]] = {
    "nginx": {"keepalive_requests": 1_000_000_000},
    "apache-event": {"keepalive_requests": 1_000_000_000},
    "lighttpd": {"keepalive_requests": 65_536},
}
"""How servers keep connections as long as they can: h2load asks no more on one that was closed."""
HTTP2_ALONE = 100
"""Connections of the load over HTTP/2 with one stream each."""
CASES = (
    *(Case(connections) for connections in (1, 10, 50, 500)),
    *(Case(connections, tls=True) for connections in (50, 500)),
    Case(10, 100, tls=True),
    Case(HTTP2_ALONE, tls=True),
)


Command = Callable[[Case, str, int], list[str]]
"""Arguments of a load: case, address, seconds."""


@dataclass(frozen=True)
class Latency:
    """Percentiles of the answers' latency in milliseconds, as a tool prints them."""

    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Generator:
    """A load generator: its command line, and how its rate and latency are read."""

    program: str
    command: Command
    rate: Callable[[str, int], float]
    latency: Callable[[str], Latency | None]
    can: Callable[[Case], bool]
    warm_up_s: float = 0.0
    """How long it loads the server before it counts."""


def _ours(case: Case, url: str, seconds: int) -> list[str]:
    http = ("--http", "2", "--streams", str(case.streams)) if case.is_http2 else ()
    tls = ("--insecure",) if case.tls else ()
    length = ["-d", f"{seconds}s", "--warmup", f"{WARM_UP_S}s"]
    return ["load", url, "--json", "-c", str(case.connections), *length, *http, *tls]


def _our_rate(output: str, _: int) -> float:
    return LoadResult.model_validate_json(output).rate_rps.answered or 0.0


def _our_latency(output: str) -> Latency:
    latency_ms = LoadResult.model_validate_json(output).latency_ms
    return Latency(latency_ms.p50 or 0.0, latency_ms.p99 or 0.0)


def _found(pattern: str) -> Callable[[str, int], float]:
    def rate(output: str, _: int) -> float:
        found = re.search(pattern, output)
        if found is None:
            raise ValueError(f"expected {pattern!r} in: {output}")
        return float(found[1])

    return rate


UNIT_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


def _printed(pattern: str) -> Callable[[str], Latency | None]:
    """Read the median and the 99th percentile with their units; older versions of h2load print neither."""

    def latency(output: str) -> Latency | None:
        found = re.search(pattern, output)
        if found is None:
            return None
        p50, unit, p99, other = found.groups()
        return Latency(float(p50) * UNIT_MS[unit], float(p99) * UNIT_MS[other])

    return latency


TIME = r"([0-9.]+)(ns|us|ms|s)"


def _counted(output: str, seconds: int) -> float:
    """Read gcannon, whose rate is rounded and whose count is not."""
    return _found(r"(\d+) requests in")(output, seconds) / seconds


def _h2load(case: Case, url: str, seconds: int) -> list[str]:
    http1 = () if case.is_http2 else ("--h1",)
    return ["-t1", f"-c{case.connections}", f"-m{case.streams}", f"-D{seconds}", *http1, url]


def _gcannon(case: Case, url: str, seconds: int) -> list[str]:
    return [url, "-t", "1", "-c", str(case.connections), "-d", f"{seconds}s"]


def _wrk(case: Case, url: str, seconds: int) -> list[str]:
    return ["-t1", "--latency", f"-c{case.connections}", f"-d{seconds}s", url]


def _alike(command: Command) -> Command:
    """Let wrk or h2load name itself as ours does."""
    return lambda case, url, seconds: ["-H", f"User-Agent: {USER_AGENT}", *command(case, url, seconds)]


def _gcannon_alike(files: Path) -> Command:
    """Let gcannon send our request, from a file."""

    def command(case: Case, url: str, seconds: int) -> list[str]:
        target, file = urlsplit(url), files / "request"
        fields = f"Host: {target.netloc}\r\nUser-Agent: {USER_AGENT}\r\n"
        file.write_bytes(f"GET {target.path} HTTP/1.1\r\n{fields}\r\n".encode())
        return [*_gcannon(case, url, seconds), "-R", str(file)]

    return command


def generators(programs: Mapping[str, str], same_request: Path | None) -> dict[str, Generator]:
    """Return those that are installed, ours first; with a folder for its files all send our request."""
    same = _alike if same_request else (lambda command: command)
    known = {
        OURS: Generator(LOADCURVE, _ours, _our_rate, _our_latency, lambda _: True, WARM_UP_S),
        "gcannon": Generator(
            programs["gcannon"],
            _gcannon_alike(same_request) if same_request else _gcannon,
            _counted,
            _printed(rf"Latency +\S+ +{TIME} +\S+ +{TIME}"),
            lambda case: not case.tls,
            WARM_UP_S,
        ),
        "wrk": Generator(
            programs["wrk"],
            same(_wrk),
            _found(r"Requests/sec:\s*([0-9.]+)"),
            _printed(rf"50% +{TIME}(?:\s+\S+%\s+\S+){{2}}\s+99% +{TIME}"),
            lambda case: not case.is_http2,
        ),
        "h2load": Generator(
            programs["h2load"],
            same(_h2load),
            _found(r"([0-9.]+) req/s"),
            _printed(rf"request *: +(?:\S+ +){{2}}{TIME} +\S+ +{TIME}"),
            lambda case: case.tls or case.is_http2,
        ),
    }
    return {name: each for name, each in known.items() if shutil.which(each.program)}


def cpu_s(session: int) -> float:
    """Return the processor time of all processes of a session so far, with those that ended."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[SESSION]) == session:
            ticks += sum(map(int, fields[TIMES]))
    return ticks / TICKS_PER_S


@dataclass(frozen=True)
class Length:
    """How long each run lasts, and on which CPU."""

    seconds: int
    cpu: int


@dataclass(frozen=True)
class Turn:
    """What one run of one generator brought."""

    rps: float
    server_us: float
    """Processor time of the server for each request."""
    latency: Latency | None


def _turn(generator: Generator, case: Case, server: Server, each: Length) -> Turn:
    before = cpu_s(server.pid)
    command = [generator.program, *generator.command(case, f"{server.url}{PATH}", each.seconds)]
    finished = run_or_exit(command, each.cpu, MEASURED_EXIT_CODES)
    try:
        rps = generator.rate(finished.output, each.seconds)
        latency = generator.latency(finished.output)
    except ValueError as error:
        sys.exit(f"{generator.program}: {error}")
    if not rps:
        sys.exit(f"{' '.join(command)}: nothing was answered: {finished.complaint}")
    server_us = 1e6 * (cpu_s(server.pid) - before) / (rps * (each.seconds + generator.warm_up_s))
    return Turn(rps, server_us, latency)


def measure(
    case: Case, asked: Mapping[str, Generator], server: Server, rounds: int, each: Length
) -> dict[str, list[Turn]]:
    """Let all generators have their turn in each round, each of them first as often as the others."""
    names = [name for name, generator in asked.items() if generator.can(case)]
    turns: dict[str, list[Turn]] = {name: [] for name in names}
    for index in range(rounds):
        first = index % len(names)
        for name in (*names[first:], *names[:first]):
            turns[name].append(_turn(asked[name], case, server, each))
    return turns


def _print(case: Case, turns: Mapping[str, Sequence[Turn]]) -> None:
    ours = turns[OURS]
    for name, theirs in turns.items():
        rps = statistics.median(turn.rps for turn in theirs)
        server_us = statistics.median(turn.server_us for turn in theirs)
        latencies = [turn.latency for turn in theirs if turn.latency is not None]
        line = f"{case!s:<14} {name:<10} {rps:>9,.0f}/s {server_us:>7.2f} µs"
        if latencies:
            p50_ms = statistics.median(one.p50_ms for one in latencies)
            p99_ms = statistics.median(one.p99_ms for one in latencies)
            line += f"  p50 {p50_ms:.3f} ms, p99 {p99_ms:.3f} ms"
        if name != OURS:
            ratio = MedianWithin.of([our.rps / their.rps for our, their in zip(ours, theirs, strict=True)])
            cost = statistics.median(
                our.server_us / their.server_us for our, their in zip(ours, theirs, strict=True)
            )
            line += (
                f"  ratio {ratio.median:.3f} ({ratio.low:.3f} to {ratio.high:.3f}), server's CPU {cost:.3f}"
            )
        print(line, flush=True)


def _case(text: str) -> Case:
    protocol, _, numbers = text.partition(":")
    connections, _, streams = numbers.partition("x")
    return Case(int(connections), int(streams or 1), tls=protocol != "http")


def main() -> None:
    """Print requests/s, the server's processor time, latency, and the ratios of ours to the others'."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", nargs="+", default=["nginx"], help="of the catalogue")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--duration", type=int, default=2, metavar="SECONDS", help="of each turn")
    parser.add_argument("--cases", nargs="+", type=_case, default=CASES, metavar="http:50|https:50|h2:10x100")
    parser.add_argument("--same-request", action="store_true", help="all send the same header fields")
    for name in ("gcannon", "wrk", "h2load"):
        parser.add_argument(f"--{name}", default=name, metavar="PROGRAM")
    arguments = parser.parse_args()
    programs = {name: getattr(arguments, name) for name in ("gcannon", "wrk", "h2load")}
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as folder:
        asked = generators(programs, Path(folder) if arguments.same_request else None)
        _compare(arguments, asked)


def _compare(arguments: argparse.Namespace, asked: Mapping[str, Generator]) -> None:
    cpus = own_cpus()
    each = Length(arguments.duration, cpus.generator)
    print(machine())
    print(f"{arguments.rounds} rounds of {arguments.duration} s; ratios are ours by theirs")
    for name in arguments.servers:
        for case in arguments.cases:
            with running_web_server(name, {**LASTING.get(name, {}), **case.settings}, cpus.server) as server:
                print(f"\n{name}")
                _print(case, measure(case, asked, server, arguments.rounds, each))


if __name__ == "__main__":
    main()

"""Loads over TLS, HTTP/2 and HTTP/3 beside wrk, h2load, zrk, oha, OpenSSL's s_time and the floor, in pairs.

The server has one CPU and the generator another; certificates are accepted unseen, as the others do. Medians
count, and each goal is met or missed by them. Where the server is the limit, requests per second show
nothing, and CPU per request does.

A distribution's h2load may be years old, and speaks no HTTP/3: `--h2load PROGRAM` takes one that was built
from newer sources, with `--enable-http3` and ngtcp2, and `--zrk PROGRAM` a zrk, which no distribution has.
zrk is paced; here it is asked for more than it reaches, so that each of its connections sends its next
request when the previous one is answered. `--oha PROGRAM` takes an oha that was built with its feature
`http3` (`cargo install --locked oha --features http3`).
"""

import argparse
import json
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benches.generators import FASTEST_RPS, FLOOR
from benches.goals import Bound
from benches.pairs import pairs_in_turn
from benches.rig import LOADCURVE, PATH, Finished, machine, own_cpus, run_or_exit, running_web_server
from loadcurve.result.load import LoadResult
from loadcurve.server.here import Server


@dataclass(frozen=True)
class Rig:
    """A running server, and how it is loaded."""

    server: Server
    folder: Path
    """For what a generator keeps from one run to the next."""
    duration_s: int
    cpu: int
    path: str

    @property
    def url(self) -> str:
        """Where generators are sent."""
        return f"{self.server.url}{self.path}"


@dataclass(frozen=True)
class Other:
    """What the engine is compared with in one case."""

    name: str
    command: Callable[[Rig], list[str]]
    """The arguments of the program."""
    ours: tuple[str, ...] = ()
    """What the engine's load has beside that of the case, to be the same as this one."""
    goals: Mapping[str, float] = field(default_factory=dict)
    """What is to be reached, by the name of the quantity: at least that many requests/s, at most that CPU."""

    def bound(self, quantity: str) -> Bound | None:
        """Return where the median is to lie; ``None`` where there is no goal."""
        goal = self.goals.get(quantity)
        return None if goal is None else Bound("<=" if quantity == "CPU" else ">=", goal)


@dataclass(frozen=True)
class Case:
    """One load, and what it is compared with."""

    title: str
    server: str
    settings: Mapping[str, object]
    ours: tuple[str, ...]
    others: tuple[Other, ...]
    path: str = PATH


TLS = {"tls": True}
TLS_HTTP2 = {"tls": True, "http2": True}
HTTP2 = {"http2": True}
HTTP3 = {"tls": True, "http3": True}
CLOSED = ("-H", "Connection: close")
"""How others open a connection for each request."""
X25519 = ("--groups", "x25519")
"""The group of every other generator's key exchange, by default or by its version of OpenSSL."""


def _wrk(connections: int, *options: str, goals: Mapping[str, float]) -> Other:
    return Other(
        "wrk",
        lambda rig: [
            *("-t1", f"-c{connections}", f"-d{rig.duration_s}s", *options, rig.url),
        ],
        goals=goals,
    )


def _zrk(connections: int, goals: Mapping[str, float]) -> Other:
    return Other(
        "zrk",
        lambda rig: [
            *("-t1", f"-c{connections}", f"-d{rig.duration_s}s", f"-R{FASTEST_RPS}", "-k"),
            *("--format", "json", rig.url),
        ],
        goals=goals,
    )


def _h2load(*options: str, goals: Mapping[str, float], resumes: bool = False) -> Other:
    def command(rig: Rig) -> list[str]:
        # The first of its runs has no session yet, and the median is that of the others.
        session = ("--tls-session-file", str(rig.folder / "session.pem")) if resumes else ()
        return ["-t1", f"-D{rig.duration_s}", *options, *session, rig.url]

    return Other(
        "h2load",
        command,
        goals=goals,
    )


def _oha(connections: int, streams: int, goals: Mapping[str, float]) -> Other:
    return Other(
        "oha",
        lambda rig: [
            *("--no-tui", "--insecure", "--http-version", "3", "-z", f"{rig.duration_s}s"),
            *("-c", str(connections), "-p", str(streams), rig.url),
        ],
        goals=goals,
    )


def _s_time(option: str, goals: Mapping[str, float]) -> Other:
    """OpenSSL's own client for handshakes, one after the other."""
    return Other(
        "openssl",
        lambda rig: [
            *("s_time", "-connect", rig.server.address, option, "-www", PATH, "-time", str(rig.duration_s)),
        ],
        goals=goals,
    )


def _floor(connections: int, streams: int) -> Other:
    return Other(
        "floor",
        lambda rig: [
            *("frames", "--address", rig.server.address, "--path", PATH, "--streams", str(streams)),
            *("--connections", str(connections), "--duration", str(rig.duration_s)),
        ],
        # The floor's header blocks enter no table.
        ours=("--hpack", "literal"),
        goals={"CPU": 1.10},
    )


HANDSHAKES = {"requests/s": 1.5, "CPU": 1 / 1.5}
CASES = (
    *(
        Case(
            f"HTTPS, {connections} connections",
            server,
            TLS,
            ("-c", str(connections)),
            (
                _wrk(
                    connections,
                    goals={"requests/s": 1.20, "CPU": 1.0} if server == "limit" else {"CPU": 1.0},
                ),
                _zrk(connections, goals={"requests/s": 1.0, "CPU": 1.0} if server == "limit" else {}),
            ),
        )
        for server in ("limit", "nginx")
        for connections in (50, 500)
    ),
    *(
        Case(
            f"HTTP/2{over}, {connections} x {streams}",
            server,
            settings,
            ("-c", str(connections), "--http", "2", "--streams", str(streams)),
            (
                _h2load(
                    f"-c{connections}",
                    f"-m{streams}",
                    goals={"requests/s": 1.30, "CPU": 0.7} if server == "limit" else {"CPU": 0.7},
                ),
                *([_floor(connections, streams)] if settings == HTTP2 else []),
            ),
        )
        for server in ("limit", "h2o")
        for over, settings in (("", HTTP2), (" over TLS", TLS_HTTP2))
        for connections, streams in ((10, 100), (100, 1))
    ),
    *(
        Case(
            f"HTTP/3, {connections} x {streams}",
            server,
            HTTP3,
            ("-c", str(connections), "--http", "3", "--streams", str(streams)),
            # Where the server is the limit, it is that for both.
            (
                _oha(
                    connections, streams, {"CPU": 0.35} | ({"requests/s": 3.0} if server == "limit" else {})
                ),
                _h2load("--h3", f"-c{connections}", f"-m{streams}", goals={"CPU": 1.0}),
            ),
        )
        for server in ("limit", "caddy")
        for connections, streams in ((10, 1), (10, 8), (10, 64))
    ),
    *(
        Case(
            f"HTTP/3, {kib} KiB, 10 x 8",
            "caddy",
            HTTP3,
            ("-c", "10", "--http", "3", "--streams", "8"),
            (_h2load("--h3", "-c10", "-m8", goals={"CPU": 1.0}),),
            path=f"/{kib}k.txt",
        )
        for kib in (20, 128)
    ),
    Case(
        "full handshakes, 50 connections",
        "limit",
        TLS,
        ("-c", "50", "--calls", "1", "--full-handshakes", "1", *X25519),
        (
            _wrk(50, *CLOSED, goals=HANDSHAKES),
            _h2load("--h1", "-c50", *CLOSED, goals=HANDSHAKES),
        ),
    ),
    Case(
        "resumed handshakes, 50 connections",
        "limit",
        TLS,
        ("-c", "50", "--calls", "1", "--full-handshakes", "0", *X25519),
        (_h2load("--h1", "-c50", *CLOSED, resumes=True, goals=HANDSHAKES),),
    ),
    *(
        Case(
            f"{kind} handshakes, 1 connection",
            "limit",
            TLS,
            ("-c", "1", "--calls", "1", "--full-handshakes", share, *X25519),
            (_s_time(option, goals={"CPU": 1 / 1.5}),),
        )
        for kind, share, option in (("full", "1", "-new"), ("resumed", "0", "-reuse"))
    ),
)


ACCEPTED_EXIT_CODES = (0, 1, 3)
"""3: measured, and the verdict speaks against it; 1: as openssl ends."""


@dataclass(frozen=True)
class Measured:
    """One run."""

    rps: float
    cpu_per_request_us: float


def _read_ours(finished: Finished) -> Measured:
    result = LoadResult.model_validate_json(finished.output)
    answered, cpu_us = result.rate_rps.answered, result.generator.cpu_per_request_us
    if answered is None or cpu_us is None:
        sys.exit(f"nothing was answered: {finished.complaint}")
    return Measured(answered, cpu_us)


def _read_theirs(requests: str, rate: str) -> Callable[[Finished], Measured]:
    def read(finished: Finished) -> Measured:
        count, rps = re.search(requests, finished.output), re.search(rate, finished.output)
        if count is None or rps is None or not int(count[1]):
            sys.exit(f"what the other generator printed cannot be read: {finished.output}")
        return Measured(float(rps[1]), finished.cpu_s / int(count[1]) * 1e6)

    return read


def _read_floor(finished: Finished) -> Measured:
    cost = json.loads(finished.output)
    return Measured(cost["rps"], cost["cpu_per_request_us"])


def _read_zrk(finished: Finished) -> Measured:
    said = json.loads(finished.output)
    if not said["requests"]:
        sys.exit(f"no request of zrk was answered: {finished.output}")
    return Measured(said["achieved_rate"], finished.cpu_s / said["requests"] * 1e6)


def _read_s_time(finished: Finished) -> Measured:
    found = re.search(r"(\d+) connections in (\d+) real seconds", finished.output)
    if found is None or not int(found[1]):
        sys.exit(f"what OpenSSL's s_time printed cannot be read: {finished.output}")
    # Whole seconds are counted, one more than were asked for.
    return Measured(int(found[1]) / (int(found[2]) - 1), finished.cpu_s / int(found[1]) * 1e6)


READERS = {
    "wrk": _read_theirs(r"(\d+) requests in", r"Requests/sec:\s*([0-9.]+)"),
    "h2load": _read_theirs(r"(\d+) succeeded", r"([0-9.]+) req/s"),
    "zrk": _read_zrk,
    "openssl": _read_s_time,
    "floor": _read_floor,
    "oha": _read_theirs(r"\[200\]\s*(\d+) responses", r"Requests/sec:\s*([0-9.]+)"),
}


def main() -> None:
    """Print the ratios, ours by theirs, beside the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each run")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose title has it")
    parser.add_argument("--against", nargs="+", choices=READERS, default=list(READERS), metavar="GENERATOR")
    parser.add_argument("--h2load", default="h2load", metavar="PROGRAM", help="another build of h2load")
    parser.add_argument("--zrk", default="zrk", metavar="PROGRAM", help="where zrk is")
    parser.add_argument("--oha", default="oha", metavar="PROGRAM", help="one that speaks HTTP/3")
    arguments = parser.parse_args()
    given = {"floor": FLOOR, "h2load": arguments.h2load, "zrk": arguments.zrk, "oha": arguments.oha}
    programs = {name: name for name in READERS} | given
    missing = sorted(name for name in arguments.against if shutil.which(programs[name]) is None)
    cpus = own_cpus()
    print(machine())
    if missing:
        print(f"not compared, because they are not installed: {', '.join(missing)}")
    columns = f"{'quantity':<10} {'median':>6} {'lowest':>7} {'highest':>7}  goal"
    print(f"{'load':<35} {'server':<6} {'against':<7} {columns}")
    for case in (one for one in CASES if arguments.only in one.title):
        for other in case.others:
            if other.name in missing or other.name not in arguments.against:
                continue
            with (
                tempfile.TemporaryDirectory() as folder,
                running_web_server(case.server, case.settings, cpus.server) as server,
            ):
                rig = Rig(server, Path(folder), arguments.duration, cpus.generator, case.path)
                pairs = pairs_in_turn(
                    partial(_ours, rig, case, other),
                    partial(_theirs, rig, other, programs[other.name]),
                    arguments.pairs,
                )
            _print(case, other, "requests/s", [ours.rps / theirs.rps for ours, theirs in pairs])
            cpu = [ours.cpu_per_request_us / theirs.cpu_per_request_us for ours, theirs in pairs]
            _print(case, other, "CPU", cpu)


def _ours(rig: Rig, case: Case, other: Other) -> Measured:
    insecure = ("--insecure",) if rig.url.startswith("https") else ()
    load = ("load", rig.url, "--json", "-d", f"{rig.duration_s}s", *insecure)
    return _read_ours(run_or_exit([LOADCURVE, *load, *case.ours, *other.ours], rig.cpu, ACCEPTED_EXIT_CODES))


def _theirs(rig: Rig, other: Other, program: str) -> Measured:
    finished = run_or_exit([program, *other.command(rig)], rig.cpu, ACCEPTED_EXIT_CODES)
    return READERS[other.name](finished)


def _print(case: Case, other: Other, quantity: str, ratios: Sequence[float]) -> None:
    bound, median = other.bound(quantity), statistics.median(ratios)
    goal = "" if bound is None else f"{bound}  {bound.outcome(median)}"
    print(
        f"{case.title:<35} {case.server:<6} {other.name:<7} {quantity:<10} {median:>6.2f} "
        f"{min(ratios):>7.2f} {max(ratios):>7.2f}  {goal}",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""Loads over TLS and HTTP/2 beside wrk and h2load, against the same server, in pairs taken in turn.

The server has one CPU and the generator another; certificates are accepted unseen, as the others do. Medians
count. Where the server is the limit, requests per second show nothing, and CPU per request does.
"""

import argparse
import re
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice

from benches.generators import LOADCURVE
from benches.rig import PATH, Finished, machine, own_cpus, run_or_exit, running_web_server
from loadcurve.result.load import LoadResult


@dataclass(frozen=True)
class Case:
    """One load, and how the other generator takes it."""

    title: str
    server: str
    settings: Mapping[str, object]
    ours: tuple[str, ...]
    other: str
    theirs: tuple[str, ...]
    goals: Mapping[str, float] = field(default_factory=dict)
    """What is to be reached, by the name of the quantity."""


TLS = {"tls": True}
TLS_HTTP2 = {"tls": True, "http2": True}
HTTP2 = {"http2": True}
CLOSED = ("-H", "Connection: close")
"""How wrk opens a connection for each request."""

CASES = (
    *(
        Case(
            f"HTTPS, {connections} connections",
            server,
            TLS,
            ("-c", str(connections)),
            "wrk",
            ("-t1", f"-c{connections}"),
            {"requests/s": 1.20, "CPU": 1.0} if server == "limit" else {"CPU": 1.0},
        )
        for server in ("limit", "nginx")
        for connections in (50, 500)
    ),
    *(
        Case(
            f"HTTP/2{over}, {connections} x {streams}",
            "h2o",
            settings,
            ("-c", str(connections), "--http", "2", "--streams", str(streams)),
            "h2load",
            ("-t1", f"-c{connections}", f"-m{streams}"),
            {"requests/s": 1.30, "CPU": 0.7},
        )
        for over, settings in (("", HTTP2), (" over TLS", TLS_HTTP2))
        for connections, streams in ((10, 100), (100, 1))
    ),
    Case(
        "full handshakes, a connection per request",
        "limit",
        TLS,
        ("-c", "50", "--calls", "1", "--groups", "x25519"),
        "wrk",
        ("-t1", "-c50", *CLOSED),
        {"requests/s": 1.5, "CPU": 1 / 1.5},
    ),
)


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


READERS = {
    "wrk": _read_theirs(r"(\d+) requests in", r"Requests/sec:\s*([0-9.]+)"),
    "h2load": _read_theirs(r"(\d+) succeeded", r"([0-9.]+) req/s"),
}


def main() -> None:
    """Print the ratios, ours by theirs, beside the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each run")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose title has it")
    arguments = parser.parse_args()
    cpus = own_cpus()
    print(machine())
    columns = f"{'quantity':<10} {'median':>6} {'lowest':>7} {'highest':>7}  goal"
    print(f"{'load':<42} {'server':<6} {'against':<7} {columns}")
    for case in (one for one in CASES if arguments.only in one.title):
        with running_web_server(case.server, case.settings, cpus.server) as server:
            pairs = [
                _pair(case, f"{server.url}{PATH}", arguments.duration, cpus.generator, ours_first=first)
                for first in islice(cycle((True, False)), arguments.pairs)
            ]
        _print(case, "requests/s", [ours.rps / theirs.rps for ours, theirs in pairs])
        _print(case, "CPU", [ours.cpu_per_request_us / theirs.cpu_per_request_us for ours, theirs in pairs])


def _pair(case: Case, url: str, duration_s: int, cpu: int, *, ours_first: bool) -> tuple[Measured, Measured]:
    insecure = ("--insecure",) if url.startswith("https") else ()
    length = f"-d{duration_s}s" if case.other == "wrk" else f"-D{duration_s}"
    commands = {
        LOADCURVE: [LOADCURVE, "load", url, "--json", "-d", f"{duration_s}s", *insecure, *case.ours],
        case.other: [case.other, *case.theirs, length, url],
    }
    names = [LOADCURVE, case.other] if ours_first else [case.other, LOADCURVE]
    finished = {name: run_or_exit(commands[name], cpu, (0, 3)) for name in names}
    return _read_ours(finished[LOADCURVE]), READERS[case.other](finished[case.other])


def _print(case: Case, quantity: str, ratios: list[float]) -> None:
    goal = case.goals.get(quantity)
    sign = "" if goal is None else f"{'≤' if quantity == 'CPU' else '≥'} {goal:.2f}"
    print(
        f"{case.title:<42} {case.server:<6} {case.other:<7} {quantity:<10} {statistics.median(ratios):>6.2f} "
        f"{min(ratios):>7.2f} {max(ratios):>7.2f}  {sign}",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""Messages beside other generators, in pairs taken in turn: how many per second, and CPU for each of them.

Calls of gRPC are compared with ghz and h2load, echoes of WebSockets with gcannon. The server is `limit` on
one CPU, and each generator has another one. All send the same message, a text of one letter. ghz sends the
messages of a call of both directions without awaiting their answers, and ours one at a time on each of as
many calls. `--ghz PROGRAM` and so on take others than those of the PATH. One that is missing is left out.
The CPU of others is that of their whole process; ours that of the generator.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benches.pairs import pairs_in_turn
from benches.rig import LOADCURVE, MEASURED_EXIT_CODES, Finished, machine, own_cpus, run_or_exit
from loadcurve.result.load import LoadResult
from loadcurve.server.found import NATIVE_FOLDER

SCHEMA = """syntax = "proto3";
package h;
message Who { string name = 1; }
service Hello { rpc Say (Who) returns (Who); rpc Chat (stream Who) returns (stream Who); }
"""
MESSAGE = '{"name": "x"}'
TEXT = "x"
FRAMED = b"\0\0\0\0\x03\x0a\x01x"
CONNECTIONS, STREAMS = 10, 100
MESSAGES_PER_CALL = 100
"""Of ghz, where both sides stream."""


@dataclass(frozen=True)
class Rig:
    """What a run takes place on."""

    address: str
    folder: Path
    duration_s: int
    cpu: int
    programs: Mapping[str, str]


@dataclass(frozen=True)
class Measured:
    """One run."""

    messages_per_s: float
    cpu_per_message_us: float


@dataclass(frozen=True)
class Case:
    """Messages of one kind, and how another generator sends them."""

    title: str
    other: str
    ours: Callable[[Rig], Measured]
    theirs: Callable[[Rig], Measured]
    rate_min: float | None
    cpu_max: float


def _our_calls(method: str, rig: Rig) -> Measured:
    url = f"grpc://{rig.address}/h.Hello/{method}"
    streams = ("-c", str(CONNECTIONS), "--streams", str(STREAMS))
    return _ours(rig, url, "--proto", str(rig.folder / "hello.proto"), "--message", MESSAGE, *streams)


def _our_echoes(connections: int, rig: Rig) -> Measured:
    return _ours(rig, f"ws://{rig.address}/", "--body", TEXT, "-c", str(connections))


def _ours(rig: Rig, *words: str) -> Measured:
    command = [LOADCURVE, "load", *words, "-d", f"{rig.duration_s}s", "--json"]
    finished = run_or_exit(command, rig.cpu, MEASURED_EXIT_CODES)
    result = LoadResult.model_validate_json(finished.output)
    answered, cpu_us = result.rate_rps.answered, result.generator.cpu_per_request_us
    if answered is None or cpu_us is None or result.requests.failed:
        sys.exit(f"not everything was answered: {finished.complaint}")
    return Measured(answered, cpu_us)


def _h2load(rig: Rig) -> Measured:
    fields = ("-H", "content-type: application/grpc", "-H", "te: trailers")
    load = ("-t1", f"-c{CONNECTIONS}", f"-m{STREAMS}", f"-D{rig.duration_s}")
    command = [rig.programs["h2load"], *load, *fields, "-d", str(rig.folder / "message")]
    finished = run_or_exit([*command, f"http://{rig.address}/h.Hello/Say"], rig.cpu)
    count, rate = (re.search(one, finished.output) for one in (r"(\d+) succeeded", r"([0-9.]+) req/s"))
    if count is None or rate is None or not int(count[1]):
        sys.exit(f"what h2load printed cannot be read: {finished.output}")
    return Measured(float(rate[1]), finished.cpu_s / int(count[1]) * 1e6)


def _ghz(method: str, messages: int, rig: Rig) -> Measured:
    kind = () if messages == 1 else ("--stream-call-count", str(messages))
    load = ("-c", str(CONNECTIONS * STREAMS), "--connections", str(CONNECTIONS), "-z", f"{rig.duration_s}s")
    said = (
        "--insecure",
        "--proto",
        str(rig.folder / "hello.proto"),
        "--call",
        f"h.Hello.{method}",
        "-d",
        MESSAGE,
    )
    # What is under way at the end is waited for, so that whole calls are counted.
    ends = ("--duration-stop", "wait", "-O", "json")
    finished = run_or_exit([rig.programs["ghz"], *said, *load, *kind, *ends, rig.address], rig.cpu)
    return _read_ghz(finished, messages)


def _read_ghz(finished: Finished, messages: int) -> Measured:
    said = json.loads(finished.output)
    if {*said["statusCodeDistribution"]} != {"OK"}:
        sys.exit(f"calls of ghz failed: {said['statusCodeDistribution']}")
    sent = said["count"] * messages
    return Measured(said["rps"] * messages, finished.cpu_s / sent * 1e6)


def _gcannon(connections: int, rig: Rig) -> Measured:
    load = ("-c", str(connections), "-t", "1", "-d", f"{rig.duration_s}s")
    command = [rig.programs["gcannon"], f"http://{rig.address}/", *load, "--ws", "--ws-msg", TEXT, "--json"]
    finished = run_or_exit(command, rig.cpu)
    said = json.loads(finished.output)
    if any(said["errors"].values()) or not said["responses"]:
        sys.exit(f"messages of gcannon were not answered: {said['errors']}")
    return Measured(said["rps"], finished.cpu_s / said["responses"] * 1e6)


BOTH_WAYS = "bidirectional"
_PER_CALL = partial(_ghz, "Chat", MESSAGES_PER_CALL)
CASES = (
    Case("unary", "ghz", partial(_our_calls, "Say"), partial(_ghz, "Say", 1), None, 0.35),
    Case("unary", "h2load", partial(_our_calls, "Say"), _h2load, None, 0.8),
    Case(BOTH_WAYS, "ghz", partial(_our_calls, "Chat"), _PER_CALL, 3.0, 0.5),
    *(
        Case(f"websocket {count}", "gcannon", partial(_our_echoes, count), partial(_gcannon, count), 1.0, 1.0)
        for count in (50, 500)
    ),
)


@contextmanager
def _limit(folder: Path, cpu: int, *options: str) -> Iterator[str]:
    """Run `limit` on a CPU as long as the block lasts; yields its address."""
    program = str(NATIVE_FOLDER / "loadcurve-server")
    command = ["taskset", "-c", str(cpu), program, "limit", "--listen", "127.0.0.1:0", "--root", str(folder)]
    with subprocess.Popen(
        [*command, "--http2", "true", *options], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().removeprefix("listening on ").strip()
        finally:
            server.kill()


def main() -> None:
    """Print the ratios, ours by theirs, beside the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each run")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose title has it")
    parser.add_argument("--ghz", default="ghz", metavar="PROGRAM", help="where ghz is")
    parser.add_argument("--h2load", default="h2load", metavar="PROGRAM", help="another build of h2load")
    parser.add_argument("--gcannon", default="gcannon", metavar="PROGRAM", help="where gcannon is")
    arguments = parser.parse_args()
    programs = {"ghz": arguments.ghz, "h2load": arguments.h2load, "gcannon": arguments.gcannon}
    cpus = own_cpus()
    print(machine())
    for case in (one for one in CASES if arguments.only in one.title):
        if shutil.which(programs[case.other]) is None:
            print(f"{case.title}: not compared with {case.other}, which is not installed")
            continue
        echo = ("--call-messages", "echo") if case.title == BOTH_WAYS else ()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "hello.proto").write_text(SCHEMA)
            (folder / "message").write_bytes(FRAMED)
            with _limit(folder, cpus.server, *echo) as address:
                rig = Rig(address, folder, arguments.duration, cpus.generator, programs)
                pairs = pairs_in_turn(partial(case.ours, rig), partial(case.theirs, rig), arguments.pairs)
        _print(case, pairs)


def _print(case: Case, pairs: Sequence[tuple[Measured, Measured]]) -> None:
    rates = [ours.messages_per_s / theirs.messages_per_s for ours, theirs in pairs]
    costs = [ours.cpu_per_message_us / theirs.cpu_per_message_us for ours, theirs in pairs]
    _line(
        case,
        "messages/s",
        rates,
        [[one.messages_per_s for one in pair] for pair in pairs],
        "" if case.rate_min is None else f"goal >= {case.rate_min}",
    )
    by_message = [[one.cpu_per_message_us for one in pair] for pair in pairs]
    _line(case, "CPU per message", costs, by_message, f"goal <= {case.cpu_max}")


def _line(
    case: Case, quantity: str, ratios: Sequence[float], figures: Sequence[Sequence[float]], goal: str
) -> None:
    ours, theirs = (statistics.median(pair[side] for pair in figures) for side in (0, 1))
    print(
        f"{case.title:<14} {case.other:<7} {quantity:<16} ratio {statistics.median(ratios):.3f} "
        f"({min(ratios):.3f} to {max(ratios):.3f})  {ours:,.2f} by {theirs:,.2f}  {goal}",
        flush=True,
    )


if __name__ == "__main__":
    main()

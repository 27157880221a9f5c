"""What ten million lines of CSV take to import by the command: seconds, and the most memory of its process.

    python -m benches.import_speed [--lines N] [--pairs N] [--before COMMAND]

Each tool's file is made first, of random times, in its own folder that is removed, as the tool writes it: of
vegeta one request in a thousand has failed, with quotes in its text. Given are the medians, and with the
``loadcurve`` of another checkout, which takes turns, those of the ratios. Modules are compiled.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy
import polars

from benches.pairs import pairs_in_turn
from benches.rig import LOADCURVE, machine

LINES = 10_000_000
GOAL_S, GOAL_BYTES = 5.0, 600 * 10**6
GOAL_RATIO = 0.7
BLOCK = 1_000_000
FAILED_EVERY = 1_000
FAILURE = (
    'Get "http://127.0.0.1:8080/1k.txt": dial tcp 0.0.0.0:0->127.0.0.1:8080: connect: connection refused'
)
"""What vegeta says of one of that many requests."""


def main() -> int:
    """Print a line for each tool; return 1 where one is above its goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--pairs", type=int, default=5, help="or imports, where nothing is compared")
    parser.add_argument("--before", metavar="COMMAND", help="what the command is compared with")
    parser.add_argument("--tools", nargs="+", choices=[*TOOLS], default=[*TOOLS])
    asked = parser.parse_args()
    print(f"{machine()}; {asked.lines:,} lines")
    met = []
    for tool in asked.tools:
        with tempfile.TemporaryDirectory(prefix="loadcurve-import-") as place:
            file = Path(place, "file.csv")
            _written(file, tool, asked.lines)
            now = partial(imported, LOADCURVE, file)
            imported(LOADCURVE, file)
            if asked.before is None:
                found = [now() for _ in range(asked.pairs)]
                met.append(_shown(tool, file, found))
                continue
            before = partial(imported, asked.before, file)
            before()
            pairs = pairs_in_turn(before, now, asked.pairs)
            met.append(_shown(tool, file, [after for _, after in pairs], [one for one, _ in pairs]))
    return not all(met)


def _shown(tool: str, file: Path, now: Sequence["Imported"], before: Sequence["Imported"] = ()) -> bool:
    """Print the medians of one tool; return whether it is below a goal."""
    seconds = statistics.median(one.seconds for one in now)
    most = max(one.bytes for one in now)
    size = file.stat().st_size
    words = f"{tool}: {size / 1e9:.2f} GB in {seconds:.1f} s, at most {most / 1e9:.2f} GB of memory"
    ratio = None
    if before:
        ratio = statistics.median(one.seconds / other.seconds for one, other in zip(now, before, strict=True))
        before_s = statistics.median(one.seconds for one in before)
        before_bytes = max(one.bytes for one in before)
        words += f"; before {before_s:.1f} s and {before_bytes / 1e9:.2f} GB, ratio of the times {ratio:.2f}"
    print(f"{words}; {now[0].answered:,} answers", flush=True)
    return most <= GOAL_BYTES and (seconds <= GOAL_S or (ratio is not None and ratio <= GOAL_RATIO))


@dataclass(frozen=True)
class Imported:
    """What the import of a file took, and gave."""

    seconds: float
    """Of the whole command: its start, the digest of the file, the run folder and the report."""
    bytes: int
    """The most memory of its process."""
    answered: int


def imported(command: str, file: Path) -> Imported:
    """Import a file by a command; raises ``CalledProcessError`` where that fails."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="loadcurve-imported-") as place:
        folder = Path(place, "run")
        words = [command, "import", str(file), "--point", "connections=50", "--out", str(folder)]
        begin = time.perf_counter()
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, words)
        records = map(json.loads, (folder / "trials.jsonl").read_text().splitlines())
        points = (one["measurements"]["load"]["requests"] for one in records if one["kind"] == "point")
        return Imported(seconds, used.ru_maxrss * 1024, sum(one["answered"] for one in points))


def _written(file: Path, tool: str, lines: int) -> None:
    """Write a file in another process: the memory of this one counts as that of those that it starts."""
    writing = multiprocessing.get_context("spawn").Process(target=_write, args=(file, TOOLS[tool], lines))
    writing.start()
    writing.join()
    if writing.exitcode:
        sys.exit(f"the file of {tool} could not be written")


def _write(file: Path, block_of: Callable[[int, int], polars.DataFrame], lines: int) -> None:
    with file.open("wb") as out:
        for first in range(0, lines, BLOCK):
            block = block_of(first, min(BLOCK, lines - first))
            block.write_csv(out, include_header=first == 0 and "column_0" not in block.columns)


def _times(first: int, count: int) -> numpy.ndarray:
    return numpy.random.default_rng(first).lognormal(0.0, 1.0, count)


def _hey(first: int, count: int) -> polars.DataFrame:
    times_s = numpy.round(_times(first, count) / 1e3, 4)
    offsets = numpy.round((first + numpy.arange(count)) * 5e-5, 4)
    zeros = numpy.zeros(count)
    columns = (times_s, zeros, zeros, zeros, times_s, zeros, numpy.full(count, 200), offsets)
    names = ("response-time", "DNS+dialup", "DNS", "Request-write", "Response-delay", "Response-read")
    return polars.DataFrame(dict(zip((*names, "status-code", "offset"), columns, strict=True)))


def _vegeta(first: int, count: int) -> polars.DataFrame:
    begins = 1_700_000_000_000_000_000 + (first + numpy.arange(count)) * 50_000
    latency = (_times(first, count) * 1e6).astype(numpy.int64)
    is_failed = (first + numpy.arange(count)) % FAILED_EVERY == 0
    numbers = {0: begins, 1: numpy.where(is_failed, 0, 200), 2: latency, 3: numpy.zeros(count, numpy.int64)}
    numbers |= {4: numpy.where(is_failed, 0, 1024), 8: first + numpy.arange(count)}
    texts = {9: "GET", 10: "http://127.0.0.1:8080/1k.txt"}
    # Nothing is written of null, where an empty text would have quotes.
    columns = {f"column_{place}": numbers.get(place, texts.get(place)) for place in range(12)}
    return (
        polars.DataFrame({"column_0": columns["column_0"]})
        .with_columns(
            *(
                polars.Series(name, values)
                if isinstance(values, numpy.ndarray)
                else polars.lit(values, polars.String).alias(name)
                for name, values in columns.items()
            ),
        )
        .with_columns(polars.when(is_failed).then(polars.lit(FAILURE)).alias("column_5"))
    )


def _jmeter(first: int, count: int) -> polars.DataFrame:
    times_ms = _times(first, count).astype(numpy.int64)
    return polars.DataFrame(
        {"timeStamp": 1_700_000_000_000 + (first + numpy.arange(count)) // 20, "elapsed": times_ms}
    ).with_columns(
        polars.lit("home").alias("label"),
        polars.lit("200").alias("responseCode"),
        polars.lit("OK").alias("responseMessage"),
        polars.lit("group 1-1").alias("threadName"),
        polars.lit("true").alias("success"),
        polars.lit(1024).alias("bytes"),
        polars.lit(10).alias("allThreads"),
        polars.col("elapsed").alias("Latency"),
        polars.lit(0).alias("Connect"),
    )


TOOLS = {"hey": _hey, "vegeta": _vegeta, "jmeter": _jmeter}

if __name__ == "__main__":
    sys.exit(main())

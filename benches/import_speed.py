"""What ten million lines of CSV take to import by the command: seconds, and the most memory of its process.

    python -m benches.import_speed [LINES]

Each tool's file is made first, of random times, in its own folder that is removed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy
import polars

LOADCURVE = Path(sys.executable).with_name("loadcurve")
LINES = 10_000_000
GOAL_S, GOAL_BYTES = 10.0, 10**9
BLOCK = 1_000_000


def main() -> int:
    """Print a line for each tool; return 1 where one is above a goal."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else LINES
    worst = 0
    for tool, block_of in TOOLS.items():
        with tempfile.TemporaryDirectory(prefix="loadcurve-import-") as place:
            file = Path(place, "file.csv")
            _write(file, block_of, lines)
            found = imported(file, Path(place, "run"))
            is_met = found.seconds < GOAL_S and found.bytes < GOAL_BYTES
            worst |= not is_met
            print(
                f"{tool}: {lines:,} lines, {file.stat().st_size / 1e9:.2f} GB, in {found.seconds:.1f} s "
                f"with at most {found.bytes / 1e9:.2f} GB of memory; {found.answered:,} answers"
            )
    return worst


@dataclass(frozen=True)
class Imported:
    """What the import of a file took, and gave."""

    seconds: float
    """Of the whole command: its start, the digest of the file, the run folder and the report."""
    bytes: int
    """The most memory of its process."""
    answered: int


def imported(file: Path, folder: Path) -> Imported:
    """Import a file by the command into a folder; raises ``CalledProcessError`` where that fails."""
    words = [str(LOADCURVE), "import", str(file), "--point", "connections=50", "--out", str(folder)]
    begin = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    records = map(json.loads, (folder / "trials.jsonl").read_text().splitlines())
    answered = sum(
        one["measurements"]["load"]["requests"]["answered"] for one in records if one["kind"] == "point"
    )
    return Imported(seconds, used.ru_maxrss * 1024, answered)


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
    texts = {6: "", 7: "", 9: "GET", 10: "http://127.0.0.1:8080/1k.txt", 11: ""}
    numbers = {0: begins, 1: numpy.full(count, 200), 2: latency, 3: numpy.zeros(count, numpy.int64)}
    numbers |= {4: numpy.full(count, 1024), 8: first + numpy.arange(count)}
    columns = {f"column_{place}": numbers.get(place, texts.get(place, "")) for place in range(12)}
    return polars.DataFrame({"column_0": columns["column_0"]}).with_columns(
        *(
            polars.Series(name, values)
            if isinstance(values, numpy.ndarray)
            else polars.lit(values).alias(name)
            for name, values in columns.items()
        )
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

"""What each load generator hides: `python -m benches.what_tools_hide [--write docs/guides/hidden.md]`.

Servers with known faults (benches/faulty_server.py) count what they did, and each tool that is installed is
asked for the same load, in turn. What it reports is held against the server's counts.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benches.faulty_server import ACCEPT_AFTER_S, FAULTS, SLOW_ACCEPT, STALL_S
from benches.rig import LOADCURVE

CONNECTIONS = 4
TITLES: Mapping[str, str] = {
    "none": "no fault",
    "reset": "reset (RST)",
    "cut off": "body cut off",
    "shorter": "shorter body, whole",
    "503": "503",
    "half-closed": "closed half",
    "stall": "stall of 1 s, 99th percentile",
    SLOW_ACCEPT: "accepted 0.5 s late, longest latency",
}


@dataclass(frozen=True)
class Model:
    """A load model, as each tool that has it is asked for it."""

    title: str
    options: tuple[str, ...]
    stalled_p99_ms: float
    """The 99th percentile of a load on this schedule."""


MODELS = {
    "closed": Model("", ("-c", "4", "-d", "3s"), 970.0),
    "open": Model(" at 1,000/s", ("-c", "4", "-R", "1000", "-d", "3s"), 970.0),
    # Of ten requests the first alone meets the stall, so that 3.3 % wait for up to a second.
    "sessions": Model(
        ", 100 connections/s",
        ("--connection-rate", "100", "--calls", "10", "--num-connections", "300"),
        700.0,
    ),
}
TOLERANCE_MS = 100.0
RIGHT, HIDDEN = "right", "**hidden**"
NOTE = """\
![Distributions of latency of a server that stalls, and of one that does not](../pictures/guide-hidden.png)

## How it was tried

In each try a server answers four connections for three seconds, and every tenth request meets a fault. For
the column of the stall it answers nothing for one second of the three, and for the last it takes up
each connection half a second after the kernel has opened it.

## How to read the table

- *Right*: the tool's count is that of the server, but for the requests that the end of the load cuts off,
  four at most.
- ***Hidden***: the tool reports none. Otherwise the cell has both counts, the tool's first.
- *Named*: the verdict says that answers differ in length, without a count of such requests.
- Of the stall the truth is that of requests on a schedule: a third of them fall into that second, so that the
  99th percentile is 0.97 s, or 0.7 s of sessions, of whose ten requests the first alone waits. Four
  connections that wait for their answers send four requests in it (coordinated omission). wrk's own text has
  0.95 s there: it adds times that it did not measure, in place of requests that it could not send. The
  table has what it measured.

## What each tool shows
"""


@dataclass(frozen=True)
class Tried:
    """What a tool reports of a load, and what the server did."""

    result: Mapping[str, Any] | None
    """As ``loadcurve load --json`` prints it; ``None`` where nothing came of it."""
    said: str
    """What was said instead."""
    truth: Mapping[str, int]


def tried(fault: str, row: "Row") -> Tried:
    """Let a tool load a server with a fault."""
    served = [sys.executable, "-m", "benches.faulty_server", fault]
    with subprocess.Popen(served, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None, "asked for"
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/x"
        words = [LOADCURVE, "load", url, "--warmup", "0s", "--json"]
        words += ["--generator", row.tool, *row.options]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        truth = json.loads(server.communicate()[0])
    try:
        return Tried(json.loads(ran.stdout), "", truth)
    except json.JSONDecodeError:
        return Tried(None, ran.stderr.strip().splitlines()[-1] if ran.stderr else "nothing", truth)


def judged(fault: str, one: Tried, model: Model) -> str:
    """Return what to say of a tool and a fault."""
    if one.result is None:
        return "no result"
    if fault == SLOW_ACCEPT:
        return accepted_late(one.result)
    if fault == "stall":
        return stalled(one.result, model.stalled_p99_ms)
    codes = {reason["code"] for reason in one.result["verdict"]["reasons"]}
    found = found_by(fault, one.result)
    if not found and "lengths_differ" in codes:
        return "named"
    return counted(found, one.truth["answered" if fault == "none" else "faults"])


def stalled(result: Mapping[str, Any], truth_ms: float) -> str:
    """Return how a 99th percentile compares with that of requests on a schedule, and what names the stall."""
    p99_ms: float | None = result["latency_ms"]["p99"]
    if p99_ms is None:
        return "not measured"
    if abs(p99_ms - truth_ms) <= TOLERANCE_MS:
        return RIGHT
    named = any(abs(one["length_ms"] - STALL_S * 1e3) <= TOLERANCE_MS for one in result["silences"])
    unsent = result["requests"]["never_sent"]
    return "".join(
        (
            f"{HIDDEN}: {p99_ms:,.3g} ms",
            "; a silence of 1 s is named" if named else "",
            f"; {unsent:,} requests count as never sent" if unsent else "",
        )
    )


def accepted_late(result: Mapping[str, Any]) -> str:
    """Return how the longest latency compares with what the first requests of connections waited."""
    longest_ms: float | None = result["latency_ms"]["max"]
    if longest_ms is None:
        return "not measured"
    if abs(longest_ms - ACCEPT_AFTER_S * 1e3) <= TOLERANCE_MS:
        return RIGHT
    return f"{HIDDEN}: {longest_ms:,.3g} ms"


def found_by(fault: str, result: Mapping[str, Any]) -> int | None:
    """Return how many requests with a fault a result has; without a fault, how many right answers."""
    requests = result["requests"]
    if fault == "none":
        return int(requests["ok"])
    if fault == "503":
        return int(requests["answered"] - requests["ok"])
    # Another tool that knows no length has null, and reports none.
    return int((result["errors"]["mismatch"] or 0) if fault == "shorter" else requests["failed"])


def counted(found: int | None, truth: int) -> str:
    """Return how a tool's count compares with the server's."""
    if found is None:
        return "not counted"
    if abs(found - truth) <= CONNECTIONS:
        return RIGHT
    return HIDDEN if found == 0 else f"{found:,} of {truth:,}"


@dataclass(frozen=True)
class Row:
    """A tool and a load model."""

    tool: str
    version: str | None
    """``None`` of one that prints none."""
    model: Model
    http: tuple[str, ...]
    """The option for the version, where it has not HTTP/1.1."""

    @property
    def title(self) -> str:
        """What the table calls it."""
        return f"{self.tool}{f' {self.version}' if self.version else ''}{self.model.title}"

    @property
    def options(self) -> tuple[str, ...]:
        """What it is asked for."""
        return (*self.model.options, *self.http)


def rows() -> list[Row]:
    """Return the tools that can be driven here, each in a closed loop and at a rate, as far as it can."""
    listed = subprocess.run([LOADCURVE, "generators", "--json"], capture_output=True, text=True, check=True)
    found = []
    for one in json.loads(listed.stdout)["generators"]:
        is_here = one["name"] == "engine" or one["program"] is not None
        models = one["models"] if one["is_driven"] and is_here else []
        http = () if "1.1" in one["http"] else ("--http", *one["http"][:1])
        found += [
            Row(one["name"], one["version"], model, http) for name, model in MODELS.items() if name in models
        ]
    return found


def lines_of(tried_rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table; each of its cells is one load."""
    lines = []
    for row in tried_rows:
        cells = []
        for fault in TITLES:
            cells.append(judged(fault, tried(fault, row), row.model))
            print(f"{row.title}, {fault}: {cells[-1]}", file=sys.stderr)
        lines.append(_line([row.title, *cells]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def page_with(lines: Sequence[str], made: str) -> str:
    """Return the page with these lines below the heads of its columns, and how they were made."""
    heads = [_line(["tool", *TITLES.values()]), _line(["---"] * (len(TITLES) + 1))]
    return f"# What load generators hide\n\n{NOTE}\n" + "\n".join([*heads, *lines]) + f"\n\n{made}\n"


def joined(page: str, lines: Sequence[str], names: Sequence[str], made: str) -> str:
    """Return a page with the lines of some tools anew, each in its alphabetical place behind the engine's."""
    kept = [line for line in page.splitlines() if line.startswith("| ")][2:]
    kept = [line for line in kept if _tool_of(line) not in names]
    rows = sorted([*kept, *lines], key=lambda line: (_tool_of(line) != "engine", _tool_of(line)))
    before = page.rstrip().splitlines()[-1].removesuffix(".")
    return page_with(rows, f"{before}; {' and '.join(names)} {made}")


def _tool_of(line: str) -> str:
    return line.split()[1].rstrip(",")


def main() -> None:
    """Print the page, or write it."""
    assert set(TITLES) == set(FAULTS), "each fault has a column"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    help_only = "try this tool alone, and keep the lines of others; may be repeated"
    parser.add_argument("--only", action="append", help=help_only)
    options = parser.parse_args()
    chosen = [row for row in rows() if not options.only or row.tool in options.only]
    on = f"{datetime.now(UTC):%Y-%m-%d}"
    lines = lines_of(chosen)
    if options.only and options.write is not None:
        page = joined(
            options.write.read_text(), lines, options.only, f"on {on}, on Linux {os.uname().release}."
        )
    else:
        made = f"Made on {on} by `python -m benches.what_tools_hide`, on Linux {os.uname().release}."
        page = page_with(lines, made)
    if options.write is None:
        print(page)
    else:
        options.write.write_text(page)


if __name__ == "__main__":
    main()

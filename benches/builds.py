"""Two builds of Loadcurve beside each other, in pairs taken in turn: whether a change costs speed.

    python -m benches.builds BEFORE AFTER

Each is the folder of a checkout that `make setup` has built. Given are the medians of the ratios, after by
before, with their quartiles, and whether each is within two percent: at least 0.98 of what is better when it
is more, at most 1 / 0.98 of what is better when it is less. Load goes to `limit` and to a database of the
catalogue, both of the checkout in which this is started; the build that is measured sends it. The large run
that is analysed is measured once, by the build before: records of an earlier version can always be read.
"""

import argparse
import copy
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benches.command_start import started
from benches.databases import SERVER_SETTINGS
from benches.goals import LOOPS, Bound
from benches.large_run import STUDY
from benches.pairs import pairs_in_turn, quartiles
from benches.rig import Cpus, load_by, machine, own_cpus, run_or_exit, running_database, running_server

KEPT = 0.98
MORE = Bound(">=", KEPT)
LESS = Bound("<=", 1 / KEPT)
OF_LOADS = {"requests/s": MORE, "CPU": LESS}
RECORDS = 10_000
OPERATIONS = 20_000
THREADS = 8
SERVERS, POINTS, TRIALS = 10, 50, 10
LARGE_DURATION_S = 10
STARTS = 5
"""How often the command is started in one run of a pair."""


@dataclass(frozen=True)
class Build:
    """A checkout that was built."""

    folder: Path

    @property
    def command(self) -> str:
        """Its command."""
        return str(self.folder / ".venv" / "bin" / "loadcurve")

    def check(self) -> None:
        """End the program where the checkout is not built, or its command runs the code of another one."""
        if not Path(self.command).exists():
            sys.exit(f"{self.folder}: no .venv/bin/loadcurve; expected a checkout that make setup has built")
        asked = [
            str(self.folder / ".venv" / "bin" / "python"),
            "-c",
            "import loadcurve; print(loadcurve.__file__)",
        ]
        said = subprocess.run(asked, capture_output=True, text=True, check=True, cwd="/").stdout.strip()
        if not Path(said).resolve().is_relative_to(self.folder.resolve()):
            sys.exit(f"{self.folder}: its command runs the code in {said}; build it anew by make setup")


def build_in(folder: str) -> Build:
    """Return the build of a checkout."""
    return Build(Path(folder).absolute())


Figures = Mapping[str, float]
"""What one run of a build gives, by the name of the quantity."""


@dataclass(frozen=True)
class Case:
    """What both builds do, and where the ratios of its figures are to lie."""

    title: str
    measure: Callable[[Build], Figures]
    goals: Mapping[str, Bound]

    def compare(self, before: Build, after: Build, count: int) -> None:
        """Measure pairs and print a line for each quantity."""
        pairs = pairs_in_turn(partial(self.measure, before), partial(self.measure, after), count)
        for quantity, bound in self.goals.items():
            ratios = [later[quantity] / earlier[quantity] for earlier, later in pairs]
            print(_line(self.title, quantity, ratios, bound), flush=True)


def _line(title: str, quantity: str, ratios: Sequence[float], bound: Bound) -> str:
    """Return the median with its quartiles, and whether it lies where it is to."""
    low, median, high = quartiles(ratios)
    ends = f"{low:.3f} to {high:.3f}"
    return f"{title:<28} {quantity:<14} {median:>6.3f}  {ends:<15} {bound!s:>7}  {bound.outcome(median)}"


def _web(asked: argparse.Namespace, cpus: Cpus) -> Iterator[Case]:
    with running_server("limit", cpus.server) as target:
        for loop in LOOPS:
            load = ("-c", str(loop.connections), "-d", f"{asked.duration}s")
            yield Case(f"{loop} connections", partial(_load, cpus.generator, target.url, load), OF_LOADS)


def _database(asked: argparse.Namespace, cpus: Cpus) -> Iterator[Case]:
    settings = SERVER_SETTINGS.get(asked.database, {})
    with running_database(asked.database, settings, cpus.server) as url:
        loading = ("--workload", "a", "--phase", "load", *_records(1))
        _load(cpus.generator, url, loading, asked.before)
        load = ("--workload", "a", "--phase", "run", *_records(THREADS), "-n", str(OPERATIONS))
        yield Case(f"YCSB a, {THREADS} threads", partial(_load, cpus.generator, url, load), OF_LOADS)


def _page(asked: argparse.Namespace, cpus: Cpus) -> Iterator[Case]:
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as name:
        folder = _large_folder(asked.before, Path(name), asked.points)
        title = f"page of {SERVERS} x {asked.points} x {TRIALS}"
        yield Case(title, partial(_report, cpus.generator, folder), {"CPU": LESS})


def _help(_asked: argparse.Namespace, _cpus: Cpus) -> Iterator[Case]:
    yield Case("start of the command", _start, {"CPU": LESS})


PARTS = {"web": _web, "database": _database, "page": _page, "start": _help}


def main() -> None:
    """Print the ratios of each case, after by before."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=build_in, metavar="BEFORE", help="the checkout before the change")
    parser.add_argument("after", type=build_in, metavar="AFTER", help="the checkout after it")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each load")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="all by default")
    parser.add_argument("--database", default="ferretdb", help="of the catalogue")
    parser.add_argument("--points", type=int, default=POINTS, help="of the large run")
    asked = parser.parse_args()
    for build in (asked.before, asked.after):
        build.check()
    cpus = own_cpus()
    print(f"{machine()}\nbefore: {asked.before.folder}\nafter:  {asked.after.folder}")
    print(f"{'case':<28} {'quantity':<14} {'median':>6}  {'quartiles':<15} {'goal':>7}")
    for name in asked.only:
        for case in PARTS[name](asked, cpus):
            case.compare(asked.before, asked.after, asked.pairs)


def _records(threads: int) -> tuple[str, ...]:
    return "-t", str(threads), "--records", str(RECORDS)


def _load(cpu: int, url: str, options: Sequence[str], build: Build) -> Figures:
    return load_by(build.command, cpu, url, options)


def _report(cpu: int, folder: Path, build: Build) -> Figures:
    """Let a build analyse a run anew and write its page; returns the seconds of CPU that it took."""
    (folder / "numbers.json").unlink(missing_ok=True)
    finished = run_or_exit([build.command, "report", str(folder), "--format", "html"], cpu)
    return {"CPU": finished.cpu_s}


def _start(build: Build) -> Figures:
    """Start a build's command for its help; returns the milliseconds of CPU."""
    command = [build.command, "--help"]
    return {"CPU": sum(started(command, dict(os.environ))[0] for _ in range(STARTS))}


def _large_folder(build: Build, place: Path, points: int) -> Path:
    """Measure one load by a build and write its record as that of all points of all trials of ten servers."""
    study, folder = place / "one.toml", place / "run"
    study.write_text(STUDY.format(duration_s=LARGE_DURATION_S))
    command = [build.command, "run", str(study), "--out", str(folder)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run = json.loads((folder / "run.json").read_text())
    record = json.loads((folder / "trials.jsonl").read_text().splitlines()[0])
    names = [f"server-{number}" for number in range(SERVERS)]
    sweep = [{"connections": float(10 * number)} for number in range(1, points + 1)]
    order = [
        {"trial": block * SERVERS + place, "block": block, "server": name}
        for block in range(TRIALS)
        for place, name in enumerate(names)
    ]
    changed = run | {
        "order": order,
        "points": sweep,
        "servers": dict.fromkeys(names, run["servers"]["limit"]),
    }
    # What was changed matches no checksum any more, and records without one are read as they are.
    (folder / "run.json").write_text(
        json.dumps({key: one for key, one in changed.items() if key != "sha256"})
    )
    for kept in ("run-copy.json", "numbers.json", "report.html"):
        (folder / kept).unlink(missing_ok=True)
    drawn = random.Random(1)  # noqa: S311 - noise, no secret
    with (folder / "trials.jsonl").open("w") as file:
        for planned in order:
            for point in sweep:
                file.write(json.dumps(_copied(record, planned, point, math.exp(drawn.gauss(0, 0.02)))) + "\n")
    return folder


def _copied(
    record: Mapping[str, Any], planned: Mapping[str, Any], point: Mapping[str, float], factor: float
) -> dict[str, Any]:
    """Return a record at another point, with a rate that suits it."""
    made = (
        {key: one for key, one in record.items() if key != "sha256"} | dict(planned) | {"point": dict(point)}
    )
    # Records of the first format hold the load themselves.
    measurements = made
    if "measurements" in record:
        made["measurements"] = measurements = copy.copy(record["measurements"])
    connections = point["connections"]
    load = measurements["load"]
    measurements["load"] = load | {
        "load": load["load"] | {"connections": int(connections)},
        "rate_rps": load["rate_rps"] | {"answered": 1e4 * connections / (connections + 50) * factor},
    }
    return made


if __name__ == "__main__":
    main()

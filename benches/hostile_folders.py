"""What commands do with run folders that were made to do harm: ``benches.hostile_folders [--only TEXT]``.

Each command must end within its time and memory, without a traceback, must leave every file outside of the
folder as it was, and must show nothing of it. ``--strace`` lists, too, what was opened for writing outside.
"""

import argparse
import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from benches.hostile_cases import CASES, SECRET, Place
from benches.rig import LOADCURVE, named_with
from benches.sample_run import write_sample

PEAK_MIB_MAX = 512
TIME_S_MAX = 10.0
PATIENCE_S = 120.0
WATCHED_S = 2.0
FORMS = "md,csv,json,xlsx,parquet,hgrm,hlog,fortio,k6-summary,wrk2"
OPENED_FOR_WRITING = re.compile(r'(?:openat|creat)\(.*?"(/[^"]+)".*(?:O_WRONLY|O_RDWR|creat)')


@dataclass(frozen=True)
class Outcome:
    """What became of a command, and what is wrong with that."""

    exit_code: int
    time_s: float
    cpu_s: float
    peak_mib: float
    faults: list[str]


@dataclass(frozen=True)
class Room:
    """A folder of runs, a good one beside it, and what lies outside of both."""

    folder: Path

    @property
    def place(self) -> Place:
        """The hostile folder, and the file outside."""
        return Place(self.folder / "runs" / "run", self.folder / "outside" / "private.txt")

    @property
    def commands(self) -> dict[str, list[str]]:
        """By name, the arguments of each command."""
        run = str(self.place.run)
        return {
            "report": ["report", run],
            "formats": ["report", run, "--format", FORMS],
            "compare": ["compare", run, str(self.folder / "good")],
            "runs": ["runs", str(self.folder / "runs"), "--html"],
            "watch": ["watch", run],
            "resume": ["run", "--resume", run],
        }

    @property
    def environment(self) -> dict[str, str]:
        """A separate home for the commands."""
        own = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("STATE", "CACHE")}
        return {**os.environ, **own, "HOME": str(self.folder), "COLUMNS": "200"}

    def make(self) -> None:
        """Write both runs and the file outside."""
        self.place.private.parent.mkdir()
        self.place.private.write_text(SECRET)
        write_sample(self.place.run)
        write_sample(self.folder / "good")

    def outside(self) -> dict[str, str]:
        """Return the digests of the files outside of the folder of runs, but for what commands keep."""
        kept = [self.folder / name for name in ("state", "cache", "runs", "said")]
        files = (
            path for path in sorted(self.folder.rglob("*")) if not any(path.is_relative_to(k) for k in kept)
        )
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            for path in files
        }


def outcome(room: Room, name: str, *, traced: bool = False) -> Outcome:
    """Run one of a room's commands and look at what it did."""
    before = room.outside()
    said, trace = room.folder / "said", room.folder / "state" / "trace"
    trace.parent.mkdir(exist_ok=True)
    command = [LOADCURVE, *room.commands[name]]
    if traced:
        command = ["strace", "-f", "-o", str(trace), "-e", "trace=openat,creat", *command]
    began = time.monotonic()
    with said.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=room.environment, cwd=room.folder
        )
        if name == "watch":
            watch(process, said)
        exit_code, cpu_s, peak_mib = ended(process, began)
    time_s = time.monotonic() - began
    text = said.read_text(errors="replace")
    faults = (
        [f"exit code {exit_code}"] if exit_code not in {0, 2, 3, 4, 130} and "loadcurve: " not in text else []
    )
    faults += ["traceback"] if "Traceback" in text else []
    faults += (
        ["control characters"] if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text.replace("\r", "")) else []
    )
    faults += ["shows what is outside"] if SECRET in text or is_shown(room) else []
    faults += ["changes what is outside"] if room.outside() != before else []
    faults += [f"{peak_mib:.0f} MiB"] if peak_mib > PEAK_MIB_MAX and not traced else []
    faults += [f"{time_s:.1f} s"] if min(time_s, cpu_s) > TIME_S_MAX else []
    faults += opened_outside(room, trace) if traced else []
    return Outcome(exit_code, time_s, cpu_s, peak_mib, faults)


def ended(process: subprocess.Popen[bytes], began: float) -> tuple[int, float, float]:
    """Wait for a process; return its exit code, its processor time and its peak of memory in MiB."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        if time.monotonic() - began > PATIENCE_S:
            process.kill()
        time.sleep(0.02)


def watch(process: subprocess.Popen[bytes], said: Path) -> None:
    """Read the page, the report and some events of a page as it goes, and interrupt it."""
    until = time.monotonic() + PATIENCE_S / 2
    while not (found := re.search(r"http://\S+", said.read_text(errors="replace"))):
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) or time.monotonic() > until:
            return
        time.sleep(0.05)
    address = found[0].rstrip("/.")
    for path in ("/", "/report.html", "/events"):
        with contextlib.suppress(OSError):
            # The address is what our own command has printed.
            answer = urllib.request.urlopen(address + path, timeout=WATCHED_S)  # noqa: S310
            with answer:
                read(answer)
    process.send_signal(signal.SIGINT)


def read(answer: BinaryIO) -> None:
    """Read until the end, or for a moment of what has none."""
    until = time.monotonic() + WATCHED_S
    while answer.readline() and time.monotonic() < until:
        pass


def is_shown(room: Room) -> bool:
    """Say whether a file in the folder of runs, and no link, holds what is outside."""
    files = (path for path in room.place.run.parent.rglob("*") if path.is_file() and not path.is_symlink())
    small = (path for path in files if path.stat().st_size < 2**27 and path.name != "numbers.json")
    return any(
        SECRET.encode() in path.read_bytes() for path in small if not path.samefile(room.place.private)
    )


def opened_outside(room: Room, trace: Path) -> Iterator[str]:
    """Yield what was opened for writing, but for the folder of runs, what is kept, devices and byte code."""
    for line in trace.read_text(errors="replace").splitlines():
        if (found := OPENED_FOR_WRITING.search(line)) and " = -1 " not in line:
            path = found[1]
            own = [str(room.folder / name) for name in ("runs", "state", "cache")]
            if not path.startswith((*own, "/dev/", "/proc/")) and "__pycache__" not in path:
                yield f"writes {path}"


def rooms(names: Sequence[str]) -> Iterator[tuple[str, Room]]:
    """Make a room for each case in turn."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="loadcurve-hostile-") as folder:
            room = Room(Path(folder))
            room.make()
            CASES[name](room.place)
            yield name, room


def main() -> None:
    """Print a table, and end with 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this text in their names")
    parser.add_argument("--strace", action="store_true", help="list what is opened outside, without limits")
    given = parser.parse_args()
    worst = Outcome(0, 0, 0, 0, [])
    wrong = 0
    cases = named_with(given.only, CASES)
    print(f"{len(cases)} run folders; exit codes by command, worst CPU time, worst peak of memory")
    for name, room in rooms(cases):
        found = {command: outcome(room, command, traced=given.strace) for command in room.commands}
        faults = [f"{command} {fault}" for command, one in found.items() for fault in one.faults]
        wrong += bool(faults)
        codes = " ".join(f"{one.exit_code:>3}" for one in found.values())
        cpu_s, peak_mib = (
            max(one.cpu_s for one in found.values()),
            max(one.peak_mib for one in found.values()),
        )
        worst = Outcome(0, 0, max(worst.cpu_s, cpu_s), max(worst.peak_mib, peak_mib), [])
        print(
            f"{name:<40} {codes}  {cpu_s:5.1f} s {peak_mib:4.0f} MiB  {'; '.join(faults) or 'ok'}", flush=True
        )
    print(f"worst: {worst.cpu_s:.1f} s of CPU time, {worst.peak_mib:.0f} MiB; {wrong} folders with a fault")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

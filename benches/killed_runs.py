"""Runs that are killed at random moments, beside others in their own namespaces of process ids.

All share one state folder. After each kill what is left is cleaned up as the next run does it. Nobody else's
server may be ended, nothing of the killed run may go on, and no point may be lost but the one under way.
Some of them, killed when they had a record, are resumed: then each must have all points of its plan.
"""

import argparse
import functools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benches.rig import LOADCURVE, machine
from loadcurve.cli import run as _run_command  # noqa: F401 -- what is forked has it loaded
from loadcurve.cli.main import main as loadcurve
from loadcurve.exit_codes import EXIT_INVALID
from loadcurve.host.cgroups import remove_groups
from loadcurve.report import html as _page  # noqa: F401 -- as above
from loadcurve.result.folder import read_run
from loadcurve.result.run_files import RUN_FILE
from loadcurve.runs import study as _study  # noqa: F401 -- as above
from loadcurve.runs.points import trial_order
from loadcurve.server.ledger import Start, clean_up_after_killed_runs, ledger_folder
from loadcurve.server.processes import PROC, running_processes, uses_folder
from loadcurve.watch.progress import read_progress

ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
CONNECTIONS = (1, 2)
SERVERS = ("limit", "hiding")
TRIALS = 20
RESUMED_TRIALS = 3
"""Fewer, so that what is left of a run is soon measured."""
SIBLING_TRIALS = 10_000
SETTLING_S = 10.0
POLL_S = 0.02
RESUMPTION_TIMEOUT_S = 300.0
SHOWN_CHARACTERS = 500
FIRST_RECORD_TIMEOUT_S = 180.0
STUDY = """\
title = "Killed"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "10ms"
duration = "30ms"
[sweep]
connections = [1, 2]
[servers.limit]
"""
HIDING = "[servers.hiding]\n"
HIDING_SERVER = """\
title = "A server that hides a daemon"
documentation = "https://www.rfc-editor.org/rfc/rfc9112"
binary = ["{native}/loadcurve-server"]
start = ["/bin/sh", "-c", '''SCRIPT''']
[version]
command = ["{binary}", "--version"]
pattern = '^\\S+ (\\S+)'
"""
HIDING_SCRIPT = (
    'setsid sh -c "cd / && env -i sleep DAEMON >/dev/null 2>&1 &";'
    " exec {binary} limit --listen {address}:{port} --root {content}"
)


@dataclass(frozen=True)
class KilledRun:
    """A run that was killed, or had ended before; the folder of its temporary files has its number."""

    number: int
    place: Path
    killed_after_s: float
    exit_code: int
    """Negative where a signal has ended it."""

    @property
    def folder(self) -> Path:
        """Its run folder, which need not be there."""
        return self.place / "work" / f"run-{self.number}"

    @property
    def temporary(self) -> Path:
        """Where it had the private folders of its servers."""
        return self.place / f"tmp-{self.number}"

    def complaints(self) -> Iterator[str]:
        """Yield what should not be so once its remains were cleaned up."""
        if self.exit_code > 0:
            yield f"it ended by itself with {self.exit_code}: {self.said()}"
        if survivors := self._survivors():
            yield f"survivors: {', '.join(survivors)}"
        if left := sorted(file.name for file in self.temporary.iterdir()):
            yield f"left in its folder of temporary files: {', '.join(left)}"
        if (self.folder / RUN_FILE).exists():
            yield from self._lost_points()

    def said(self) -> str:
        """Return the end of what it printed."""
        return (self.place / "work" / f"run-{self.number}.log").read_text(errors="replace")[
            -SHOWN_CHARACTERS:
        ]

    def resumed(self) -> Iterator[str]:
        """Resume it, and yield what is then not as in a run that nobody has killed."""
        command = forked(self.number, self.place, ["run", "--resume", self.folder.name])
        exit_code = ended(command, RESUMPTION_TIMEOUT_S)
        if exit_code not in {0, EXIT_INVALID}:
            yield f"its resumption ended with {exit_code}: {self.said()}"
        run = read_run(self.folder)
        found = [(one.block, one.server, one.point.get("connections")) for one in run.points]
        order = trial_order(SERVERS, RESUMED_TRIALS, self.number)
        planned = [(one.block, one.server, place) for one, place in product(order, CONNECTIONS)]
        if found != planned or run.failures or not run.complete:
            yield f"resumed, it has the points {found} and not {planned}; failures: {run.failures}"
        yield from self.complaints()

    def _survivors(self) -> list[str]:
        """Return the processes of its servers that run on, after a moment in which they may end."""
        deadline = time.monotonic() + SETTLING_S
        while True:
            found = [
                f"{one.identity.pid} {_command(one.identity.pid)}"
                for one in running_processes()
                if uses_folder(one.identity, self.temporary)
                or _command(one.identity.pid) == f"sleep {daemon_of(self.number)}"
            ]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(POLL_S)

    def _lost_points(self) -> Iterator[str]:
        kept = read_progress(self.folder)
        run = read_run(self.folder)
        if run.failures or run.damage:
            yield f"failures and damage: {run.failures} {run.damage}"
        planned = product(run.run.order, CONNECTIONS)
        for record, (trial, connections) in zip(run.points, planned, strict=False):
            was = (record.block, record.server, record.point.get("connections"))
            if was != (trial.block, trial.server, connections):
                yield f"a point is missing before {was}"
                return
        if kept is not None and kept.progress.counted == "points" and len(run.points) < kept.progress.over:
            yield f"{kept.progress.over} points were over and {len(run.points)} are recorded"


def daemon_of(number: int) -> str:
    """Return for how long the daemon sleeps that the servers of a run hide: its fraction names the run."""
    return f"36000.{number:06}"


def _command(pid: int) -> str:
    with suppress(OSError):
        return (
            (PROC / str(pid) / "cmdline")
            .read_bytes()
            .rstrip(b"\0")
            .replace(b"\0", b" ")
            .decode(errors="replace")
        )
    return ""


def forked(number: int, place: Path, arguments: Sequence[str]) -> int:
    """Start the command in a process that is forked, which has its modules loaded; return its number."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _become(number, place, arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:  # noqa: BLE001 -- it must not go on as the campaign
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid


def _become(number: int, place: Path, arguments: Sequence[str]) -> None:
    """Be the command, until its end."""
    os.setsid()
    os.chdir(place / "work")
    os.environ["TMPDIR"] = str(place / f"tmp-{number}")
    tempfile.tempdir = None
    with Path(f"run-{number}.log").open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.argv = ["loadcurve", *arguments]
    loadcurve()


def ended(pid: int, timeout_s: float) -> int:
    """Return the exit code of a child, which is killed after a time; negative where a signal ended it."""
    deadline_s = time.monotonic() + timeout_s
    while (found := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    if found[0] == 0:
        os.kill(pid, signal.SIGKILL)
        found = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(found[1])


def write_catalog(folder: Path, daemon: str) -> Path:
    """Write a catalogue with the server that hides a daemon."""
    entry = folder / "hiding"
    entry.mkdir(parents=True)
    script = HIDING_SCRIPT.replace("DAEMON", daemon)
    (entry / "server.toml").write_text(HIDING_SERVER.replace("SCRIPT", script))
    return folder


def killed_run(
    number: int, place: Path, kill_now: Callable[[Path, float], bool], trials: int = TRIALS
) -> KilledRun:
    """Start a run and kill it when ``kill_now`` says so of its run folder and its age in seconds."""
    temporary = place / f"tmp-{number}"
    temporary.mkdir()
    temporary.chmod(0o777)
    catalog = write_catalog(place / f"catalog-{number}", daemon_of(number))
    command = ["run", "hiding.toml", "--out", f"run-{number}", "--catalog", str(catalog)]
    began_s = time.monotonic()
    pid = forked(number, place, [*command, "--trials", str(trials), "--seed", str(number)])
    while not kill_now(place / "work" / f"run-{number}", time.monotonic() - began_s):
        time.sleep(POLL_S / 10)
    after_s = time.monotonic() - began_s
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return KilledRun(number, place, after_s, os.waitstatus_to_exitcode(status))


def is_aged(moment_s: float, _: Path, age_s: float) -> bool:
    """Say whether the moment has come."""
    return age_s >= moment_s


class AgedSinceItsRecord:
    """Says whether a time has gone by since a run had its record, from which on it can be resumed."""

    def __init__(self, moment_s: float) -> None:
        """Take the time in seconds."""
        self._moment_s = moment_s
        self._recorded_at_s: float | None = None

    def __call__(self, folder: Path, age_s: float) -> bool:
        """Look at a run folder, at the age of its run."""
        if self._recorded_at_s is None and (folder / RUN_FILE).exists():
            self._recorded_at_s = age_s
        began_s = self._recorded_at_s
        return age_s > FIRST_RECORD_TIMEOUT_S or (began_s is not None and age_s >= began_s + self._moment_s)


def has_records(folder: Path, count: int) -> bool:
    """Say whether a run has recorded a number of points."""
    trials = folder / "trials.jsonl"
    return trials.exists() and trials.read_bytes().count(b"\n") >= count


@contextmanager
def sibling(name: str, place: Path) -> Iterator[Path]:
    """Run the study in a separate namespace as long as the block lasts; yields the run folder."""
    folder = place / "work" / name
    command = [LOADCURVE, "run", "killed.toml", "--out", str(folder), "--trials", str(SIBLING_TRIALS)]
    with (place / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*ELSEWHERE, *command],
            cwd=place / "work",
            stdout=log,
            stderr=log,
            env={**os.environ, "TMPDIR": str(place)},
        )
    try:
        deadline = time.monotonic() + FIRST_RECORD_TIMEOUT_S
        while not has_records(folder, 1) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(POLL_S)
        if process.poll() is not None or not has_records(folder, 1):
            raise SystemExit(f"{name} has measured nothing: {(place / f'{name}.log').read_text()}")
        yield folder
    finally:
        process.kill()
        process.wait()
        remove_groups_of_servers()


def remove_groups_of_servers() -> None:
    """Remove the control groups of all recorded starts, as nobody cleans up after the siblings."""
    for file in ledger_folder().glob("*.json"):
        with suppress(FileNotFoundError):
            remove_groups(Start.model_validate_json(file.read_bytes()).groups)


@contextmanager
def place_of_campaign() -> Iterator[Path]:
    """Make a place for state, studies and temporary files, which the environment then names."""
    with tempfile.TemporaryDirectory(prefix="loadcurve-killed-") as name:
        place = Path(name)
        for folder in (place, place / "work", place / "state", place / "cache"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
        os.environ |= {"XDG_STATE_HOME": str(place / "state"), "XDG_CACHE_HOME": str(place / "cache")}
        (place / "work" / "killed.toml").write_text(STUDY)
        (place / "work" / "hiding.toml").write_text(STUDY + HIDING)
        yield place


def main() -> None:
    """Print what went wrong after each kill, and the counts; end with 1 where anything did."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument(
        "--siblings", type=int, default=2, help="in their own namespaces, which root may make"
    )
    parser.add_argument(
        "--latest",
        type=float,
        metavar="SECONDS",
        help="the latest kill; by default how long a first run takes to record 6 points",
    )
    parser.add_argument(
        "--resume-every", type=int, default=5, metavar="N", help="resume the N-th, 2N-th … killed run"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # Else the siblings would go on without it, and in the background an interrupt is ignored.
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: sys.exit("ended before all kills"))
    print(machine())
    moments = random.Random(arguments.seed)  # noqa: S311 -- reproducible, not secret
    wrong = readable = points = cleaned_up = resumed = 0
    with place_of_campaign() as place, ExitStack() as stack:
        siblings = [
            Sibling(stack.enter_context(sibling(f"sibling-{index}", place)))
            for index in range(arguments.siblings)
        ]
        latest_s = (
            arguments.latest
            or killed_run(
                0, place, lambda folder, age_s: has_records(folder, 6) or age_s > FIRST_RECORD_TIMEOUT_S
            ).killed_after_s
        )
        print(f"kills within {latest_s:.1f} s of a run's start", flush=True)
        for number in range(1, arguments.kills + 1):
            moment_s = moments.uniform(0, latest_s)
            is_resumed = number % arguments.resume_every == 0
            if is_resumed:
                kill_now: Callable[[Path, float], bool] = AgedSinceItsRecord(moment_s / 2)
                killed = killed_run(number, place, kill_now, RESUMED_TRIALS)
            else:
                killed = killed_run(number, place, functools.partial(is_aged, moment_s))
            cleaned_up += len(clean_up_after_killed_runs())
            complaints = [*killed.complaints(), *(said for one in siblings for said in one.complaints())]
            if is_resumed and not complaints and not read_run(killed.folder).complete:
                complaints = [*killed.resumed()]
                resumed += 1
            for complaint in complaints:
                print(f"kill {number} after {killed.killed_after_s:.3f} s: {complaint}", flush=True)
            wrong += bool(complaints)
            if (killed.folder / RUN_FILE).exists():
                readable += 1
                points += len(read_run(killed.folder).points)
        counts = [len(read_run(one.folder).points) for one in siblings]
    print(f"{cleaned_up} starts cleaned up; siblings went on to {counts} points")
    print(f"{readable} runs can be read, with {points} points")
    print(f"{arguments.kills} kills, {wrong} with complaints; {resumed} runs were resumed")
    sys.exit(1 if wrong else 0)


class Sibling:
    """A run beside those that are killed."""

    def __init__(self, folder: Path) -> None:
        """Take its run folder."""
        self.folder = folder
        self._read_bytes = 0

    def complaints(self) -> Iterator[str]:
        """Yield what it should not have felt of the last kill, of the records that it has written since."""
        with (self.folder / "trials.jsonl").open("rb") as file:
            file.seek(self._read_bytes)
            records = file.read()
        records = records[: records.rfind(b"\n") + 1]
        self._read_bytes += len(records)
        if failed := re.findall(rb'"kind":"failure".*', records):
            yield f"{self.folder.name} has failed: {failed[-1][:300].decode(errors='replace')}"


if __name__ == "__main__":
    main()

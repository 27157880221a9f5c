"""`loadcurve run`, killed or interrupted at any moment: nothing measured is lost, nothing is left running."""

import functools
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadcurve.result.folder import read_run
from loadcurve.result.run_files import RUN_FILE, TRIALS_FILE
from support.report_pages import write_report
from support.sandbox import Sandbox, finish, wait_until
from support.tiny_study import study_text, write_failing_server

RANDOM_KILLS = 1
LATEST_RANDOM_KILL_S = 1.0
POINTS_PER_TRIAL = 2
KILLED_AT = ("while the servers are tried", "in the middle of a trial", "in the middle of the second trial")


@dataclass(frozen=True)
class StartedRun:
    """A run under way in a sandbox."""

    sandbox: Sandbox
    process: subprocess.Popen[str]
    folder: Path

    @property
    def can_be_read(self) -> bool:
        return (self.folder / RUN_FILE).exists()

    @property
    def has_started_a_server(self) -> bool:
        return self.process.pid in owners_of_servers(self.sandbox)

    def has_written(self, count: int) -> bool:
        return self.can_be_read and (self.folder / TRIALS_FILE).read_bytes().count(b"\n") >= count


MOMENTS: dict[str, Callable[[StartedRun], bool]] = {
    "while the servers are tried": lambda run: run.has_started_a_server,
    "before the first record": lambda run: run.can_be_read,
    "in the middle of a trial": lambda run: run.has_written(1),
    "between two trials": lambda run: run.has_written(POINTS_PER_TRIAL),
    "in the middle of the second trial": lambda run: run.has_written(POINTS_PER_TRIAL + 1),
}


def start_run(sandbox: Sandbox, name: str, *options: str, anew: bool = False) -> StartedRun:
    process = sandbox.start("run", "tiny.toml", "--out", name, *options, anew=anew)
    return StartedRun(sandbox, process, sandbox.work / name)


def wait_for(moment: str, run: StartedRun) -> None:
    wait_until(lambda: MOMENTS[moment](run), moment)


def owners_of_servers(sandbox: Sandbox) -> set[int]:
    """Return the ids of the runs, killed ones too, that have records of started servers."""
    return {int(file.name.partition("-")[0]) for file in sandbox.state.rglob("*.json")}


def owners_cleaned_up_after(said: str) -> set[int]:
    """Return the ids of the killed runs that a later run named."""
    return {int(pid) for pid in re.findall(r"A killed run \(process (\d+)\) left", said)}


def kills() -> Iterator[tuple[str, Callable[[StartedRun], None]]]:
    """Yield when to kill a run, in words and as something that waits until then.

    The random ones are in between: one of them can hit a run that has cleaned up after those before it and
    has not started anything, after which there is nothing left to clean up.
    """
    first, *others = KILLED_AT
    yield first, functools.partial(wait_for, first)
    for _ in range(RANDOM_KILLS):
        delay_s = random.uniform(0, LATEST_RANDOM_KILL_S)
        yield f"after {delay_s:.3f} s", lambda _, delay_s=delay_s: time.sleep(delay_s)
    for moment in others:
        yield moment, functools.partial(wait_for, moment)


@pytest.mark.needs("nginx")
@pytest.mark.needs("setpriv")
def test_a_killed_run_can_be_read_and_the_next_one_cleans_up_after_it(sandbox):
    """Kill one run after the other in the same sandbox; each cleans up after those before it."""
    sandbox.write("tiny.toml", study_text("[servers.limit]\n[servers.nginx]", trials=50))
    for number, (when, wait) in enumerate(kills()):
        forsaken = owners_of_servers(sandbox)
        run = start_run(sandbox, f"run-{number}")
        wait(run)
        run.process.kill()
        said = finish(run.process).stderr
        wait_until(lambda: sandbox.processes() == [], f"no server survives a kill {when}")
        if run.can_be_read or run.has_started_a_server:
            assert owners_cleaned_up_after(said) == forsaken, when
        if run.can_be_read:
            assert not read_run(run.folder).complete
            assert write_report(run.folder).stat().st_size > 0
    forsaken = owners_of_servers(sandbox)
    assert forsaken != set()
    finished = sandbox.run("run", "tiny.toml", "--out", "last", "--trials", 1, "--only", "limit")
    assert finished.returncode == 0
    assert owners_cleaned_up_after(finished.stderr) == forsaken


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("in the middle of a trial", signal.SIGINT),
        ("between two trials", signal.SIGTERM),
        pytest.param("before the first record", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("in the middle of a trial", signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_an_interrupted_run_writes_its_report_and_leaves_nothing(moment, number, sandbox):
    sandbox.write("tiny.toml", study_text(trials=50))
    run = start_run(sandbox, "run", anew=True)
    wait_for(moment, run)
    run.process.send_signal(number)
    finished = finish(run.process)
    assert finished.returncode == 130
    assert sandbox.leftovers() == []
    assert "interrupted: what was measured is kept" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stdout.splitlines()[-1] == "run/report.html"
    assert (run.folder / "report.html").stat().st_size > 0
    read = read_run(run.folder)
    assert not read.complete
    assert read.failures == []


SLOW_IMPORT = """
import contextlib, sys, time
from pathlib import Path

class SlowImport:
    def find_spec(self, name, path=None, target=None):
        if name == "pydantic_core._pydantic_core":
            Path("importing").touch()
            with contextlib.suppress(BaseException):
                time.sleep(60)

sys.meta_path.insert(0, SlowImport())
"""
"""Delays one import, and loses any exception in the middle of it, as native modules now and then do."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_the_command_is_still_starting_is_not_lost(number, sandbox):
    sandbox.write("tiny.toml", study_text())
    sandbox.write("hooks/sitecustomize.py", SLOW_IMPORT)
    python_path = os.pathsep.join([str(sandbox.work / "hooks"), os.environ.get("PYTHONPATH", "")])
    command = sandbox.start("run", "tiny.toml", "--out", "run", PYTHONPATH=python_path)
    wait_until((sandbox.work / "importing").exists, "a module is imported")
    command.send_signal(number)
    finished = finish(command)
    assert (finished.returncode, finished.stdout, finished.stderr) == (130, "", "")
    assert not (sandbox.work / "run").exists()


def test_a_run_that_is_interrupted_before_measuring_leaves_nothing(sandbox):
    # This server accepts a connection and never answers, so that the run waits until it is ready.
    write_failing_server(sandbox.work / "catalog", "silent", "hangs", requests_total=0)
    sandbox.write("tiny.toml", study_text("[servers.silent]"))
    run = start_run(sandbox, "run", "--catalog", "catalog")
    wait_for("while the servers are tried", run)
    run.process.send_signal(signal.SIGINT)
    finished = finish(run.process)
    assert (finished.returncode, finished.stdout) == (130, "")
    assert "interrupted before anything was measured" in finished.stderr
    assert sandbox.leftovers() == []

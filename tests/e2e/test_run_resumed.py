"""`loadcurve run --resume`: an interrupted run comes to the end that it would have had."""

import signal

from loadcurve.result.folder import read_run
from loadcurve.result.run_files import TRIALS_FILE
from support.sandbox import Sandbox, finish, wait_until
from support.tiny_study import study_text


def interrupted(sandbox: Sandbox, number: signal.Signals, lines: int, *arguments: object) -> None:
    """Run the command until its records have a number of lines, and end it."""
    process = sandbox.start("run", *arguments)
    trials = sandbox.work / "run" / TRIALS_FILE
    wait_until(lambda: trials.exists() and trials.read_bytes().count(b"\n") >= lines, f"{lines} lines")
    process.send_signal(number)
    finish(process)


def test_a_run_that_was_killed_and_interrupted_ends_with_the_records_of_an_undisturbed_one(sandbox):
    sandbox.write("tiny.toml", study_text("[servers.limit]\n[servers.persistent]", trials=3))
    interrupted(sandbox, signal.SIGKILL, 6, "tiny.toml", "--out", "run", "--seed", 4)
    # The first block has 4 records; behind them are 2 of the second at least, and the one that says resumed.
    interrupted(sandbox, signal.SIGINT, 9, "--resume", "run")
    finished = sandbox.run("run", "--resume", "run")
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "run")
    assert run.complete
    assert len(run.gaps) == 2
    assert [gap.block > 0 for gap in run.gaps] == [True, True]
    planned = [(planned, point) for planned in run.run.order for point in run.run.points]
    assert [(one.trial, one.block, one.server, one.point) for one in run.points] == [
        (planned.trial, planned.block, planned.server, point) for planned, point in planned
    ]
    assert "and resumed at" in " ".join(finished.stdout.split())
    assert sandbox.leftovers() == []
    again = sandbox.run("run", "--resume", "run")
    assert (again.returncode, again.stdout) == (2, "")
    assert "is complete" in again.stderr

"""stdout that does not take the results, and one that does not take every sign; stderr that takes nothing."""

import os
from pathlib import Path

import pytest

from support import synthetic_run as synthetic
from support.sandbox import finish
from support.tiny_study import study_text

FULL_DEVICE = Path("/dev/full")
NO_STDOUT = ["sh", "-c", 'exec "$@" >&-', "sh"]
STDERR_THAT_TAKES_NOTHING = {
    "full": ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"],
    "closed": ["sh", "-c", 'exec "$@" 2>&-', "sh"],
}

COMMANDS = {
    "load as JSON": ["load", "URL", "-n", 10, "--json"],
    "load as a table": ["load", "URL", "-n", 10],
    "servers": ["servers"],
    "one server": ["servers", "limit"],
    "report": ["report", "RUN"],
    "help": ["load", "--help"],
    "version": ["--version"],
}


@pytest.fixture(params=COMMANDS)
def arguments(request, limit_url, tmp_path):
    given = {"URL": limit_url}
    words = COMMANDS[request.param]
    if "RUN" in words:
        given["RUN"] = synthetic.write_run(tmp_path / "run")
    return [given.get(word, word) for word in words]


def test_a_full_disk_is_reported_in_one_sentence(arguments, sandbox):
    with FULL_DEVICE.open("wb") as full:
        finished = sandbox.run(*arguments, stdout=full)
    assert finished.returncode == 1
    assert finished.stderr == (
        "loadcurve: the results could not be written to stdout: No space left on device\n"
    )


def test_a_reader_that_goes_away_is_no_fault_to_speak_of(arguments, sandbox):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        finished = sandbox.run(*arguments, stdout=pipe)
    assert (finished.returncode, finished.stderr) == (1, "")


# It is looked for before any command, which here has to start anew.
@pytest.mark.parametrize(
    "arguments",
    [name if name == "load as JSON" else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS],
    indirect=True,
)
def test_a_closed_stdout_is_reported_before_anything_is_measured(arguments, sandbox):
    finished = sandbox.run(*arguments, within=NO_STDOUT)
    assert finished.returncode == 2
    assert finished.stderr.startswith("loadcurve: stdout is closed")


@pytest.mark.parametrize("within", STDERR_THAT_TAKES_NOTHING.values(), ids=STDERR_THAT_TAKES_NOTHING.keys())
def test_a_run_that_can_tell_nobody_how_it_goes_goes_on(within, sandbox):
    sandbox.write("tiny.toml", study_text(load="requests_total = 20", connections="[1]", trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "run", within=within)
    # The run cannot say what went wrong, but its records can.
    assert (finished.returncode, finished.stderr) == (0, ""), (sandbox.work / "run/trials.jsonl").read_text()
    assert finished.stdout.endswith("run/report.html\n")


def test_signs_that_the_encoding_of_stdout_lacks_are_replaced(sandbox):
    synthetic.write_run(sandbox.work / "run")
    finished = finish(sandbox.start("report", "run", "--slo", "p99 < 10ms", PYTHONIOENCODING="ascii"))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.isascii()
    assert "+- " in finished.stdout
    assert finished.stdout.endswith("run/report.html\n")

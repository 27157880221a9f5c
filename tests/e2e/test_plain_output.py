"""What the command writes where there is no terminal, or one of few signs: plain lines of 80 columns."""

import re
from pathlib import Path

import pytest

from support import synthetic_run as synthetic
from support.sandbox import Sandbox, finish
from support.scripted_run import ScriptedRun
from support.tiny_study import study_text

COLUMNS = 80
LONG_NAME = "nginx-with-a-configuration-that-has-a-name-of-many-words"
LONG_WORDS = "Which of many servers answers within the limits " * 6 + "x" * 200
STEERS = "\x1b[2J\x1b]0;taken\x07\x9b31m\r\x08"
"""Clears a terminal, names its window, rings its bell, turns it red and writes over what was there."""
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

COMMANDS = {
    "a report": ["report", "base"],
    "a report with limits": ["report", "base", "--slo", "p99 < 10ms"],
    "a report in forms": ["report", "base", "--format", "md,json"],
    "runs side by side": ["report", "base", "later"],
    "runs compared": ["compare", "base", "later", "--despite", "machine"],
    "a list of runs": ["runs", "."],
}
PRINT_MOST = {"a report with limits", "runs side by side", "a list of runs"}


@pytest.fixture(scope="module")
def runs(shared_sandbox: Sandbox) -> Sandbox:
    """Two runs of eight servers with long names and texts that would steer a terminal."""
    texts = synthetic.Texts(title=LONG_WORDS + STEERS, question=LONG_WORDS + STEERS)
    later = {"started_at": "2026-03-15T08:00:00Z", "host": {"kernel": STEERS}}
    write_many_servers(shared_sandbox.work / "base", texts)
    write_many_servers(shared_sandbox.work / "later", texts, **later)
    return shared_sandbox


def write_many_servers(folder: Path, texts: synthetic.Texts, **changes: object) -> None:
    """Write a run with the synthetic servers several times over, one of them with a name that steers."""
    record = synthetic.run_record(texts)
    names = {f"{LONG_NAME}-{place}": [*synthetic.SERVERS][place % 3] for place in range(7)}
    names[f"steers{STEERS}"] = "tiny"
    measured = synthetic.trial_records(record)
    order = [
        planned.model_copy(update={"server": name})
        for name, server in names.items()
        for planned in record.order
        if planned.server == server
    ]
    records = [
        one.model_copy(update={"server": name})
        for name, server in names.items()
        for one in measured
        if one.server == server
    ]
    servers = {name: record.servers[server] for name, server in names.items()}
    whole = record.model_copy(update={"servers": servers, "order": order, **changes})
    synthetic.write_run(folder, whole, records, texts)


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_without_a_terminal_there_are_plain_lines_of_80_columns(runs: Sandbox, arguments: list[str]):
    finished = runs.run(*arguments, COLUMNS=str(COLUMNS))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert CONTROL.findall(finished.stdout) == []
    assert max(map(len, finished.stdout.splitlines())) <= COLUMNS


# What the others print is part of what these do.
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(arguments, marks=[] if name in PRINT_MOST else pytest.mark.long, id=name)
        for name, arguments in COMMANDS.items()
    ],
)
def test_a_locale_of_ascii_gets_ascii(runs: Sandbox, arguments: list[str]):
    finished = finish(runs.start(*arguments, LC_ALL="C", COLUMNS=str(COLUMNS)))
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.isascii()
    assert max(map(len, finished.stdout.splitlines())) <= COLUMNS
    assert "?" not in finished.stdout


def test_a_path_leads_to_its_file_in_every_locale(sandbox: Sandbox):
    synthetic.write_run(sandbox.work / "Läufe" / "1")
    finished = finish(sandbox.start("report", "Läufe/1", "--format", "md", LC_ALL="C"))
    assert (sandbox.work / finished.stdout.strip()).is_file()


def test_a_run_without_a_terminal_draws_no_progress(tmp_path, monkeypatch, capsys):
    scripted = ScriptedRun(tmp_path, monkeypatch)
    study = study_text(f'[servers.{LONG_NAME}]\nuse = "limit"', connections="[1, 2, 3]")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    assert scripted.command(f'question = "{LONG_WORDS}\\u001b[2J"\n{study}') == 0
    written = capsys.readouterr()
    *lines, report = written.out.splitlines()
    assert report == str(scripted.folder / "report.html")
    assert max(map(len, lines)) <= COLUMNS
    assert CONTROL.findall(written.out + written.err) == []
    # One line for each trial: who reads it later wants no picture of each moment.
    assert len([line for line in written.err.splitlines() if "done" in line]) == 2


def test_an_error_that_names_what_steers_a_terminal_does_not_steer_it(sandbox: Sandbox):
    finished = sandbox.run("report", f"gone{STEERS}")
    assert finished.returncode == 2
    assert "gone" in finished.stderr
    assert CONTROL.findall(finished.stderr) == []

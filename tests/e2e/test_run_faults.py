"""`loadcurve run`: servers that die or are missing, and disks that refuse the results."""

import itertools
import json
import os
import re
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.result.folder import read_run
from loadcurve.server.ledger import clean_up_after_killed_runs
from support.sandbox import finish, wait_until
from support.scripted_run import ScriptedRun
from support.tiny_study import study_text, write_failing_server

REQUESTS_BEFORE_FAILURE = 12
FAILING = """
[servers.frail]
load = { requests_total = 1_000_000_000 }
[servers.shortening]
[servers.limit]
"""
"""Servers that fail during the load, one of which would make it last for hours, and one that does not."""


def records_of(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def failing(shared_sandbox):
    """Give a run with servers that fail, and what the command said."""
    for name, failure in (("frail", "exits"), ("shortening", "shortens")):
        write_failing_server(
            shared_sandbox.work / "catalog", name, failure, requests_total=REQUESTS_BEFORE_FAILURE
        )
    shared_sandbox.write("tiny.toml", study_text(FAILING, warmup="0s", load="requests_total = 100", trials=1))
    finished = shared_sandbox.run("run", "tiny.toml", "--out", "run", "--catalog", "catalog")
    assert finished.returncode == 3, finished.stderr
    return shared_sandbox.work / "run", finished


def test_a_server_that_dies_ends_its_load_is_recorded_with_its_last_words_and_the_run_goes_on(failing):
    folder, finished = failing
    records = records_of(folder)
    (failure,) = [record for record in records if record["server"] == "frail"]
    assert (failure["kind"], failure["point"]) == ("failure", {"connections": 1})
    assert failure["reason"]["code"] == "died"
    assert "out of memory" in failure["log_tail"]
    points = [record for record in records if record["server"] == "limit"]
    assert [(one["kind"], one["point"]["connections"]) for one in points] == [("point", 1), ("point", 2)]
    assert "frail: failed at connections 1: frail ended with status 3 during the trial." in finished.stderr
    assert re.search("^frail .* failed *$", finished.stdout, re.MULTILINE)
    assert "out of memory" in (folder / "report.html").read_text()


def test_a_server_that_answers_otherwise_under_load_is_reported_with_both_lengths(failing):
    folder, _ = failing
    page = (folder / "report.html").read_text()
    points = [record for record in records_of(folder) if record["server"] == "shortening"]
    texts = [
        reason["text"]
        for point in points
        for reason in point["measurements"]["load"]["verdict"]["reasons"]
        if reason["code"] == "mismatch"
    ]
    assert len(texts) == len(points) == 2
    assert all("512 instead of 1,024 bytes for GET /1k.txt" in text for text in texts)
    # Points that lack the same have one line, with the text of one of them.
    assert any(text in page for text in texts)


@pytest.mark.parametrize(
    ("options", "said"),
    [("size=1m", "Free some space"), ("size=64m,ro", "Read-only file system")],
    ids=["full", "read-only"],
)
def test_a_disk_that_cannot_take_the_results_is_refused_before_measuring(
    options, said, tmp_path, monkeypatch
):
    scripted = ScriptedRun(tmp_path, monkeypatch)
    with small_disk(tmp_path / "disk", options) as disk:
        with pytest.raises(BadInput, match=said):
            scripted.command(study_text(), out=disk / "run")
        assert not (disk / "run" / "run.json").exists()
    assert "load limit" not in scripted.script.events


@pytest.mark.long
def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_was_measured(sandbox):
    sandbox.write("tiny.toml", study_text(trials=50))
    with small_disk(sandbox.work / "disk", "size=64m") as disk:
        trials = disk / "run" / "trials.jsonl"
        command = sandbox.start("run", "tiny.toml", "--out", disk / "run")
        wait_until(lambda: trials.exists() and trials.stat().st_size > 0, "the first record is written")
        fill(disk / "filler")
        finished = finish(command)
        lines = trials.read_text().splitlines(keepends=True)
    assert finished.returncode == 1
    assert f"a result cannot be written to {trials}: No space left on device" in finished.stderr
    assert all(json.loads(line)["kind"] == "point" for line in lines if line.endswith("\n"))
    assert json.loads(lines[0])["kind"] == "point"


def test_a_run_that_may_open_no_more_files_records_what_fails_and_keeps_what_was_measured(
    sandbox, monkeypatch
):
    # One start for many points, so that at any moment there is a server to be left behind.
    sandbox.write("tiny.toml", study_text(connections=f"{[*range(1, 51)]}", trials=1))
    command = sandbox.start("run", "tiny.toml", "--out", "run", anew=True)
    trials = sandbox.work / "run" / "trials.jsonl"
    wait_until(lambda: trials.exists() and trials.stat().st_size > 0, "the first record is written")
    resource.prlimit(command.pid, resource.RLIMIT_NOFILE, (0, 0))
    finished = finish(command)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "Traceback" not in finished.stderr
    assert "Too many open files. What was measured is kept" in finished.stderr
    assert finished.stderr.endswith("To write the report: loadcurve report run\n")
    run = read_run(sandbox.work / "run")
    assert run.complete
    assert run.points
    assert "Too many open files" in run.failures[-1].reason.text
    # What it could not look at when it ended, the next run removes.
    monkeypatch.setenv("XDG_STATE_HOME", str(sandbox.state))
    assert {one.owner_pid for one in clean_up_after_killed_runs()} == {command.pid}


def test_a_full_temporary_folder_is_named_and_costs_what_the_probe_sees_alone(sandbox):
    host = 'probe_interval = "10ms"'
    sandbox.write("tiny.toml", study_text(connections="[1, 2, 3, 4]", trials=1, host=host))
    with small_disk(sandbox.work / "full", "size=1m,mode=755") as disk:
        command = sandbox.start("run", "tiny.toml", "--out", "run", TMPDIR=str(disk))
        trials = sandbox.work / "run" / "trials.jsonl"
        wait_until(lambda: trials.exists() and trials.stat().st_size > 0, "the first record is written")
        # What was read is given back to the disk after each point.
        for number in itertools.count():
            fill(disk / f"filler-{number}")
            with suppress(subprocess.TimeoutExpired):
                command.wait(timeout=0.02)
                break
        finished = finish(command)
    assert finished.returncode in {0, 3}, finished.stderr
    run = read_run(sandbox.work / "run")
    assert (len(run.points), run.failures) == (4, [])
    said = f"the disk of {disk} is full; free some space, or set TMPDIR to another folder"
    assert said in run.points[-1].caveats[0].text
    assert f"limit: the probe ended with status 101: {said}" in finished.stderr


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    """Mount a disk in memory; the test is skipped where that is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    folder.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounting.returncode != 0:
        pytest.skip(f"needs to mount a small disk: {mounting.stderr.strip()}")
    try:
        yield folder
    finally:
        if folder.is_mount():
            subprocess.run(["umount", folder], check=True)


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("wb", buffering=0) as stream:
        for size in (1 << 20, 1):
            try:
                while stream.write(b"x" * size):
                    pass
            except OSError:
                continue


def loaded_span(record) -> tuple[float, float]:
    """When the load of a point began and ended, warm-up and all, on the machine's clock."""
    load = record.load
    return load.began_monotonic_s - load.load.warmup_s, load.began_monotonic_s + load.duration_s


@pytest.mark.alone
def test_of_two_runs_at_once_each_says_so_on_every_point_that_they_shared(sandbox):
    sandbox.write("tiny.toml", study_text(trials=1))
    going_on = sandbox.start("run", "tiny.toml", "--out", "long", "--trials", 10_000)
    trials = sandbox.work / "long" / "trials.jsonl"
    wait_until(lambda: trials.exists() and b"\n" in trials.read_bytes(), "the first record")
    # A short run may lie between two loads of the long one, while that starts its server anew.
    for attempt in range(10):
        short = f"short-{attempt}"
        assert sandbox.run("run", "tiny.toml", "--out", short).returncode in {0, 3}
        if shared_points(sandbox.work / short, sandbox.work / "long"):
            break
    going_on.send_signal(signal.SIGINT)
    assert finish(going_on).returncode == 130
    for one, other in ((short, "long"), ("long", short)):
        shared = shared_points(sandbox.work / one, sandbox.work / other)
        assert shared
        assert all("not_alone" in [one.code for one in record.probe.caveats] for record in shared)


def shared_points(folder, other_folder):
    """The points of a run during whose load a load of another run was under way."""
    spans = list(map(loaded_span, read_run(other_folder).points))
    return [
        record
        for record in read_run(folder).points
        if any(
            loaded_span(record)[0] < end_s and start_s < loaded_span(record)[1] for start_s, end_s in spans
        )
    ]

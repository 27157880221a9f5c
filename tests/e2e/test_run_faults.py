"""`loadcurve run`: servers that die or are missing, and disks that refuse the results."""

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from loadcurve.result.folder import read_run
from loadcurve.server.ledger import clean_up_after_killed_runs
from support.sandbox import finish, wait_until
from support.tiny_study import study_text, write_failing_server, write_missing_server

REQUESTS_BEFORE_FAILURE = 12
MORE_REQUESTS = "requests_total = 100"
"""A load that ends by their number goes on to the failure, however slow this machine is."""


def records_of(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def write_frail_server(sandbox, failure, requests_total=REQUESTS_BEFORE_FAILURE):
    write_failing_server(sandbox.work / "catalog", "frail", failure, requests_total=requests_total)


def test_a_server_that_dies_is_recorded_with_its_last_words_and_the_run_goes_on(sandbox):
    write_frail_server(sandbox, "exits")
    study = study_text("[servers.frail]\n[servers.limit]", warmup="0s", load=MORE_REQUESTS, trials=1)
    sandbox.write("tiny.toml", study)
    finished = sandbox.run("run", "tiny.toml", "--out", "run", "--catalog", "catalog")
    assert finished.returncode == 0, finished.stderr
    records = records_of(sandbox.work / "run")
    (failure,) = [record for record in records if record["server"] == "frail"]
    assert (failure["kind"], failure["point"]) == ("failure", {"connections": 1})
    assert failure["reason"]["code"] == "died"
    assert "out of memory" in failure["log_tail"]
    points = [record for record in records if record["server"] == "limit"]
    assert [(one["kind"], one["point"]["connections"]) for one in points] == [("point", 1), ("point", 2)]
    assert "frail: failed at connections 1: frail ended with status 3 during the trial." in finished.stderr
    assert "not measured" in finished.stdout
    assert "out of memory" in (sandbox.work / "run" / "report.html").read_text()


def test_the_end_of_a_server_ends_its_load_and_a_run_of_it_alone_measures_nothing(sandbox):
    write_frail_server(sandbox, "exits")
    sandbox.write("tiny.toml", study_text("[servers.frail]", warmup="0s", load='duration = "30s"', trials=1))
    finished = sandbox.run("run", "tiny.toml", "--out", "run", "--catalog", "catalog")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "no point could be measured; run/trials.jsonl records the reason for each trial" in finished.stderr
    records = records_of(sandbox.work / "run")
    assert [(one["kind"], one["reason"]["code"]) for one in records] == [("failure", "died")]


def test_a_server_that_answers_otherwise_under_load_is_told_with_both_lengths(sandbox):
    write_frail_server(sandbox, "shortens")
    study = study_text("[servers.frail]", warmup="0s", load=MORE_REQUESTS, connections="[2]", trials=1)
    sandbox.write("tiny.toml", study)
    finished = sandbox.run("run", "tiny.toml", "--out", "run", "--catalog", "catalog")
    assert finished.returncode == 3, finished.stderr
    (record,) = records_of(sandbox.work / "run")
    (reason,) = [
        one for one in record["measurements"]["load"]["verdict"]["reasons"] if one["code"] == "mismatch"
    ]
    assert "512 instead of 1,024 bytes for GET /1k.txt" in reason["text"]
    assert reason["text"] in (sandbox.work / "run" / "report.html").read_text()


UNUSABLE = {
    "plain": ('use = "limit"\nbinary = "plain.txt"', "not_started", "plain.txt is not executable; if it is"),
    "nowhere": ('use = "limit"\nbinary = "nowhere"', "not_started", "there is no program "),
    "echo": ('use = "limit"\nbinary = "/bin/echo"', "version_unknown", "printed nothing that matches"),
    "command": (
        'use = "command"\nstart = ["no-such", "{port}"]\nversion = "1"',
        "not_started",
        "no program no-such was",
    ),
    "url": ('use = "url"\nurl = "http://127.0.0.1:1"', "not_ready", "no connection"),
}


def test_what_the_study_names_and_cannot_be_used_fails_in_each_trial(sandbox):
    sandbox.write("plain.txt", "no program")
    tables = "\n".join(f"[servers.{name}]\n{keys}" for name, (keys, *_) in UNUSABLE.items())
    sandbox.write("tiny.toml", study_text(f"{tables}\n[servers.limit]"))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "run")
    assert len(run.failures) == len(UNUSABLE) * 2
    for name, (_, code, said) in UNUSABLE.items():
        failures = [one for one in run.failures if one.server == name]
        assert [one.reason.code for one in failures] == [code] * 2
        assert said in failures[0].reason.text
        assert said in run.run.servers[name].problem
        assert f"{name}: failed: {failures[0].reason.text}" in finished.stderr
    assert len(run.points) == 2 * 2
    assert run.complete
    assert "Trials that failed" in (sandbox.work / "run" / "report.html").read_text()


def test_without_any_installed_server_nothing_is_written(sandbox):
    write_missing_server(sandbox.work / "catalog", "gone")
    binary = '[servers.nowhere]\nuse = "limit"\nbinary = "/no/such/program"'
    sandbox.write("tiny.toml", study_text(f"[servers.gone]\n{binary}"))
    finished = sandbox.run("run", "tiny.toml", "--out", "run", "--catalog", "catalog")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "none of the study's servers can be measured" in finished.stderr
    assert "install it with: make -C gone install" in finished.stderr
    assert "there is no program /no/such/program" in finished.stderr
    assert not (sandbox.work / "run").exists()


def test_an_output_folder_that_cannot_be_made_is_refused_before_measuring(sandbox):
    sandbox.write("tiny.toml", study_text())
    sandbox.write("a-file", "")
    finished = sandbox.run("run", "tiny.toml", "--out", "a-file/run")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "the results cannot be written to a-file/run" in finished.stderr
    assert "--out" in finished.stderr
    assert "trial 1" not in finished.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [("size=1m", "Free some space"), ("size=64m,ro", "Read-only file system")],
    ids=["full", "read-only"],
)
def test_a_disk_that_cannot_take_the_results_is_refused_before_measuring(options, said, sandbox):
    sandbox.write("tiny.toml", study_text())
    with small_disk(sandbox.work / "disk", options) as disk:
        finished = sandbox.run("run", "tiny.toml", "--out", disk / "run")
        assert not (disk / "run" / "run.json").exists()
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr
    assert "trial 1" not in finished.stderr


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
    command = sandbox.start("run", "tiny.toml", "--out", "run")
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


def test_a_run_whose_file_system_vanishes_ends_with_its_name(sandbox):
    sandbox.write("tiny.toml", study_text(trials=50))
    with small_disk(sandbox.work / "disk", "size=128m") as disk:
        trials = disk / "run" / "trials.jsonl"
        command = sandbox.start("run", "tiny.toml", "--out", disk / "run")
        wait_until(lambda: trials.exists() and trials.stat().st_size > 0, "the first record is written")
        subprocess.run(["umount", "--lazy", disk], check=True)
        finished = finish(command)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert f"{trials} was moved, removed or unmounted during the run" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert sandbox.leftovers() == []


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


ANOTHER_RUN = """
import sys
from pathlib import Path
from loadcurve.server.ledger import LedgerEntry
entry = LedgerEntry("limit", Path(sys.argv[1]))
print("recorded", flush=True)
sys.stdin.read()
entry.remove()
"""


def test_a_run_beside_another_one_says_so(sandbox):
    sandbox.write("tiny.toml", study_text(connections="[1]", trials=1))
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER_RUN, sandbox.temporary],
        env=sandbox.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "recorded\n"
        finished = sandbox.run("run", "tiny.toml", "--out", "beside")
    said = f"another run was in progress on this machine (process {other.pid})"
    assert said in finished.stderr
    caveats = {caveat.code: caveat.text for caveat in read_run(sandbox.work / "beside").run.caveats}
    assert caveats["not_alone"].startswith(said)


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
    names = ("long", "short")
    going_on = sandbox.start("run", "tiny.toml", "--out", "long", "--trials", 10_000)
    trials = sandbox.work / "long" / "trials.jsonl"
    wait_until(lambda: trials.exists() and b"\n" in trials.read_bytes(), "the first record")
    assert sandbox.run("run", "tiny.toml", "--out", "short").returncode in {0, 3}
    going_on.send_signal(signal.SIGINT)
    assert finish(going_on).returncode == 130
    runs = [read_run(sandbox.work / name) for name in names]
    spans = [list(map(loaded_span, run.points)) for run in runs]
    for run, others in zip(runs, reversed(spans), strict=True):
        shared = [
            record
            for record in run.points
            if any(
                loaded_span(record)[0] < end_s and start_s < loaded_span(record)[1]
                for start_s, end_s in others
            )
        ]
        assert shared
        assert all("not_alone" in [one.code for one in record.probe.caveats] for record in shared)

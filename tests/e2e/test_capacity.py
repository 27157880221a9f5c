"""`loadcurve capacity`, and limits in `loadcurve report`."""

import signal

import pytest

from loadcurve.result.folder import read_run
from support.sandbox import finish, wait_until
from support.tiny_study import study_text, write_queueing_server

SERVICE_MS = 5
"""One request after the other: with N connections each waits for N of these times."""
MEDIAN_LIMIT = "p50 < 42ms"
"""So at most 8 connections keep it: 8 times 5 ms are 40, and 9 times are 45."""


def queueing(sandbox, **changes):
    write_queueing_server(sandbox.work / "catalog", "queueing", service_ms=SERVICE_MS)
    sandbox.write("tiny.toml", study_text("[servers.queueing]", load='duration = "300ms"', **changes))


def searched(sandbox, *options):
    return sandbox.run("capacity", "tiny.toml", "--out", "run", "--catalog", "catalog", *options)


@pytest.mark.alone
def test_a_search_finds_how_many_connections_a_known_server_can_take_and_its_report_says_so_again(sandbox):
    queueing(sandbox, connections="[1, 64]", trials=1)
    finished = searched(sandbox, "--slo", MEDIAN_LIMIT)
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "run")
    measured = [record.point["connections"] for record in run.points]
    assert measured[:2] == [1, 2]
    assert len(measured) < 30
    assert all(record.load.latency_ms.p50 > 42 for record in run.points if record.point["connections"] >= 9)
    assert run.run.search is not None
    assert run.run.search.model_dump() == {"key": "connections", "low": 1, "high": 64, "slo": MEDIAN_LIMIT}
    assert run.complete
    out = finished.stdout.splitlines()
    # Once, although it is the answer and the result of the search.
    (answered,) = (line for line in out if line.startswith(f"queueing keeps {MEDIAN_LIMIT} up to"))
    assert 1 <= float(answered.split()[7]) < 9
    assert out[-1] == "run/report.html"
    assert "trial 1 of 1, queueing: 1 connection: holds (p50 " in finished.stderr
    assert all(len(line) <= 80 for line in out)

    page = sandbox.work / "run" / "report.html"
    written = page.read_text()
    assert "queueing keeps p50 &lt; 42ms" in written
    assert "loadcurve capacity study.toml --seed" in written
    page.unlink()
    again = sandbox.run("report", "run")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, "run/report.html")
    assert page.read_text() == written


@pytest.mark.alone
def test_a_search_finds_how_many_streams_a_known_server_can_start_in_time(sandbox):
    # Each answer is a stream of one line, and comes when those of the other connections have come.
    write_queueing_server(sandbox.work / "catalog", "queueing", service_ms=SERVICE_MS)
    load = 'duration = "300ms"\nmessages = "events"\nevent_format = "lines"'
    changes = {"load": load, "connections": "[1, 64]", "trials": 1}
    sandbox.write("tiny.toml", study_text("[servers.queueing]", **changes))
    limit = "first_event_p50 < 42ms"
    finished = searched(sandbox, "--slo", limit)
    assert finished.returncode == 0, finished.stderr
    points = read_run(sandbox.work / "run").points
    too_many = [record.load.messages for record in points if record.point["connections"] >= 9]
    assert all(messages.first_event_ms.p50 > 42 for messages in too_many)
    (answered,) = (
        line for line in finished.stdout.splitlines() if line.startswith(f"queueing keeps {limit}")
    )
    assert 1 <= float(answered.split()[7]) < 9
    assert "1 connection: holds (first_event_p50 " in finished.stderr


def test_limits_on_messages_that_a_load_does_not_have_are_refused_before_it_is_measured(sandbox):
    queueing(sandbox, connections="[1, 64]", trials=1)
    finished = searched(sandbox, "--slo", "reach >= 99 %")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert '--slo "reach >= 99 %" requires a load with subscribers' in finished.stderr
    assert not (sandbox.work / "run").exists()


def test_an_interrupted_search_keeps_what_it_measured_and_says_its_capacity_so_far(sandbox):
    sandbox.write("tiny.toml", study_text(connections="[1, 1000]", trials=50))
    command = sandbox.start("capacity", "tiny.toml", "--out", "run", "--slo", "p50 < 10s")
    measured = sandbox.work / "run" / "trials.jsonl"
    wait_until(
        lambda: measured.exists() and measured.read_bytes().count(b"\n") >= 2, "two points are measured"
    )
    command.send_signal(signal.SIGINT)
    finished = finish(command)
    assert finished.returncode == 130
    assert "interrupted: what was measured is kept" in finished.stderr
    assert "limit keeps p50 < 10s at every load that could be judged" in " ".join(finished.stdout.split())
    assert finished.stdout.splitlines()[-1] == "run/report.html"
    assert not read_run(sandbox.work / "run").complete

"""`loadcurve run --watch` and `loadcurve watch`: a page that follows a run and is gone with it."""

import os
import re
import signal
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadcurve.analysis.curves import curves
from loadcurve.result.folder import read_run
from loadcurve.result.measures import MEASURES
from support.page import rows_of
from support.page_events import answer, events_of
from support.sandbox import Sandbox, finish, wait_until
from support.tiny_study import study_text

URL = re.compile(r"The page of this run: (http://127\.0\.0\.1:\d+/)")
SHORT = study_text("[servers.nginx]", warmup="1s", load='duration = "200ms"', trials=2)
"""Four points, each behind a warm-up in which curves are drawn."""
LONG = study_text(trials=50)


@dataclass
class WatchedRun:
    """A run with a page, and a reader of it."""

    process: subprocess.Popen[str]
    url: str
    received: list[tuple[str, Any]] = field(default_factory=list)

    @classmethod
    def start(cls, sandbox: Sandbox, *arguments: object) -> "WatchedRun":
        process = sandbox.start(*arguments)
        assert process.stderr is not None
        found = URL.fullmatch(process.stderr.readline().strip())
        assert found is not None
        return cls(process, found[1])

    def read(self) -> threading.Thread:
        """Read all events in a thread until the stream ends."""

        def read_all() -> None:
            with events_of(self.url) as events:
                for event in events:
                    self.received.append(event)

        reader = threading.Thread(target=read_all)
        reader.start()
        wait_until(lambda: bool(self.of("status")), "the page has reported how far the run is")
        return reader

    def page(self) -> psutil.Process:
        """The process of the page."""
        [page] = filter(is_page, psutil.Process(self.process.pid).children())
        return page

    def of(self, name: str) -> list[Any]:
        return [data for event, data in self.received if event == name]


def is_page(process: psutil.Process) -> bool:
    """Tell the page from other processes of a run, each of which may have ended."""
    try:
        return "loadcurve.watch" in process.cmdline()
    except psutil.Error:
        return False


def throughputs(figures: list[dict[str, Any]]) -> dict[tuple[str, float], tuple[float, int]]:
    """The means of the throughput that a page received, with the trials of each."""
    tables = figures[0]["specification"]["datasets"].values()
    rows = [row for table in tables for row in rows_of(table)]
    return {(row["server"], row["x"]): (row["y"], row["n"]) for row in rows if row.get("n")}


@pytest.mark.alone
@pytest.mark.needs("nginx")
def test_the_page_grows_with_the_run_equals_its_folder_and_ends_with_it(sandbox):
    sandbox.write("short.toml", SHORT)
    run = WatchedRun.start(sandbox, "run", "short.toml", "--out", "run", "--watch")
    reader = run.read()
    wait_until(lambda: run.of("status")[-1]["leaves"], "it ends")
    assert answer(run.url, "/report.html").read() == (sandbox.work / "run/report.html").read_bytes()
    finished = finish(run.process)
    assert finished.returncode in {0, 3}
    reader.join()
    assert sandbox.leftovers() == []

    statuses, drawn = run.of("status"), run.of("figures")
    phases = [one["phase"] for one in statuses]
    assert phases == sorted(phases, key=["preparing", "going", "over"].index)
    assert phases[-1] == "over"
    assert statuses[-1]["report"]
    overs = [one["progress"]["over"] for one in statuses if one["progress"]]
    assert overs == sorted(overs)
    # Of the five, a busy machine may keep the page from seeing some.
    assert len(set(overs)) >= 3
    counts = [sum(n for _, n in throughputs(figures).values()) for figures in drawn]
    assert counts == sorted(set(counts))
    assert len(counts) > 1
    [curve] = curves(read_run(sandbox.work / "run"))
    measured = {
        ("nginx", at.point["connections"]): (rate.value, rate.n)
        for at in curve.points
        if (rate := at.estimate(MEASURES["throughput"]))
    }
    watch = WatchedRun.start(sandbox, "watch", "run")
    with events_of(watch.url) as events:
        last = throughputs(events.until("figures"))
    watch.process.send_signal(signal.SIGINT)
    finish(watch.process)
    for place, (mean, trials) in last.items():
        # Six significant digits are kept.
        assert (pytest.approx(mean, rel=1e-5), trials) == measured.pop(place)
    assert measured == {}


def test_a_killed_run_leaves_no_page_and_its_readers_know_why(sandbox):
    sandbox.write("long.toml", LONG)
    run = WatchedRun.start(sandbox, "run", "long.toml", "--out", "run", "--watch")
    reader = run.read()
    wait_until(lambda: run.of("status")[-1]["phase"] == "going", "it measures")
    run.process.kill()
    finish(run.process)
    reader.join()
    assert run.of("status")[-1]["phase"] == "killed"
    wait_until(lambda: sandbox.processes() == [], "neither server nor page survives")
    # What else the killed run has left, its records of the started server, is the next one's to clean up.
    assert sandbox.run("run", "long.toml", "--out", "next", "--trials", 1).returncode == 0


@pytest.mark.alone
def test_the_page_disturbs_nothing_and_ctrl_c_ends_run_and_page_alike(sandbox):
    sandbox.write("long.toml", LONG)
    run = WatchedRun.start(sandbox, "run", "long.toml", "--out", "run", "--watch")
    wait_until((sandbox.work / "run/progress.json").exists, "the first trial begins")
    page = run.page()
    host = read_run(sandbox.work / "run").run.host
    if not set(host["server_cpus"]) & set(host["load_cpus"]):
        assert not set(page.cpu_affinity()) & set(host["server_cpus"])
    assert page.nice() == 19
    assert os.sched_getscheduler(page.pid) == os.SCHED_IDLE

    # Without a reader it does not even wake up.
    records = sandbox.work / "run/trials.jsonl"
    wait_until(lambda: records.exists() and records.stat().st_size > 0, "a point is measured")
    wait_until(lambda: is_asleep(page.pid), "the page has fallen asleep")
    before = wakings(page.pid)
    size = records.stat().st_size
    wait_until(lambda: records.stat().st_size > 3 * size, "some more points are measured")
    assert wakings(page.pid) == before
    with events_of(run.url) as events:
        events.until("status")
        assert wakings(page.pid) > before
    run.process.send_signal(signal.SIGINT)
    assert finish(run.process).returncode == 130
    assert sandbox.leftovers() == []
    assert not (sandbox.work / "run/progress.json").exists()


def is_asleep(pid: int) -> bool:
    """Whether all threads of a process wait for something."""
    return all(re.search(r"^State:\s+S", one, re.M) for one in statuses_of_threads(pid))


def wakings(pid: int) -> int:
    """How often the threads of a process woke after they had waited for something."""
    statuses = statuses_of_threads(pid)
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", one, re.M)[1]) for one in statuses)


def statuses_of_threads(pid: int) -> list[str]:
    """What the kernel tells of each thread of a process."""
    return [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]


def test_a_port_that_is_taken_is_reported_before_anything_is_measured(sandbox):
    sandbox.write("long.toml", LONG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        finished = sandbox.run("run", "long.toml", "--out", "run", "--watch", "--watch-address", address)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert f"the page cannot listen at {address}: Address already in use" in finished.stderr
    assert "--watch-address" in finished.stderr
    assert not (sandbox.work / "run").exists()
    assert sandbox.leftovers() == []


def test_a_run_can_be_followed_from_another_process_and_looked_at_afterwards(sandbox):
    sandbox.write("long.toml", LONG)
    run = sandbox.start("run", "long.toml", "--out", "run")
    wait_until((sandbox.work / "run/progress.json").exists, "the first trial begins")
    watch = WatchedRun.start(sandbox, "watch", "run")
    with events_of(watch.url) as events:
        assert events.until("status")["phase"] == "going"
        run.send_signal(signal.SIGINT)
        finish(run)
        # The report is there a moment before the run says that it has ended.
        ended = (data for name, data in events if name == "status" and data["phase"] != "going")
        last = next(data for data in ended if data["report"])
        assert (last["phase"], last["leaves"]) == ("interrupted", False)
    assert answer(watch.url, "/report.html").status == 200
    watch.process.send_signal(signal.SIGINT)
    assert finish(watch.process).returncode == 130
    assert sandbox.leftovers() == []


@pytest.mark.long
def test_a_search_for_a_capacity_can_be_watched_too(sandbox):
    sandbox.write("short.toml", study_text(connections="[1, 64]", load='duration = "300ms"', trials=1))
    options = ("--slo", "p99 < 1s", "--out", "run", "--watch")
    run = WatchedRun.start(sandbox, "capacity", "short.toml", *options)
    reader = run.read()
    finish(run.process)
    reader.join()
    assert run.of("status")[-1]["phase"] == "over"
    assert {one["progress"]["words"] for one in run.of("status") if one["progress"]} >= {"0 of 1 trials"}
    assert throughputs(run.of("figures")[-1])
    assert sandbox.leftovers() == []

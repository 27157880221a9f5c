"""What a run tells while it runs."""

import io
from types import SimpleNamespace

from rich.console import Console

from loadcurve.cli.display import RunDisplay
from loadcurve.cli.gate import GateDisplay
from loadcurve.generate.generator import LastSecond, Progress
from loadcurve.result.outcomes import Caveat
from loadcurve.runs.other_runs import not_alone
from loadcurve.runs.points import trial_order
from loadcurve.server.presence import Neighbour
from loadcurve.study.model import Study


def drawn(display):
    """The lines of a live display on 80 columns."""
    console = Console(file=io.StringIO(), width=80, legacy_windows=False)
    console.print(display)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_run_shows_what_is_running_its_figures_and_how_far_it_is():
    name = "a-server-whose-name-is-rather-long"
    study = Study.model_validate(
        {
            "title": "T",
            "content": {"a": "1KiB"},
            "load": {"model": "closed", "requests": ["/a"], "duration": "7s"},
            "sweep": {"connections": [10, 20]},
            "trials": {"count": 3},
            "servers": {name: {"use": "limit"}},
        }
    )
    order = trial_order([name], 3, seed=1)
    display = RunDisplay(Console(file=io.StringIO(), width=80), live=True)
    display.begins([study], order)
    assert drawn(display) == ["checking the servers"]
    display.trial_begins(order[0])
    running = f"trial 1 of 3 · {name}"
    assert drawn(display)[:2] == [running, "starting"]
    display.point_begins(order[0], {"connections": 10})
    assert drawn(display)[:2] == [f"{running} · connections 10", "connecting"]
    second = LastSecond(1.0, 184_000, (1.23, 3.44, 12.6))
    display.on_progress(Progress(12.0, 1_200_000, {"timeout": 12_345}, second))
    lines = drawn(display)
    assert lines[:2] == [
        f"{running} · connections 10",
        "184,000 requests/s · p50 1.2, p90 3.4, p99 13 ms · 12,345 failed (timeout)",
    ]
    assert "0 of 6 points" in lines[2]


def test_a_gate_that_is_slower_than_planned_has_no_more_left_than_its_budget():
    study = Study.model_validate(
        {
            "title": "T",
            "content": {"a": "1KiB"},
            "load": {"model": "closed", "requests": ["/a"], "duration": "7s"},
            "sweep": {"connections": [10]},
            "servers": {"nginx": {}, "limit": {}},
        }
    )
    order = trial_order(["nginx", "limit"], 100, seed=1)
    display = GateDisplay(Console(file=io.StringIO(), width=80), live=True)
    display.budget_s = 60.0
    display.begins([study], order)
    display.trial_begins(order[0])
    # 200 loads of 8 s each are half an hour.
    assert drawn(display)[2].endswith(("at most 1:00 left", "at most 0:59 left"))


def test_the_time_that_a_run_takes_is_that_of_the_servers_that_are_measured():
    study = Study.model_validate(
        {
            "title": "T",
            "content": {"a": "1KiB"},
            "load": {"model": "closed", "requests": ["/a"], "warmup": "2s", "duration": "7s"},
            "sweep": {"connections": [1]},
            "trials": {"count": 3},
            "servers": {"limit": {}, "nginx": {}},
        }
    )
    talk = io.StringIO()
    # One of the two is not installed; 10 s are a second for the start, and warm-up and load.
    RunDisplay(Console(file=talk), live=False).begins([study], trial_order(["limit"], 3, seed=1))
    assert talk.getvalue() == "T: 3 trials of 1 point, about 0:30\n"


def test_another_run_on_the_machine_is_named_once_and_not_for_each_server():
    beside = not_alone([Neighbour(99, is_elsewhere=False)])
    slow = Caveat.of("cpus_shared", "its CPUs are those of the load")
    written = io.StringIO()
    display = RunDisplay(Console(file=written, width=200), live=False)
    # It was seen when the run began, too.
    display.note(beside.text)
    for server in ("nginx", "apache"):
        display._note_new_caveats(SimpleNamespace(server=server, caveats=[beside, slow]))
    said = written.getvalue()
    assert said.count("another run was in progress on this machine (process 99)") == 1
    assert (
        said.count("nginx: its CPUs are those of the load")
        == said.count("apache: its CPUs are those of the load")
        == 1
    )

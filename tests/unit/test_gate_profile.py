"""`loadcurve gate --profile`: samples of both sides, folded into a difference flame graph."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from loadcurve.report.flame import flame_graph
from loadcurve.report.profile_page import profile_in_words, render_profile
from loadcurve.result.cpu_time import Profile, ProfiledPair
from loadcurve.server.profiling import NOT_INSTALLED, CallWatch, StackWatch, counted_calls, stacks_in
from support.sandbox import wait_until
from support.scripted_run import ScriptedRun
from support.tiny_study import study_text

# As perf 6.1 prints it, of Python's own http.server.
SCRIPT = """\
python3
\t           fdf76 _PyEval_EvalFrameDefault
\t    7f855fdea2c0 [unknown]
\t    7f8560856240 [unknown]

python3
\tffffffff821ecc51 do_syscall_64
\tffffffff81000130 entry_SYSCALL_64_after_hwframe
\t          10aba4 __send

"""
COUNTED = "# started on Sat Nov 28 19:30:00 2026\n\n28995,,raw_syscalls:sys_enter,137983351,100.00,,\n"


def test_a_stack_begins_with_the_program_and_ends_with_what_ran():
    assert list(stacks_in(SCRIPT.splitlines())) == [
        ("python3", "[unknown]", "_PyEval_EvalFrameDefault"),
        ("python3", "__send", "entry_SYSCALL_64_after_hwframe", "do_syscall_64"),
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [(COUNTED, 28995), (COUNTED.replace("28995", "<not counted>"), None), ("", None)],
)
def test_what_perf_has_not_counted_is_not_zero(tmp_path: Path, text: str, count: int | None):
    (tmp_path / "calls.csv").write_text(text)
    assert counted_calls(tmp_path / "calls.csv") == count


def profile(calls: float | None = None, missing: tuple[str, ...] = (), **stacks: int) -> Profile:
    """Samples of 1,000 requests at 1,000 a second, so that each stands for 1 µs of a request."""
    return Profile(1000, 1000.0, {("server", name): count for name, count in stacks.items()}, calls, missing)


PAIR = ProfiledPair(profile(read=30, write=10, calls=2.0), profile(read=30, parse=20, calls=3.0))


def test_a_box_is_as_wide_as_the_side_that_spends_more_there():
    graph = flame_graph(PAIR)
    assert graph is not None
    assert (graph.base_us, graph.head_us) == (pytest.approx(40), pytest.approx(50))
    # It has room for read of either side, parse of the head and write of the base: 30, 20 and 10 of 60.
    widths = {box.name: box.width for box in graph.boxes}
    assert widths == {
        name: pytest.approx(share)
        for name, share in {"all": 1, "server": 1, "read": 1 / 2, "parse": 1 / 3, "write": 1 / 6}.items()
    }
    lefts = {box.name: box.left for box in graph.boxes if box.depth == 2}
    assert lefts == {"parse": 0, "read": pytest.approx(1 / 3), "write": pytest.approx(5 / 6)}


def test_a_function_is_coloured_by_how_much_more_it_takes():
    graph = flame_graph(PAIR)
    assert graph is not None
    strengths = {box.name: box.strength for box in graph.boxes}
    assert (strengths["parse"], strengths["read"], strengths["write"]) == (1, 0, -1)


def test_the_function_that_differs_most_is_named_with_the_system_calls():
    calls, function = profile_in_words(PAIR)
    assert calls == "System calls per request, in one start each: 2.00 → 3.00."
    assert "parse differs most: 0 → 20.0 µs of CPU time per request" in function


def test_without_samples_nothing_is_drawn_and_the_reason_is_said():
    pair = ProfiledPair(profile(missing=(NOT_INSTALLED,)), profile(missing=(NOT_INSTALLED,)))
    assert flame_graph(pair) is None
    assert profile_in_words(pair) == [f"No profile in full: {NOT_INSTALLED}."]


def test_names_of_functions_are_text_in_the_page():
    evil = "operator<<b>"
    pair = ProfiledPair(profile(**{evil: 10}), profile(**{evil: 20}))
    graph = flame_graph(pair)
    assert graph is not None
    page = render_profile(("base", "head"), pair, graph)
    assert evil not in page
    assert "operator&lt;&lt;b&gt;" in page
    assert "<script" not in page


def test_a_server_that_was_not_started_here_has_no_profile_and_the_answer_says_why(
    scripted: ScriptedRun, capsys: pytest.CaptureFixture[str]
):
    both = study_text("[servers.limit]\n[servers.persistent]", connections="[1]")
    code = scripted.gate_command(both, "limit", "persistent", budget="1m", is_profiled=True, printed="json")
    found = json.loads(capsys.readouterr().out)["profile"]
    assert code == 0
    assert found["page"] is None
    assert found["system_calls_per_request"] == {"base": None, "head": None}
    assert "limit: only a server that runs on this machine" in found["missing"][0]
    # They ran once more each, and are gone.
    assert scripted.script.alive == []


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    return ScriptedRun(tmp_path, monkeypatch)


def test_without_perf_nothing_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with StackWatch({1}, tmp_path / "stacks") as watch:
        pass
    assert (watch.missing, watch.stacks()) == (NOT_INSTALLED, {})


BUSY = """\
import os

def busily():
    while True:
        os.getppid()

busily()
"""


@pytest.fixture
def busy() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        yield process.pid
        process.kill()


@pytest.mark.needs("perf")
def test_what_a_busy_process_does_is_seen(tmp_path: Path, busy: int):
    with StackWatch({busy}, tmp_path / "stacks") as stacks, CallWatch({busy}, tmp_path / "calls") as calls:
        process = psutil.Process(busy)
        until_s = sum(process.cpu_times()[:2]) + 0.2
        # A hundred times as long as from one sample to the next.
        wait_until(lambda: sum(process.cpu_times()[:2]) > until_s, "a process that runs")
    if stacks.missing or calls.missing:
        pytest.skip(f"perf may not watch here: {stacks.missing or calls.missing}")
    found = stacks.stacks()
    assert sum(found.values()) > 0
    assert all(stack[0].startswith("python") for stack in found)
    count = calls.calls()
    assert count is not None
    assert count > 0

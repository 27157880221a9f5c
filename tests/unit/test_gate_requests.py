"""`loadcurve gate` of a load with several requests: each is gated alone, and need not be ruled out."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.comparison import compare_arms
from loadcurve.analysis.gate import GateAnswer
from loadcurve.generate.generator import Observe, Plan
from loadcurve.report.gate import gate_json, gate_junit
from loadcurve.result.load import LoadResult
from loadcurve.result.operations import MOST_MEASURED
from loadcurve.stats.sequential import LEAST_BLOCKS
from support import requests_run
from support.scripted_run import ScriptedRun, answered
from support.tiny_study import study_text

SIDES = ("limit", "persistent")
FAST, SLOW = "GET /1k.txt", "GET /2k.txt"
ANSWERED = 5_000
"""A tenth of them for each request: enough for its p99."""


def study_of(count: int) -> str:
    """A gate's study with this number of requests."""
    names = [f"{number}k.txt" for number in range(1, count + 1)]
    content = "\n".join(f'"{name}" = "1KiB"' for name in names)
    paths = ", ".join(f'"/{name}"' for name in names)
    text = study_text("[servers.limit]\n[servers.persistent]", content=content, connections="[1]")
    return text.replace('requests = ["/1k.txt"]', f"requests = [{paths}]")


def slow_at(*latencies_ms: float) -> Callable[[Plan, Observe], LoadResult]:
    """A load whose second request takes these times in turn, and the last one from then on."""
    following = itertools.chain(latencies_ms, itertools.repeat(latencies_ms[-1]))

    def load(plan: Plan, _: Observe) -> LoadResult:
        operations = requests_run.operations(ANSWERED, {FAST: 2.0, SLOW: next(following)})
        return answered(plan, 1000, operations=operations)

    return load


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    return ScriptedRun(tmp_path, monkeypatch)


def gate_of(
    scripted: ScriptedRun, capsys: pytest.CaptureFixture[str], *head_ms: float, **given: Any
) -> tuple[int, str]:
    """The exit code and the answer of a gate whose base takes 50 ms for the second request."""
    scripted.script.loads = {"limit": slow_at(50.0), "persistent": slow_at(*head_ms)}
    code = scripted.gate_command(study_of(2), *SIDES, **{"budget": "1m", "is_strict": True, **given})
    return code, " ".join(capsys.readouterr().out.split())


def test_a_request_that_alone_is_slower_fails_the_gate(scripted: ScriptedRun, capsys):
    code, out = gate_of(scripted, capsys, 60.0)
    assert code == 3
    expected = "Regression of 3 % or more, in two draws: of persistent, p50 of GET /2k.txt is worse by +20"
    assert out.startswith(expected)
    assert "p50 of GET /1k.txt is worse" not in out
    analysis = analyse(scripted.run)
    answer = GateAnswer.of(analysis)
    assert answer is not None
    failed = {
        case.get("name")
        for case in ET.fromstring(gate_junit(analysis, answer))[0]
        if case.find("failure") is not None
    }
    assert failed == {f"{name} of GET /2k.txt over the whole curve" for name in ("p50", "p99")}
    found = gate_json(analysis, answer, compare_arms(analysis, *SIDES))["measures"]
    assert {(one["request"], one["measure"]) for one in found if one["answer"] == "regression"} == {
        (SLOW, "p50"),
        (SLOW, "p99"),
    }


def test_an_unsteady_request_does_not_keep_a_gate_from_passing(scripted: ScriptedRun, capsys):
    code, out = gate_of(scripted, capsys, *[40.0, 60.0] * 20)
    assert code == 0
    assert out.startswith(f"No regression of 3 % or more, after {LEAST_BLOCKS} blocks.")
    assert (
        "Of 4 figures of single requests (p50, p99) such a regression is ruled out in 2, and neither shown "
        "nor ruled out in 2" in out
    )


def test_a_suspected_request_is_measured_again_before_a_gate_passes(scripted: ScriptedRun, capsys):
    code, out = gate_of(scripted, capsys, *[60.0] * LEAST_BLOCKS, 50.0)
    assert code == 0
    assert out.startswith(f"No regression of 3 % or more, after {2 * LEAST_BLOCKS} blocks.")
    assert "The first draw showed p50 of GET /2k.txt worse by +20" in out


@pytest.mark.parametrize(("count", "gated"), [(1, 0), (2, 2), (MOST_MEASURED, 20), (MOST_MEASURED + 1, 0)])
def test_one_request_is_the_load_and_of_too_many_none_is_gated_alone(scripted: ScriptedRun, count, gated):
    scripted.script.loads = {name: slow_at(50.0) for name in SIDES}
    assert scripted.gate_command(study_of(count), *SIDES, budget="1m") == 0
    assert len(scripted.run.run.gate.requests) == gated

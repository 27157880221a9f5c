"""`loadcurve gate`: servers that follow a script, in turn, until it is decided whether one is worse."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.comparison import RunComparison, compare_arms
from loadcurve.analysis.faults import FaultCount, FaultsCompared, SideFaults
from loadcurve.analysis.gate import GateAnswer
from loadcurve.analysis.gated import BLOCKS_DISTURBED, has_time_left
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.generator import Observe, Plan
from loadcurve.report.gate import gate_json, gate_junit, gate_markdown, gate_sentences
from loadcurve.result.folder import Run
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Reason
from loadcurve.result.records import FailureRecord, GateRecord
from loadcurve.runs.resume import interrupted_run
from loadcurve.server.failure import ServerFailure
from loadcurve.stats.sequential import LEAST_BLOCKS
from loadcurve.stats.shares import greater_share_p_value
from support import synthetic_run as synthetic
from support.command import Command
from support.scripted_run import ScriptedRun, answered
from support.tiny_study import study_text

BOTH = study_text("[servers.limit]\n[servers.persistent]", connections="[1]")
"""The base is `limit`, and `persistent` the head."""
SIDES = ("limit", "persistent")


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    return ScriptedRun(tmp_path, monkeypatch)


def at_rates(*rates_rps: float) -> Callable[[Plan, Observe], LoadResult]:
    """A load that gets the rates in turn, and the last one from then on."""
    following = itertools.chain(rates_rps, itertools.repeat(rates_rps[-1]))

    def load(plan: Plan, _: Observe) -> LoadResult:
        return answered(plan, next(following))

    return load


def printed(scripted: ScriptedRun, capsys: pytest.CaptureFixture[str], **given: Any) -> tuple[int, str]:
    code = scripted.gate_command(BOTH, *SIDES, **{"budget": "1m", **given})
    return code, " ".join(capsys.readouterr().out.split())


def test_equal_servers_pass_at_the_first_look(scripted: ScriptedRun, capsys):
    scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(1000)}
    code, out = printed(scripted, capsys)
    assert code == 0
    assert out.startswith(f"No regression of 3 % or more, after {LEAST_BLOCKS} blocks.")
    assert "at most 0.25 % fail" in out
    assert "could have seen a regression of 3 % or more" in out
    assert analyse(scripted.run).ending.reason == "decided"


def test_what_is_not_confirmed_does_not_fail_and_is_reported(scripted: ScriptedRun, capsys):
    slow = [900.0] * LEAST_BLOCKS
    scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(*slow, 1000)}
    code, out = printed(scripted, capsys)
    assert code == 0
    assert "The first draw showed throughput worse by +10.0 %" in out
    assert "measured again it was +0.0 %" in out


def test_what_was_suspected_as_the_gate_ended_is_not_said_to_be_measured_again(scripted: ScriptedRun, capsys):
    # Throughput is confirmed after eight blocks; memory, twice the base's, is known in the last four of them.
    scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(900)}
    read = itertools.chain([None] * LEAST_BLOCKS, itertools.repeat(2e6))
    scripted.script.used = {
        "limit": lambda: {"memory_mean_bytes": 1e6},
        "persistent": lambda: {"memory_mean_bytes": next(read)},
    }
    code, out = printed(scripted, capsys)
    assert code == 3
    assert "The first draw showed mean memory worse by +100.0 %" in out
    assert "; the gate ended before it was measured again (0 blocks)." in out
    assert "mean memory — " in out
    assert "4 + 0 suspected" in out
    analysis = analyse(scripted.run)
    answer = GateAnswer.of(analysis)
    assert answer is not None
    suite = ET.fromstring(gate_junit(analysis, answer))[0]
    (skipped,) = [
        case.find("skipped") for case in suite if (case.get("name") or "").startswith("mean memory")
    ]
    assert "at first, and not measured again" in skipped.get("message")


@pytest.mark.parametrize(("is_strict", "expected"), [(False, 0), (True, 5)])
def test_a_measure_that_was_asked_for_and_has_no_figure_is_not_decided(
    scripted: ScriptedRun, capsys, is_strict, expected
):
    scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(1000)}
    code, out = printed(scripted, capsys, also=["p99_9"], is_strict=is_strict)
    assert code == expected
    answer = "Not decided: no figures of p99.9; in the other measures no regression of 3 % or more, after"
    assert out.startswith(f"{answer} {LEAST_BLOCKS} blocks.")
    # 0.999 to the power of 3,688 is the first below 2.5 %; a synthetic load has 500 answers.
    needed = "p99.9 requires 3,688 answers in a trial, and at most 500 were requested"
    assert f"p99.9 is not gated: limit: {needed}." in out
    analysis = analyse(scripted.run)
    found = GateAnswer.of(analysis)
    assert found is not None
    suite = ET.fromstring(gate_junit(analysis, found))[0]
    (skipped,) = [case for case in suite if case.find("skipped") is not None]
    assert skipped.get("name") == "p99.9 over the whole curve"


@pytest.mark.parametrize("is_asked_for", [True, False])
def test_a_usual_measure_without_a_figure_keeps_the_gate_open_only_where_it_was_asked_for(
    scripted: ScriptedRun, capsys, is_asked_for
):
    scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(1000)}
    scripted.script.used = dict.fromkeys(scripted.script.loads, lambda: {"memory_mean_bytes": None})
    also = ["memory_mean_mib"] if is_asked_for else []
    code, out = printed(scripted, capsys, also=also, is_strict=True)
    assert code == (5 if is_asked_for else 0)
    assert out.startswith("Not decided: no figures of mean memory;" if is_asked_for else "No regression of")


@pytest.mark.parametrize(("is_strict", "expected"), [(False, 0), (True, 5)])
def test_what_blocks_do_not_decide_is_no_silent_pass(scripted: ScriptedRun, capsys, is_strict, expected):
    # In turn much better and much worse, in about 12 blocks of twice 1.15 s.
    scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(*[700.0, 1400.0] * 10)}
    code, out = printed(scripted, capsys, is_strict=is_strict, budget="32s")
    assert code == expected
    assert out.startswith(
        "Not decided: 12 blocks neither show nor rule out a regression of 3 % in throughput;"
    )


def test_a_head_that_does_not_work_fails_the_gate(scripted: ScriptedRun, capsys):
    failure = ServerFailure("exited", "the server ended", "no such option: --fast")
    scripted.script.failures["persistent", "start"] = failure
    code = scripted.gate_command(BOTH, *SIDES, budget="1m")
    said = capsys.readouterr()
    assert code == 3
    assert said.out.startswith("Failed: what had usable figures has none now.")
    assert "persistent at connections = 1: the server ended." in " ".join(said.out.split())
    assert "no such option: --fast" in said.err


def test_a_base_that_does_not_work_is_never_a_pass(scripted: ScriptedRun, capsys):
    scripted.script.failures["limit", "start"] = ServerFailure("exited", "the server ended")
    with pytest.raises(NothingMeasured, match=r"the gate has nothing to compare: limit .* the server ended"):
        scripted.gate_command(BOTH, *SIDES, budget="1m", printed="junit")
    suite = ET.fromstring(capsys.readouterr().out)[0]
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


REQUIRES = (
    BOTH
    + """
[[require]]
measure = "throughput"
above = "950/s"

[[require]]
measure = "p50"
server = "limit"
below = "1ns"
"""
)
"""Of the head its throughput; what is required of the base is not the gate's to judge."""


@pytest.mark.parametrize(
    ("rates_rps", "code", "expected"),
    [
        # Their mean is 1,000, 900 or 950, and their interval lies above 950, below it, or on both sides.
        ([1000, 1001, 999], 0, ("No regression of 3 % or more, after 4 blocks.", "1 held")),
        ([900, 901, 899], 3, ("Failed: persistent does not keep 1 requirement", "1 failed")),
        ([940, 960, 950], 5, ("Not decided: whether persistent keeps 1", "1 not decided")),
    ],
)
def test_a_gate_judges_what_the_study_requires_of_the_head(
    scripted: ScriptedRun, capsys, rates_rps, code, expected
):
    answer, kept = expected
    # Equal servers: the base follows the same rates, so that no block shows a regression.
    both = rates_rps * 10
    scripted.script.loads = {"limit": at_rates(*both), "persistent": at_rates(*both)}
    assert scripted.gate_command(REQUIRES, *SIDES, budget="1m", is_strict=True) == code
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(answer)
    assert "no regression of 3 % or more, after 4 blocks" in said.lower()
    assert f"What the study requires of persistent: {kept}." in said
    assert "at most 0.25 % fail by a regression" in said


def test_requirements_of_a_head_are_tests_and_data_of_the_answer(scripted: ScriptedRun):
    scripted.script.loads = {"limit": at_rates(900), "persistent": at_rates(900)}
    assert scripted.gate_command(REQUIRES, *SIDES, budget="1m") == 3
    analysis = analyse(scripted.run)
    answer = GateAnswer.of(analysis)
    assert answer is not None
    (required,) = gate_json(analysis, answer, compared(analysis, answer))["requirements"]
    assert (required["measure"], required["above"], required["outcome"]) == ("throughput", "950/s", "failed")
    failed = [
        case.get("name")
        for case in ET.fromstring(gate_junit(analysis, answer))[0]
        if case.find("failure") is not None
    ]
    assert failed == ["throughput above 950/s at connections = 1"]


TAKEN = {
    "verdict": {
        "status": "invalid",
        "reasons": [{"code": "cpu_taken", "text": "other programs took 40 % of the CPUs"}],
        "notes": [],
    }
}


def taken_in(*blocks: int) -> Callable[[Plan, Observe], LoadResult]:
    """A load that the machine disturbs in some blocks, and that goes as any other in the others."""
    following = itertools.count()
    return lambda plan, _: answered(plan, 1000, **(TAKEN if next(following) in blocks else {}))


def test_a_machine_that_lets_one_side_have_no_figure_fails_no_gate(scripted: ScriptedRun):
    scripted.script.loads = {"limit": taken_in(), "persistent": taken_in(*range(99))}
    with pytest.raises(NothingMeasured, match=r"persistent .* other programs took 40 % of the CPUs"):
        scripted.gate_command(BOTH, *SIDES, budget="1m")
    assert {record.block for record in scripted.run.records} == set(range(BLOCKS_DISTURBED))


def test_blocks_that_the_machine_disturbed_at_first_do_not_end_a_gate(scripted: ScriptedRun, capsys):
    scripted.script.loads = {"limit": taken_in(), "persistent": taken_in(0, 1, 2)}
    code, out = printed(scripted, capsys)
    assert code == 0
    blocks = f"{3 + LEAST_BLOCKS} blocks ({LEAST_BLOCKS} with figures of both)"
    assert out.startswith(f"No regression of 3 % or more, after {blocks}.")
    trials = f"3 of {3 + LEAST_BLOCKS} trials"
    assert f"persistent: {trials} were spoilt by the machine or the generator: other programs" in out


def test_a_point_that_the_machine_alone_spoilt_is_no_silent_pass(scripted: ScriptedRun, capsys):
    two = study_text("[servers.limit]\n[servers.persistent]", connections="[1, 10]")
    scripted.script.loads = {
        "limit": taken_in(),
        # Each trial goes through both points, and the second one is spoilt.
        "persistent": taken_in(*range(1, 99, 2)),
    }
    code = scripted.gate_command(two, *SIDES, budget="2m", is_strict=True)
    out = " ".join(capsys.readouterr().out.split())
    assert code == 5
    assert out.startswith("Not decided: there are points at which the machine kept persistent from being")
    assert "persistent at connections = 10: other programs took 40 % of the CPUs" in out


def test_the_last_lines_of_a_server_that_failed_are_shown(scripted: ScriptedRun):
    scripted.script.failures["limit", "load"] = ServerFailure("exited", "it ended", "first\nno memory")
    with pytest.raises(NothingMeasured, match=r"Its last lines:\n  first\n  no memory"):
        scripted.gate_command(BOTH, *SIDES, budget="1m")


def dying_in(*trials: int) -> Callable[[Plan, Observe], LoadResult]:
    """A load in some of whose trials the server ends, and that goes well in the others."""
    following = itertools.count()

    def load(plan: Plan, _: Observe) -> LoadResult:
        if next(following) in trials:
            raise ServerFailure("died", "it ended with status 7")
        return answered(plan, 1000)

    return load


def test_a_head_that_fails_in_one_trial_where_the_base_does_in_none_fails_the_gate(scripted, capsys):
    scripted.script.loads = {"limit": at_rates(1000), "persistent": dying_in(1)}
    code, out = printed(scripted, capsys)
    blocks = LEAST_BLOCKS + 1
    assert code == 3
    expected = (
        f"Failed: persistent failed, or made a point invalid, in 1 of {blocks} trials, and limit in none"
    )
    assert out.startswith(expected)
    assert (
        f"No regression of 3 % or more, after {blocks} blocks ({LEAST_BLOCKS} with figures of both)." in out
    )
    assert f"persistent: 1 of {blocks} trials failed: it ended with status 7." in out
    assert "at most 0.25 % fail by a regression" in out
    analysis = analyse(scripted.run)
    answer = GateAnswer.of(analysis)
    failed = [
        case.get("name")
        for case in ET.fromstring(gate_junit(analysis, answer))[0]
        if case.find("failure") is not None
    ]
    assert failed == ["trials without a fault of the server"]


def test_a_base_that_fails_in_some_trials_is_named_and_fails_nothing(scripted, capsys):
    scripted.script.loads = {"limit": dying_in(0, 2), "persistent": at_rates(1000)}
    code, out = printed(scripted, capsys)
    assert code == 0
    assert f"limit: 2 of {LEAST_BLOCKS + 2} trials failed: it ended with status 7." in out


def with_error_pages(*shares: float) -> Callable[[Plan, Observe], LoadResult]:
    """A load that gets these shares of error pages in turn; from 1 % on they make it invalid."""
    following = itertools.cycle(shares)

    def load(plan: Plan, _: Observe) -> LoadResult:
        share = next(following)
        reason = {"code": "error_status", "text": f"{100 * share:g} % of the answers have an error status"}
        status = "invalid" if share > 0.01 else "suspect" if share else "valid"
        counts = dict.fromkeys(("due", "sent", "answered"), 10_000)
        requests = {
            **counts,
            "ok": round(10_000 * (1 - share)),
            "failed": 0,
            "unanswered": 0,
            "never_sent": 0,
        }
        return answered(
            plan, 1000, requests=requests, verdict={"status": status, "reasons": [reason] if share else []}
        )

    return load


def test_a_head_whose_errors_spoil_some_of_its_trials_fails_the_gate(scripted, capsys):
    scripted.script.loads = {"limit": at_rates(1000), "persistent": with_error_pages(0.02, 0.005)}
    code, out = printed(scripted, capsys)
    assert code == 3
    assert out.startswith("Failed: persistent failed, or made a point invalid, in 4 of 8 trials")
    said = "persistent: 4 of 8 trials have an invalid point because of the server: 2 % of the answers have"
    assert said in out


def test_a_head_with_a_few_errors_in_each_trial_fails_the_gate(scripted, capsys):
    scripted.script.loads = {"limit": with_error_pages(0), "persistent": with_error_pages(0.005)}
    code, out = printed(scripted, capsys)
    assert code == 3
    assert out.startswith("Failed: persistent has a greater share of errors than limit.")
    assert "errors of the whole load, persistent: 0 in 4 loads of limit, 200 in 4 loads of persistent" in out


@pytest.mark.parametrize(
    ("base", "new", "error_rate", "is_regression"),
    [
        # Fisher's tea: all four of four beside none come by chance in 1 of 70 draws, three and one in 17.
        ((0, 4), (4, 4), 0.001, True),
        ((1, 4), (3, 4), 0.05, False),
        ((1, 4), (3, 4), 17 / 70, True),
        ((3, 4), (0, 4), 0.05, False),
        ((0, 4), (0, 4), 0.05, False),
        ((0, 0), (4, 4), 0.05, False),
    ],
)
def test_faults_are_a_regression_where_the_base_has_none_or_chance_does_not_explain_them(
    base, new, error_rate, is_regression
):
    def side(faults: int, trials: int) -> SideFaults:
        return SideFaults(
            "mine", "mine", trials, {"failed": FaultCount(faults, "it ended")} if faults else {}
        )

    found = FaultsCompared("mine", side(*base), side(*new))
    assert found.is_regression(error_rate) == is_regression


def test_the_chance_of_faulty_trials_is_that_of_fishers_tea():
    assert greater_share_p_value((4, 4), (0, 4)) == 1 / 70
    assert greater_share_p_value((3, 4), (1, 4)) == 17 / 70


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A gate whose head is slower."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        scripted = ScriptedRun(tmp_path_factory.mktemp("slower"), monkeypatch)
        scripted.script.loads = {"limit": at_rates(1000), "persistent": at_rates(900)}
        assert scripted.gate_command(BOTH, *SIDES, budget="1m") == 3
        yield scripted.run


@pytest.fixture(scope="module")
def answered_by(slower: Run) -> tuple[Analysis, GateAnswer]:
    analysis = analyse(slower)
    answer = GateAnswer.of(analysis)
    assert answer is not None
    return analysis, answer


def test_a_slower_head_fails_after_two_draws(slower: Run, answered_by: tuple[Analysis, GateAnswer]):
    said = gate_sentences(*answered_by)
    expected = "Regression of 3 % or more, in two draws: of persistent, throughput is worse by +10.0 %"
    assert said[0].startswith(expected)
    assert {record.block for record in slower.records} == set(range(2 * LEAST_BLOCKS))


def compared(analysis: Analysis, answer: GateAnswer) -> RunComparison:
    return compare_arms(analysis, answer.gated.base, answer.gated.head)


def test_json_has_both_draws(answered_by: tuple[Analysis, GateAnswer]):
    found = gate_json(*answered_by, compared(*answered_by))
    assert (found["outcome"], found["base"], found["head"]) == ("failed", *SIDES)
    [throughput] = [one for one in found["measures"] if one["measure"] == "throughput"]
    assert throughput["confirmation"]["worse_by"] == pytest.approx(0.1)
    assert throughput["answer"] == "regression"


def test_junit_fails_the_measure_that_is_worse(answered_by: tuple[Analysis, GateAnswer]):
    suite = ET.fromstring(gate_junit(*answered_by))[0]
    assert (suite.get("tests"), suite.get("failures")) == ("5", "1")
    [failed] = [case for case in suite if case.find("failure") is not None]
    assert failed.get("name") == "throughput over the whole curve"


def test_the_summary_of_a_pull_request_begins_with_the_answer(answered_by: tuple[Analysis, GateAnswer]):
    heading, answer, *_ = gate_markdown(*answered_by, compared(*answered_by)).split("\n\n")
    assert heading == "## persistent beside limit"
    assert answer.startswith("**Regression of 3 % or more, in two draws")


def test_the_page_shows_the_answer_of_the_gate_first(slower: Run):
    page = (slower.folder / "report.html").read_text()
    assert page.index("Regression of 3") - page.index('class="lead"') < 100
    assert "The gate</h2>" in page
    assert 'data-chart="gate-measures"' in page


def test_the_page_of_a_gate_has_no_ranking_beside_it_that_could_say_something_else(slower: Run):
    page = (slower.folder / "report.html").read_text()
    assert "told apart" not in page
    assert '<h2 id="ranking">' not in page


def test_a_gate_says_how_to_repeat_it_and_is_not_resumed(slower: Run):
    words = slower.run.repeating
    assert words[:2] == ["loadcurve", "gate"]
    assert words[words.index("--base") :][:4] == ["--base", "limit", "--head", "persistent"]
    with pytest.raises(BadInput, match="is a gate"):
        interrupted_run(slower.folder, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"budget": "10s"}, "--budget has time for 3 blocks"),
        ({"budget": "3s"}, "--budget has time for 1 block,"),
        ({"budget": "soon"}, '--budget: "soon" is not'),
        ({"least": "0%"}, "expected a share above 0 %"),
        ({"least": "much"}, '--fail-on-regression: "much" is not'),
        ({"also": ("p98",)}, "--measure p98: there is no such measure"),
        ({"also": ('p50 of "GET /"',)}, "each request's p50 and p99 are gated without this option"),
    ],
)
def test_options_that_cannot_be_used_measure_nothing(scripted: ScriptedRun, given, words):
    with pytest.raises(BadInput, match=words):
        scripted.gate_command(BOTH, *SIDES, **given)
    assert not scripted.folder.exists()


def test_a_gate_ends_before_a_block_that_the_budget_has_no_time_for():
    record = GateRecord(
        base="a", head="b", origin=None, least=0.03, measures=["throughput"], budget_s=60, blocks=20
    )

    def begun(*seconds: int) -> list[FailureRecord]:
        reason = Reason(code="exited", text="it ended")
        return [
            FailureRecord(
                kind="failure",
                trial=block,
                block=block,
                server="a",
                point=None,
                started_at=f"2026-03-14T09:00:{second:02}.000+00:00",
                reason=reason,
                log_tail="",
            )
            for block, second in enumerate(seconds)
        ]

    # Blocks of 10 s each: the sixth ends after 60 s, and the seventh would end after 70 s.
    assert has_time_left(record, begun(0, 10, 20, 30, 40))
    assert not has_time_left(record, begun(0, 10, 20, 30, 40, 50))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--base: missing; expected the build of this side: a program, a folder"),
        (["--base", "a"], "--head: missing; expected the build of this side: a program, a folder"),
        (["--base-rev", "main"], "or its commit, by --head-rev"),
        (
            ["--base", "a", "--base-rev", "main", "--head", "b"],
            "found --base and --base-rev; name each side once",
        ),
        (["--base", "a", "--head", "b", "--build", "make"], "--build is for --base-rev and --head-rev"),
        (["--base-rev", "main", "--head", "b"], "lies in no Git repository"),
    ],
)
def test_sides_are_named_once(tmp_path: Path, words: list[str], said: str):
    command = Command(tmp_path)
    command.write("study.toml", BOTH)
    done = command.run("gate", "study.toml", "--yes", *words)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_run_in_place_of_a_study_is_told_how_runs_are_compared(tmp_path: Path):
    command = Command(tmp_path)
    synthetic.write_run(tmp_path / "before")
    for words in (["before", "after"], ["before", "--base", "a", "--head", "b"]):
        done = command.run("gate", *words)
        assert done.returncode == 2
        assert "loadcurve compare before RUN --fail-on-regression 5%" in done.stderr


@pytest.mark.parametrize("spoilt", [SIDES, SIDES[:1]])
def test_a_point_that_the_machine_spoilt_for_the_base_is_no_silent_pass(scripted, capsys, spoilt):
    two = study_text("[servers.limit]\n[servers.persistent]", connections="[1, 10]")
    scripted.script.loads = {name: taken_in(*(range(1, 99, 2) if name in spoilt else ())) for name in SIDES}
    assert scripted.gate_command(two, *SIDES, budget="2m", is_strict=True) == 5
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Not decided: there are points at which the machine kept limit from being")
    assert "limit at connections = 10: other programs took 40 % of the CPUs" in out


def test_a_point_at_which_the_base_fails_by_itself_is_named(scripted, capsys):
    two = study_text("[servers.limit]\n[servers.persistent]", connections="[1, 10]")
    scripted.script.loads = {"limit": with_error_pages(0, 0.02), "persistent": with_error_pages(0)}
    assert scripted.gate_command(two, *SIDES, budget="2m") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "because limit has no usable figure there: limit at connections = 10: 2 % of the answers" in out

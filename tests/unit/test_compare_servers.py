"""`loadcurve compare RUN --base --head`: two servers of one run, with a known truth, and a gate on them."""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from loadcurve.api.comparison import Comparison
from loadcurve.result.folder import Run
from loadcurve.result.outcomes import Verdict, VerdictReason
from loadcurve.result.records import FailureRecord, PointRecord
from loadcurve.stats.power import trials_to_decide
from support import synthetic_run as synthetic
from support.command import Command

SIDES = ("--base", "nginx", "--head", "tiny")
GATE = ("--fail-on-regression", "5%")


def with_ratios(command: Command, name: str, ratios: tuple[float, ...]) -> None:
    """Write a run in which tiny has, in each block, this many times the figures of nginx at every point."""
    record = synthetic.run_record()
    nginx = [
        one
        for one in synthetic.trial_records(record)
        if isinstance(one, PointRecord) and one.server == "nginx"
    ]
    tiny = [
        synthetic.with_throughput(one, ratios[one.block]).model_copy(
            update={"server": "tiny", "trial": trial_of(record, one.block)}
        )
        for one in nginx
    ]
    folder = command.work / name
    folder.mkdir()
    synthetic.write_run(folder, record, [*nginx, *tiny])


def trial_of(record: Any, block: int) -> int:
    return next(one.trial for one in record.order if (one.server, one.block) == ("tiny", block))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = Command(tmp_path_factory.mktemp("runs"))
    synthetic.write_run(command.work / "known")
    with_ratios(command, "same", (1.0, 1.0, 1.0))
    with_ratios(command, "slower", (0.8, 0.8, 0.8))
    with_ratios(command, "wide", (0.9, 1.0, 1.05))
    return command


def test_what_explains_a_difference_is_named_with_its_ratio(runs: Command):
    # In each block tiny takes this many times the CPU time of nginx in user mode and in the kernel, and the
    # same of all else. The second ratio looks like 1, and explains nothing.
    ratios = (1.24, 1.25, 1.26)
    alike = (1.0010, 1.0011, 1.0012)
    record = synthetic.run_record()
    nginx = [
        one
        for one in synthetic.trial_records(record)
        if isinstance(one, PointRecord) and one.server == "nginx"
    ]
    tiny = []
    for one in nginx:
        used = one.probe.server
        assert used is not None
        assert used.cpu_user_s is not None
        assert used.cpu_system_s is not None
        times = {
            "cpu_user_s": used.cpu_user_s * ratios[one.block],
            "cpu_system_s": used.cpu_system_s * alike[one.block],
        }
        more = used.model_copy(update=times)
        probe = one.probe.model_copy(update={"server": more})
        tiny.append(
            one.model_copy(update={"server": "tiny", "trial": trial_of(record, one.block), "probe": probe})
        )
    (runs.work / "costlier").mkdir()
    synthetic.write_run(runs.work / "costlier", record, [*nginx, *tiny])
    found = json.loads(runs.run("compare", "costlier", *SIDES, "--json").stdout)["resources"]
    shown, other = [one for one in found if one["shown"]]
    assert (shown["measure"], other["measure"]) == ("cpu_user_us", "cpu_system_us")
    assert shown["ratio"] == pytest.approx(math.prod(ratios) ** (1 / 3))
    measured = {one["measure"] for one in found}
    assert {"cpu_system_us", "context_switches", "page_faults", "received_bytes"} <= measured
    # Each connection lasts for the whole load, so their number for a request is no separate figure.
    assert "connections" not in measured
    for form in ("text", "md"):
        said = " ".join(runs.run("compare", "costlier", *SIDES, "--format", form).stdout.split())
        assert "tiny takes: CPU time in user mode per request: 1.25 (" in said
        assert "in the kernel per request" not in said


def test_servers_of_one_run_are_compared_by_their_ratio_within_blocks(runs: Command):
    printed = json.loads(runs.run("compare", "known", "--base", "nginx", "--head", "apache", "--json").stdout)
    assert (printed["base"], printed["head"]) == ("nginx", "apache")
    [at] = [
        one
        for one in printed["points"]
        if (one["measure"], one["point"]) == ("throughput", {"connections": 50})
    ]
    # Of the truth 21,000 * 50 / 56 and 42,000 * 50 / 59; what a block has in common cancels out.
    assert at["ratio"] == pytest.approx(59 / 112)
    assert (at["low"], at["high"]) == (pytest.approx(59 / 112), pytest.approx(59 / 112))
    assert at["shown"]


def test_a_gate_on_equal_servers_passes_and_says_nothing(runs: Command):
    finished = runs.run("compare", "same", *SIDES, *GATE, "--strict")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert max(map(len, finished.stdout.splitlines())) <= 80


def test_a_slower_server_fails_the_gate_with_its_ratio(runs: Command):
    finished = runs.run("compare", "slower", *SIDES, *GATE)
    assert finished.returncode == 3
    assert "tiny: throughput is worse: 0.80 (0.80 to 0.80) times the base's" in finished.stdout
    heading = "tiny / nginx, 95 % intervals over blocks; at connections; + better, - worse"
    assert heading in finished.stdout
    assert "one after the other" not in finished.stdout


def test_a_server_that_fails_in_one_trial_where_the_base_does_in_none_fails_the_gate(runs: Command):
    record = synthetic.run_record()
    kept: list[Any] = []
    for one in synthetic.trial_records(record):
        if isinstance(one, PointRecord) and one.server == "nginx":
            tiny = one.model_copy(update={"server": "tiny", "trial": trial_of(record, one.block)})
            is_last = (one.block, one.point) == (2, {"connections": 50})
            kept += [one, failing(tiny) if is_last else tiny]
    (runs.work / "failing").mkdir()
    synthetic.write_run(runs.work / "failing", record, kept)
    finished = runs.run("compare", "failing", *SIDES, *GATE, "--format", "json")
    assert finished.returncode == 3
    assert "faults in more trials than of BASE: tiny: 1 of 3 trials failed: it ended." in " ".join(
        finished.stderr.split()
    )
    data = json.loads(finished.stdout)
    (found,) = data["fault_regressions"]
    assert (found["new"]["failed"], found["new"]["trials"], found["base"]["trials"]) == (1, 3, 3)
    assert not Comparison(data).passes
    said = " ".join(runs.run("compare", "failing", *SIDES, "--format", "md").stdout.split())
    assert "tiny: 1 of 3 trials failed: it ended." in said


def failing(record: PointRecord) -> FailureRecord:
    """The failure of a server in the place of a point."""
    kept = record.model_dump(include={"trial", "block", "server", "point", "started_at"})
    reason = {"code": "died", "text": "it ended"}
    return FailureRecord.model_validate({**kept, "kind": "failure", "reason": reason, "log_tail": ""})


def test_what_the_trials_do_not_decide_passes_with_a_caution_and_fails_where_asked_to(runs: Command):
    finished = runs.run("compare", "wide", *SIDES, *GATE)
    assert finished.returncode == 0
    assert "not decided, whether worse by 5 % or more:" in finished.stderr
    assert "tiny: throughput: 0.98" in finished.stderr
    assert runs.run("compare", "wide", *SIDES, *GATE, "--strict").returncode == 5


def test_two_runs_that_do_not_decide_fail_a_strict_gate_too(runs: Command):
    assert runs.run("compare", "same", "wide", *GATE).returncode == 0
    assert runs.run("compare", "same", "wide", *GATE, "--strict").returncode == 5


def test_a_change_that_is_ruled_out_is_decided(runs: Command):
    # The interval of 0.9, 1.0 and 1.05 reaches far below 0.7 of the base, not to a tenth of it.
    assert runs.run("compare", "wide", *SIDES, "--fail-on-regression", "90%", "--strict").returncode == 0


def test_the_number_of_trials_is_that_of_a_table_of_student_s_t():
    # t(0.975, 17) = 2.110 and t(0.975, 16) = 2.120: 0.0497 and 0.0514 are the reaches of 18 and 17 trials.
    assert trials_to_decide(0.05, 0.1) == 18
    assert trials_to_decide(-0.05, 0.1) == 18
    assert trials_to_decide(0.0, 0.1) is None
    assert trials_to_decide(0.001, 0.1) is None


def without_usable(run: Path, server: str) -> None:
    """Write the known run with all points of a server invalid."""
    record = synthetic.run_record()
    reason = VerdictReason.of("errors", "all 500 answers had the status 500")
    bad = Verdict(status="invalid", reasons=[reason], notes=[])
    records = [
        synthetic.with_load(one, verdict=bad)
        if isinstance(one, PointRecord) and one.server == server
        else one
        for one in synthetic.trial_records(record)
    ]
    run.mkdir()
    synthetic.write_run(run, record, records)


def test_a_head_that_answers_with_errors_does_not_pass(runs: Command):
    without_usable(runs.work / "bad-head", "tiny")
    finished = runs.run("compare", "bad-head", *SIDES, *GATE)
    assert finished.returncode == 3
    assert "all 500 answers had the status 500" in finished.stdout


def test_a_base_that_answers_with_errors_leaves_nothing_to_compare_with(runs: Command):
    without_usable(runs.work / "bad-base", "nginx")
    finished = runs.run("compare", "bad-base", *SIDES, *GATE, "--format", "junit")
    assert finished.returncode == 4
    assert "the base has no usable figure" in finished.stderr
    assert "all 500 answers had the status 500" in finished.stderr
    # The step that publishes finds each test, and why it was skipped.
    [suite] = ET.fromstring(finished.stdout)
    reasons = {case.get("name"): [one.get("message") for one in case] for case in suite.iter("testcase")}
    assert reasons["throughput at connections = 50"] == [
        "no figure: nginx has no usable figure: all 500 answers had the status 500"
    ]
    # Skipped tests alone would be green.
    assert suite.get("errors") == "1"
    [error] = suite.iter("error")
    assert "all 500 answers had the status 500" in (error.get("message") or "")
    summary = runs.run("compare", "bad-base", *SIDES, *GATE, "--format", "md").stdout
    assert "Nothing can be compared." in summary
    assert "all 500 answers had the status 500" in summary


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--base", "nginx", "--head", "nginxx"),
            "--head nginxx: the run has no such server; it has: nginx,",
        ),
        (("--base", "nginx", "--head", "nginx"), "--base and --head are both nginx"),
        ((*SIDES, "--fail-on-regression", "5"), 'did you mean "5%"?'),
        ((*SIDES, "--strict"), "--strict needs --fail-on-regression"),
        ((*SIDES, "--format", "junit"), "--format junit needs --fail-on-regression"),
        (("--base", "nginx"), "name two runs, or one run with --base SERVER and --head SERVER"),
        (("same", "--base", "nginx"), "name two runs, or one run with --base SERVER and --head SERVER"),
        ((*SIDES, "--despite", "machine"), "--despite accepts differences of two runs"),
    ],
)
def test_what_cannot_be_compared_is_refused(runs: Command, words: tuple[str, ...], said: str):
    finished = runs.run("compare", "same", *words)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in " ".join(finished.stderr.replace("│", " ").split())


def test_junit_has_a_test_for_each_measure_and_point(runs: Command):
    suites = ET.fromstring(runs.run("compare", "slower", *SIDES, *GATE, "--format", "junit").stdout)
    [suite] = suites
    cases = {
        (case.get("classname"), case.get("name")): [one.tag for one in case]
        for case in suite.iter("testcase")
    }
    assert cases["tiny", "throughput over the whole curve"] == ["failure"]
    assert cases["tiny", "throughput at connections = 50"] == ["failure"]
    # with_throughput leaves latency and CPU time as they are.
    assert cases["tiny", "p50 over the whole curve"] == []
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == str(sum(tags == ["failure"] for tags in cases.values()))


def test_junit_skips_what_is_not_decided(runs: Command):
    [suite] = ET.fromstring(runs.run("compare", "wide", *SIDES, *GATE, "--format", "junit").stdout)
    [case] = [one for one in suite if one.get("name") == "throughput over the whole curve"]
    assert [one.tag for one in case] == ["skipped"]
    assert int(suite.get("skipped") or 0) >= 1
    # At a point, too: its interval reaches beyond the limit, and so it has not passed.
    [case] = [one for one in suite if one.get("name") == "throughput at connections = 50"]
    assert [one.tag for one in case] == ["skipped"]


def test_a_figure_of_the_base_alone_fails_and_one_of_neither_is_skipped_with_the_reason(runs: Command):
    record = synthetic.run_record()

    def without_p99(one: Any, servers: tuple[str, ...]) -> Any:
        if not isinstance(one, PointRecord) or one.server not in servers:
            return one
        return synthetic.with_load(one, latency_ms=one.load.latency_ms.model_copy(update={"p99": None}))

    for name, servers in (("no-tail", ("tiny",)), ("no-tails", ("nginx", "tiny"))):
        (runs.work / name).mkdir()
        records = [without_p99(one, servers) for one in synthetic.trial_records(record)]
        synthetic.write_run(runs.work / name, record, records)

    def p99(name: str) -> tuple[int, list[tuple[str, str]]]:
        finished = runs.run("compare", name, "--base", "nginx", "--head", "tiny", *GATE, "--format", "junit")
        cases = [
            one
            for one in ET.fromstring(finished.stdout).iter("testcase")
            if one.get("name") == "p99 at connections = 50"
        ]
        return finished.returncode, [(one.tag, one.get("message") or "") for case in cases for one in case]

    printed = runs.run("compare", "no-tail", "--base", "nginx", "--head", "tiny", *GATE, "--json").stdout
    assert not Comparison(json.loads(printed)).passes
    code, [(tag, message)] = p99("no-tail")
    assert (code, tag) == (3, "failure")
    assert message.startswith("no figure: tiny: p99 requires 368 answers in a trial")
    _, [(tag, message)] = p99("no-tails")
    assert tag == "skipped"
    assert message.startswith("no figure: nginx: p99 requires 368 answers in a trial")


def test_suspect_points_are_said_in_every_format(runs: Command):
    record = synthetic.run_record()
    verdict = Verdict(status="suspect", reasons=[VerdictReason.of("cpu_taken", "others took it")], notes=[])
    records = [
        synthetic.with_load(one, verdict=verdict)
        if isinstance(one, PointRecord) and one.server == "tiny"
        else one
        for one in synthetic.trial_records(record)
    ]
    (runs.work / "doubtful").mkdir()
    synthetic.write_run(runs.work / "doubtful", record, records)
    measured = sum(isinstance(one, PointRecord) and one.server == "tiny" for one in records)
    said = f"tiny: {measured} of {measured} measured points are suspect, and in the ratios"
    for printed in ("text", "md", "junit"):
        finished = runs.run("compare", "doubtful", *SIDES, *GATE, "--format", printed)
        assert said in " ".join(finished.stdout.split())
    trust = json.loads(runs.run("compare", "doubtful", *SIDES, "--json").stdout)["trust"]
    [of_tiny] = [one for one in trust if one["called"] == "tiny"]
    assert (of_tiny["suspect"], of_tiny["measured"]) == (measured, measured)


def test_markdown_begins_with_the_answer_and_has_a_row_for_each_point(runs: Command):
    lines = runs.run("compare", "slower", *SIDES, *GATE, "--format", "md").stdout.splitlines()
    assert lines[0] == "## tiny beside nginx"
    assert lines[2] == "**Regression: something is shown to be worse by 5 % or more.**"
    rows = [line for line in lines if line.startswith("| tiny")]
    assert len(rows) == 1 + len(synthetic.CONNECTIONS)
    assert "0.80 (0.80 to 0.80), worse" in rows[0]


def test_the_ratio_of_a_pair_is_the_one_that_the_ranking_has(run: Run):
    from loadcurve.analysis.analysis import analyse
    from loadcurve.analysis.comparison import compare_arms
    from loadcurve.result.measures import MEASURES

    analysis = analyse(run)
    ranked = analysis.ranking(MEASURES["throughput"])
    assert ranked is not None
    [pair] = [one for one in ranked.over_curve.pairs if {one.first, one.second} == {"nginx", "tiny"}]
    of_pair = pair.seen_from("tiny").ratio
    [change] = [
        one for one in compare_arms(analysis, "nginx", "tiny").curves if one.measure.name == "throughput"
    ]
    assert of_pair is not None
    assert math.isclose(change.ratio.estimate.value, of_pair.value)
    assert math.isclose(change.ratio.estimate.low, of_pair.low)

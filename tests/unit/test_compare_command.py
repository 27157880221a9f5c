"""`loadcurve compare`: exit codes, refusals and what is printed, on run folders with a known truth."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from loadcurve.analysis.comparison import COMPARED
from loadcurve.analysis.unusable import Unusable
from loadcurve.report.comparison import unusable_in_words
from loadcurve.result.outcomes import Verdict, VerdictReason
from loadcurve.result.records import FailureRecord, PointRecord, RunRecord
from support import encrypted_run
from support import synthetic_run as synthetic
from support.command import Command


def slower(records: list[PointRecord | FailureRecord], server: str, factor: float) -> list[Any]:
    """The records with ``factor`` times the throughput of one server."""
    changed: list[PointRecord | FailureRecord] = []
    for record in records:
        if isinstance(record, PointRecord) and record.server == server:
            answered = (record.load.rate_rps.answered or 0) * factor
            rate = record.load.rate_rps.model_copy(update={"answered": answered})
            changed.append(synthetic.with_load(record, rate_rps=rate))
        else:
            changed.append(record)
    return changed


def write(command: Command, name: str, record: RunRecord, records: list[Any] | None = None) -> None:
    folder = command.work / name
    folder.mkdir()
    synthetic.write_run(folder, record, records)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Folders of runs: a base, the same again, nginx a fifth slower, and one of another kernel."""
    command = Command(tmp_path_factory.mktemp("runs"))
    record = synthetic.run_record()
    write(command, "base", record)
    write(command, "same", record)
    nginx = record.servers["nginx"].model_copy(update={"version": "9.9"})
    changed = record.model_copy(update={"servers": {**record.servers, "nginx": nginx}})
    write(command, "slower", changed, slower(synthetic.trial_records(record), "nginx", 0.8))
    write(command, "other", record.model_copy(update={"host": {**record.host, "kernel": "Linux 7"}}))
    return command


def test_equal_runs_show_no_difference_and_no_regression(runs: Command):
    finished = runs.run("compare", "base", "same", "--fail-on-regression", "5%")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "No difference is shown" in finished.stdout
    assert max(map(len, finished.stdout.splitlines())) <= 80


def test_a_regression_is_reported_with_its_interval_and_ends_with_3_only_where_asked_for(runs: Command):
    finished = runs.run("compare", "base", "slower")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "nginx: version: 1.2.3 → 9.9" in finished.stdout
    assert "nginx: throughput is worse: 0.80 (0.76 to 0.84) times the base's" in finished.stdout
    asked = runs.run("compare", "base", "slower", "--fail-on-regression", "5%")
    assert asked.returncode == 3
    assert asked.stdout == finished.stdout
    # stdout has said what became worse.
    assert asked.stderr == "Regression: something is shown to be worse by 5 % or more.\n"
    elsewhere = runs.run("compare", "base", "slower", "--fail-on-regression", "5%", "--format", "md")
    assert "nginx: throughput is worse" in elsewhere.stderr
    assert "apache" not in elsewhere.stderr


def test_a_regression_smaller_than_asked_for_is_no_failure(runs: Command):
    assert runs.run("compare", "base", "slower", "--fail-on-regression", "25 %").returncode == 0


def invalid(record: PointRecord) -> PointRecord:
    reason = VerdictReason.of("errors", "all 500 answers had the status 500")
    return synthetic.with_load(record, verdict=Verdict(status="invalid", reasons=[reason], notes=[]))


def lost_in(command: Command, name: str) -> str:
    """Return what a gate says of a run in which nothing became slower, and that it fails."""
    finished = command.run("compare", "base", name, "--fail-on-regression", "5%")
    assert finished.returncode == 3
    assert finished.stderr == "Failed: what had usable figures has none now.\n"
    as_json = command.run("compare", "base", name, "--json", "--fail-on-regression", "5%")
    assert "worse" not in as_json.stderr
    heading, said = as_json.stderr.split("\n", 1)
    assert heading == "usable in BASE and without a usable figure in NEW:"
    words = " ".join(said.split())
    assert words in " ".join(finished.stdout.split())
    assert json.loads(as_json.stdout)["lost"]
    return words


def test_a_server_that_answers_with_errors_alone_does_not_pass_a_gate(runs: Command):
    record = synthetic.run_record()
    records = [
        invalid(one) if isinstance(one, PointRecord) and one.server == "nginx" else one
        for one in synthetic.trial_records(record)
    ]
    write(runs, "errors", record, records)
    assert lost_in(runs, "errors") == ("nginx at connections = 1 to 200: all 500 answers had the status 500.")


def test_a_server_that_ends_at_its_start_does_not_pass_a_gate(runs: Command):
    record = synthetic.run_record()
    records = synthetic.trial_records(record)
    [failure] = [one for one in records if isinstance(one, FailureRecord)]
    ended = [
        failure.model_copy(
            update={"trial": planned.trial, "block": planned.block, "server": "nginx", "point": None}
        )
        for planned in record.order
        if planned.server == "nginx"
    ]
    write(runs, "ended", record, [*(one for one in records if one.server != "nginx"), *ended])
    assert lost_in(runs, "ended") == f"nginx at connections = 1 to 200: {failure.reason.text}."


def test_a_run_in_which_nothing_has_started_is_no_run_under_other_conditions(runs: Command):
    record = synthetic.run_record()
    [failure] = [one for one in synthetic.trial_records(record) if isinstance(one, FailureRecord)]
    at_start = [failure.model_copy(update={**dict(planned), "point": None}) for planned in record.order]
    # What a server's settings are is known when it has started.
    unknown = {name: one.model_copy(update={"settings": {}}) for name, one in record.servers.items()}
    write(runs, "nothing", record.model_copy(update={"servers": unknown}), at_start)
    assert lost_in(runs, "nothing").startswith("nginx, apache and tiny at connections = 1 to 200: the server")
    assert "no recorded difference" in runs.run("compare", "base", "nothing").stdout
    assert runs.run("compare", "nothing", "base", "--fail-on-regression", "5%").returncode == 4


def test_a_server_of_another_name_does_not_pass_a_gate(runs: Command):
    record = synthetic.run_record()
    renamed = {"web" if name == "nginx" else name: one for name, one in record.servers.items()}
    order = [
        planned.model_copy(update={"server": "web"}) if planned.server == "nginx" else planned
        for planned in record.order
    ]
    records = [
        one.model_copy(update={"server": "web"}) if one.server == "nginx" else one
        for one in synthetic.trial_records(record)
    ]
    write(runs, "renamed", record.model_copy(update={"servers": renamed, "order": order}), records)
    assert lost_in(runs, "renamed") == (
        "nginx at connections = 1 to 200: the new run has no server of this name."
    )


def test_points_that_are_lost_are_named_without_those_between_them(runs: Command):
    record = synthetic.run_record()
    records = [
        invalid(one)
        if isinstance(one, PointRecord) and one.server == "nginx" and one.point["connections"] in {1, 2, 50}
        else one
        for one in synthetic.trial_records(record)
    ]
    write(runs, "some", record, records)
    assert lost_in(runs, "some") == (
        "nginx at connections = 1 and 2: all 500 answers had the status 500. "
        "nginx at connections = 50: all 500 answers had the status 500."
    )
    # What was not usable before is not lost.
    finished = runs.run("compare", "some", "base", "--fail-on-regression", "5%")
    assert (finished.returncode, finished.stderr) == (0, "")


def test_runs_without_a_common_point_cannot_be_compared_and_the_file_of_tests_says_so(runs: Command):
    record = synthetic.run_record()
    points = [{"connections": one["connections"] + 1000} for one in record.points]
    records = [
        one.model_copy(update={"point": {"connections": one.point["connections"] + 1000}})
        for one in synthetic.trial_records(record)
        if isinstance(one, PointRecord)
    ]
    write(runs, "elsewhere", record.model_copy(update={"points": points}), records)
    finished = runs.run("compare", "base", "elsewhere", "--fail-on-regression", "5%", "--format", "junit")
    assert finished.returncode == 2
    assert "no point of the sweep in common" in finished.stderr
    assert (
        "BASE has connections = 1 to 200 (8 values); NEW has connections = 1,001 to 1,200 (8 values)"
        in " ".join(finished.stderr.split())
    )
    [error] = ET.fromstring(finished.stdout).iter("error")
    assert "no point of the sweep in common" in (error.get("message") or "")


def test_runs_under_other_conditions_are_refused_unless_they_are_put_up_with(runs: Command):
    refused = runs.run("compare", "base", "other")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "machine: kernel: Linux 6.1.0 → Linux 7" in refused.stderr
    assert "as `loadcurve gate` does in turn on one machine" in refused.stderr
    for name in ("machine", "kernel"):
        assert runs.run("compare", "base", "other", "--despite", name).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["base", "same", "--fail-on-regression", "much"], '"much" is not a share in per cent'),
        (["base", "other", "--despite", "content"], "they differ in: kernel, machine"),
        (["base", "same", "--despite", "kernel"], "they differ in: nothing"),
        (["base", "same", "--json", "--format", "md"], "--json and --format md name two forms"),
    ],
)
def test_bad_input_is_reported_and_ends_with_2(runs: Command, arguments: list[str], said: str):
    finished = runs.run("compare", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr


def test_a_gate_does_not_pass_a_run_that_is_compared_with_itself(runs: Command):
    for form in ("text", "json", "junit"):
        finished = runs.run("compare", "base", "./base", "--fail-on-regression", "5%", "--format", form)
        assert finished.returncode == 2
        assert "base is both RUN_A and RUN_B, so that no regression can be shown" in finished.stderr
    [error] = ET.fromstring(finished.stdout).iter("error")
    assert "is both RUN_A and RUN_B" in (error.get("message") or "")


def test_the_json_holds_every_change_with_its_interval_and_the_regressions(runs: Command):
    finished = runs.run("compare", "base", "slower", "--json", "--fail-on-regression", "5%")
    assert finished.returncode == 3
    comparison = json.loads(finished.stdout)
    [throughput] = [
        change
        for change in comparison["curves"]
        if (change["server"], change["measure"]) == ("nginx", "throughput")
    ]
    assert throughput["ratio"] == pytest.approx(0.8)
    assert throughput["low"] < 0.8 < throughput["high"] < 1
    assert throughput in comparison["regressions"]
    assert comparison["servers"]["nginx"] == [{"name": "version", "base": "1.2.3", "new": "9.9"}]


def test_what_both_runs_have_of_tls_and_http2_is_compared_too(
    runs: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    encrypted_run.write_encrypted(tmp_path / "base")
    slower_ms = {connections: 2 * full_ms for connections, full_ms in encrypted_run.FULL_MS.items()}
    monkeypatch.setattr(encrypted_run, "FULL_MS", slower_ms)
    encrypted_run.write_encrypted(tmp_path / "new")
    finished = runs.run("compare", str(tmp_path / "base"), str(tmp_path / "new"), "--json")
    ratios = {
        (change["server"], change["measure"]): change["ratio"]
        for change in json.loads(finished.stdout)["curves"]
    }
    assert ratios["nginx", "full_handshake_p50"] == pytest.approx(2)
    assert ratios["nginx", "resumed_handshake_p50"] == pytest.approx(1)
    assert ratios["apache", "stream_wait_p99"] == pytest.approx(1)
    assert {measure for server, measure in ratios if server == "tiny"} == {*COMPARED}


def test_reasons_that_differ_in_their_figures_alone_are_one_sentence():
    points = ({"connections": 1}, {"connections": 2})
    found = [
        Unusable(server, points, tuple(f"{server} lost {share} %" for share in shares), "cpu_taken")
        for server, shares in {"nginx": (80, 81), "node": (75,)}.items()
    ]
    assert unusable_in_words([*found, Unusable("tiny", points, ("it ended",), "died")]) == [
        "nginx and node at connections = 1 and 2: nginx lost 80 % (3 such reasons, this is the first).",
        "tiny at connections = 1 and 2: it ended.",
    ]


def test_runs_without_a_point_that_every_trial_has_are_no_silent_pass(runs: Command):
    record = synthetic.run_record()
    reason = VerdictReason.of("cpu_taken", "others took it")
    taken = Verdict(status="invalid", reasons=[reason], notes=[])
    # Each of nginx's three trials lacks another third of the points, so that none has all three.
    records = [
        synthetic.with_load(one, verdict=taken)
        if isinstance(one, PointRecord)
        and one.server == "nginx"
        and synthetic.CONNECTIONS.index(int(one.point["connections"])) % 3 == one.block
        else one
        for one in synthetic.trial_records(record)
    ]
    write(runs, "gaps", record, records)
    finished = runs.run("compare", "base", "gaps", "--fail-on-regression", "5%", "--strict")
    assert finished.returncode == 5
    assert "nginx: throughput at connections = 1:" in " ".join(finished.stderr.split())


@pytest.mark.parametrize("form", ["text", "md", "junit"])
def test_points_of_one_run_alone_are_said_in_every_format(form: str, runs: Command):
    record = synthetic.run_record()
    points = [one for one in record.points if one["connections"] != 200]
    records = [
        one
        for one in synthetic.trial_records(record)
        if not isinstance(one, PointRecord) or one.point["connections"] != 200
    ]
    write(runs, f"fewer-{form}", record.model_copy(update={"points": points}), records)
    finished = runs.run("compare", "base", f"fewer-{form}", "--fail-on-regression", "5%", "--format", form)
    assert "only one run has the points: connections = 200" in " ".join(finished.stdout.split())

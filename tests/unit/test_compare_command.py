"""`loadcurve compare`: exit codes, refusals and what is printed, on run folders with a known truth."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.comparison import COMPARED
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
    assert "nginx: throughput is worse" in asked.stderr
    assert "apache" not in asked.stderr


def test_a_regression_smaller_than_asked_for_is_no_failure(runs: Command):
    assert runs.run("compare", "base", "slower", "--fail-on-regression", "25 %").returncode == 0


def test_runs_under_other_conditions_are_refused_unless_they_are_put_up_with(runs: Command):
    refused = runs.run("compare", "base", "other")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "machine: kernel: Linux 6.1.0 → Linux 7" in refused.stderr
    for name in ("machine", "kernel"):
        assert runs.run("compare", "base", "other", "--despite", name).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["base", "same", "--fail-on-regression", "much"], '"much" is not a share in per cent'),
        (["base", "other", "--despite", "content"], "they differ in: kernel, machine"),
        (["base", "same", "--despite", "kernel"], "they differ in: nothing"),
    ],
)
def test_bad_input_is_reported_and_ends_with_2(runs: Command, arguments: list[str], said: str):
    finished = runs.run("compare", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr


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

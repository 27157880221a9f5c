"""What published pages say of single figures: why they are ranked nowhere, and of what trials they are."""

from pathlib import Path

import pytest

from loadcurve.analysis.numbers import analysis_of
from loadcurve.analysis.publication import Publication, published_run
from loadcurve.analysis.published_check import problems_of
from loadcurve.analysis.unusable import why_unusable
from loadcurve.cli.publish import check_command
from loadcurve.cli.report import report_command
from loadcurve.report.site.build import build_site
from loadcurve.report.site.result_page import result_values
from loadcurve.result.inputs import LeftOut
from loadcurve.result.outcomes import Verdict
from loadcurve.result.publication import PublishedRun, publish_run
from loadcurve.result.records import FailureRecord, PointRecord
from support import synthetic_run as synthetic
from support.published_points import at


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> PublishedRun:
    """The synthetic run as it is published."""
    synthetic.write_run(folder := tmp_path_factory.mktemp("published") / "run")
    return published_run(folder, Publication())


def of_model(model: str, folder: Path, code: str, *places: tuple[str, int, int]) -> PublishedRun:
    """A run of a load model in which the verdict at some servers, blocks and connections has a reason."""
    record = synthetic.run_record()
    study = record.study | {"load": record.study["load"] | {"model": model}}
    verdict = {"status": "suspect", "reasons": [{"code": code, "text": "of the rig"}], "notes": []}
    records = [
        synthetic.with_load(one, verdict=Verdict.model_validate(verdict))
        if isinstance(one, PointRecord) and (one.server, one.block, one.point["connections"]) in places
        else one
        for one in synthetic.trial_records(record)
    ]
    synthetic.write_run(folder, record.model_copy(update={"study": study}), records)
    return published_run(folder, Publication())


@pytest.mark.parametrize(
    ("model", "reasons"),
    [("closed", ["the rig, not the server, limited its highest throughput"]), ("open", [])],
)
def test_the_rig_limits_throughput_in_closed_loops_alone(model: str, reasons: list[str], tmp_path: Path):
    # The peak of nginx, in one of three trials.
    run = of_model(model, tmp_path / "run", "generator_saturated", ("nginx", 1, 200))
    assert [one.reason for one in run.unranked if one.server == "nginx"] == reasons


def test_at_a_fixed_rate_only_latencies_of_trials_with_a_late_generator_are_ranked_nowhere(tmp_path: Path):
    everywhere = [("tiny", block, connections) for block in range(3) for connections in synthetic.CONNECTIONS]
    late = [("nginx", 1, 200), ("nginx", 2, 200), ("nginx", 2, 100)]
    run = of_model("open", tmp_path / "run", "generator_late", *everywhere, *late)
    assert at(run, "nginx", 200).late_blocks == [1, 2]
    assert at(run, "apache", 200).late_blocks == []
    ranked = {one.measure: {rank.server for rank in one.ranks} for one in run.rankings}
    assert ranked["latency_p50_s"] == ranked["latency_p99_s"] == {"nginx", "apache"}
    assert ranked["server_memory_mean_bytes"] == {"nginx", "apache", "tiny"}
    assert list(problems_of(run)) == []
    values = result_values(run, "0" * 64)
    assert values["late"][0] == ("nginx", "connections = 100 and 200, in 2 of 3 trials")
    measures = values["compared"]["measures"]
    trial = values["compared"]["servers"]["nginx"]["connections = 200"][1]
    assert [trial[measures.index(name)] is None for name in ("p50", "p99", "throughput")] == [
        True,
        True,
        False,
    ]


def test_a_finding_says_where_it_was_seen_how_often_and_how_sure_its_cause_is(tmp_path: Path):
    run = of_model("open", tmp_path / "run", "generator_late", ("nginx", 1, 200), ("nginx", 2, 200))
    run_of_rig = [one for one in run.findings if "sent requests late" in one.seen]
    page = result_values(run.model_copy(update={"findings": run_of_rig}), "0" * 64)
    [found] = page["findings"]
    assert found.where == "connections = 200, in 2 of 3 trials"
    assert found.cause.startswith("Cause: The generator's own delays")
    run = of_model("open", tmp_path / "other", "generator_saturated", ("nginx", 1, 200))
    [likely] = [one for one in result_values(run, "0" * 64)["findings"] if "saturated" in one.seen]
    assert likely.cause.startswith("Likely cause: ")
    publish_run(tmp_path / "site", run)
    build_site(tmp_path / "site")
    page = (tmp_path / "site" / run.place).with_suffix(".html").read_text()
    assert "<strong>nginx</strong>, connections = 200, in 1 of 3 trials: The load generator was" in page


def test_servers_that_failed_or_were_left_out_are_in_no_ranking_with_the_reason_of_the_run(tmp_path: Path):
    record = synthetic.run_record()
    failed = FailureRecord.model_validate(
        {"kind": "failure", "trial": 0, "block": 0, "server": "nginx", "point": {"connections": 1},
         "started_at": "2026-03-14T09:27:00Z", "log_tail": "", "reason": {
             "code": "server_exited", "text": "/home/alice/nginx ended with status 3 before it was ready."}}
    )  # fmt: skip
    others = [one for one in synthetic.trial_records(record) if one.server != "nginx"]
    left_out = {
        "left_out": LeftOut(servers=["hypercorn"], installable=[], install=None),
        "unfit": {"h2o": "h2o 2.2.5 cannot have http3 = true"},
    }
    synthetic.write_run(tmp_path / "run", record.model_copy(update=left_out), [failed, *others])
    run = published_run(tmp_path / "run", Publication())
    reasons = {one.server: one.reason for one in run.unranked}
    assert reasons == {
        "nginx": "no point of it was measured: {path} ended with status 3 before it was ready",
        "absent": "it was not found on the machine",
        "hypercorn": "it is optional, and was not installed",
        "h2o": "it was left out of the run: h2o 2.2.5 cannot have http3 = true",
    }
    publish_run(tmp_path / "site", run)
    build_site(tmp_path / "site")
    check_command(tmp_path / "site")
    page = (tmp_path / "site" / run.place).with_suffix(".html").read_text()
    assert "<strong>hypercorn</strong>: it is optional, and was not installed" in page


def test_a_server_that_is_there_and_cannot_be_measured_is_not_said_to_be_missing(tmp_path: Path):
    """As a program of the study is, whose version is not known."""
    failure = FailureRecord.model_validate(
        {"kind": "failure", "trial": 0, "block": 0, "server": "absent", "point": None,
         "started_at": "2026-03-14T09:27:00Z", "log_tail": "", "reason": {
             "code": "version_unknown", "text": "The version is unknown, so the server is not measured."}}
    )  # fmt: skip
    records = [failure, *synthetic.trial_records(synthetic.run_record())]
    synthetic.write_run(tmp_path / "run", records=records)
    run = published_run(tmp_path / "run", Publication())
    words = "no point of it was measured: The version is unknown, so the server is not measured"
    assert {one.server: one.reason for one in run.unranked}["absent"] == words
    publish_run(tmp_path / "site", run)
    build_site(tmp_path / "site")
    page = (tmp_path / "site" / run.place).with_suffix(".html").read_text()
    assert "not found" not in page.lower()
    analysis = analysis_of(tmp_path / "run")
    point = analysis.curves[0].points[0].point
    assert why_unusable(analysis, "absent", point) == "The version is unknown, so the server is not measured."
    report_command(tmp_path / "run", None)
    report = (tmp_path / "run" / "report.html").read_text()
    assert "not installed" not in report
    assert "absent is missing" not in report


def test_servers_that_have_no_figure_are_not_said_to_be_slower_than_those_that_are_drawn(tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    publish_run(tmp_path / "site", run := published_run(tmp_path / "run", Publication()))
    build_site(tmp_path / "site")
    page = (tmp_path / "site" / run.place).with_suffix(".html").read_text()
    assert len(run.servers) == len(result_values(run, "0" * 64)["drawn"]) + 1
    assert "with the highest throughput are drawn" not in page


def test_a_point_of_which_one_trial_is_invalid_is_not_called_invalid(published: PublishedRun):
    rows = result_values(published, "0" * 64)["rows"]
    found = {(one["server"], one["point"]): (one["verdict"], one["status"], one["used"]) for one in rows}
    assert found["tiny", "connections = 100"] == ("1 of 3 invalid", "suspect", 2)
    assert found["nginx", "connections = 200"] == ("suspect", "suspect", 3)
    spoiled = at(published, "tiny", 100).model_copy(update={"verdicts": ["invalid"] * 3})
    [row] = result_values(published.model_copy(update={"points": [spoiled]}), "0" * 64)["rows"]
    assert (row["verdict"], row["status"], row["used"]) == ("invalid", "invalid", 0)


def test_what_files_of_earlier_versions_lack_is_absent(tmp_path: Path):
    run = of_model("open", tmp_path / "run", "generator_late", ("nginx", 1, 200))
    points = [one.model_dump(exclude={"late_blocks"}) for one in run.points]
    added = {"certainty", "points", "trials", "trials_measured"}
    findings = [one.model_dump(exclude=added) for one in run.findings]
    earlier = PublishedRun.model_validate(run.model_dump() | {"points": points, "findings": findings})
    values = result_values(earlier, "0" * 64)
    assert values["late"] == []
    assert values["findings"][0].where == ""
    assert values["findings"][0].cause == run.findings[0].cause


def test_points_at_which_a_ranked_server_has_no_usable_trial_are_named_below_the_rankings(published):
    spoiled = at(published, "nginx", 200).model_copy(update={"verdicts": ["invalid"] * 3})
    points = [
        spoiled if (one.server, one.point) == ("nginx", spoiled.point) else one for one in published.points
    ]
    assert result_values(published, "0" * 64)["left_out"] == []
    values = result_values(published.model_copy(update={"points": points}), "0" * 64)
    assert values["left_out"] == [("nginx", "connections = 200")]


def test_the_command_that_repeats_a_run_has_its_options_and_its_seed(published):
    run = published.model_copy(update={"options": ["--quick"], "seed": 7})
    assert result_values(run, "0" * 64)["repeat"] == "loadcurve run study.toml --seed 7 --quick"


def test_a_server_without_a_usable_trial_at_the_lowest_load_is_named_below_its_bars(tmp_path: Path):
    verdict = {"status": "invalid", "reasons": [{"code": "errors", "text": "all failed"}], "notes": []}
    records = [
        synthetic.with_load(one, verdict=Verdict.model_validate(verdict))
        if isinstance(one, PointRecord) and (one.server, one.point["connections"]) == ("nginx", 1)
        else one
        for one in synthetic.trial_records(synthetic.run_record())
    ]
    synthetic.write_run(tmp_path / "run", records=records)
    publish_run(tmp_path / "site", run := published_run(tmp_path / "run", Publication()))
    build_site(tmp_path / "site")
    assert "nginx" in result_values(run, "0" * 64)["not_at_lowest"]
    page = (tmp_path / "site" / run.place).with_suffix(".html").read_text()
    assert "All servers at" not in page
    assert "Without a usable trial there: nginx" in page

"""Generators beside each other: what is paired with what, the ratios, and why they may differ."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from loadcurve.analysis.crosscheck import CrossChecked, GeneratorFacts, cross_check
from loadcurve.analysis.curves import curves
from loadcurve.cli.crosscheck import crosscheck_command
from loadcurve.report.crosscheck import crosscheck_json, crosscheck_lines, reasons
from loadcurve.result.folder import Run, read_run
from loadcurve.result.generator import RequestSent
from loadcurve.result.records import PointRecord
from loadcurve.runs.study import RunOptions
from loadcurve.study.more_arms import beside_generators, with_generators
from loadcurve.toml.document import TomlDocument
from support import synthetic_run as synthetic
from support.command import Command
from support.terminal import printed
from support.tool_record import WRK

TOOL = WRK.model_copy(update={"warmup": "own", "request": RequestSent(bytes=47, user_agent=None)})
ENGINE = GeneratorFacts(
    name="engine",
    http="1.1",
    threads=1,
    cpu_per_request_us=8.0,
    sleeps_per_request=0.19,
    busiest=0.5,
    header_bytes=200.0,
    request_bytes=76.0,
    connect_in_window=False,
    hidden_ms=0.0,
    tool=None,
)
OF_WRK = replace(
    ENGINE,
    name="wrk",
    cpu_per_request_us=6.0,
    sleeps_per_request=0.03,
    request_bytes=47.0,
    hidden_ms=None,
    tool=TOOL,
)


def said(of_tool: GeneratorFacts = OF_WRK, engine: GeneratorFacts = ENGINE) -> str:
    return "\n".join(reasons(CrossChecked("nginx-wrk", "nginx", of_tool, engine, ())))


def with_tool(**changes: object) -> GeneratorFacts:
    return replace(OF_WRK, tool=TOOL.model_copy(update=changes))


@pytest.mark.parametrize(
    ("of_tool", "engine", "reason"),
    [
        (
            OF_WRK,
            replace(ENGINE, hidden_ms=3.25),
            "coordinated omission: wrk .* 3.250 ms of the engine's mean latency come before that",
        ),
        (OF_WRK, ENGINE, "in this load the two are the same"),
        (OF_WRK, ENGINE, "in steps of 1 µs"),
        (
            with_tool(completeness="summary"),
            ENGINE,
            "wrk reports a mean; what it does not report is not compared",
        ),
        (replace(OF_WRK, http="1.0"), ENGINE, "HTTP/1.0 under wrk, HTTP/1.1 under the engine"),
        (replace(OF_WRK, threads=2), ENGINE, "wrk has 2 threads, the engine 1"),
        (replace(OF_WRK, connect_in_window=True), ENGINE, "starts before its connections are open"),
        (with_tool(warmup="separate"), ENGINE, "wrk warms up in a separate process first"),
        (OF_WRK, ENGINE, "6.0 µs per request under wrk, 8.0 µs under the engine"),
        (OF_WRK, ENGINE, "0.0300 per request under wrk, 0.190 under the engine; the server wakes it"),
        (replace(OF_WRK, busiest=0.97), ENGINE, "wrk used 97 % of its CPUs"),
        (OF_WRK, replace(ENGINE, busiest=0.99), "the engine used 99 % of its CPUs"),
        (replace(OF_WRK, header_bytes=230.0), ENGINE, "230 under wrk, 200 under the engine"),
        (OF_WRK, ENGINE, "bytes of a request: 47 under wrk, 76 under the engine; its User-Agent is none"),
        (with_tool(request=RequestSent(bytes=47, user_agent="wrk/4")), ENGINE, "User-Agent is wrk/4"),
    ],
)
def test_a_reason_stands_there_with_the_figures_that_show_it(of_tool, engine, reason):
    assert re.search(reason, said(of_tool, engine))


def test_what_is_alike_is_no_reason():
    alike = with_tool(latency_basis="due", resolution_ms=None)
    alike = replace(alike, request_bytes=76.0, cpu_per_request_us=None, sleeps_per_request=0.18)
    assert said(alike) == ""


def under_wrk(folder: Path, **table: object) -> Run:
    """The run with apache's arm under wrk, whose server has the table of nginx but for the load."""
    run = read_run(synthetic.write_run(folder))
    changed = [
        synthetic.with_load(record, tool=TOOL)
        if isinstance(record, PointRecord) and record.server == "apache"
        else record
        for record in run.records
    ]
    apache = {"use": "nginx", "load": {"generator": "wrk"}} | table
    servers = {"nginx": {"use": "nginx"}, "apache": apache, "tiny": {"use": "tiny"}}
    record = run.run.model_copy(update={"study": {**run.run.study, "servers": servers}})
    return replace(synthetic.with_records(run, changed), run=record)


def test_an_arm_of_a_tool_is_paired_with_that_of_the_same_server_under_our_engine(tmp_path):
    run = under_wrk(tmp_path)
    [checked] = cross_check(run, curves(run))
    assert (checked.arm, checked.base) == ("apache", "nginx")
    assert (checked.facts.name, checked.of_base.name) == ("wrk", "engine")
    at_ten = next(
        one for one in checked.ratios if one.point == {"connections": 10} and one.measure == "throughput_rps"
    )
    truth = {name: synthetic.SERVERS[name].throughput_rps(10) for name in ("apache", "nginx")}
    assert at_ten.ratio is not None
    assert at_ten.ratio.estimate is not None
    # Paired by block the factors of the trials cancel out.
    assert at_ten.ratio.estimate.value == pytest.approx(truth["apache"] / truth["nginx"], rel=1e-6)
    assert at_ten.shown
    [pair] = crosscheck_json([checked])["pairs"]
    assert (pair["generator"]["request_bytes"], pair["arm"]) == (47, "apache")
    assert "apache over nginx: wrk 4.1.0 over our engine" in printed(crosscheck_lines([checked]))


def test_a_server_with_another_table_is_compared_with_none(tmp_path):
    run = under_wrk(tmp_path, workers=2)
    assert cross_check(run, curves(run)) == []


def test_without_a_study_one_server_of_the_quickstart_is_measured(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def run(argument: str, options: RunOptions) -> tuple[Path, int]:
        asked.append((argument, options.only))
        raise KeyboardInterrupt

    monkeypatch.setattr("loadcurve.cli.crosscheck._run", run)
    for only, expected in (((), 1), (("limit", "nginx"), 2)):
        with pytest.raises(KeyboardInterrupt):
            crosscheck_command(None, RunOptions(only=only), json_output=False)
        argument, servers = asked.pop()
        assert argument == "quickstart"
        assert len(servers) == expected
        assert set(servers) <= {"nginx", "limit"}


def test_the_arms_of_generators_are_chosen_with_their_server(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text("[servers.limit]\n[servers.nginx]\n")
    arms = beside_generators(TomlDocument.read(file), ["wrk", "k6"]).data["servers"]
    chosen = with_generators(["nginx"], ["wrk", "k6"])
    assert [name for name in arms if name in chosen] == ["nginx", "nginx-wrk", "nginx-k6"]


@pytest.mark.parametrize(
    "words",
    [["--generator", "wrk"], ["--trials", "9"], ["--only", "nginx"], ["--quick"], ["--out", "other"]],
    ids=" ".join,
)
def test_options_of_a_measurement_are_refused_where_a_run_is_read(words: list[str], tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    refused = Command(tmp_path).run("crosscheck", "run", *words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "run is a run folder, of which crosscheck reads the figures: expected no option" in refused.stderr
    assert "loadcurve crosscheck run/study.toml --generator NAME" in refused.stderr


def test_of_a_run_of_one_generator_it_is_said_how_its_study_is_measured_under_others(tmp_path: Path):
    synthetic.write_run(tmp_path / "run")
    refused = Command(tmp_path).run("crosscheck", "run")
    assert refused.returncode == 2
    assert "no server was measured under our engine and under another generator" in refused.stderr
    assert refused.stderr.endswith(": loadcurve crosscheck run/study.toml --generator NAME\n")

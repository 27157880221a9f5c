"""Loadcurve from Python: options as words, errors as exceptions, a run folder as tables and pictures."""

import html
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints
from xml.etree import ElementTree

import polars
import pytest
from docs.generate.command import read_command

import loadcurve
from loadcurve import api
from loadcurve.api import command
from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured
from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic

WRK = """Running 10s test @ http://127.0.0.1:8080/
  2 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    0.10ms   5.00ms   90.00%
    Req/Sec   617.25      10.00     1.00k    70.00%
  12345 requests in 10.00s, 3.00MB read
Requests/sec:   1234.50
Transfer/sec:    307.20KB
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return api.Run(synthetic.write_run(tmp_path_factory.mktemp("api") / "run"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"connections": 50, "duration": "30s"}, ["--connections=50", "--duration=30s"]),
        ({"from_": "here,web"}, ["--from=here,web"]),
        ({"quick": True, "watch": False, "trials": None}, ["--quick"]),
        (
            {"header": ["A: 1", "B: 2"], "password_env": "X"},
            ["--header=A: 1", "--header=B: 2", "--password-env=X"],
        ),
        ({"out": Path("folder"), "duration": "-1s"}, ["--out=folder", "--duration=-1s"]),
    ],
)
def test_options_are_the_words_of_the_command_line(options, words):
    assert command.words_of(options) == words


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (["report", "no-such-folder"], BadInput, "no-such-folder is not a run folder"),
        (["load", "--json", "--", "http://127.0.0.1:9/"], NothingMeasured, "127.0.0.1:9"),
    ],
)
def test_a_command_that_fails_raises_the_error_of_its_exit_code(tmp_path, monkeypatch, words, error, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=text) as raised:
        command.printed_by(words)
    assert not str(raised.value).startswith("loadcurve:")


def test_no_word_is_an_argument_of_a_process(monkeypatch):
    show = "import json, sys; given = json.load(sys.stdin); print(sys.argv[1:], given)"
    monkeypatch.setattr(command, "PROGRAM", show)
    assert command.printed_by(["load", "--header=Cookie: é"]) == "[] ['load', '--header=Cookie: é']\n"


def test_what_the_command_starts_reads_none_of_the_words(monkeypatch):
    read = "from loadcurve.cli import given_words; import sys; {}; given_words.main()".format(
        "given_words.command.main = lambda: print(sys.argv[1:], sys.stdin.read() or 'nothing')"
    )
    monkeypatch.setattr(command, "PROGRAM", read)
    assert command.printed_by(["load"]) == "['load'] nothing\n"


def test_an_error_has_the_sentences_of_the_command_and_not_what_it_said_before(monkeypatch):
    said = "trial 1 of 2\nloadcurve: run.json was changed\n3 points\nloadcurve: no figure:\n  no memory\n"
    program = f"import sys; print({said!r}, file=sys.stderr); sys.exit(4)"
    monkeypatch.setattr(command, "PROGRAM", program)
    with pytest.raises(NothingMeasured) as raised:
        command.printed_by(["gate"])
    assert str(raised.value) == "no figure:\n  no memory"


def test_messages_name_the_command_as_a_person_types_it():
    with pytest.raises(BadInput, match=r"see loadcurve gate --help$"):
        command.printed_by(["gate", "--bogus=1", "--", "study.toml"])


def test_an_answer_that_is_not_decided_is_an_answer(monkeypatch):
    monkeypatch.setattr(command, "PROGRAM", "import sys; print('{}'); sys.exit(5)")
    assert command.printed_by(["gate", "--strict"]) == "{}\n"


def test_an_unknown_failure_is_a_fault_of_loadcurve(monkeypatch):
    monkeypatch.setattr(command, "PROGRAM", "import sys; sys.exit('broken')")
    with pytest.raises(LoadcurveError, match="broken"):
        command.printed_by([])


def test_an_invalid_result_is_a_result(monkeypatch):
    monkeypatch.setattr(command, "PROGRAM", "import sys; print('{}'); sys.exit(3)")
    assert command.printed_by([]) == "{}\n"


def test_a_load_is_shown_as_the_command_prints_it(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    load = api.Load(LoadResult.model_validate(synthetic.load_result("nginx", 10)))
    assert load.requests_per_s == load.result.rate_rps.answered
    assert load.verdict == "valid"
    assert all(len(line) <= 80 for line in str(load).splitlines())
    assert "\x1b" not in str(load)
    assert ElementTree.fromstring(load._repr_html_()).text == str(load)
    assert repr(load) == f"<Load: {load.requests_per_s:,.0f} requests/s, valid>"


def test_a_run_folder_is_tables_findings_and_an_answer(run):
    assert run.points.height == len(run._report.run.points)
    assert {"server", "connections", "throughput_rps"} <= set(run.points.columns)
    assert isinstance(run.estimates, polars.DataFrame)
    assert set(run.ranking["server"]) == set(run.points["server"])
    assert list(run.findings) == run.analysis.findings
    assert "nginx" in run.answer


def test_a_notebook_shows_the_answer_and_the_curves(run):
    shown = run._repr_html_()
    assert run.answer in shown
    assert shown.count("<svg") == 2


def test_a_notebook_shows_each_cause_with_what_to_do(run):
    findings = api.Run(run.folder).findings
    assert findings
    shown = findings._repr_html_()
    assert ElementTree.fromstring(f"<div>{shown}</div>").findall("p/strong")
    assert html.escape(findings[0].cause) in shown
    assert html.escape(findings[0].advice) in shown
    assert type(findings)()._repr_html_() == "<p>No findings.</p>"


FUNCTIONS = [api.load, api.run, api.capacity, api.compare, api.crosscheck, api.gate, api.import_]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_long_option_of_the_command_is_a_typed_keyword_argument(function):
    _, subcommands = read_command()
    name = function.__name__.removesuffix("_")
    [subcommand] = [one for one in subcommands if one.name == f"loadcurve {name}"]
    long = {name for one in subcommand.options for name in re.findall(r"--([a-z-]+)", one.names)}
    (keywords,) = get_args(get_type_hints(function)["options"])
    known = {name.removesuffix("_").replace("_", "-") for name in get_type_hints(keywords)}
    # Python's `run` is of one study, and no suite, and starts it.
    left_out = {"capacity": {"slo"}, "run": {"dry-run", "profile"}}.get(name, set())
    assert known == long - {"help", "json", "operations", "format", "strict"} - left_out


@pytest.mark.parametrize("function", FUNCTIONS)
def test_help_names_every_option(function):
    (keywords,) = get_args(get_type_hints(function)["options"])
    parameters = inspect.signature(function).parameters
    assert set(get_type_hints(keywords)) <= set(parameters)
    assert "options" not in parameters


def test_two_runs_are_compared_as_a_table(run, tmp_path):
    other = synthetic.write_run(tmp_path / "run")
    compared = loadcurve.compare(run, other)
    assert compared.regressions is None
    whole = compared.ratios.filter(polars.col("connections").is_null())
    assert set(whole["server"]) == set(run.points["server"])
    assert set(compared.ratios["connections"].drop_nulls()) == set(run.points["connections"])
    # A run differs from itself by a factor of 1.
    assert whole["ratio"].to_list() == pytest.approx([1.0] * whole.height)
    assert repr(compared) == f"<Comparison: {compared.ratios.height} ratios, 0 differences shown>"


def test_a_gate_passes_what_has_not_become_worse(run, tmp_path):
    gate = loadcurve.compare(run, synthetic.write_run(tmp_path / "run"), fail_on_regression="5%")
    assert gate.passes
    assert (gate.regressions.height, gate.regressions.columns) == (0, gate.ratios.columns)


def test_a_gate_does_not_pass_a_server_that_is_lost():
    empty = ("curves", "points", "regressions", "error_regressions", "fault_regressions", "lost", "missing")
    data = {name: [] for name in empty}
    assert api.Comparison(data).passes
    assert not api.Comparison(data | {"lost": [{"server": "nginx"}]}).passes
    for kind in ("error_regressions", "fault_regressions"):
        assert not api.Comparison(data | {kind: [{"server": "nginx"}]}).passes


@pytest.mark.parametrize(("outcome", "passes"), [("passed", True), ("failed", False), ("undecided", False)])
def test_a_gate_of_two_builds_passes_only_what_is_ruled_out(monkeypatch, outcome, passes):
    compared = {"curves": [], "points": [], "operations": [], "regressions": None, "undecided": None}
    answer = {"outcome": outcome, "said": ["An answer."], "report": "run/report.html", "comparison": compared}
    monkeypatch.setattr(command, "PROGRAM", f"print({json.dumps(answer)!r})")
    gate = loadcurve.gate("study.toml", base="before", head="after")
    assert (gate.outcome, gate.passes) == (outcome, passes)
    assert gate.report.name == "report.html"
    assert gate.comparison.regressions is None
    assert repr(gate) == "<GateResult: An answer.>"


def test_crosschecked_generators_are_a_table(monkeypatch):
    ratio = {"measure": "throughput", "point": {"connections": 5}, "ratio": 0.9, "differs": True}
    printed = json.dumps({"pairs": [{"arm": "nginx-wrk", "ratios": [ratio]}]})
    said = "import sys; print('trial 1 of 5', file=sys.stderr)"
    monkeypatch.setattr(command, "PROGRAM", f"{said}; print({printed!r})")
    heard: list[str] = []
    assert loadcurve.crosscheck("quickstart", progress=heard.append).ratios.to_dicts() == [
        {"arm": "nginx-wrk", "measure": "throughput", "connections": 5, "ratio": 0.9, "differs": True}
    ]
    assert heard == ["trial 1 of 5"]


def test_files_of_another_generator_become_a_run(tmp_path):
    file = tmp_path / "out.txt"
    file.write_text(WRK)
    imported = loadcurve.import_(file, server="nginx", out=tmp_path / "run")
    assert imported.folder == tmp_path / "run"
    assert imported.points["throughput_rps"].to_list() == [1234.5]
    with pytest.raises(BadInput, match="makes a list of requests and no run"):
        loadcurve.import_(file, as_="requests")


def test_the_charts_of_a_run_are_objects_that_can_be_changed_and_saved(run, tmp_path):
    chart = run.charts["throughput"].properties(title="Mine")
    chart.save(tmp_path / "mine.svg")
    assert "Mine" in (tmp_path / "mine.svg").read_text()
    assert "throughput" in list(run.charts)
    assert repr(run.charts).startswith("<charts: throughput")
    with pytest.raises(KeyError, match="no such"):
        _ = run.charts["no such"]


def test_reports_are_written_where_they_are_asked_for(run, tmp_path):
    paths = run.report(formats=["md", "json"], out=tmp_path)
    assert {path.name for path in paths} == {"report.md", "report.json"}
    assert all(path.parent == tmp_path and path.stat().st_size for path in paths)


def test_what_the_command_says_meanwhile_is_handed_on_line_by_line(monkeypatch):
    program = (
        "import sys; print('trial 1', file=sys.stderr); print('no such server', file=sys.stderr); sys.exit(2)"
    )
    monkeypatch.setattr(command, "PROGRAM", program)
    heard: list[str] = []
    with pytest.raises(BadInput, match="trial 1\nno such server"):
        command.printed_by(["run"], heard.append)
    assert heard == ["trial 1", "no such server"]


def test_what_is_no_run_folder_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is not a run folder"):
        api.Run(tmp_path)


def test_the_package_hands_out_the_functions_and_not_the_packages_of_their_names():
    program = "import loadcurve; loadcurve.Run; print(callable(loadcurve.load), callable(loadcurve.run))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "True True\n"


def test_another_name_is_an_error_that_names_it():
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = loadcurve.lod


def test_what_the_package_offers_is_listed():
    assert {"Load", "Run", "capacity", "compare", "crosscheck", "import_", "load", "run"} <= set(
        dir(loadcurve)
    )

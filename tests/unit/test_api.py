"""Loadcurve from Python: options as words, errors as exceptions, a run folder as tables and pictures."""

import html
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


@pytest.mark.parametrize("function", [api.load, api.run])
def test_every_long_option_of_the_command_is_a_typed_keyword_argument(function):
    _, subcommands = read_command()
    [subcommand] = [one for one in subcommands if one.name == f"loadcurve {function.__name__}"]
    long = {name for one in subcommand.options for name in re.findall(r"--([a-z-]+)", one.names)}
    (keywords,) = get_args(get_type_hints(function)["options"])
    known = {name.removesuffix("_").replace("_", "-") for name in get_type_hints(keywords)}
    assert known == long - {"help", "json", "operations"}


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
    assert {"Load", "Run", "load", "run"} <= set(dir(loadcurve))

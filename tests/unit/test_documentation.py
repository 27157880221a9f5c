"""The documents: their links lead somewhere, their commands and examples are accepted by the program."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from docs.generate.command import read_command

from loadcurve.api import comparison, one_load, run_folder
from loadcurve.cli.main import app
from loadcurve.report.site.prices import PriceTable
from loadcurve.runs.study_servers import with_own_programs
from loadcurve.server.catalog import load_catalog
from loadcurve.server.settings import choose_settings
from loadcurve.study.claims import ClaimsFile
from loadcurve.study.model import Study
from loadcurve.study.several import studies_in
from loadcurve.study.suite import SuiteTable
from support import synthetic_run as synthetic

PROJECT = Path(__file__).parents[2]
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("studies/**/*.md")])
README_LINES_MAX = 150
RUN_FOLDERS = {"before", "after", "RUN_A", "RUN_B"}
CATALOG = load_catalog()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path):
    return str(path.relative_to(PROJECT))


def blocks(language):
    """Return each block of a language, named by its document and line."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text()
        for match in FENCE.finditer(text):
            if match[1] == language:
                line = text.count("\n", 0, match.start()) + 1
                found.append(pytest.param(path, match[2], id=f"{name_of(path)}:{line}"))
    return found


def test_the_readme_is_short():
    assert len((PROJECT / "README.md").read_text().splitlines()) <= README_LINES_MAX


def test_each_document_is_reached_from_the_readme():
    reached = {PROJECT / "README.md"}
    waiting = [PROJECT / "README.md"]
    while waiting:
        path = waiting.pop()
        for target in re.findall(r"\]\(([^)#\s]+\.md)", path.read_text()):
            file = (path.parent / target).resolve()
            if file not in reached:
                reached.add(file)
                waiting.append(file)
    assert {path for path in DOCUMENTS if "studies" not in path.parts} <= reached


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.parent.name == "guides"], ids=name_of)
def test_a_guide_is_divided_by_headings(path):
    parts = re.findall(r"^## ", FENCE.sub("", path.read_text()), re.MULTILINE)
    assert parts
    assert not re.search(r"^\*\*[^*]+\.\*\* ", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("path", "text"), blocks("sh"))
def test_each_command_has_arguments_that_the_program_takes(path, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["loadcurve"]:
            continue
        for run in (word for word in words if word.startswith("loadcurve-runs/") or word in RUN_FOLDERS):
            (tmp_path / run).mkdir(parents=True, exist_ok=True)
            (tmp_path / run / "run.json").touch()
        for study in (word for word in words if word.endswith(".toml")):
            (tmp_path / study).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / study).touch()
        command.commands[words[1]].make_context(words[1], words[2:])


OF_OTHERS = {"django", "fastapi", "flask"}
"""Modules of applications in examples, which this project does not need."""


@pytest.mark.parametrize(("path", "text"), blocks("python"))
def test_each_program_runs_to_its_end(path, text, tmp_path, monkeypatch):
    run = synthetic.write_run(tmp_path / "loadcurve-runs" / "RUN")
    compared: dict[str, list[object]] = {
        key: [] for key in ("curves", "points", "operations", "regressions", "undecided", "lost", "missing")
    } | {"error_regressions": [], "fault_regressions": []}
    printed = {
        "load": json.dumps(synthetic.load_result("nginx", 50)),
        "compare": json.dumps(compared),
        "gate": json.dumps({"outcome": "passed", "comparison": compared, "report": "run/report.html"}),
        **dict.fromkeys(("run", "capacity", "import"), f"{run}/report.html\n"),
    }
    monkeypatch.chdir(tmp_path)
    for module in (one_load, run_folder, comparison):
        monkeypatch.setattr(module, "printed_by", lambda words, _progress=None: printed[words[0]])
    try:
        exec(compile(text, str(path), "exec"), {})
    except ModuleNotFoundError as missing:
        if missing.name not in OF_OTHERS:
            raise
        pytest.skip(f"needs {missing.name}, which the application of this recipe is made with")


RECORDED_PATHS = ["/1k.txt", "/2k.txt"]
"""What a file of requests of an example holds."""


HELLO_WORLD = """syntax = "proto3";
package helloworld;
message Request { string name = 1; }
message Reply { string message = 1; }
service Greeter { rpc SayHello (Request) returns (Reply); }
"""
"""The schema of gRPC's own examples."""


def whole_study(tables):
    """A study of what an example gives, with the tables that it leaves out; one with a title is whole."""
    if "title" in tables:
        return tables
    load = tables.get("load", {})
    if "workload" in load:
        missing, sweep, content = {"model": "ycsb", "operations": 10}, {"threads": [1]}, {}
    else:
        missing = {"model": "closed", "requests": ["/1k.txt"], "duration": "1s"}
        requests = load.get("requests", missing["requests"])
        paths = RECORDED_PATHS if isinstance(requests, str) else requests
        is_of_files = "messages" not in load
        files = {path.strip("/"): "1KiB" for path in paths if isinstance(path, str) and is_of_files}
        sweep = {"timeout": [5]} if "connections" in load else {"connections": [1]}
        content = {"content": files} if files else {}
    servers = tables.get("published", {}).get("servers", {"limit": "limit"}).values()
    left_out = {"title": "An example", "sweep": sweep, "servers": {name: {} for name in servers}, **content}
    return {**left_out, **tables, "load": load if "model" in load else {**missing, **load}}


@pytest.mark.parametrize(("path", "text"), blocks("toml"))
def test_each_example_is_accepted_as_a_study_or_a_part_of_one(path, text, tmp_path):
    tables = tomllib.loads(text)
    if "loads" in tables:
        (tmp_path / "study.toml").write_text(text)
        assert studies_in(tmp_path / "study.toml")
        return
    if "studies" in tables:
        for name in tables["studies"]:
            (tmp_path / f"{name}.toml").write_text("")
        assert SuiteTable.model_validate(tables, context={"folder": tmp_path})
        return
    if "currency" in tables:
        assert PriceTable.model_validate(tables)
        return
    if "claims" in tables:
        ClaimsFile.model_validate(tables)
        return
    folder = PROJECT / "studies" / "B-platforms"
    if isinstance(requests := tables.get("load", {}).get("requests"), str):
        folder = tmp_path
        lines = (f"{path} @{moment_s}\n" for moment_s, path in enumerate(RECORDED_PATHS))
        (tmp_path / requests).write_text("".join(lines))
    if proto := tables.get("load", {}).get("grpc", {}).get("proto"):
        folder = tmp_path
        (tmp_path / proto).write_text(HELLO_WORLD)
    for server in tables.get("servers", {}).values():
        if "cwd" in server:
            folder = tmp_path
            (tmp_path / server["cwd"]).mkdir()
    study = Study.model_validate(whole_study(tables), context={"folder": folder})
    study = with_own_programs(study, CATALOG)
    for server in study.servers.values():
        choose_settings(server.use, CATALOG[server.use].description.settings, server.settings)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_each_example_is_of_a_kind_that_a_test_tries(path):
    tried, not_for_loadcurve = (
        {"sh", "toml", "python"},
        {"console", "diff", "go", "java", "js", "ruby", "text", "xml"},
    )
    assert {match[1] for match in FENCE.finditer(path.read_text())} <= tried | not_for_loadcurve


def targets_of_make():
    return set(re.findall(r"^([a-z][a-z-]*):", (PROJECT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize(("path", "text"), blocks("sh"))
def test_each_line_of_commands_calls_loadcurve_or_a_target_of_make(path, text):
    for line in text.replace("\\\n", " ").splitlines():
        program, *words = shlex.split(line, comments=True) or ["loadcurve"]
        assert program in {"loadcurve", "make"}
        if program == "make":
            assert words[0] in targets_of_make()


def inline_code(path):
    """Each piece of code within the text of a document, on one line."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", FENCE.sub("", path.read_text()))]


USER_DOCUMENTS = [path for path in DOCUMENTS if path.name == "README.md" or "docs" in path.parts]
COMMAND, SUBCOMMANDS = read_command()
OPTIONS = {
    one.name: {word for option in one.options for word in re.findall(r"--?[a-z][a-z-]*", option.names)}
    for one in (COMMAND, *SUBCOMMANDS)
}
KEYS = {
    key
    for page in PROJECT.glob("docs/reference/*.md")
    for key in re.findall(r"^\| `([a-z][\w-]*)` \|", page.read_text(), re.MULTILINE)
} | {"model", "layout", "auto"}
"""The keys of studies and servers, and the settings of servers, as the reference has them from the code.

Besides them the key that chooses a load model, a driver's setting, and a key of settings.
"""


@pytest.mark.parametrize("path", USER_DOCUMENTS, ids=name_of)
def test_each_command_and_option_within_a_text_exists(path):
    for code in inline_code(path):
        command = re.match(r"loadcurve [a-z]+", code)
        known = OPTIONS[command[0]] if command else set().union(*OPTIONS.values())
        if command or code.startswith("-"):
            assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", code)) <= known, code


@pytest.mark.parametrize("path", USER_DOCUMENTS, ids=name_of)
def test_each_key_within_a_text_exists_and_has_a_value_that_can_be_read(path):
    for code in inline_code(path):
        if re.match(r"[a-z_]+ = [^…]+$", code):
            assert set(tomllib.loads(code)) <= KEYS, code


def test_the_messages_of_troubleshooting_are_those_of_the_program():
    text = (PROJECT / "docs" / "guides" / "troubleshooting.md").read_text()
    messages = re.findall(r'^## "(.+?)"', text, re.MULTILINE)
    codes = re.findall(r"`(\w+)`", " ".join(re.findall(r"^## A point.*$", text, re.MULTILINE)))
    assert messages
    assert codes
    sources = "\n".join(path.read_text() for path in (PROJECT / "python" / "loadcurve").rglob("*.py"))
    # A sentence of the source may go over several lines.
    whole = re.sub(r'"\s*\n\s*f?"', "", sources)
    assert [message for message in messages if message not in whole] == []
    verdicts = (PROJECT / "docs" / "methodology" / "verdicts.md").read_text()
    assert [code for code in codes if f"| `{code}` |" not in verdicts] == []

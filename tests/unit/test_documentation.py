"""The documents: their links lead somewhere, their commands and examples are accepted by the program."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from loadcurve.api import one_load, run_folder
from loadcurve.cli.main import app
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support import synthetic_run as synthetic

PROJECT = Path(__file__).parents[2]
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("studies/**/*.md")])
README_LINES_MAX = 150
RUN_FOLDERS = {"before", "after", "RUN_A", "RUN_B"}
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


def anchors(path):
    """Return what a heading is called in a link, by the rules of GitHub."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_each_link_leads_to_a_file_and_a_heading_that_are_there(path):
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", FENCE.sub("", path.read_text())):
        file, _, heading = target.partition("#")
        leads_to = (path.parent / file).resolve() if file else path
        assert leads_to.exists(), target
        assert not heading or heading in anchors(leads_to), target


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
        command.commands[words[1]].make_context(words[1], words[2:])


@pytest.mark.parametrize(("path", "text"), blocks("python"))
def test_each_program_runs_to_its_end(path, text, tmp_path, monkeypatch):
    run = synthetic.write_run(tmp_path / "loadcurve-runs" / "RUN")
    printed = {"load": json.dumps(synthetic.load_result("nginx", 50)), "run": f"{run}/report.html\n"}
    monkeypatch.chdir(tmp_path)
    for module in (one_load, run_folder):
        monkeypatch.setattr(module, "printed_by", lambda words: printed[words[0]])
    exec(compile(text, str(path), "exec"), {})


@pytest.mark.parametrize(("path", "text"), blocks("toml"))
def test_each_example_can_be_read_and_a_whole_study_is_accepted(path, text, tmp_path):
    tables = tomllib.loads(text)
    if not {"title", "load", "sweep", "servers"} <= tables.keys():
        return
    study = tmp_path / "study.toml"
    study.write_text(text)
    TomlDocument.read(study).to_model(Study)

"""`loadcurve run`: what a finished run leaves in its folder, and the report made again from there."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

from loadcurve.runs.points import trial_order
from support.sandbox import Sandbox
from support.schemas import validate
from support.tiny_study import study_text, write_counted_server, write_missing_server

CONTROL_CHARACTER = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
SEED = 7
SERVERS = "[servers.limit]\n[servers.counted]\n[servers.gone]"


@dataclass(frozen=True)
class FinishedRun:
    sandbox: Sandbox
    folder: Path
    catalog: Path
    starts: Path
    """Has a line for each start of the server `counted`."""
    command: subprocess.CompletedProcess[str]

    @property
    def record(self):
        return json.loads((self.folder / "run.json").read_text())

    @property
    def trials(self):
        return [json.loads(line) for line in (self.folder / "trials.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def finished(shared_sandbox) -> FinishedRun:
    """A study of two servers and a missing one, two points and two trials, run to its end."""
    catalog = shared_sandbox.work / "catalog"
    starts = write_counted_server(catalog, "counted")
    write_missing_server(catalog, "gone")
    shared_sandbox.write("tiny.toml", study_text(SERVERS))
    command = shared_sandbox.run(
        "run", "tiny.toml", "--seed", SEED, "--out", "results/first", "--catalog", catalog
    )
    assert command.returncode == 0, command.stderr
    return FinishedRun(shared_sandbox, shared_sandbox.work / "results" / "first", catalog, starts, command)


def test_a_finished_run_leaves_only_its_folder_behind(finished):
    assert finished.sandbox.leftovers() == []
    names = {file.name for file in finished.folder.iterdir()}
    made = {"numbers.json", "report.html", "run-copy.json", "run.json", "study.toml", "trials.jsonl"}
    # The server that is counted comes from a catalogue of the study's own.
    assert names == {*made, "inputs"}
    assert (finished.folder / "study.toml").read_text() == study_text(SERVERS)


def test_every_record_follows_its_schema(finished):
    validate(finished.record, "run")
    for trial in finished.trials:
        validate(trial, "trial")


def test_every_point_is_measured_in_the_order_that_the_seed_draws(finished):
    assert finished.record["seed"] == SEED
    order = [planned.model_dump() for planned in trial_order(["limit", "counted"], 2, SEED)]
    assert finished.record["order"] == order
    measured = [
        (record["kind"], record["trial"], record["block"], record["server"], record["point"]["connections"])
        for record in finished.trials
    ]
    assert measured == [
        ("point", planned["trial"], planned["block"], planned["server"], connections)
        for planned in order
        for connections in (1, 2)
    ]


def test_a_fresh_server_is_started_for_each_trial_and_once_before_the_first(finished):
    assert finished.starts.read_text().splitlines() == ["started"] * 3


def test_a_missing_server_is_left_out_and_how_to_install_it_is_said(finished):
    (line,) = [line for line in finished.command.stderr.splitlines() if "gone" in line]
    assert "no-such-program-anywhere" in line
    assert line.endswith("install it with: make -C gone install")
    gone = finished.record["servers"]["gone"]
    assert (gone["status"], gone["version"], gone["install"]) == ("missing", None, "make -C gone install")
    assert re.search(r"^gone .*missing", finished.command.stdout, re.MULTILINE)


def test_the_summary_is_on_stdout_and_the_talk_on_stderr_both_plain_text(finished):
    out, err = finished.command.stdout, finished.command.stderr
    assert out.splitlines()[-1] == "results/first/report.html"
    assert "trial 4 of 4" in err
    assert "report.html" not in err
    assert CONTROL_CHARACTER.search(out + err) is None
    assert max(map(len, out.splitlines())) <= 80


def test_the_report_needs_no_other_file_and_no_network(finished):
    page = (finished.folder / "report.html").read_text()
    sources = _Sources()
    sources.feed(page)
    assert sources.loaded == []
    # What may be followed on a click is the documentation of the servers.
    assert {link for link in sources.followed if not link.startswith("#")} <= {
        server["documentation"] for server in finished.record["servers"].values()
    }


def test_the_report_is_made_again_from_a_copy_of_the_folder_alone(finished, sandbox):
    copy = sandbox.work / "elsewhere"
    shutil.copytree(finished.folder, copy)
    (copy / "report.html").unlink()
    command = sandbox.run("report", copy)
    assert (command.returncode, command.stderr) == (0, "")
    assert command.stdout.endswith(f"\n{copy}/report.html\n")
    assert (copy / "report.html").read_bytes() == (finished.folder / "report.html").read_bytes()


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_folder_in_use_is_refused_untouched(finished):
    before = contents(finished.folder)
    command = finished.sandbox.run("run", "tiny.toml", "--only", "limit", "--out", finished.folder)
    assert (command.returncode, command.stdout) == (2, "")
    assert f"{finished.folder} is not empty" in command.stderr
    assert contents(finished.folder) == before
    assert finished.sandbox.leftovers() == []


class _Sources(HTMLParser):
    """Collects what a page loads by itself, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.followed: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if tag == "a" and name == "href":
                self.followed.append(value or "")
            elif name in {"src", "href", "srcset", "data"} and not (value or "").startswith("#"):
                self.loaded.append(f"{tag} {name}={value}")

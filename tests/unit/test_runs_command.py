"""`loadcurve runs`: what is listed, in which order, and what is said of folders that are no runs."""

import html
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from rich.console import Console

from loadcurve.report import runs as listed_runs
from loadcurve.report.runs import COMPUTED_AT_LEAST, RunList, list_runs, runs_json, runs_table
from loadcurve.result.checksum import sealed
from support import synthetic_run as synthetic
from support.command import Command

HOSTILE = "</title><script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
HOSTILE_FOLDER = "b <b>bold & [red]new"


@pytest.fixture
def runs(tmp_path: Path) -> Command:
    """Two runs of which the newer one was interrupted, and two folders that are none."""
    command = Command(tmp_path)
    folder = command.work / "loadcurve-runs"
    record = synthetic.run_record()
    synthetic.write_run(folder / "a", record)
    later = synthetic.run_record(synthetic.Texts(title=HOSTILE, question=HOSTILE)).model_copy(
        update={"started_at": "2026-03-15T08:00:00Z"}
    )
    synthetic.write_run(folder / HOSTILE_FOLDER, later, synthetic.trial_records(record)[:10])
    (folder / "empty").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    return command


def test_runs_are_listed_newest_first_in_80_columns_with_their_answers(runs: Command):
    finished = runs.run("runs")
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    newer, older = (
        next(place for place, line in enumerate(lines) if line.startswith(date))
        for date in ("2026-03-15", "2026-03-14")
    )
    assert newer < older
    assert HOSTILE_FOLDER in lines[newer]
    assert "incomplete" in lines[newer]
    words = " ".join(" ".join(lines[older:]).split())
    for said in ("nginx has", "Which server keeps", "9 trials", "67 valid", "1 suspect", "1 invalid"):
        assert said in words
    assert "findings" in words


def test_folders_that_are_no_runs_are_named_with_the_reason(runs: Command):
    words = " ".join(runs.run("runs").stdout.split())
    assert "empty: loadcurve-runs/empty is not a run folder: it contains no run.json" in words
    assert "broken: loadcurve-runs/broken/run.json cannot be read as a run record" in words


def test_the_json_holds_the_same_and_the_second_time_nothing_is_read_but_summaries(runs: Command):
    first = runs.run("runs", "--json")
    listed = json.loads(first.stdout)
    assert [run["folder"] for run in listed["runs"]] == [
        f"loadcurve-runs/{HOSTILE_FOLDER}",
        "loadcurve-runs/a",
    ]
    assert listed["runs"][1]["points"] == {"valid": 67, "suspect": 1, "invalid": 1}
    assert [run["complete"] for run in listed["runs"]] == [False, True]
    assert {one["folder"] for one in listed["unreadable"]} == {
        "loadcurve-runs/empty",
        "loadcurve-runs/broken",
    }
    numbers = runs.work / "loadcurve-runs" / "a" / "numbers.json"
    kept = json.loads(numbers.read_text())
    kept["summary"]["answer"] = "what was kept"
    del kept["sha256"]
    numbers.write_bytes(sealed(json.dumps(kept)) + b"\n")
    again = json.loads(runs.run("runs", "--json").stdout)
    assert again["runs"][1]["answer"] == "what was kept"


def test_the_index_page_links_to_reports_and_shows_hostile_text_as_text(runs: Command):
    (runs.work / "loadcurve-runs" / HOSTILE_FOLDER / "report.html").write_text("")
    finished = runs.run("runs", "--html")
    assert finished.stdout.splitlines()[-1] == "loadcurve-runs/index.html"
    page = (runs.work / "loadcurve-runs" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="([^"]*)"', page) == [f"{quote(HOSTILE_FOLDER)}/report.html"]
    assert "<script" not in page
    assert "<img" not in page
    assert html.escape(HOSTILE).replace("&#x27;", "&#39;") in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_a_folder_without_runs_says_so(tmp_path: Path):
    (tmp_path / "nothing").mkdir()
    finished = Command(tmp_path).run("runs", "nothing")
    assert (finished.returncode, finished.stdout) == (0, "There is no run in nothing.\n")


def test_a_folder_that_is_not_there_or_is_a_run_itself_is_bad_input(runs: Command):
    for folder, said in (
        ("nowhere", "No such file or directory"),
        ("loadcurve-runs/a", "is a run folder itself"),
    ):
        finished = runs.run("runs", folder)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert said in finished.stderr


MANY = 12
"""Runs, each with its own numbers."""


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs that nobody has listed yet, the first one the oldest."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for place in range(MANY):
        record = synthetic.run_record().model_copy(update={"started_at": f"2026-03-{place + 10}T08:00:00Z"})
        folder = synthetic.write_run(
            tmp_path / "runs" / f"r{place}", record, synthetic.trial_records(record)[:1]
        )
        os.utime(folder / "run.json", (place, place))
    return tmp_path / "runs"


def test_a_list_computes_answers_for_a_while_and_shows_the_other_runs_without_theirs(many: Path):
    # Some are computed however little time there is.
    found = list_runs(many, computing_s=0)
    answered = [one.name for one in found.runs if one.summary.answer is not None]
    left = MANY - COMPUTED_AT_LEAST
    newest = [f"r{place}" for place in reversed(range(left, MANY))]
    assert (answered, len(found.runs), found.unanswered) == (newest, MANY, left)
    table = shown(found)
    assert f"{left} runs without an answer" in table
    assert "2026-03-10" in table, "what its record says is shown"
    listed = runs_json(found)["runs"]
    assert listed[0].keys() == listed[-1].keys()
    assert (listed[-1]["answer"], listed[-1]["points"], listed[-1]["title"]) == (
        None,
        None,
        listed[0]["title"],
    )
    # Each list computes some more.
    assert list_runs(many, computing_s=0).unanswered == left - COMPUTED_AT_LEAST
    assert list_runs(many).unanswered == 0


def test_answers_that_many_runs_lack_are_computed_by_request_alone(many: Path, monkeypatch):
    left = MANY - COMPUTED_AT_LEAST
    assert list_runs(many, computing_s=0).unanswered == left
    monkeypatch.setattr(listed_runs, "LEFT_MAX", left - 1)
    assert list_runs(many, computing_s=60).unanswered == left
    record = synthetic.run_record()
    synthetic.write_run(many / "new", record, synthetic.trial_records(record)[:1])
    again = list_runs(many, computing_s=60)
    [new] = [one for one in again.runs if one.name == "new"]
    assert (new.summary.answer is not None, again.unanswered) == (True, left)
    assert list_runs(many).unanswered == 0


def shown(found: RunList) -> str:
    with io.StringIO() as file:
        Console(file=file, width=80).print(runs_table(found))
        return file.getvalue()


def test_the_second_list_of_runs_reads_one_file_of_summaries(many: Path, monkeypatch: pytest.MonkeyPatch):
    first = list_runs(many)
    monkeypatch.setattr("loadcurve.result.summary.read_summary", None)
    assert list_runs(many).runs == first.runs
    # Of a run that has changed the summary is made anew.
    (many / "r3" / "trials.jsonl").write_text("")
    monkeypatch.undo()
    again = {one.name: one.summary for one in list_runs(many).runs}
    assert again["r3"] != next(one.summary for one in first.runs if one.name == "r3")


HEAVY = """
import sys
from loadcurve.cli.main import main
sys.argv = ["loadcurve", "runs", sys.argv[1]]
try:
    main()
finally:
    print(*sorted({"numpy", "polars", "pydantic"} & set(sys.modules)), file=sys.stderr)
"""


def test_a_list_whose_summaries_are_kept_imports_nothing_that_checks_or_computes_them(many: Path):
    list_runs(many)
    listed = subprocess.run(
        [sys.executable, "-c", HEAVY, str(many)], capture_output=True, text=True, check=True
    )
    assert "2026-03-10" in listed.stdout
    assert listed.stderr.split() == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept[:-20],
        lambda kept: kept.replace(b"2026-03-10", b"2099-03-10"),
        lambda _: b"",
        lambda _: b"[]",
        lambda kept: b"\xff" + kept,
    ],
    ids=["cut off", "changed", "empty", "another document", "not text"],
)
def test_summaries_that_are_damaged_are_made_anew(many: Path, tmp_path: Path, damage):
    first = list_runs(many)
    [file] = (tmp_path / "state").rglob("*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    intact = file.read_bytes()
    file.write_bytes(damage(intact))
    assert list_runs(many) == first
    assert file.read_bytes() == intact


def test_summaries_that_somebody_else_may_have_written_are_not_believed(many: Path, tmp_path: Path):
    first = list_runs(many)
    [file] = (tmp_path / "state").rglob("*.json")
    kept = json.loads(file.read_bytes())
    del kept["sha256"]
    file.write_bytes(sealed(json.dumps(kept).replace("2026-03-10", "2099-03-10")))
    assert list_runs(many) != first, "this user's own file is"
    file.chmod(0o666)
    assert list_runs(many) == first

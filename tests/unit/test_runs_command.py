"""`loadcurve runs`: what is listed, in which order, and what is said of folders that are no runs."""

import html
import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest

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

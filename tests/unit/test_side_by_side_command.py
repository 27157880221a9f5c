"""`loadcurve report` of several runs: one page, and the ratios in the terminal."""

from pathlib import Path

import pytest

from support import synthetic_run as synthetic
from support.command import Command


@pytest.fixture
def runs(tmp_path: Path) -> Command:
    """A base, and a later run on another kernel."""
    command = Command(tmp_path)
    record = synthetic.run_record()
    synthetic.write_run(command.work / "base", record)
    host = {**record.host, "kernel": "Linux 7"}
    later = record.model_copy(update={"started_at": "2026-03-15T08:00:00Z", "host": host})
    synthetic.write_run(command.work / "later", later)
    return command


def test_the_page_lies_in_the_newest_run_and_its_path_comes_last(runs: Command):
    finished = runs.run("report", "later", "base")
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
    assert lines[-1] == "later/comparison.html"
    assert lines[0] == "base over later"
    assert max(map(len, lines)) <= 80
    assert "not measured under the same conditions" in finished.stdout
    assert "kernel: Linux 7 → Linux 6.1.0" in finished.stdout
    assert (runs.work / "later" / "comparison.html").is_file()
    assert not (runs.work / "base" / "comparison.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["base", "base"], "base is given twice"),
        (["base", "later", "--findings"], "accept one run"),
        (["base", "later", "--slo", "p99 < 1ms"], "accept one run"),
        (["base", "later", "--format", "md"], "accept one run"),
        (["base", "later", "--out", "gone"], "cannot be written to gone/comparison.html"),
    ],
)
def test_what_cannot_be_done_is_reported(runs: Command, arguments: list[str], said: str):
    finished = runs.run("report", *arguments)
    assert finished.returncode == (1 if "gone" in arguments else 2)
    assert finished.stdout == ""
    assert said in " ".join(finished.stderr.split())

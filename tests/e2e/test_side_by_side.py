"""`loadcurve report` of several runs: one page, and the ratios in the terminal."""

import pytest

from support import synthetic_run as synthetic
from support.sandbox import Sandbox


@pytest.fixture
def runs(sandbox: Sandbox) -> Sandbox:
    """A base, and a later run on another kernel."""
    record = synthetic.run_record()
    synthetic.write_run(sandbox.work / "base", record)
    host = {**record.host, "kernel": "Linux 7"}
    later = record.model_copy(update={"started_at": "2026-03-15T08:00:00Z", "host": host})
    synthetic.write_run(sandbox.work / "later", later)
    return sandbox


def test_the_page_lies_in_the_newest_run_and_its_path_comes_last(runs: Sandbox):
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


def test_the_page_is_written_where_it_is_told_to(runs: Sandbox):
    finished = runs.run("report", "base", "later", "--out", ".")
    assert finished.stdout.splitlines()[-1] == "comparison.html"
    assert {file.name for file in runs.work.iterdir()} == {"base", "later", "comparison.html"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["base", "base"], "base is named twice"),
        (["base", "later", "--findings"], "are for one run"),
        (["base", "later", "--slo", "p99 < 1ms"], "are for one run"),
        (["base", "later", "--format", "md"], "are for one run"),
        (["base", "later", "--out", "gone"], "cannot be written to gone/comparison.html"),
    ],
)
def test_what_cannot_be_done_is_told(runs: Sandbox, arguments: list[str], said: str):
    finished = runs.run("report", *arguments)
    assert finished.returncode == (1 if "gone" in arguments else 2)
    assert finished.stdout == ""
    assert said in " ".join(finished.stderr.split())

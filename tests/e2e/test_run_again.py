"""`loadcurve rerun` and `crosscheck` of a study: they run it, and stdout has the answer alone where asked."""

import json
import shutil
from pathlib import Path

import pytest

from support.command import Command

STUDY = """\
title = "One point"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "0s"
duration = "0.1s"
[sweep]
connections = [2]
[trials]
count = 2
[servers.limit]
"""


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A folder with a study of one server at one point."""
    made = Command(tmp_path)
    (made.work / "study.toml").write_text(STUDY)
    return made


def test_a_run_of_ones_own_is_measured_again_from_its_archive_with_its_seed(command: Command):
    assert command.run("run", "study.toml", "--out", "first", "--seed", "7").returncode in {0, 3}
    assert command.run("pack", "first").returncode == 0
    finished = command.run("rerun", "first.loadcurve.zip", "--out", "second", "--json")
    assert finished.returncode in {0, 3}
    answer = json.loads(finished.stdout)
    assert answer["machines"][0] == answer["machines"][1]
    seeds = [
        json.loads((command.work / name / "run.json").read_text())["seed"] for name in ("first", "second")
    ]
    assert seeds == [7, 7]


@pytest.mark.skipif(shutil.which("wrk") is None, reason="needs wrk")
def test_a_cross_check_that_runs_its_study_prints_one_object(command: Command):
    finished = command.run("crosscheck", "study.toml", "--generator", "wrk", "--json")
    assert isinstance(json.loads(finished.stdout), dict | list)

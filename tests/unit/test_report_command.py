"""`loadcurve report --format`: the paths that are printed, the exit codes, and what is left in the folder."""

from pathlib import Path

import pytest

from support import synthetic_run as synthetic
from support.command import Command


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def run(command: Command) -> Path:
    return synthetic.write_run(command.work / "run")


def test_several_forms_at_once_are_written_into_the_run_folder_and_their_paths_printed(
    command: Command, run: Path
):
    before = set(run.iterdir())
    finished = command.run("report", "run", "--format", "html,md,csv,xlsx,parquet,svg,json")
    assert (finished.returncode, finished.stderr) == (0, "")
    paths = [command.work / line for line in finished.stdout.splitlines()]
    assert set(run.iterdir()) - before == set(paths)
    assert len(set(paths)) == len(paths)
    formats = {path.suffix.removeprefix(".") for path in paths}
    assert formats == {"html", "md", "csv", "xlsx", "parquet", "svg", "json"}
    assert all(path.stat().st_size > 0 for path in paths)


def test_out_is_made_and_the_run_folder_left_alone(command: Command, run: Path):
    before = {path: path.read_bytes() for path in run.iterdir()}
    finished = command.run("report", "run", "--format", "md,md", "--out", "for/others")
    assert (finished.returncode, finished.stdout) == (0, "for/others/report.md\n")
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_out_alone_is_for_the_page(command: Command, run: Path):
    finished = command.run("report", "run", "--out", "page")
    assert (finished.returncode, finished.stdout) == (0, "page/report.html\n")


def test_limits_can_be_asked_of_a_finished_sweep(command: Command, run: Path):
    report = command.run("report", "run", "--slo", "p50 < 10s")
    assert report.returncode == 0, report.stderr
    said = " ".join(report.stdout.split())
    assert "nginx keeps p50 < 10s at every load that could be judged" in said
    assert "at least 200 connections" in said
    assert report.stdout.splitlines()[-1] == "run/report.html"
    refused = command.run("report", "run", "--slo", "rate >= 99 %")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the model of this run is closed" in refused.stderr


def test_limits_are_in_every_form(command: Command, run: Path):
    assert command.run("report", "run", "--format", "md,json", "--slo", "p99 < 10ms").returncode == 0
    assert "capacity" in (run / "report.md").read_text()
    assert "p99 < 10ms" in (run / "report.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--format", "htm"], 'did you mean "html"?'),
        (["run", "--format", "md,xslx"], 'unknown format "xslx"; expected one of html, md,'),
        (["run", "--format", ","], "no format; expected one of html,"),
        (["run", "--format", "md", "--out", "run/run.json"], "Choose another folder with --out."),
        (["run", "--format", "md", "--slo", "p99"], "is not a limit"),
        (["run", "--findings", "--format", "md"], "--findings writes no file"),
        (["run", "--findings", "--slo", "p99 < 1ms"], "--findings are the same with any limits"),
    ],
)
def test_bad_input_is_reported_and_nothing_is_written(
    command: Command, run: Path, arguments: list[str], said: str
):
    before = set(run.iterdir())
    finished = command.run("report", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr
    assert set(run.iterdir()) == before


def test_a_file_that_cannot_be_written_is_reported_and_nothing_half_is_left(command: Command, run: Path):
    (run / "report.md").mkdir()
    finished = command.run("report", "run", "--format", "json,md")
    assert finished.returncode == 1
    assert "the report cannot be written to run/report.md" in finished.stderr
    assert (run / "report.json").stat().st_size > 0
    assert not [path for path in run.iterdir() if path.name.endswith(".new")]

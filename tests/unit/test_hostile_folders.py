"""Run folders that were made to do harm: the short form of ``python -m benches.hostile_folders``."""

import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from benches.hostile_cases import CASES, SECRET, Place
from benches.sample_run import write_sample
from pydantic import ValidationError
from rich.console import Console

from loadcurve.analysis.numbers import analysis_of
from loadcurve.cli.display import RunDisplay
from loadcurve.cli.together import show_together
from loadcurve.errors import LoadcurveError
from loadcurve.report.formats.write import write_formats
from loadcurve.report.run_summary import make_summary
from loadcurve.result.folder import read_run
from loadcurve.result.records import RunRecord
from loadcurve.runs.resume import interrupted_run
from loadcurve.runs.study import StudyRun
from loadcurve.watch.feed import Feed
from loadcurve.watch.following import FollowedRun
from loadcurve.watch.progress import read_progress

OF_OTHER_TOOLS = ["hgrm", "hlog", "fortio", "k6-summary", "wrk2"]
USES = {
    "page": lambda run: write_formats(run, ["html"], None, None),
    "forms of other tools": lambda run: write_formats(run, OF_OTHER_TOOLS, None, None),
    "several loads": lambda run: show_together(run, Console(), interrupted=False),
    "list of runs": make_summary,
    "comparison": analysis_of,
    "resumption": lambda run: StudyRun.resume(interrupted_run(run, None), RunDisplay(Console(), live=False)),
    "page of a run in progress": lambda run: (FollowedRun(run).read(), read_progress(run), Feed(run).look()),
}
RUNNABLE = re.compile(rb"<script>window\.stolen|<img src=x")


def outside(folder: Path) -> dict[Path, bytes]:
    """What all files hold that are not in the folder of runs."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {file: file.read_bytes() for file in files if not file.is_relative_to(folder / "runs")}


@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_of_a_received_folder_is_read_or_written_and_every_refusal_is_worded(
    name: str, tmp_path: Path
):
    private = tmp_path / "private.txt"
    private.write_text(SECRET)
    place = Place(tmp_path / "runs" / "run", private)
    write_sample(place.run)
    CASES[name](place)
    before = outside(tmp_path)
    for use in USES.values():
        said = refusal(use, place.run)
        assert SECRET not in said
    assert outside(tmp_path) == before
    written = [path for path in place.run.rglob("report*") if path.is_file() and not path.samefile(private)]
    for path in written:
        assert not path.is_symlink()
        data = path.read_bytes()
        assert SECRET.encode() not in data
        assert path.suffix != ".html" or not RUNNABLE.search(data)


@pytest.mark.parametrize("name", ["run.json of 1 TiB", "trials.jsonl of 1 TiB"])
def test_what_is_read_is_bounded_before_it_is_believed(name: str, tmp_path: Path):
    place = Place(tmp_path / "run", tmp_path / "private.txt")
    write_sample(place.run)
    CASES[name](place)
    tracemalloc.start()
    try:
        said = refusal(lambda run: read_run(run).damage, place.run)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "bytes" in said
    assert peak_bytes < 50e6


def test_a_list_is_refused_at_its_first_wrong_item():
    record = {"options": [0] * 1000}
    with pytest.raises(ValidationError) as raised:
        RunRecord.model_validate(record)
    assert sum(error["loc"][0] == "options" for error in raised.value.errors()) == 1


def refusal(use: Callable[[Path], object], run: Path) -> str:
    """What is said instead, where a folder is refused; any other error fails the test."""
    try:
        use(run)
    except LoadcurveError as error:
        assert str(error)  # noqa: PT017
        return str(error)
    return ""

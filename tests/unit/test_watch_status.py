"""What the page of a run says, from the folder alone."""

import shutil
from pathlib import Path
from typing import BinaryIO

import pytest

from loadcurve.files import open_regular
from loadcurve.result.folder import Run, read_run
from loadcurve.watch import progress
from loadcurve.watch.feed import Feed, figures
from loadcurve.watch.following import FollowedRun
from loadcurve.watch.progress import PROGRESS_FILE, read_progress
from loadcurve.watch.status import Seen, status
from support import synthetic_run as synthetic
from support.followed_run import GrowingRun

NOW_S = 1010.0


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    return GrowingRun(tmp_path / "run")


def said(folder: Path, now_s: float = NOW_S) -> dict:
    return status(Feed(folder).look().seen, now_s)


def test_before_there_is_a_folder_the_run_looks_at_its_servers(tmp_path: Path):
    now = said(tmp_path / "to-come")
    assert now["phase"] == "preparing"
    assert "is checking the servers" in now["sentence"]
    assert (now["progress"], now["load"], now["verdicts"]["valid"]) == (None, None, 0)


def test_a_load_under_way_is_reported_with_its_point_and_how_long_it_has_gone_on(run: GrowingRun):
    run.says(
        trial={"trial": 3, "block": 1, "server": "tiny"},
        point={"connections": 50},
        since_monotonic_s=NOW_S - 4,
        warmup_s=1.5,
        duration_s=10.0,
        over=24,
        left_s=100.0,
    )
    now = said(run.folder)
    assert now["phase"] == "going"
    assert now["sentence"] == "Trial 4 of 9, block 2: tiny."
    assert now["load"] == {
        "point": "connections = 50",
        "elapsed_s": 4.0,
        "warmup_s": 1.5,
        "measured_s": 10.0,
    }
    # What was left when the load began, less the four seconds since.
    assert now["progress"] == {
        "over": 24,
        "planned": 72,
        "words": "24 of 72 points",
        "left_s": 96.0,
        "about": "about ",
    }


def test_a_run_that_may_end_before_says_at_most(run: GrowingRun):
    run.says(at_most=True, left_s=60.0)
    now = said(run.folder)
    assert now["sentence"] == "Trial 1 of at most 9, block 1: nginx."
    assert (now["progress"]["words"], now["progress"]["about"]) == ("0 of at most 72 points", "at most ")


def test_a_run_whose_curves_may_end_before_has_all_its_trials(tmp_path: Path):
    record = synthetic.run_record()
    record.study["trials"] |= {"until_drop_share": 0.1}
    growing = GrowingRun(tmp_path / "run", record)
    growing.says(at_most=True, left_s=60.0)
    now = said(growing.folder)
    assert now["sentence"] == "Trial 1 of 9, block 1: nginx."
    assert now["progress"]["words"] == "0 of at most 72 points"


def test_a_file_of_progress_that_nobody_holds_was_left_by_a_killed_run(run: GrowingRun, tmp_path: Path):
    run.says(over=3)
    killed = tmp_path / "killed"
    shutil.copytree(run.folder, killed)
    assert said(run.folder)["phase"] == "going"
    now = said(killed)
    assert (now["phase"], now["ended"]) == ("killed", True)
    assert f"`loadcurve report {killed}`" in now["sentence"]


def test_a_run_without_progress_is_over_or_was_interrupted_as_its_records_tell(run: GrowingRun):
    run.add(10)
    run.says()
    run.ends()
    assert not (run.folder / PROGRESS_FILE).exists()
    assert said(run.folder)["phase"] == "interrupted"
    run.add_all()
    now = said(run.folder)
    assert (now["phase"], now["sentence"]) == ("over", "The run is over.")
    # Of 9 trials of 8 points one failed before its last three.
    assert now["progress"]["words"] == "69 of 72 points measured"
    assert now["progress"]["over"] == now["progress"]["planned"] == 72


def test_verdicts_and_failures_are_those_of_the_records(run: GrowingRun):
    run.add_all()
    now = said(run.folder)
    assert now["verdicts"] == {"valid": 67, "suspect": 1, "invalid": 1}
    assert now["failures"] == [
        {
            "place": "Trial 6, apache, connections = 50",
            "reason": "the server ended with status 1 while under load",
        }
    ]


@pytest.mark.parametrize(
    ("problem", "why"),
    [(None, "not found here"), ("nginx speaks HTTP/3 from 1.25 on", "nginx speaks HTTP/3 from 1.25 on")],
)
def test_a_server_that_is_not_measured_is_shown_with_the_reason(problem, why, tmp_path: Path):
    record = synthetic.run_record()
    absent = record.servers["absent"].model_copy(update={"problem": problem})
    run = GrowingRun(
        tmp_path / "run", record.model_copy(update={"servers": {**record.servers, "absent": absent}})
    )
    missing = {one["name"]: one["missing"] for one in said(run.folder)["servers"]}
    assert missing == dict.fromkeys(record.servers) | {"absent": why}


def test_the_report_is_led_to_as_soon_as_it_is_there(run: GrowingRun):
    assert not said(run.folder)["report"]
    (run.folder / "report.html").write_text("<!doctype html>")
    assert said(run.folder)["report"]


def test_a_folder_that_cannot_be_read_any_more_says_why_and_keeps_what_was_read(run: GrowingRun):
    feed = Feed(run.folder)
    run.add(2)
    feed.look()
    (run.folder / "trials.jsonl").unlink()
    (run.folder / "trials.jsonl").symlink_to(run.folder / "study.toml")
    now = status(feed.look().seen, NOW_S)
    assert "trials.jsonl cannot be read: it is a link" in now["sentence"]
    assert now["verdicts"]["valid"] == 2


def test_a_line_that_is_no_record_is_shown_and_the_others_are_counted(run: GrowingRun):
    with (run.folder / "trials.jsonl").open("a") as file:
        file.write("{}\n")
    run.add(2)
    now = said(run.folder)
    (damage,) = [one["reason"] for one in now["failures"] if one["place"] == "Run folder"]
    assert damage.startswith("Line 1 of trials.jsonl is not a record")
    assert now["verdicts"]["valid"] == 2


def test_each_line_is_read_once_and_an_unfinished_one_later(run: GrowingRun):
    followed = FollowedRun(run.folder)
    line = run.to_come[0].model_dump_json(by_alias=True)
    with (run.folder / "trials.jsonl").open("a") as file:
        file.write(line[:1000])
        file.flush()
        assert points_of(followed.read()) == 0
        file.write(line[1000:] + "\n")
        file.flush()
        assert points_of(followed.read()) == 1
    assert points_of(followed.read()) == 1


def points_of(run: Run | None) -> int:
    return len(run.points)


def test_the_curves_of_a_followed_run_are_those_of_the_whole_records(run: GrowingRun):
    followed = FollowedRun(run.folder)
    for count in (1, 7, 20, len(run.to_come) - 28):
        run.add(count)
        lightened, whole = followed.read(), read_run(run.folder)
        assert lightened is not None
        assert figures(lightened) == figures(whole)


def test_a_file_of_progress_is_written_over_by_shorter_texts(run: GrowingRun):
    run.says(point={"connections": 123_456_789}, left_s=1234.5678)
    run.says(point=None)
    kept = read_progress(run.folder)
    assert (kept.progress.point, kept.progress.left_s, kept.run_lives) == (None, None, True)


def test_a_run_that_ends_while_its_progress_is_read_was_not_killed(run: GrowingRun, monkeypatch):
    def opened_at_the_end(file: Path) -> BinaryIO:
        opened = open_regular(file)
        run.ends()
        return opened

    run.says()
    monkeypatch.setattr(progress, "open_regular", opened_at_the_end)
    assert read_progress(run.folder) is None


def test_what_differs_of_an_arm_follows_the_name_of_its_server(tmp_path: Path):
    record = synthetic.run_record()
    own = {"nginx": {"load": {**record.study["load"], "calls": 1}}}
    elsewhere = record.servers["apache"].model_copy(update={"server_machine": "web", "cpus": (1, 2)})
    servers = {**record.servers, "apache": elsewhere}
    record = record.model_copy(update={"study": {**record.study, "servers": own}, "servers": servers})
    synthetic.write_run(tmp_path / "run", record, records=[])
    now = status(Seen(tmp_path, read_run(tmp_path / "run"), None, has_report=False), NOW_S)
    loads = {one["name"]: one["load"] for one in now["servers"]}
    assert loads == {
        "nginx": "calls = 1, on this machine",
        "apache": "on web, CPUs 1 and 2",
        "tiny": "on this machine",
        # It ran nowhere.
        "absent": "on this machine",
    }


def test_hostile_text_stays_as_it_is(tmp_path: Path):
    hostile = "</script><img src=x onerror=alert(1)>"
    texts = synthetic.Texts(title=hostile, question=hostile)
    synthetic.write_run(tmp_path / "run", synthetic.run_record(texts), records=[], texts=texts)
    now = status(Seen(tmp_path, read_run(tmp_path / "run"), None, has_report=False), NOW_S)
    assert (now["title"], now["question"]) == (hostile, hostile)

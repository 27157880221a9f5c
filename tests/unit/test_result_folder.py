"""Writing a run folder, and reading it back whole, cut off or broken."""

import dataclasses
import hashlib
import json
import os
import shutil
from collections import namedtuple
from io import FileIO
from pathlib import Path

import pytest

from loadcurve import __version__
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.result import folder as folder_module
from loadcurve.result.folder import BYTES_PER_POINT, Run, RunFolder, read_run
from loadcurve.result.outcomes import Reason
from loadcurve.result.records import FailureRecord, SearchRecord
from loadcurve.result.run_files import RUN_FILE, TRIALS_FILE
from support import synthetic_run as synthetic

DiskUsage = namedtuple("DiskUsage", "total used free")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return synthetic.write_run(tmp_path / "run")


def test_what_the_writer_appends_is_what_the_reader_returns(tmp_path: Path):
    record = synthetic.run_record()
    records = synthetic.trial_records(record)
    writer = RunFolder.create(tmp_path / "new" / "run", record, "title = 'é'\n")
    for one in records:
        writer.append(one)
    run = read_run(writer.path)
    digest = hashlib.sha256("title = 'é'\n".encode()).hexdigest()
    assert run.run == record.model_copy(update={"study_sha256": digest})
    assert (run.records, run.study_text) == (records, "title = 'é'\n")
    assert (run.cut_off, run.damage) == (False, ())


def test_a_run_with_one_failed_trial_is_complete_and_counts_what_was_lost(folder: Path):
    run = read_run(folder)
    assert (run.points_expected, len(run.points), run.points_lost) == (72, 69, 3)
    assert run.complete


def test_a_run_stopped_before_its_first_point_can_be_read(tmp_path: Path):
    RunFolder.create(tmp_path / "run", synthetic.run_record(), "")
    run = read_run(tmp_path / "run")
    assert (run.records, run.complete) == ([], False)


def test_a_record_is_on_the_disk_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    record = synthetic.run_record()
    writer = RunFolder.create(tmp_path / "run", record, "")
    synced: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), fsync(descriptor)))
    writer.append(synthetic.trial_records(record)[0])
    assert len(synced) == 1
    assert len(read_run(tmp_path / "run").records) == 1


@pytest.mark.parametrize("kept", [1, 50, -1])
def test_a_last_line_cut_off_by_a_kill_is_left_out_and_noted(folder: Path, kept: int):
    trials = folder / TRIALS_FILE
    *whole, last = trials.read_text().splitlines(keepends=True)
    trials.write_text("".join(whole) + last[:kept])
    run = read_run(folder)
    assert (len(run.records), run.cut_off, run.complete) == (len(whole), True, False)


def test_a_full_disk_is_reported_with_what_is_kept(tmp_path: Path):
    (tmp_path / TRIALS_FILE).touch()
    with RunFolder(tmp_path, FileIO("/dev/full", "a")) as folder, pytest.raises(LoadcurveError) as raised:
        folder.append(synthetic.point_record())
    assert "trials.jsonl: No space left on device. What was measured before is kept" in str(raised.value)


def test_where_each_point_has_a_start_a_failure_loses_one_point_of_a_run_under_way(run: Run):
    study = {**run.run.study, "trials": {**run.run.study["trials"], "restart": "point"}}
    point = run.points[0]
    failure = FailureRecord(
        kind="failure",
        trial=point.trial,
        block=point.block,
        server=point.server,
        point=point.point,
        started_at=point.started_at,
        reason=Reason(code="died", text="it has ended"),
        log_tail="",
    )
    under_way = dataclasses.replace(run, run=run.run.model_copy(update={"study": study}), records=[failure])
    assert (under_way.points_lost, under_way.complete) == (1, False)


def test_a_last_line_cut_off_within_a_character_is_left_out_too(folder: Path):
    trials = folder / TRIALS_FILE
    whole = trials.read_bytes()
    trials.write_bytes(whole + '{"kind": "é'.encode()[:-1])
    assert read_run(folder).cut_off


def test_a_broken_line_in_the_middle_costs_its_record_and_is_named(folder: Path):
    trials = folder / TRIALS_FILE
    lines = trials.read_text().splitlines()
    lines[4] = lines[4][:100]
    trials.write_text("\n".join(lines) + "\n")
    run = read_run(folder)
    (damage,) = run.damage
    assert damage.startswith(f"Line 5 of {TRIALS_FILE} is not a record (")
    assert len(run.records) == len(lines) - 1


def test_an_unknown_field_is_named_with_its_line(folder: Path):
    trials = folder / TRIALS_FILE
    text = trials.read_text()
    trials.write_text(text.replace('"kind":"point"', '"kind":"point","speed":1', 1))
    with pytest.raises(BadInput, match=r"line 1, .*speed"):
        read_run(folder)


def test_a_folder_that_is_no_run_folder_is_refused_with_advice(tmp_path: Path):
    with pytest.raises(
        BadInput, match=r"is not a run folder: it contains no run\.json\. Give a folder"
    ) as raised:
        read_run(tmp_path)
    assert raised.value.exit_code == 2


def test_a_run_record_of_another_format_is_refused(folder: Path):
    run_file = folder / RUN_FILE
    run_file.write_text(run_file.read_text().replace("loadcurve-run/3", "loadcurve-run/9"))
    known = r"loadcurve-run/1, loadcurve-run/2 and loadcurve-run/3\."
    with pytest.raises(BadInput, match=rf"another version .* format loadcurve-run/9, .* {known}"):
        read_run(folder)


@pytest.mark.parametrize(("file", "field"), [(RUN_FILE, "seed"), (TRIALS_FILE, "started_at")])
def test_a_folder_of_an_earlier_version_is_refused_with_both_versions_and_what_to_do(
    folder: Path, file: str, field: str
):
    run = json.loads((folder / RUN_FILE).read_text())
    (folder / RUN_FILE).write_text(json.dumps(run | {"loadcurve_version": "0.0.7"}))
    first, *others = (folder / file).read_text().splitlines()
    lines = [json.dumps({key: value for key, value in json.loads(first).items() if key != field}), *others]
    (folder / file).write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput) as raised:
        read_run(folder)
    said = str(raised.value)
    assert said.startswith(f"{folder} was written by another version of Loadcurve, or changed since")
    assert f"{field}: Field required" in said
    assert f"names version 0.0.7 and format loadcurve-run/3, and this is version {__version__}," in said
    assert said.endswith(f"measure again: loadcurve run {folder}/study.toml")


def test_a_file_that_is_no_record_at_all_is_not_taken_for_another_versions(folder: Path):
    (folder / RUN_FILE).write_text("[]")
    with pytest.raises(BadInput, match=r"run\.json cannot be read as a run record: "):
        read_run(folder)


def test_a_folder_in_use_is_not_written_over(folder: Path):
    before = (folder / RUN_FILE).read_bytes()
    with pytest.raises(BadInput, match="is not empty"):
        RunFolder.create(folder, synthetic.run_record(), "")
    assert (folder / RUN_FILE).read_bytes() == before


def test_a_place_that_cannot_be_written_is_refused_before_measuring(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match=r"cannot be written to .*--out"):
        RunFolder.create(tmp_path / "file" / "run", synthetic.run_record(), "")


def test_a_disk_without_room_is_refused_with_needed_and_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: DiskUsage(10**6, 0, 10**6))
    # 72 points of 512 KiB, and 8 MiB for the rest.
    with pytest.raises(BadInput, match=r"1,000,000 bytes free, .*72 points .* need 46,137,344"):
        RunFolder.create(tmp_path / "run", synthetic.run_record(), "")


def test_the_estimate_of_room_is_above_what_a_record_takes(folder: Path):
    assert max(len(line) for line in (folder / TRIALS_FILE).read_text().splitlines()) < BYTES_PER_POINT


def test_a_folder_that_goes_away_during_a_run_is_reported(tmp_path: Path):
    record = synthetic.run_record()
    writer = RunFolder.create(tmp_path / "run", record, "")
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(LoadcurveError, match=r"trials\.jsonl was moved, removed or unmounted"):
        writer.append(synthetic.trial_records(record)[0])


def test_a_search_has_the_points_that_it_measured_and_is_complete_with_its_last_trial(tmp_path: Path):
    search = SearchRecord(key="connections", low=1, high=200, slo="p99 < 10ms")
    record = synthetic.run_record().model_copy(update={"points": [], "search": search})
    records = synthetic.trial_records(record)
    measured = [one for one in records if one.trial < 8]
    unfinished = read_run(synthetic.write_run(tmp_path / "first", record, measured[::-1]))
    assert [point["connections"] for point in unfinished.sweep_points] == list(synthetic.CONNECTIONS)
    assert not unfinished.complete
    assert read_run(synthetic.write_run(tmp_path / "whole", record, records)).complete


def test_of_two_runs_that_begin_in_one_empty_folder_one_has_it(tmp_path, monkeypatch):
    # Both have looked, and found it empty, before either has written anything.
    monkeypatch.setattr(folder_module, "require_new_folder", lambda path: None)
    record = synthetic.run_record()
    with RunFolder.create(tmp_path, record, "title = 1"):
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        with pytest.raises(BadInput, match="is not empty"):
            RunFolder.create(tmp_path, record, "title = 2")
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before

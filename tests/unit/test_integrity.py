"""What was changed in a run folder since it was written is found, and costs no more than itself."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from loadcurve.cli.main import app
from loadcurve.errors import BadInput
from loadcurve.result.folder import Run, RunFolder, read_run
from loadcurve.result.generator import MachinePart
from loadcurve.result.load import LoadResult
from loadcurve.result.records import FORMAT
from loadcurve.result.run_files import RUN_COPY_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.result.trial_lines import DamagedLine, TrialReader, trial_line
from support import synthetic_run as synthetic
from support.report_pages import write_report

RECORD = synthetic.run_record()
RECORDS = synthetic.trial_records(RECORD)[:4]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "run")


def written(folder: Path) -> Path:
    with RunFolder.create(folder, RECORD, "title = 'a study'\n") as writer:
        for record in RECORDS:
            writer.append(record)
    return folder


def lines_of(folder: Path) -> list[bytes]:
    return (folder / TRIALS_FILE).read_bytes().splitlines(keepends=True)


def read_with(folder: Path, lines: list[bytes]) -> Run:
    (folder / TRIALS_FILE).write_bytes(b"".join(lines))
    return read_run(folder)


def test_a_checksum_is_the_digest_of_what_stands_before_it(folder: Path):
    for data in (*lines_of(folder), (folder / RUN_FILE).read_bytes()):
        text = data.decode()
        checksum = json.loads(text)["sha256"]
        before = text[: text.rindex(",", 0, text.index(checksum))]
        assert hashlib.sha256(before.encode()).hexdigest() == checksum


def test_a_changed_record_is_left_out_and_named_and_the_others_are_read(folder: Path):
    lines = lines_of(folder)
    lines[2] = lines[2].replace(b'"answered":500', b'"answered":501', 1)
    run = read_with(folder, lines)
    assert run.records == [*RECORDS[:2], RECORDS[3]]
    (damage,) = run.damage
    assert damage == (
        f"Line 3 of {TRIALS_FILE} does not match its checksum: its record is ignored. "
        f"It reads as nginx, trial 0, connections = 5.0."
    )


def test_a_line_end_that_is_none_any_more_costs_no_record(folder: Path):
    lines = lines_of(folder)
    lines[1] = lines[1][:-1] + b"J"
    run = read_with(folder, lines)
    assert (run.records, run.damage) == (RECORDS, ())


def test_a_record_that_has_lost_its_checksum_is_left_out(folder: Path):
    lines = lines_of(folder)
    lines[0] = lines[0].replace(b'"sha256"', b'"sha257"')
    run = read_with(folder, lines)
    assert run.records == RECORDS[1:]
    assert run.damage[0].startswith(f"Line 1 of {TRIALS_FILE} is not a record (")


def test_records_without_checksums_are_read_beside_such_that_have_them(folder: Path):
    old = [one.model_dump_json(by_alias=True).encode() + b"\n" for one in RECORDS[:2]]
    run = read_with(folder, [*old, *lines_of(folder)[2:]])
    assert (run.records, run.damage) == (RECORDS, ())


def test_a_whole_record_of_another_version_is_not_taken_for_a_damaged_one(folder: Path):
    lines = lines_of(folder)
    content = lines[1].rpartition(b',"sha256"')[0] + b',"colour":"red"'
    lines[1] = content + b',"sha256":"' + hashlib.sha256(content).hexdigest().encode() + b'"}\n'
    with pytest.raises(BadInput, match=r"another version .* line 2, .*colour"):
        read_with(folder, lines)


@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_record_whose_requests_do_not_add_up_is_left_out_with_the_numbers(folder: Path, has_checksum: bool):
    contents = [line.rpartition(b',"sha256"')[0] for line in lines_of(folder)]
    contents[1] = contents[1].replace(b'"failed":0,"unanswered":0', b'"failed":0,"unanswered":7', 1)
    checksums = [b',"sha256":"' + hashlib.sha256(one).hexdigest().encode() + b'"' for one in contents]
    lines = [one + has_checksum * its + b"}\n" for one, its in zip(contents, checksums, strict=True)]
    run = read_with(folder, lines)
    assert run.records == [RECORDS[0], *RECORDS[2:]]
    (damage,) = run.damage
    assert "Line 2 of trials.jsonl contradicts itself (" in damage
    assert (
        "requests: 500 requests were due, which 500 answered + 0 failed + 7 unanswered + 0 never_sent "
        "do not add up to): its record is ignored."
    ) in damage


def test_the_requests_of_a_load_are_those_of_its_machines_together():
    load = RECORDS[0].load.model_dump(by_alias=True)
    part = dict.fromkeys(MachinePart.model_fields) | {"machine": "a", "requests": load["requests"]}
    machines = {"start_spread_ms": None, "start_error_ms": None, "parts": [part]}
    whole = load | {"machines": machines}
    assert LoadResult.model_validate(whole).machines is not None
    twice = load | {"machines": machines | {"parts": [part, part]}}
    with pytest.raises(ValidationError, match="the load has 500 requests due, and 1,000 in its parts"):
        LoadResult.model_validate(twice)


def test_a_file_of_lines_that_are_no_records_is_refused(folder: Path):
    with pytest.raises(BadInput, match="more than 100 lines are not records"):
        read_with(folder, [b"{}\n"] * 101)


@pytest.mark.parametrize(
    "change", [(b"1729", b"1728"), (b'"seed"', b'"sced"'), (b"{", b"["), (b"2", b"\xb2")]
)
def test_what_the_copy_says_is_taken_where_the_record_of_the_run_was_changed(folder: Path, change):
    data = (folder / RUN_FILE).read_bytes()
    (folder / RUN_FILE).write_bytes(data.replace(*change, 1))
    run = read_run(folder)
    assert (run.run.seed, run.records) == (1729, RECORDS)
    assert run.damage == (
        f"{RUN_FILE} was changed since it was written: the report uses {RUN_COPY_FILE} instead.",
    )


def test_a_changed_record_of_the_run_without_a_copy_is_shown_with_a_warning(folder: Path):
    (folder / RUN_COPY_FILE).unlink()
    data = (folder / RUN_FILE).read_bytes()
    (folder / RUN_FILE).write_bytes(data.replace(b"1729", b"1728", 1))
    run = read_run(folder)
    assert run.run.seed == 1728
    assert run.damage == (
        f"{RUN_FILE} was changed since it was written: what it records of the run may be wrong.",
    )


@pytest.mark.parametrize("text", [b"title = 'b study'\n", b"title = '\xe1 study'\n"])
def test_a_changed_study_is_shown_as_such(folder: Path, text: bytes):
    (folder / STUDY_FILE).write_bytes(text)
    run = read_run(folder)
    assert run.damage == (f"{STUDY_FILE} was changed since it was written: the report shows it unchanged.",)
    assert run.study_text == text.decode(errors="replace")


def test_page_and_command_name_what_is_damaged(folder: Path):
    lines = lines_of(folder)
    lines[2] = lines[2].replace(b'"answered":500', b'"answered":501', 1)
    read_with(folder, lines)
    write_report(folder)
    assert "Line 3 of trials.jsonl does not match" in (folder / "report.html").read_text()
    said = CliRunner().invoke(app, ["report", str(folder)])
    assert said.exit_code == 0
    assert "Line 3 of trials.jsonl does not match" in said.stderr


def test_the_names_of_new_folders_and_files_are_on_the_disk_before_the_first_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    synced: list[Path] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    RunFolder.create(tmp_path / "runs" / "run", RECORD, "")
    assert {tmp_path, tmp_path / "runs"} <= set(synced)
    assert synced[-1] == tmp_path / "runs" / "run"


LINE = trial_line(RECORDS[0])[:-1]


@settings(deadline=None, max_examples=60)
@given(
    begin=st.integers(0, len(LINE)),
    length=st.integers(0, len(LINE)),
    instead=st.binary(max_size=40) | st.just(LINE),
)
def test_whatever_overwrites_a_part_of_a_record_it_is_read_as_it_was_or_left_out(
    begin: int, length: int, instead: bytes
):
    changed = LINE[:begin] + instead + LINE[begin + length :]
    reader = TrialReader(FORMAT)
    read = [one for number, line in enumerate(changed.split(b"\n")) for one in reader.read(number, line)]
    assert all(isinstance(one, DamagedLine) or one == RECORDS[0] for one in read)

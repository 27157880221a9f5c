"""The summary of a run, and its answer in one sentence."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.numbers import (
    _numbers_reader,
    analysis_of,
    keep_numbers,
    read_analysed,
    read_analysis,
)
from loadcurve.report.answer import answer_words
from loadcurve.report.run_summary import make_summary, numbers_of, summary_of
from loadcurve.result.checksum import sealed, unsealed
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import RunRecord, SearchRecord
from loadcurve.result.run_files import NUMBERS_FILE
from loadcurve.result.summary import read_summary, source_of
from loadcurve.stats.slo import parse_objective
from support import schemas
from support import synthetic_database_run as databases
from support import synthetic_run as synthetic


def run_of(folder: Path, *servers: str, record: RunRecord | None = None) -> Run:
    """The run with the records of some servers alone."""
    record = record or synthetic.run_record()
    records = [one for one in synthetic.trial_records(record) if one.server in servers]
    return read_run(synthetic.write_run(folder, record, records))


def test_a_study_that_asks_for_a_rate_is_answered_by_latency(tmp_path: Path):
    record = synthetic.run_record()
    study: dict[str, Any] = {**record.study, "load": {**record.study["load"], "model": "open"}}
    run = run_of(tmp_path, "nginx", "apache", record=record.model_copy(update={"study": study}))
    assert "nginx has the lower p99, " in answer_words(analyse(run))


def test_without_a_measured_point_nothing_was_measured(tmp_path: Path):
    assert answer_words(analyse(run_of(tmp_path))) == "Nothing was measured."


def test_a_search_is_answered_by_its_capacities_the_highest_first(tmp_path: Path):
    search = SearchRecord(key="connections", low=1, high=200, slo="p50 < 3ms")
    record = synthetic.run_record().model_copy(update={"search": search, "points": []})
    below = {
        name: max(c for c in synthetic.CONNECTIONS if truth.latency_ms(c) * 1.02 < 3)
        for name, truth in synthetic.SERVERS.items()
        if name in {"nginx", "apache"}
    }
    assert below["apache"] < below["nginx"]
    said = answer_words(analyse(run_of(tmp_path, "nginx", "apache", record=record)))
    assert said.startswith("nginx keeps p50 < 3ms up to ")
    assert "Of the others, apache keeps them" in said
    assert make_summary(tmp_path).answer == said


def test_a_summary_counts_what_was_measured(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    summary = summary_of(analyse(run))
    assert (summary.title, summary.started_at) == (synthetic.Texts().title, "2026-03-14T09:26:53Z")
    assert summary.points.model_dump() == {"valid": 67, "suspect": 1, "invalid": 1}
    assert (summary.trials, summary.servers) == (9, ("nginx", "apache", "tiny"))
    assert summary.complete


def test_the_numbers_as_written_fit_their_schema_and_are_read_as_they_were(tmp_path: Path):
    make_summary(synthetic.write_run(tmp_path))
    written = json.loads((tmp_path / NUMBERS_FILE).read_text())
    schemas.validate(written, "numbers")
    assert read_analysis(tmp_path) == analyse(read_run(tmp_path))


def test_the_numbers_of_a_run_on_databases_are_read_as_they_were(tmp_path: Path):
    make_summary(databases.write_run(tmp_path / "run"))
    assert read_analysis(tmp_path / "run") == analyse(read_run(tmp_path / "run"))


def test_a_report_takes_the_kept_numbers_and_with_limits_computes_its_own(tmp_path: Path):
    make_summary(synthetic.write_run(tmp_path))
    written = unsealed((tmp_path / NUMBERS_FILE).read_bytes()).content.decode()
    (tmp_path / NUMBERS_FILE).write_bytes(sealed(written.replace(synthetic.Texts().title, "what was kept")))
    assert read_analysed(tmp_path)[1].run.title == "what was kept"
    asked = read_analysed(tmp_path, parse_objective("p99 < 10ms"))[1]
    assert asked.run.title == synthetic.Texts().title
    assert all(shape.capacity for part in asked.shapes for shape in part.shapes)


def test_kept_numbers_are_read_until_the_run_changes(tmp_path: Path):
    synthetic.write_run(tmp_path)
    made = make_summary(tmp_path)
    assert read_summary(tmp_path) == made
    with (tmp_path / "trials.jsonl").open("a") as trials:
        trials.write("\n")
    assert read_summary(tmp_path) is None
    assert read_analysis(tmp_path) is None


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of a run folder with its numbers, whose analysis says that it was kept."""
    make_summary(synthetic.write_run(tmp_path / "run"))
    _say_that_it_was_kept(tmp_path / "run")
    return Path(shutil.copytree(tmp_path / "run", tmp_path / "copy"))


def _say_that_it_was_kept(folder: Path) -> None:
    written = unsealed((folder / NUMBERS_FILE).read_bytes()).content.decode()
    (folder / NUMBERS_FILE).write_bytes(sealed(written.replace(synthetic.Texts().title, "what was kept")))


def test_a_copied_folder_is_answered_by_the_numbers_that_came_with_it(copy: Path):
    for name in ("run.json", "trials.jsonl", "study.toml"):
        os.utime(copy / name, (1, 1))
    assert analysis_of(copy).run.title == "what was kept"
    assert read_summary(copy) is not None


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "study.toml"])
def test_a_copied_file_that_was_changed_in_one_letter_is_analysed_anew(copy: Path, name: str):
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    assert read_summary(copy) is None
    assert read_analysis(copy) is None


def test_a_changed_record_that_names_the_digest_of_the_former_one_is_analysed_anew(copy: Path):
    trials = copy / "trials.jsonl"
    whole = trials.read_bytes()
    content = unsealed(whole.splitlines()[0]).content
    longer = content.replace(b'"nginx"', b'"apach"')
    assert len(longer) == len(content)
    assert longer != content
    trials.write_bytes(whole.replace(content, longer, 1))
    assert analysis_of(copy).run.title == synthetic.Texts().title


def test_a_file_of_a_tebibyte_is_not_read_for_its_digest(copy: Path):
    os.truncate(copy / "trials.jsonl", 2**40)
    source = source_of(copy)
    assert source.trials is not None
    assert (source.trials.bytes, source.trials.sha256) == (2**40, None)


def test_a_file_that_a_copy_lacks_is_a_change(copy: Path):
    (copy / "study.toml").unlink()
    assert read_analysis(copy) is None


def test_numbers_of_a_million_wrong_findings_are_left_at_the_first(copy: Path):
    head = json.loads((copy / NUMBERS_FILE).read_bytes())
    del head["sha256"]
    head["analysis"]["findings"] = [0] * 10**6
    (copy / NUMBERS_FILE).write_bytes(sealed(json.dumps(head)))
    with pytest.raises(ValidationError) as refused:
        _numbers_reader().validate_json(unsealed((copy / NUMBERS_FILE).read_bytes()).content)
    assert refused.value.error_count() < 10
    assert read_analysis(copy) is None


def test_numbers_that_were_changed_since_they_were_written_count_as_none(tmp_path: Path):
    make_summary(synthetic.write_run(tmp_path))
    written = (tmp_path / NUMBERS_FILE).read_text()
    (tmp_path / NUMBERS_FILE).write_text(written.replace(synthetic.Texts().title, "another title"))
    assert read_summary(tmp_path) is None
    assert read_analysis(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{}", "[1", '{"format": "loadcurve-numbers/3"}'])
def test_numbers_that_cannot_be_read_count_as_none(tmp_path: Path, text: str):
    synthetic.write_run(tmp_path)
    make_summary(tmp_path)
    (tmp_path / NUMBERS_FILE).write_text(text)
    assert read_summary(tmp_path) is None


def test_numbers_of_another_version_count_as_none(tmp_path: Path):
    analysis = analyse(read_run(synthetic.write_run(tmp_path)))
    older = source_of(tmp_path).model_copy(update={"loadcurve_version": "0.0.1"})
    keep_numbers(tmp_path, numbers_of(analysis, older))
    assert read_summary(tmp_path) is None
    assert read_analysis(tmp_path) is None


def test_a_folder_that_cannot_be_written_to_loses_nothing_but_the_copy(tmp_path: Path):
    analysis = analyse(read_run(synthetic.write_run(tmp_path / "run")))
    keep_numbers(tmp_path / "gone", numbers_of(analysis, source_of(tmp_path / "run")))
    assert not (tmp_path / "gone").exists()

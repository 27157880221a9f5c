"""A run.json in which something is of another type is refused in a sentence, or read; nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.ending import until_narrow
from loadcurve.analysis.numbers import read_analysed
from loadcurve.errors import LoadcurveError
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.result.differences import conditions_of
from loadcurve.result.folder import read_run
from loadcurve.result.run_files import RUN_COPY_FILE, RUN_FILE
from support import synthetic_run as synthetic
from support.answering_agent import mutations

READ_AS = ("study", "host")
"""What a record keeps of a study and of a machine, whatever that may be."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = synthetic.run_record()
    few = synthetic.trial_records(record)[:4]
    return synthetic.write_run(tmp_path_factory.mktemp("types") / "run", record, few)


def written(folder: Path, record: dict[str, Any]) -> None:
    for name in (RUN_FILE, RUN_COPY_FILE):
        (folder / name).write_text(json.dumps(record))


@pytest.mark.parametrize("key", READ_AS)
def test_a_record_with_another_type_in_it_is_refused_in_a_sentence_or_read(folder: Path, key: str):
    record = json.loads((folder / RUN_FILE).read_text())
    refused: list[str] = []
    for changed in mutations(record[key]):
        written(folder, record | {key: changed})
        try:
            run = read_run(folder)
        except LoadcurveError as error:
            refused.append(str(error))
            continue
        assert conditions_of(run)
        assert run.points_lost >= 0
        assert run.default_measure
        until_narrow(run.run.study["trials"])
    written(folder, record)
    assert len(refused) > 10
    assert max(map(len, refused)) < 1_000


@pytest.mark.long
@pytest.mark.parametrize("key", READ_AS)
def test_a_record_with_another_type_in_it_has_a_page_where_it_is_read(folder: Path, key: str):
    record = json.loads((folder / RUN_FILE).read_text())
    for changed in mutations(record[key]):
        written(folder, record | {key: changed})
        try:
            page = render_page(Report(*read_analysed(folder, None)))
        except LoadcurveError:
            continue
        assert page
    written(folder, record)

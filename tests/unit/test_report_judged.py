"""Which loads of a search a short table shows, and what it says of those that it leaves out."""

from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.report.judged import Judged, left_out_words, limits_words
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import summary
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord, SearchRecord
from loadcurve.stats.capacity import JudgedLoad
from support import synthetic_run as synthetic
from support import terminal

LOADS = (100, 200, 400, 800, 1_600, 1_200, 1_400, 1_500, 1_550, 1_575)
"""Requests per second, in the order of a search that ends between 1,550 and 1,575."""
LATE, TAKEN = (200, 1_550), 1_400
"""Loads that are invalid, because the generator was late or because other programs took the CPUs."""


def judged_load(held: int, failed: int, unjudged: int, *, was_late: bool = False) -> JudgedLoad:
    return JudgedLoad(1, held, failed, unjudged, was_late=was_late, decides=False)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (judged_load(3, 0, 0), "held"),
        (judged_load(3, 0, 0, was_late=True), "held, late"),
        (judged_load(1, 2, 0), "1 of 3 held"),
        (judged_load(2, 0, 1, was_late=True), "2 of 3 held, late"),
        (judged_load(0, 3, 0), "failed"),
        (judged_load(0, 0, 2), "not judged"),
        (judged_load(0, 1, 1), "1 of 2 failed"),
        (None, "—"),
    ],
)
def test_a_cell_says_in_how_many_trials_the_limits_held(one: JudgedLoad | None, words: str):
    assert limits_words(one) == words


def at_rate(rate: int) -> PointRecord:
    """What a search measured at a rate: a p99 of 1 ms up to 1,550, and of 100 ms above."""
    plain = synthetic.point_record().load
    codes = ["generator_late"] if rate in LATE else ["cpu_taken"] if rate == TAKEN else []
    changes: dict[str, Any] = {
        "load": plain.load.model_dump(by_alias=True)
        | {"model": "open", "rate_rps": float(rate), "arrivals": "constant"},
        "latency_ms": plain.latency_ms.model_copy(
            update={"p99": 1.0 if rate <= 1_550 else 100.0}
        ).model_dump(),
        "verdict": {
            "status": "invalid" if codes else "valid",
            "reasons": [{"code": code, "text": code} for code in codes],
            "notes": [],
        },
    }
    return synthetic.point_record(**changes).model_copy(update={"point": {"rate": float(rate)}})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    record = synthetic.run_record()
    search = SearchRecord(key="rate", low=100, high=100_000, slo="p99 < 10ms")
    record = record.model_copy(
        update={
            "points": [],
            "search": search,
            "order": [one for one in record.order if one.server == "nginx"][:1],
            "servers": {"nginx": record.servers["nginx"]},
        }
    )
    [planned] = record.order
    records = [
        at_rate(rate).model_copy(update={"trial": planned.trial, "block": planned.block}) for rate in LOADS
    ]
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("judged") / "run", record, records))


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return analyse(run)


def test_the_loads_on_both_sides_of_a_capacity_are_shown_although_one_is_invalid(analysis: Analysis):
    [curve] = analysis.curves
    shown = [at.point["rate"] for at in Judged(analysis).shown(curve, 6)]
    assert {1_550, 1_575} <= set(shown)
    assert (len(shown), shown[0], shown[-1]) == (6, 100, 1_600)


def test_the_terminal_says_of_each_load_what_it_decided_and_how_many_are_left_out(
    run: Run, analysis: Analysis
):
    printed = terminal.printed(summary(Report(run, analysis)))
    assert "1,550           —       —       —  held, late  invalid" in printed
    assert "4 of 10 points are not in this table: " in printed
    assert "late: the generator was" in printed


def test_what_is_left_out_is_counted_by_what_it_decided(analysis: Analysis):
    [curve] = analysis.curves
    words = left_out_words(Judged(analysis), [(curve, [])])
    # 1,575 and 1,600 failed, 1,400 is not known; 200 and 1,550 held although they are invalid, as 1,400 is.
    assert words == (
        "10 of 10 points are not in this table: 7 held, 2 failed, 1 not judged, 3 of them invalid; "
        "the report has all"
    )
    assert left_out_words(Judged(analysis), [(curve, curve.points)]) == ""


def test_without_limits_it_is_said_how_many_of_them_are_invalid(tmp_path: Path):
    found = analyse(read_run(synthetic.write_run(tmp_path / "run")))
    judged = Judged(found)
    assert not judged
    tables = [(curve, judged.shown(curve, 2)) for curve in found.curves]
    # Three servers with eight loads each: the one point of the truth that is invalid is at neither end.
    assert (
        left_out_words(judged, tables)
        == "18 of 24 points are not in this table: 1 invalid; the report has all"
    )


def test_the_page_has_all_loads_with_what_each_decided(run: Run, analysis: Analysis, tmp_path: Path):
    numbers = everything(Report(run, analysis))["numbers"]
    place = [column.heading for column in numbers.table.columns[1:]].index("limits")
    said = {row.figures[0].shown: (row.figures[place].shown, row.verdict) for row in numbers.table.rows}
    assert len(said) == len(LOADS)
    assert said["1,550"] == ("held, late", "invalid")
    assert said["1,400"] == ("not judged", "invalid")
    assert said["1,575"] == ("failed", "valid")
    assert numbers.limits_words is not None

"""The page of runs that went otherwise than planned: nothing usable, little measured, long names."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from loadcurve.result.outcomes import Verdict, VerdictReason
from loadcurve.result.records import FailureRecord, PointRecord
from support import synthetic_run as synthetic
from support.opened_report import PHONE, OpenReport
from support.report_pages import write_report

Records = Sequence[PointRecord | FailureRecord]

WIDE = 1920
LONG_NAME = "Supercalifragilisticexpialidocious_with_eight_workers_and_no_hyphen"


def measured_records() -> list[PointRecord]:
    records = synthetic.trial_records(synthetic.run_record())
    return [record for record in records if isinstance(record, PointRecord)]


def all_invalid() -> Records:
    reason = VerdictReason.of("errors", "12 % of the requests failed (60 resets)")
    verdict = Verdict(status="invalid", reasons=[reason], notes=[])
    return [synthetic.with_load(record, verdict=verdict) for record in measured_records()]


def one_point_of_one_trial() -> Records:
    return measured_records()[:1]


@pytest.mark.parametrize("records", [all_invalid, one_point_of_one_trial])
def test_every_figure_is_drawn_and_nothing_complains(
    records: Callable[[], Records], open_report: OpenReport, tmp_path: Path
):
    opened = open_report(write_report(synthetic.write_run(tmp_path / "run", records=list(records()))))
    figures = opened.figures()
    assert "throughput-1" in figures
    for figure in figures:
        assert opened.marks(figure), figure
    assert opened.complaints == []


def test_a_wide_window_shows_the_table_of_all_figures_whole(report: Path, open_report: OpenReport):
    table = open_report(report, width=WIDE).page.locator("section[aria-labelledby=numbers] .scroller")
    assert table.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    box = table.bounding_box()
    assert box is not None
    assert box["x"] > 0
    assert box["x"] + box["width"] < WIDE


def test_a_title_from_right_to_left_and_a_long_name_fit_a_phone(open_report: OpenReport, tmp_path: Path):
    texts = synthetic.Texts(title="أي خادم أسرع؟", question="Which?")
    run = synthetic.write_renamed_run(tmp_path / "run", "tiny", LONG_NAME, texts)
    opened = open_report(write_report(run), width=PHONE)
    opened.figures()
    direction = "one => getComputedStyle(one).direction"
    assert opened.page.locator("h1").evaluate(direction) == "rtl"
    assert opened.page.locator(".question").evaluate(direction) == "ltr"
    assert opened.page.evaluate("document.documentElement.scrollWidth") == PHONE

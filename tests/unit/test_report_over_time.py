"""The figures of a soak over time, on the page, in the terminal and in Markdown."""

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.report.charts.over_time import MOST_LINES
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.over_time import OVER_TIME
from loadcurve.report.section import Report
from support.explained_run import Setup, planted_run

MIB = 2**20


def report(**setup):
    def leaks(record, trial, _value):
        record["probe"]["server"]["memory_mean_bytes"] += 2 * MIB * trial

    run = planted_run(leaks, Setup(**setup))
    return Report(run, analyse(run))


def test_what_rises_is_a_row_with_its_change_per_hour():
    found = report(values=(50,), trials=24, every_s=3600).of(OVER_TIME)
    assert found.conclusion == "1 figure of 6 rises or falls over the run."
    [row] = found.trends.rows
    assert row[:3] == ["nginx", "connections = 50", "resident memory, MiB"]
    assert float(row[-1].split()[0]) == pytest.approx(2, abs=0.05)


def test_hours_are_the_unit_of_a_day_and_minutes_that_of_an_hour():
    for every_s, unit in ((3600, "hours"), (100, "minutes"), (86400, "days"), (2, "seconds")):
        found = report(values=(50,), trials=24, every_s=every_s).of(OVER_TIME)
        assert f"{unit} from the start of the run" in str(found.measures[0].figure.specification)


def test_few_trials_show_no_trend_and_are_drawn():
    found = report(values=(50,), trials=3, every_s=3600).of(OVER_TIME)
    assert found.conclusion == "Fewer than 8 trials show no trend."
    assert (found.trends, len(found.measures)) == (None, 6)


def test_lines_that_nobody_could_tell_apart_are_left_out_and_counted():
    found = report(values=tuple(range(1, MOST_LINES + 4)), trials=3, every_s=3600).of(OVER_TIME)
    assert found.measures[0].figure.note == "3 more lines not drawn."


def test_a_run_that_is_no_soak_has_no_such_section():
    assert report(values=(50,), trials=24).of(OVER_TIME) is None


def test_the_page_and_markdown_have_the_section():
    soak = report(values=(50,), trials=8, every_s=3600)
    assert '<h2 id="over-time">Over time</h2>' in render_page(soak)
    assert "### Over time" in markdown_bytes(soak).decode()

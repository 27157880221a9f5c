"""The figures of a soak over time, on the page, in the terminal and in Markdown."""

from datetime import timedelta
from itertools import pairwise

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.report.charts.figure import SMALL_FIGURE_HEIGHT
from loadcurve.report.charts.over_time import MOST_LINES
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.over_time import OVER_TIME
from loadcurve.report.section import Report
from support.explained_run import BEGIN, Setup, planted_run

MIB = 2**20
FONT_PX = 11


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


def labels_of(specification) -> list[tuple[float, float]]:
    """The value of the mark that each label is at, and the distance below it in pixels."""
    texts = [layer for layer in specification["layer"] if layer["mark"]["type"] == "text"]
    rows = specification["datasets"]
    return [(rows[layer["data"]["name"]][0]["y"], layer["mark"]["dy"]) for layer in texts]


def test_labels_of_points_whose_lines_end_together_lie_above_one_another():
    found = report(values=(50, 100, 200), trials=3, every_s=3600).of(OVER_TIME)
    memory = next(one for one in found.measures if one.heading == "resident memory, MiB")
    # On the axis, from zero to the greatest value, lines that end at 19.8, 19.8 and 20.0 MiB coincide.
    labels = labels_of(memory.figure.specification)
    top = max(value for value, _ in labels)
    heights = sorted(SMALL_FIGURE_HEIGHT * value / top - shift for value, shift in labels)
    assert len(heights) == 3
    assert min(later - earlier for earlier, later in pairwise(heights)) >= FONT_PX
    assert max(abs(shift) for _, shift in labels) < 4 * FONT_PX


def test_lines_of_one_point_have_no_labels_and_a_legend_of_the_servers():
    soak = report(values=(50,), trials=3, every_s=3600)
    assert all(labels_of(one.figure.specification) == [] for one in soak.of(OVER_TIME).measures)
    section = render_page(soak).partition('<h2 id="over-time">')[2].partition("</section>")[0]
    assert '<ul class="legend" aria-label="Servers">' in section


def test_a_run_that_is_no_soak_has_no_such_section():
    assert report(values=(50,), trials=24).of(OVER_TIME) is None


def test_the_page_and_markdown_have_the_section():
    soak = report(values=(50,), trials=8, every_s=3600)
    assert '<h2 id="over-time">Over time</h2>' in render_page(soak)
    assert "### Over time" in markdown_bytes(soak).decode()


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (20, "Fewer than 8 trials show no trend. Of nginx only"),
        (12, "No figure of 6 rises or falls. Of nginx only"),
    ],
)
def test_trials_before_the_last_start_are_said_not_to_count(hours: int, said: str):
    def dies(record, trial, _value):
        if trial < hours:
            record["probe"]["server"]["memory_mean_bytes"] += 2 * MIB * trial
        else:
            record["server_started_at"] = (BEGIN + timedelta(hours=hours)).isoformat()

    run = planted_run(dies, Setup(values=(50,), trials=24, every_s=3600))
    assert Report(run, analyse(run)).of(OVER_TIME).conclusion.startswith(said)

"""Where servers announced HTTP/3 to loads that followed that, in all forms of the report."""

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.connections import Range
from loadcurve.report.alt_svc import announcements_in_terminal, announcements_table
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from support.explained_run import CONNECTIONS, TRIALS, planted_run, speak_http3
from support.terminal import printed

LOADS = len(CONNECTIONS) * TRIALS
SAID = 'h3=":8443"; ma=600'


def follow(record, trial, value):
    """The load of the last point asks again, as the time was over; later trials wait longer for an answer."""
    speak_http3(record)
    record["load"]["load"]["announced"] = {
        "request": "GET /1k.txt",
        "said": SAID,
        "took_ms": 2.0 + trial,
        "address": "127.0.0.1:8443",
        "max_age_s": 600,
        "age_s": 0,
        "times_asked": 2 if value == CONNECTIONS[-1] else 1,
    }


@pytest.fixture(scope="module")
def report() -> Report:
    run = planted_run(follow)
    analysis = analyse(run)
    assert analysis.not_computed == []
    return Report(run, analysis)


def test_questions_add_up_over_starts_and_times_are_those_of_all_loads(report: Report):
    [found] = report.analysis.announcements
    assert (found.server, found.requests, found.said) == ("nginx", ["GET /1k.txt"], [SAID])
    assert (found.asked, found.loads) == (2 * TRIALS, LOADS)
    assert (found.took_ms, found.max_age_s) == (Range(2, 2 + TRIALS - 1), Range(600, 600))


def test_the_page_the_terminal_and_markdown_have_a_section_of_it(report: Report):
    grid = announcements_table(report.analysis)
    assert grid is not None
    asked = f"{2 * TRIALS} times for {LOADS} loads: GET /1k.txt"
    assert grid.rows == [["nginx", SAID, "127.0.0.1:8443", asked, "2.00 to 6.00 ms", "600 s"]]
    assert '<h2 id="announced">Where HTTP/3 was announced (Alt-Svc)</h2>' in render_page(report)
    lines = printed(announcements_in_terminal(report.analysis))
    assert f"asked: {asked}" in lines
    assert max(map(len, lines.splitlines())) <= 80
    assert "### Where HTTP/3 was announced (Alt-Svc)" in markdown_bytes(report).decode()


def test_a_run_whose_loads_name_the_port_has_no_such_section():
    run = planted_run(lambda record, *_: speak_http3(record))
    assert announcements_table(analyse(run)) is None

"""Texts and JSON of h2load with errors, warm-ups and loads of a duration (tests/data/tools/h2load, made)."""

import re
from pathlib import Path

import pytest

from loadcurve.imported.pattern import named_files
from loadcurve.imported.plan import read_files
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"


def figures(name: str) -> ToolFigures:
    return read_figures(Source(DATA / name), None)[0]


def changed(folder: Path, name: str, old: str, new: str) -> ToolFigures:
    text = (DATA / name).read_text()
    assert old in text
    path = folder / "changed"
    path.write_text(text.replace(old, new))
    return read_figures(Source(path), None)[0]


@pytest.mark.parametrize(
    "name", ["1.52.0-half.txt", "1.52.0-timed-half.txt", "1.52.0-closed.txt", "1.52.0-rate.txt"]
)
def test_answers_by_the_second_are_the_rate_that_h2load_prints(name: str):
    """It counts every stream that ended as it should, whatever its status."""
    text, found = (DATA / "h2load" / name).read_text(), figures(f"h2load/{name}")
    rate_rps = float(re.findall(r"finished in \S+, ([\d.]+) req/s", text)[0])
    assert found.answered / found.duration_s == pytest.approx(rate_rps, abs=0.01)
    succeeded, failed, errored = map(
        int, re.findall(r"done, (\d+) succeeded, (\d+) failed, (\d+) errored", text)[0]
    )
    assert (found.ok, found.failed, found.answered) == (succeeded, errored, succeeded + failed - errored)
    assert found.contradictions == []


def test_error_statuses_are_answers_of_the_whole_time():
    found = figures("made/h2load-error-statuses.txt")
    assert (found.duration_s, found.answered, found.ok, found.failed) == (2.0, 1000, 600, 0)
    assert found.status == {"1xx": 0, "2xx": 600, "3xx": 0, "4xx": 400, "5xx": 0}


def test_statuses_that_are_counted_at_another_edge_of_the_window_are_no_failures():
    found = figures("made/h2load-timed-edges.txt")
    assert (found.duration_s, found.answered, found.ok, found.failed) == (10.0, 200_000, 200_000, 0)


def test_more_statuses_than_ended_requests_are_no_answers(tmp_path: Path):
    found = changed(tmp_path, "made/h2load-timed-edges.txt", "199900 2xx", "200100 2xx")
    assert (found.answered, found.answered / found.duration_s) == (200_000, 20_000)


def test_the_window_of_the_json_is_without_the_warm_up_that_its_duration_includes():
    found = figures("made/h2load-warm-up.json")
    assert (found.duration_s, found.answered, found.failed, found.contradictions) == (10.0, 10_000, 0, [])


def test_the_lines_of_the_threads_are_the_load():
    [one] = read_files(named_files([str(DATA / "made/h2load-clients.txt")], ""), None, None, {})
    asked = one.figures.asked
    assert one.point == {"connections": 12.0}
    assert (asked.connections, asked.threads, asked.requests_total, asked.http) == (12, 2, 6000, "2")
    assert one.figures.answered / one.figures.duration_s == pytest.approx(3000)
    timed = figures("h2load/1.52.0-timed-half.txt").asked
    assert (timed.connections, timed.threads, timed.duration_s, timed.requests_total) == (4, 2, 1.0, None)


def test_clients_that_come_at_a_rate_are_not_known_to_be_there_at_once():
    assert figures("h2load/1.52.0-rate.txt").asked.connections is None


def test_how_many_times_of_connecting_there_are_is_not_known_from_the_text():
    found = figures("h2load/1.52.0-half.txt")
    assert found.connect is not None
    connect = found.connect.distribution
    assert (connect.count, connect.mean, connect.min, connect.p50) == (None, 0.106, 0.037, None)


def test_connections_that_are_refused_are_failures_of_no_time():
    found = figures("h2load/1.52.0-refused.txt")
    assert (found.answered, found.failed, found.latency) == (0, 40, None)


def test_a_rate_that_does_not_fit_requests_and_time_is_said(tmp_path: Path):
    found = changed(tmp_path, "made/h2load-clients.txt", "3000.00 req/s", "2500.00 req/s")
    [said] = found.contradictions
    assert said == "6,000 answers in 2 s are 3,000.0/s, and it says 2,500/s"
    assert found.answered / found.duration_s == 2500


def test_its_log_lacks_requests_whose_connection_ended_so_failures_are_not_known():
    """Its text counts 147 of 200 requests as errors, and its log has no line of them."""
    text, log = figures("h2load/1.70.90-closed.txt"), figures("h2load/1.70.90-closed.tsv")
    assert (text.answered, text.failed) == (53, 147)
    assert (log.answered, log.failed) == (53, None)
    assert log.not_measured == ["failures of requests whose connection ended: h2load does not log them"]


def test_a_status_whose_body_never_ended_counts_for_no_answer():
    """Four requests had the head of an answer, and timed out."""
    found = figures("h2load/1.70.90-slow.txt")
    assert (found.answered, found.ok, found.failed, found.errors["timeout"]) == (0, 0, 8, 4)
    assert (found.status, found.contradictions) == (None, [])
    [said] = found.not_measured
    assert said.startswith("answers by class of their status")

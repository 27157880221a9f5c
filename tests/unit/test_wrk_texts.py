"""The texts of wrk and wrk2 are read as they say; the files are theirs (tests/data/tools)."""

import re
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"


def figures(path: Path, named: str | None = None) -> ToolFigures:
    return read_figures(Source(path), named)[0]


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = (DATA / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path


def test_the_text_of_wrk_gives_its_counts_percentiles_and_what_was_asked():
    found = figures(DATA / "wrk.txt")
    assert (found.tool, found.basis, found.answered, found.ok, found.failed) == (
        "wrk",
        "send",
        72827,
        72827,
        0,
    )
    assert (found.asked.duration_s, found.asked.connections) == (2.0, 10)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.mean, latency.max) == (0.35179, 8.32)
    assert (latency.p50, latency.p75, latency.p90, latency.p99) == (0.259, 0.285, 0.37, 3.25)
    assert (latency.p95, latency.p99_9, found.latency.histogram) == (None, None, None)
    # Its rate is that of its own last lines.
    assert found.answered / found.duration_s == pytest.approx(36390.21)


def test_without_percentiles_and_with_error_statuses_the_rest_is_known():
    found = figures(DATA / "wrk-not-found.txt")
    assert (found.answered, found.ok, found.failed) == (41194, 0, 0)
    assert found.latency is not None
    assert (found.latency.completeness, found.latency.distribution.p99) == ("summary", None)


@pytest.mark.parametrize("name", ["wrk-1.0.0.txt", "wrk-1.0.0-not-found.txt", "wrk-2.0.0.txt"])
def test_the_texts_of_old_versions_say_what_stands_there(name):
    """That of version 1 begins with how many requests it makes instead of how long it runs."""
    text, found = (DATA / name).read_text(), figures(DATA / name)
    requests, number, unit = re.findall(r"(\d+) requests in ([\d.]+)(s|ms),", text)[0]
    wrong = re.findall(r"Non-2xx or 3xx responses: (\d+)", text)
    in_s = 1e-3 if unit == "ms" else 1.0
    assert (found.answered, found.failed) == (int(requests), 0)
    assert found.duration_s == pytest.approx(float(number) * in_s, abs=0.005 * in_s)
    assert found.answered - found.ok == sum(map(int, wrong))
    rate_rps = float(re.findall(r"Requests/sec: +([\d.]+)", text)[0])
    assert found.answered / found.duration_s == pytest.approx(rate_rps)
    made = re.findall(r"^Making (\d+) requests to", text)
    assert found.asked.requests_total == (int(made[0]) if made else None)
    assert found.asked.duration_s == (None if made else 1.0)
    assert found.latency is not None
    mean, longest = re.findall(r"Latency +([\d.]+)(?:us|ms) +\S+ +([\d.]+)(?:us|ms)", text)[0]
    latency = found.latency.distribution
    # It shows a time of 0 where it has none.
    assert found.latency.completeness == ("sampled" if made else "summary")
    assert (latency.mean, latency.max) == (float(mean) or None, float(longest) or None)


def test_timeouts_of_version_1_are_of_no_requests(tmp_path):
    """It counts connections that wait for long, each time anew (``check_timeouts`` in its source)."""
    errors = "  Socket errors: connect 1, read 2, write 3, timeout 400\nRequests/sec"
    found = figures(changed(tmp_path, "wrk-1.0.0.txt", ("Requests/sec", errors)))
    assert (found.answered, found.failed, found.errors) == (figures(DATA / "wrk-1.0.0.txt").answered, 6, {})


def test_socket_errors_are_failures_and_late_answers_too(tmp_path):
    errors = "  Socket errors: connect 1, read 20, write 3, timeout 400\nRequests/sec"
    found = figures(changed(tmp_path, "wrk.txt", ("Requests/sec", errors)))
    assert (found.answered, found.failed, found.errors) == (72427, 424, {"timeout": 400})


def test_the_text_of_wrk2_has_latencies_from_when_a_request_was_due():
    found = figures(DATA / "wrk2.txt")
    assert (found.tool, found.basis, found.answered) == ("wrk2", "due", 5963)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.p50, latency.p99, latency.p99_9, latency.max) == (0.92, 4.1, 5.16, 5.78)
    # 5,963 samples do not bound it.
    assert latency.p99_99 is None


def test_timeouts_of_wrk2_are_of_no_requests(tmp_path):
    errors = "  Socket errors: connect 1, read 20, write 3, timeout 400\nRequests/sec"
    found = figures(changed(tmp_path, "wrk2.txt", ("Requests/sec", errors)))
    assert (found.answered, found.failed, found.errors) == (5963, 24, {})


def test_minutes_seconds_and_milliseconds_are_one_unit(tmp_path):
    whole = figures(DATA / "wrk.txt").latency
    figure = figures(changed(tmp_path, "wrk.txt", ("3.25ms", "1.50s"), ("8.32ms", "1.25m"))).latency
    assert figure is not None
    assert whole is not None
    # 0.01 of the unit of the longest one: a ms, a minute.
    assert (whole.resolution_ms, figure.resolution_ms) == (0.01, 600.0)
    assert (figure.distribution.p99, figure.distribution.max) == (1500.0, 75000.0)


def test_the_rate_of_wrk_counts_where_its_time_is_in_minutes():
    found = figures(DATA / "made/wrk-rounded-minutes.txt")
    assert found.answered / found.duration_s == pytest.approx(4880)
    assert found.duration_s == pytest.approx(120.29, abs=0.005)
    assert found.asked.duration_s is None, "2m may be 100 s"
    assert found.contradictions == []


def test_a_text_of_wrk_that_lost_its_indentation_is_whole():
    found = figures(DATA / "made/wrk-without-indentation.txt")
    assert (found.answered, found.duration_s, found.asked.connections) == (48_800, 10.0, 20)
    assert found.latency is not None
    assert (found.latency.distribution.mean, found.latency.completeness) == (4.1, "summary")


@pytest.mark.parametrize("name", ["wrk.txt", "wrk2.txt"])
def test_without_its_indentation_every_line_of_wrk_says_the_same(name, tmp_path):
    errors = (
        "  Socket errors: connect 1, read 20, write 3, timeout 4\n  Non-2xx or 3xx responses: 7\nRequests/sec"
    )
    whole = changed(tmp_path, name, ("Requests/sec", errors))
    found = figures(whole)
    whole.write_text("\n".join(line.strip() for line in whole.read_text().splitlines()) + "\n")
    assert figures(whole) == found
    assert found.ok == found.answered - 7


def test_a_rate_of_wrk_that_does_not_fit_is_said(tmp_path):
    [said] = figures(changed(tmp_path, "wrk.txt", ("36390.21", "33390.21"))).contradictions
    assert said == "72,827 requests in 2 s are 36,413.5/s, and it says 33,390.21/s"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  72827 requests in 2.00s, 87.79MB read\n", "", "expected the requests, and in what time"),
        ("72827 requests in 2.00s", "72827 requests in 2,00s", "expected the requests, and in what time"),
        ("  1 threads and 10 connections", "  1 threads and 10 connec", "expected threads and connections"),
        ("72827 requests", "0 requests", "expected the requests of a load"),
    ],
)
def test_a_text_that_is_cut_off_or_another_is_refused(tmp_path, old, new, said):
    with pytest.raises(BadInput, match=said):
        figures(changed(tmp_path, "wrk.txt", (old, new)), "wrk")

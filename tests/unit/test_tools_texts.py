"""What other load generators print, read: texts of ab 2.3, httperf 0.9.0 and h2load 1.52.0 of one machine."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from loadcurve.tools.ab import reader as ab
from loadcurve.tools.driver import Output, WebToolRequest
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.h2load import reader as h2load
from loadcurve.tools.httperf import reader as httperf
from loadcurve.tools.source import Source
from loadcurve.tools.wrk.driver import read_report, without_corrections
from loadcurve.tools.wrk2 import driver as wrk2

TEXTS = Path(__file__).parents[1] / "data" / "tools"


def text_of(name: str) -> str:
    return (TEXTS / name).read_text()


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., Source]:
    def write(text: str, name: str = "out") -> Source:
        (tmp_path / name).write_text(text)
        return Source(tmp_path / name, name)

    return write


def as_wrk_corrects(measured: dict[int, int], interval: int) -> dict[int, int]:
    """What ``stats_correct`` of wrk makes of an array of counts, step by step as its source has it."""
    counts = Counter(measured)
    for time in range(2 * interval, max(counts) + 1):
        shorter = time - interval
        while counts[time] and shorter > interval:
            counts[shorter] += counts[time]
            shorter -= interval
    return {time: count for time, count in counts.items() if count}


@pytest.mark.parametrize("seed", range(20))
def test_what_wrk_adds_to_its_latencies_is_taken_out_exactly(seed):
    drawn = Random(seed)
    longest = drawn.choice([50, 400, 3000])
    measured = Counter(drawn.randint(1, longest) for _ in range(drawn.choice([10, 1000])))
    requests, connections = sum(measured.values()), drawn.choice([1, 4])
    duration_us = drawn.randint(10, 60) * (requests // connections)
    interval = duration_us // (requests // connections)
    corrected = as_wrk_corrects(measured, interval)
    found = without_corrections(corrected, requests, duration_us, connections)
    assert found == dict(sorted(measured.items()))


def report(**changes: object) -> str:
    counted = {
        "duration_us": 1_000_000, "requests": 6, "bytes": 6000, "connect": 0, "read": 0, "write": 0,
        "status": 1, "timeout": 1, "latencies": [[100, 2], [200, 2], [300, 1]],
    }  # fmt: skip
    return f"Running 1s test\nloadcurve {json.dumps(counted | changes)}\n"


def test_the_latencies_of_wrk_become_figures_and_late_answers_count_as_failed(file_of):
    figures = read_report(file_of(report()), connections=1)
    assert (figures.answered, figures.ok, figures.failed, dict(figures.errors)) == (5, 4, 1, {"timeout": 1})
    assert figures.latency is not None
    latency = figures.latency.distribution
    assert (latency.count, latency.min, latency.max) == (5, 0.1, 0.3)
    assert latency.mean == pytest.approx(0.18)
    assert (figures.latency.completeness, figures.latency.resolution_ms) == ("complete", 0.001)
    assert figures.latency.histogram is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "nothing"),
        ("unable to connect to 127.0.0.1:1", "unable to connect"),
        (report()[:60], "out, line 2: found a truncated line"),
        (report() * 2, "out, line 4: found 'loadcurve .* once more, after that of line 2"),
        (report(requests=7), "5 latencies of 6 answers"),
    ],
)
def test_a_report_of_wrk_that_is_none_is_refused_with_what_was_found(text, found, file_of):
    with pytest.raises(Unreadable, match=found):
        read_report(file_of(text), connections=1)


def test_a_late_answer_of_wrk2_is_an_answer_and_no_failure(file_of):
    """Its timeouts are connections that sent nothing for long, looked at every two seconds."""
    output = Output("wrk2", Path("wrk2"), file_of(report(timeout=400, read=3)).path, Path())
    found = wrk2.figures(WebToolRequest(load=None, address="", authority="", threads=1, files=Path()), output)
    assert (found.answered, found.ok, found.failed, dict(found.errors)) == (6, 5, 3, {})


def test_ab_is_read_as_its_text_says():
    percentiles = ab.read_percentiles(Source(TEXTS / "ab-percentiles.csv"))
    figures = ab.read_text(Source(TEXTS / "ab.txt"), percentiles)
    assert (figures.answered, figures.ok, figures.failed) == (2000, 2000, 0)
    assert (figures.bytes_received, figures.bytes_body) == (2178000, 2048000)
    assert figures.answered / figures.duration_s == pytest.approx(12161.53)
    assert figures.asked.connections == 5
    assert figures.asked.paths == ["/1k.txt"]
    assert figures.latency is not None
    latency = figures.latency.distribution
    # Its text has the same percentiles in whole milliseconds.
    shown = (latency.p50, latency.p95, latency.p99, latency.max)
    assert [round(time_ms or -1) for time_ms in shown] == [0, 2, 4, 7]
    assert (latency.mean, latency.p99_9) == (None, None)
    assert (figures.latency.completeness, figures.latency.histogram) == ("percentiles", None)


def test_percentiles_of_the_text_of_ab_are_whole_milliseconds_and_0_is_none():
    figures = ab.read_text(Source(TEXTS / "ab.txt"))
    assert figures.latency is not None
    latency = figures.latency.distribution
    assert (latency.p50, latency.p75, latency.p90, latency.p95, latency.p99) == (None, None, 1.0, 2.0, 4.0)
    assert (latency.max, figures.latency.resolution_ms, latency.mean) == (7.0, 1.0, None)


def with_failures(of_class: str) -> str:
    """The text of ab of 2,000 requests, some of which failed by these classes."""
    text = text_of("ab.txt").replace(
        "Failed requests:        0", f"Failed requests:        9\n   ({of_class})"
    )
    return text.replace("Keep-Alive", "Non-2xx responses:      7\nKeep-Alive", 1)


@pytest.mark.parametrize("receive", ["Receive: 0, ", ""])
def test_failures_of_ab_are_those_that_are_no_answers(receive, file_of):
    """Older versions do not have the class Receive."""
    figures = ab.read_text(file_of(with_failures(f"Connect: 1, {receive}Length: 5, Exceptions: 0")))
    assert (figures.answered, figures.ok, figures.failed, figures.other_length) == (1999, None, 1, 5)


def test_a_reset_which_ab_counts_three_times_has_failed_once(file_of):
    """So it counts those of a server that resets every tenth connection, which knows how many these are."""
    figures = ab.read_text(file_of(with_failures("Connect: 0, Receive: 3, Length: 5, Exceptions: 3")))
    assert (figures.answered, figures.failed, figures.other_length) == (1997, 3, 2)


def test_the_table_of_requests_of_ab_has_their_times_in_whole_milliseconds(file_of):
    """They begin in whole seconds, so that a short one does not say how long it took."""
    with pytest.raises(Unreadable, match="requests within 1 ms"):
        ab.read_requests(Source(TEXTS / "ab-requests.tsv"))
    head, *rows = text_of("ab-requests.tsv").splitlines()
    with pytest.raises(Unreadable, match=r"moments in whole seconds, and 5\.0 s"):
        ab.read_requests(file_of("\n".join([head, rows[0], rows[0].replace("1795488644", "1795488649"), ""])))
    times = range(1, 41)
    later = [f"{rows[0].split(chr(9))[0]}\t{1795488644 + at}\t0\t{at}\t{at}\t{at - 1}" for at in times]
    figures = ab.read_requests(file_of("\n".join([head, *later, ""])))
    assert (figures.answered, figures.failed, figures.ok, figures.status) == (40, None, None, None)
    assert figures.duration_s == 39 + 0.04
    assert figures.latency is not None
    assert figures.first_byte is not None
    assert (figures.latency.distribution.mean, figures.latency.distribution.p50) == (20.5, 20.0)
    assert (figures.first_byte.distribution.mean, figures.latency.resolution_ms) == (19.5, 1.0)
    assert figures.connect is None or not figures.connect.distribution.count


def test_a_comma_in_the_table_of_requests_of_ab_is_refused(file_of):
    head = text_of("ab-requests.tsv").splitlines()[0]
    with pytest.raises(Unreadable, match="out, line 2: found ctime '0,5'"):
        ab.read_requests(file_of(f"{head}\nMon\t1\t0,5\t0\t0\t0\n"))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda text: text[:-1], "line 102: .*the end of the line"),
        (lambda text: text.replace("100,6.795\n", ""), "for 100 %"),
        (lambda text: text.replace("\n50,", "\n51,"), "line 52: .*for 50 %"),
        (lambda text: text * 2, "line 103: .*for 101 %"),
        (lambda text: text.replace("100,6.795", "100,6,795"), "line 102: .*with a decimal point"),
    ],
)
def test_a_table_of_percentiles_of_ab_has_each_of_them_once(change, found, file_of):
    with pytest.raises(Unreadable, match=found):
        ab.read_percentiles(file_of(change(text_of("ab-percentiles.csv"))))


def test_httperf_is_read_as_its_text_says():
    figures = httperf.read_text(Source(TEXTS / "httperf.txt"))
    assert (figures.answered, figures.failed, figures.connections_opened) == (250, 0, 50)
    assert figures.status == {"1xx": 0, "2xx": 250, "3xx": 0, "4xx": 0, "5xx": 0}
    assert figures.latency is not None
    assert figures.connect is not None
    assert (figures.latency.distribution.mean, figures.connect.distribution.mean) == (15.4, 8.5)
    assert figures.latency.distribution.p50 is None
    assert (figures.duration_s, figures.bytes_body) == (pytest.approx(0.153, abs=5e-4), 250 * 1024)
    assert 250 / figures.duration_s == pytest.approx(1636.4)


def test_errors_of_httperf_have_their_classes(file_of):
    text = text_of("httperf.txt").replace(
        "Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0",
        "Errors: total 8 client-timo 1 socket-timo 0 connrefused 2 connreset 3",
    )
    figures = httperf.read_text(file_of(text.replace("fd-unavail 0", "fd-unavail 2")))
    assert figures.failed == 8
    counted = {name: count for name, count in figures.errors.items() if count}
    assert counted == {"timeout": 1, "connect_refused": 2, "reset": 3, "fd_unavailable": 2}


def test_h2load_is_read_as_its_text_says():
    figures = h2load.read_text(Source(TEXTS / "h2load.txt"))
    assert (figures.answered, figures.ok, figures.failed) == (2000, 2000, 0)
    assert figures.duration_s == pytest.approx(0.12856, rel=1e-4)
    assert figures.latency is not None
    latency = figures.latency.distribution
    assert (latency.min, latency.max, latency.mean, latency.stddev) == (0.045, 8.19, 0.316, 0.873)
    assert (latency.p50, figures.latency.completeness) == (None, "summary")
    assert (figures.bytes_received, figures.bytes_header, figures.bytes_body) == (2130000, 36000, 2048000)


def test_the_window_of_h2load_is_without_the_warm_up_that_its_time_includes():
    figures = h2load.read_text(Source(TEXTS / "h2load-duration.txt"))
    assert figures.duration_s == pytest.approx(1.0)
    assert (figures.answered, figures.bytes_received) == (33841, 33841 * 1065)
    assert figures.bytes_body is None, "it counts that of the warm-up, too"
    assert figures.first_byte is None, "it has not measured any"


def test_newer_versions_of_h2load_have_percentiles_in_the_columns_that_they_name(file_of):
    text = text_of("h2load.txt")
    table = text[text.index("                     min") :]
    newer = """\
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :       45us      8.19ms       210us      1.40ms      3.00ms       316us       873us    94.00%
connect     :       72us       387us       198us       380us       387us       207us       119us    60.00%
TTFB        :      417us       734us       550us       730us       734us       559us       118us    60.00%
req/s       :    3122.31     3134.87     3126.00     3134.00     3134.87     3126.96        5.66    80.00%
"""
    figures = h2load.read_text(file_of(text.replace(table, newer)))
    assert figures.latency is not None
    latency = figures.latency.distribution
    assert (latency.min, latency.max, latency.mean, latency.stddev) == (0.045, 8.19, 0.316, 0.873)
    assert (latency.p50, latency.p95, latency.p99) == (0.21, 1.4, 3.0)
    assert figures.latency.completeness == "percentiles"
    assert figures.first_byte is not None
    assert (figures.first_byte.distribution.mean, figures.first_byte.distribution.p99) == (0.559, None)


def test_the_log_of_h2load_has_each_request(file_of):
    lines = text_of("h2load-log.tsv")
    figures = h2load.read_log(file_of(lines + "1795488645175123\t-1\t99\n"))
    rows = [[int(word) for word in line.split("\t")] for line in lines.splitlines()]
    assert (figures.answered, figures.failed, figures.status["2xx"], figures.ok) == (20, 1, 20, None)
    assert figures.latency.distribution.mean == pytest.approx(math.fsum(row[2] for row in rows) / 20 / 1000)
    assert figures.duration_s == pytest.approx((max(row[0] + row[2] for row in rows) - rows[0][0]) / 1e6)
    assert figures.began_unix_s == pytest.approx(rows[0][0] / 1e6)
    with pytest.raises(Unreadable, match=r"line 1: .*read until then: 0 lines"):
        h2load.read_log(file_of("1\t200\n"))


def test_the_json_of_h2load_has_its_samples(file_of):
    def times(*samples: float) -> dict[str, object]:
        return {"samples": samples}

    measured = {
        "duration": 2.0,
        "request_per_second": 1.5,
        "requests": {"done": 4, "succeeded": 2, "failed": 2, "errored": 1, "timeout": 0},
        "status_codes": {"2xx": 2, "5xx": 1},
        "traffic": {"total": 300, "headers": 100, "data": 200},
        "performance": {"request": times(0.001, 0.002, 0.003), "connect": times(0.5), "ttfb": times()},
    }
    figures = h2load.read_json(file_of(json.dumps({"version": "v1", "measurements": measured})))
    assert (figures.answered, figures.ok, figures.failed, figures.duration_s) == (3, 2, 1, 2.0)
    assert figures.latency is not None
    assert figures.latency.distribution.mean == pytest.approx(2.0)
    assert figures.latency.completeness == "complete"


def test_the_json_of_h2load_says_what_its_text_says():
    # Both of one run of 20 requests; the text cuts its times off below a µs.
    figures, text = h2load.read_json(Source(TEXTS / "h2load.json")), text_of("h2load-json.txt")
    assert (figures.version, figures.answered, figures.ok, figures.failed) == ("1.70.90", 20, 20, 0)
    assert (figures.bytes_received, figures.bytes_header, figures.bytes_body) == (25_280, 3_780, 20_480)
    for times, name in (
        (figures.latency, "request"),
        (figures.connect, "connect"),
        (figures.first_byte, "TTFB"),
    ):
        found = re.search(rf"{name} +: +(\d+)us +(\d+)us +(\d+)us +(\d+)us +(\d+)us +(\d+)us", text)
        assert found is not None
        assert times is not None
        least, most, _, _, _, mean = map(int, found.groups())
        distribution = times.distribution
        for measured_ms, printed_us in (
            (distribution.min, least), (distribution.max, most), (distribution.mean, mean)
        ):  # fmt: skip
            assert measured_ms == pytest.approx((printed_us + 0.5) / 1000, abs=0.0006)
    assert h2load.read_text(Source(TEXTS / "h2load-json.txt")).answered == 20


@pytest.mark.parametrize("read", [ab.read_text, httperf.read_text, h2load.read_text])
@pytest.mark.parametrize("text", ["", "Segmentation fault\n", "\0\0"])
def test_what_no_tool_has_printed_is_refused(read, text, file_of):
    with pytest.raises(Unreadable, match="expected"):
        read(file_of(text))

"""What other load generators print, read: texts of ab 2.3, httperf 0.9.0 and h2load 1.52.0 of one machine."""

import json
import math
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from loadcurve.generate.tools.ab import reader as ab
from loadcurve.generate.tools.figures import Unreadable
from loadcurve.generate.tools.h2load import reader as h2load
from loadcurve.generate.tools.httperf import reader as httperf
from loadcurve.generate.tools.wrk.driver import read_report, without_corrections

TEXTS = Path(__file__).parents[1] / "data" / "tools"


def text_of(name: str) -> str:
    return (TEXTS / name).read_text()


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


def test_the_latencies_of_wrk_become_figures_and_late_answers_count_as_failed():
    figures = read_report(report(), "out", connections=1)
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
        (report()[:60], "out, line 2: found a line that is cut off"),
        (report(requests=7), "5 latencies of 6 answers"),
    ],
)
def test_a_report_of_wrk_that_is_none_is_refused_with_what_was_found(text, found):
    with pytest.raises(Unreadable, match=found):
        read_report(text, "out", connections=1)


def test_ab_is_read_as_its_text_says():
    percentiles = ab.read_percentiles(text_of("ab-percentiles.csv"), "ab.csv")
    figures = ab.read_text(text_of("ab.txt"), "ab.txt", percentiles)
    assert (figures.answered, figures.ok, figures.failed) == (2000, 2000, 0)
    assert (figures.duration_s, figures.bytes_received, figures.bytes_body) == (0.164, 2178000, 2048000)
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
    figures = ab.read_text(text_of("ab.txt"), "ab.txt")
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


def test_failures_of_ab_are_those_that_are_no_answers():
    figures = ab.read_text(with_failures("Connect: 1, Receive: 0, Length: 5, Exceptions: 0"), "ab.txt")
    assert (figures.answered, figures.ok, figures.failed, figures.other_length) == (1999, 1992, 1, 5)


def test_a_reset_which_ab_counts_three_times_has_failed_once():
    """So it counts those of a server that resets every tenth connection, which knows how many these are."""
    figures = ab.read_text(with_failures("Connect: 0, Receive: 3, Length: 5, Exceptions: 3"), "ab.txt")
    assert (figures.answered, figures.failed, figures.other_length) == (1997, 3, 2)


def test_the_table_of_requests_of_ab_has_their_counts_in_whole_milliseconds():
    times = ab.read_requests(text_of("ab-requests.tsv"), "ab.tsv")
    assert times["latency"].distribution.count == 20
    assert times["latency"].resolution_ms == 1.0
    with pytest.raises(Unreadable, match=r"ab\.tsv, line 2"):
        ab.read_requests("starttime\tseconds\tctime\tdtime\tttime\twait\nMon\t1\t0,5\t0\t0\t0\n", "ab.tsv")


def test_httperf_is_read_as_its_text_says():
    figures = httperf.read_text(text_of("httperf.txt"), "httperf.txt", "0.9.0")
    assert (figures.answered, figures.failed, figures.connections_opened) == (250, 0, 50)
    assert figures.status == {"1xx": 0, "2xx": 250, "3xx": 0, "4xx": 0, "5xx": 0}
    assert figures.latency is not None
    assert figures.connect is not None
    assert (figures.latency.distribution.mean, figures.connect.distribution.mean) == (15.4, 8.5)
    assert figures.latency.distribution.p50 is None
    assert (figures.duration_s, figures.bytes_body) == (0.153, 250 * 1024)


def test_errors_of_httperf_have_their_classes():
    text = text_of("httperf.txt").replace(
        "Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0",
        "Errors: total 8 client-timo 1 socket-timo 0 connrefused 2 connreset 3",
    )
    figures = httperf.read_text(text.replace("fd-unavail 0", "fd-unavail 2"), "httperf.txt")
    assert figures.failed == 8
    told = {name: count for name, count in figures.errors.items() if count}
    assert told == {"timeout": 1, "connect_refused": 2, "reset": 3, "fd_unavailable": 2}


def test_h2load_is_read_as_its_text_says():
    figures = h2load.read_text(text_of("h2load.txt"), "h2load.txt", "1.52.0")
    assert (figures.answered, figures.ok, figures.failed) == (2000, 2000, 0)
    assert figures.duration_s == pytest.approx(0.12856, rel=1e-4)
    assert figures.latency is not None
    latency = figures.latency.distribution
    assert (latency.min, latency.max, latency.mean, latency.stddev) == (0.045, 8.19, 0.316, 0.873)
    assert (latency.p50, figures.latency.completeness) == (None, "summary")
    assert (figures.bytes_received, figures.bytes_header, figures.bytes_body) == (2130000, 36000, 2048000)


def test_the_window_of_h2load_is_without_the_warm_up_that_its_time_includes():
    figures = h2load.read_text(text_of("h2load-duration.txt"), "h2load.txt")
    assert figures.duration_s == pytest.approx(1.0)
    assert (figures.answered, figures.bytes_received) == (33841, 33841 * 1065)
    assert figures.bytes_body is None, "it counts that of the warm-up, too"
    assert figures.first_byte is None, "it has not measured any"


def test_the_log_of_h2load_has_each_request():
    lines = text_of("h2load-log.tsv")
    latency, status, failed = h2load.read_log(lines + "1795488645175123\t-1\t99\n", "h2.log")
    times_us = [int(line.split("\t")[2]) for line in lines.splitlines()]
    assert (latency.distribution.count, status, failed) == (20, {"2xx": 20}, 1)
    assert latency.distribution.mean == pytest.approx(math.fsum(times_us) / 20 / 1000)
    with pytest.raises(Unreadable, match=r"line 2: .*read until then: 1 requests"):
        h2load.read_log("1\t200\t5\n1\t200\n", "h2.log")


def test_the_json_of_h2load_has_its_samples():
    def times(*samples: float) -> dict[str, object]:
        return {"samples": samples}

    measured = {
        "duration": 2.0,
        "requests": {"done": 4, "errored": 1, "timeout": 0},
        "status_codes": {"2xx": 2, "5xx": 1},
        "traffic": {"total": 300, "headers": 100, "data": 200},
        "performance": {"request": times(0.001, 0.002, 0.003), "connect": times(0.5), "ttfb": times()},
    }
    figures = h2load.read_json(json.dumps({"version": "v1", "measurements": measured}), "h2.json")
    assert (figures.answered, figures.ok, figures.failed, figures.duration_s) == (3, 2, 1, 2.0)
    assert figures.latency is not None
    assert figures.latency.distribution.mean == pytest.approx(2.0)
    assert figures.latency.completeness == "complete"


@pytest.mark.parametrize("read", [ab.read_text, httperf.read_text, h2load.read_text])
@pytest.mark.parametrize("text", ["", "Segmentation fault\n", "\0\0"])
def test_what_no_tool_has_printed_is_refused(read, text):
    with pytest.raises(Unreadable, match="expected"):
        read(text, "file")

"""The line that shows a load while it is under way."""

import re
from types import SimpleNamespace

import pytest

from loadcurve.cli.live_line import how_far, live_line
from loadcurve.generate.generator import LastSecond, Progress
from loadcurve.loads.kinds import DATABASE, WEB


def progress(elapsed_s=12.0, answered=1_200_000, latency_ms=(1.23, 3.44, 12.6), rate=184_000, **failures):
    return Progress(elapsed_s, answered, failures, LastSecond(1.0, rate, latency_ms))


@pytest.mark.parametrize(
    ("elapsed_s", "end", "shown"),
    [
        (None, {"duration_s": 20.0}, "connecting"),
        (1.2, {"duration_s": 20.0}, "warm-up, 1 of 2 s"),
        (2.0, {"duration_s": 20.0}, "0 of 20 s"),
        (14.1, {"duration_s": 20.0}, "12 of 20 s"),
        (14.1, {"requests_total": 5_000_000}, "1,200,000 of 5,000,000"),
        (14.1, {}, "12 s"),
    ],
)
def test_a_load_is_as_far_as_its_warm_up_or_what_ends_it(elapsed_s, end, shown):
    load = SimpleNamespace(warmup_s=2.0, duration_s=end.get("duration_s"))
    plan = SimpleNamespace(load=load, requests_total=end.get("requests_total"))
    assert how_far(progress(elapsed_s), plan) == shown


def test_the_line_shows_rate_and_percentiles_of_the_last_second():
    line = live_line("12 of 20 s", progress(), WEB, 80)
    assert line == "12 of 20 s · 184,000 requests/s · p50 1.2, p90 3.4, p99 13 ms"


def test_the_rate_is_that_of_the_second_as_long_as_it_was():
    shown = Progress(5.0, 10_000, last_second=LastSecond(1.25, 500, (1.0, 1.0, 1.0)))
    assert "· 400 operations/s ·" in live_line("5 of 20 s", shown, DATABASE, 80)


def test_during_the_first_second_the_rate_is_that_since_the_start_and_there_are_no_percentiles():
    assert live_line("0 of 20 s", Progress(0.5, 100), WEB, 80) == "0 of 20 s · 200 requests/s"


def test_a_rate_below_one_is_no_zero():
    assert live_line("", Progress(8.0, 2), WEB, 80) == "0.250 requests/s"


def test_a_second_without_an_answer_has_a_rate_of_zero_and_no_percentiles():
    silent = progress(rate=0, latency_ms=None, timeout=12)
    assert live_line("12 of 20 s", silent, WEB, 80) == "12 of 20 s · 0 requests/s · 12 failed (timeout)"


def test_where_the_place_is_shown_elsewhere_the_line_begins_with_the_rate():
    assert live_line("", Progress(0.5, 100), WEB, 80) == "200 requests/s"


@pytest.mark.parametrize(
    ("time_ms", "shown"),
    [
        (0.03456, "0.035"),
        (0.996, "1.0"),
        (9.96, "10"),
        (123.4, "120"),
        (1_251.0, "1,300"),
        (61_499.0, "61,000"),
    ],
)
def test_latencies_have_two_digits(time_ms, shown):
    line = live_line("1 of 2 s", progress(latency_ms=(time_ms,) * 3), WEB, 80)
    assert line.endswith(f"p50 {shown}, p90 {shown}, p99 {shown} ms")


def test_failures_of_several_classes_are_counted_together_with_the_most_frequent_class():
    line = live_line("1 of 2 s", progress(reset=3, timeout=1_200, mismatch=7), WEB, 100)
    assert line.endswith(" · 1,210 failed (1,200 timeout)")


def test_what_does_not_fit_is_shortened_the_least_needed_first():
    shown = progress(timeout=900, reset=334)
    lines = [live_line("120 of 300 s", shown, WEB, width) for width in range(100, 39, -1)]
    assert list(dict.fromkeys(lines)) == [
        "120 of 300 s · 184,000 requests/s · p50 1.2, p90 3.4, p99 13 ms · 1,234 failed (900 timeout)",
        "120 of 300 s · 184,000/s · p50 1.2, p90 3.4, p99 13 ms · 1,234 failed (900 timeout)",
        "120 of 300 s · 184,000/s · p50 1.2, p99 13 ms · 1,234 failed (900 timeout)",
        "120 of 300 s · 184,000/s · p50 1.2, p99 13 ms · 1,234 failed",
        "120 of 300 s · 184,000/s · p99 13 ms · 1,234 failed",
    ]
    assert all(len(line) <= width for line, width in zip(lines, range(100, 50, -1), strict=False))


@pytest.mark.parametrize("where", ["3,599 of 3,600 s", "12,345,678 of 99,000,000"])
def test_the_longest_lines_fit_80_columns_with_the_99th_percentile_and_the_failures(where):
    worst = progress(rate=1_234_567, latency_ms=(0.123, 1_200.0, 59_000.0), address_unavailable=98_765_432)
    line = live_line(where, worst, WEB, 80)
    assert len(line) <= 80
    assert re.search(r"p99 59,000 ms · 98,765,432 failed", line)

"""Numbers as people read them."""

import pytest

from loadcurve import units
from loadcurve.loads.models import DURATION_KEYS
from loadcurve.report import text
from loadcurve.stats.interval import Estimate


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "—"),
        (0.0, "0"),
        (0.01234, "0.0123"),
        (0.9996, "1.00"),
        (9.999, "10.0"),
        (12.34, "12.3"),
        (123.4, "123"),
        (999.6, "1,000"),
        (40190.6, "40,191"),
    ],
)
def test_three_digits_are_kept_and_never_fewer_than_the_whole_ones(value: float | None, shown: str):
    assert units.number(value) == shown


@pytest.mark.parametrize(
    ("step_ms", "shown"),
    [
        (1e-6, "1 ns"),
        (0.0005, "500 ns"),
        (0.001, "1 µs"),
        (0.1, "100 µs"),
        (1.0, "1 ms"),
        (1000.0, "1,000 ms"),
    ],
)
def test_a_step_of_times_is_a_whole_number_of_its_unit(step_ms: float, shown: str):
    assert units.time_step(step_ms) == shown


def test_an_estimate_without_an_interval_shows_no_margin():
    assert text.estimate(Estimate(12.3, None, None, 1, "one trial")) == "12.3"
    assert text.estimate(None) == "—"


def test_a_moment_is_given_to_the_minute_in_universal_time():
    assert text.moment("2026-11-21T23:49:47.711+02:00") == "2026-11-21 21:49 UTC"
    assert text.moment("some day") == "some day"


def test_the_ends_of_a_wide_interval_are_told_apart():
    assert text.short_estimate(Estimate(200.0, 195.0, 205.0, 5, "t")) == "200 ± 2.5 %"
    # Half and twice: the same distance on the scale of ratios on which the interval was made.
    assert text.short_estimate(Estimate(200.0, 100.0, 400.0, 3, "t")) == "200 (-50 to +100 %)"
    assert text.short_estimate(Estimate(200.0, 4.0, 10_000.0, 3, "t")) == "200 (factor of 50)"
    # What bounds nothing has no figure that seems to.
    assert text.short_estimate(Estimate(200.0, 1e-5, 3e9, 3, "t")) == "200 (factor above 1,000)"
    # Zero is no factor below anything.
    assert text.short_estimate(Estimate(200.0, 0.0, 4_000.0, 3, "t")) == "200 (-100 to +1,900 %)"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(1.003, 3.1, "1.003 to 3.10"), (0.2, 0.99996, "0.200 to 0.99996"), (0.9, 1.0, "0.900 to 1.00")],
)
def test_an_end_of_a_ratio_shows_on_which_side_of_one_it_lies(low: float, high: float, shown: str):
    assert text.ratio(Estimate(1.76, low, high, 3, "t")) == f"1.76 ({shown})"


@pytest.mark.parametrize(("value", "shown"), [(50.0, "50"), (25000.0, "25,000"), (0.5, "0.5")])
def test_a_setting_reads_as_it_was_typed(value: float, shown: str):
    assert units.setting(value) == shown


def test_nested_facts_are_flat_pairs_and_unknown_ones_are_said_to_be_unknown():
    facts = {
        "cpu": {"model": "Example", "governor": None},
        "cpus": [0, 1],
        "memory_bytes": 8242000,
        "smt": False,
    }
    assert list(text.flattened(facts)) == [
        ("cpu · model", "Example"),
        ("cpu · governor", "not known"),
        ("cpus", "0, 1"),
        ("memory bytes", "8,242,000"),
        ("smt", "false"),
    ]


def test_the_title_of_every_duration_that_can_be_swept_has_its_unit():
    assert {text.key_title(key).rpartition(" ")[2] for key in DURATION_KEYS} == {"(s)"}


def test_a_heading_of_keys_breaks_between_words_and_names_the_unit_of_durations_once():
    assert text.keys_title(["connection_rate", "think"]) == "connection rate,\nthink (s)"
    assert text.keys_title([]) == "point"


def test_long_names_of_arms_keep_the_words_that_differ():
    named = "postgresql-synchronous_commit-{}-workload-{}"
    names = [named.format(commit, workload) for commit in ("on", "off") for workload in "ab"]
    short = text.shortened(names, 17)
    assert list(short.values()) == [
        *("postgresql…on…a", "postgresql…on…b"),
        *("postgresql…off…a", "postgresql…off…b"),
    ]
    assert list(text.shortened(names, 10).values()) == ["post…on…a", "post…on…b", "post…off…a", "post…off…b"]
    assert text.shortened(["a-1", "a-2"], 5) == {"a-1": "a-1", "a-2": "a-2"}


def test_a_long_name_loses_its_middle_and_a_short_one_nothing():
    short = text.shortened(["apache-event-with-two-workers", "nginx"], 16)
    assert short == {"apache-event-with-two-workers": "apache-e…workers", "nginx": "nginx"}


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (
            ["a-server-one-of-all-tests", "a-server-two-of-all-tests"],
            ["a-server…one…", "a-server…two…"],
        ),
        (
            ["first-in-the-middle-of-it", "other-in-the-middle-of-it"],
            ["first…", "other…"],
        ),
        (
            ["x" * 30 + "one" + "y" * 30, "x" * 30 + "two" + "y" * 30],
            ["xxxxxxxxxxxxx…~1", "xxxxxxxxxxxxx…~2"],
        ),
    ],
)
def test_names_that_differ_stay_different(names, short):
    assert [*text.shortened(names, 16).values()] == short


def test_titles_are_counted_in_the_order_in_which_they_are_known():
    assert text.counted(["held", "failed", "held"], ["failed", "not decided", "held"]) == "1 failed, 2 held"

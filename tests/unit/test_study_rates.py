"""Rates as people write them."""

import re

import pytest

from loadcurve.loads.rates import RateStretch, parse_rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        *(("1000", 1000.0), ("0.5", 0.5), (" 7 ", 7.0), ("1000000000", 1e9)),
        *(("10k", 1e4), ("2.5k", 2500.0), ("1M", 1e6), ("1e6", 1e6), ("1.5e+3", 1500.0), ("1e3", 1e3)),
        *(("6/min", 0.1), ("1/h", 1 / 3600), ("5/s", 5.0), ("90k/min", 1500.0), ("1e3/min", 1000 / 60)),
    ],
)
def test_a_number_is_a_rate_that_stays(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "stretches"),
    [
        ("100-1000:30s", [(30.0, 100.0, 1000.0)]),
        ("1000-100:500ms", [(0.5, 1000.0, 100.0)]),
        ("500:10s, 1000:10s", [(10.0, 500.0, 500.0), (10.0, 1000.0, 1000.0)]),
        ("0-100:1m,100:1h", [(60.0, 0.0, 100.0), (3600.0, 100.0, 100.0)]),
        ("0:5s, 20:1", [(5.0, 0.0, 0.0), (1.0, 20.0, 20.0)]),
        ("0-100:30s, 100-0:30s", [(30.0, 0.0, 100.0), (30.0, 100.0, 0.0)]),
        ("5:1s, 0:10s", [(1.0, 5.0, 5.0), (10.0, 0.0, 0.0)]),
        (" 1 - 2.5 : 3s ", [(3.0, 1.0, 2.5)]),
        ("6/min-1k:1m, 1e3:2s", [(60.0, 0.1, 1000.0), (2.0, 1000.0, 1000.0)]),
    ],
)
def test_stretches_are_ramps_and_steps_one_after_the_other(text, stretches):
    assert parse_rate(text) == [
        RateStretch(length_s=length_s, from_rps=from_rps, to_rps=to_rps)
        for length_s, from_rps, to_rps in stretches
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", '"" is not a rate'),
        ("0", '"0" is not a rate above 0'),
        ("-5", '"-5" is not a rate'),
        ("1e-3", '"1e-3" is not a rate'),
        ("1K", '"1K" is not a rate'),
        ("5/m", '"5/m" is not a rate'),
        ("1e99", "at most 1,000,000,000 per second"),
        ("1.2.3", '"1.2.3" is not a rate'),
        ("100-200", '"100-200" is not a rate'),
        ("5:1s,", '"" is not a rate'),
        ("5:10q", '"10q" is not a duration'),
        ("5:0s", '"5:0s" lasts 0 s; expected above 0'),
        ("5:2000000s", "expected above 0 and at most 1,000,000 s"),
        ("0:3s, 0-0:2s", "is a rate of 0 throughout"),
        ("1000000001", "at most 1,000,000,000 per second"),
        ("5:1s, 6-1000000001:1s", "at most 1,000,000,000 per second"),
    ],
)
def test_what_is_no_rate_is_reported_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_rate(text)

"""Numbers that a text has rounded, and what two of them say of one load."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from loadcurve.tools.printed import Printed, window_of


def test_a_number_is_uncertain_by_its_last_digit():
    minutes = Printed.of("2.00", 60)
    assert (minutes.value, minutes.step) == (120.0, pytest.approx(0.6))
    assert (Printed.of("1500").step, Printed.of("0.05").uncertainty) == (1.0, pytest.approx(0.2))


@given(
    count=some.integers(1, 10**9),
    time_s=some.floats(0.002, 1e5),
    time_digits=some.integers(0, 6),
    rate_digits=some.integers(0, 4),
)
def test_what_is_printed_of_one_load_never_contradicts_itself(
    count: int, time_s: float, time_digits: int, rate_digits: int
):
    time, rate = f"{time_s:.{time_digits}f}", f"{count / time_s:.{rate_digits}f}"
    window = window_of(count, Printed.of(rate), Printed.of(time))
    assert window.contradiction is None
    # The better of the two says it.
    best = min(one.uncertainty for one in (Printed.of(rate), Printed.of(time)))
    if window.duration_s and best < 0.1:
        assert window.duration_s == pytest.approx(time_s, rel=1.2 * best)


@pytest.mark.parametrize(("rate", "is_said"), [("4880.00", False), ("4895.00", False), ("4920.00", True)])
def test_a_rate_beyond_the_rounding_of_the_time_is_said(rate: str, is_said: bool):
    """Of 587,000 in 2.00 minutes: 119.4 to 120.6 s, which is 4,867 to 4,916/s."""
    window = window_of(587_000, Printed.of(rate), Printed.of("2.00", 60))
    assert (window.contradiction is not None) == is_said
    assert window.duration_s == pytest.approx(587_000 / float(rate))


def test_without_a_rate_the_time_counts():
    assert window_of(0, Printed.of("0.00"), Printed.of("1.5")).duration_s == 1.5

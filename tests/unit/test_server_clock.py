"""What is said of a server's machine whose clock is not followed."""

import pytest

from loadcurve.result.probe import ClockComparison, ServerClock
from loadcurve.server.elsewhere import drift_caveats


def clock(drift_s: float, error_s: float) -> ServerClock:
    return ServerClock(
        machine="web",
        before=ClockComparison(offset_s=1.0, error_s=error_s),
        after=ClockComparison(offset_s=1.0 + drift_s, error_s=error_s),
    )


def test_a_clock_that_is_followed_to_within_the_probes_interval_needs_no_word():
    assert drift_caveats(clock(drift_s=0.09, error_s=0.09), interval_s=0.1) == []


@pytest.mark.parametrize(("drift_s", "error_s"), [(-0.11, 0.0), (0.0, 0.11)])
def test_one_that_is_not_is_reported(drift_s, error_s):
    (caveat,) = drift_caveats(clock(drift_s, error_s), interval_s=0.1)
    assert caveat.code == "clock_drift"
    assert "110 ms" in caveat.text

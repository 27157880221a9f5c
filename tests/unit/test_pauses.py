"""Pauses of the process that sends the load."""

import pytest

from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import PAUSED, Pause, marked_as_paused
from support import synthetic_run as synthetic


def load_result(**changes: float) -> LoadResult:
    return LoadResult.model_validate(synthetic.load_result("nginx", 10, **changes))


@pytest.mark.parametrize(
    ("pauses", "length"),
    [
        pytest.param([], None, id="none"),
        pytest.param([Pause(101, 101.4)], None, id="short"),
        pytest.param([Pause(90, 100.4)], None, id="before the window"),
        pytest.param([Pause(101.6, 110)], None, id="behind the window"),
        pytest.param([Pause(90, 100.7)], "0.7", id="into the window"),
        pytest.param([Pause(100.2, 100.8), Pause(101, 102)], "1.0", id="the longer of two"),
    ],
)
def test_a_pause_of_half_a_second_in_the_window_makes_a_load_suspect(pauses, length):
    marked = marked_as_paused(load_result(window_start_monotonic_s=100, duration_s=2), pauses)
    reasons = [reason.text for reason in marked.verdict.reasons if reason.code == PAUSED]
    if length is None:
        assert (marked.verdict.status, reasons) == ("valid", [])
    else:
        (text,) = reasons
        assert marked.verdict.status == "suspect"
        assert f"did not run for {length} s of the measured part" in text

"""Pauses of the process that sends the load."""

import pytest

from loadcurve.generate import engine
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import PAUSED, Pause, marked_as_paused
from support import synthetic_run as synthetic


def test_a_look_that_comes_half_a_second_late_is_a_pause_from_when_it_was_due(monkeypatch):
    now_s = 100.0
    monkeypatch.setattr(engine.time, "monotonic", lambda: now_s)
    watch = engine._PauseWatch()
    for now_s in (100.1, 100.2, 101.0, 101.1):  # noqa: B007 -- the clock reads it
        watch.look()
    assert watch.pauses == [Pause(pytest.approx(100.2 + engine.LOOK_INTERVAL_S), 101.0)]


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

"""What is said of a load during which the machine was suspended or its clock was set, on simulated clocks."""

import time
from collections.abc import Iterable

import pytest

from loadcurve.generate.clocks import Clocks, WatchingClocks
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.result.load import LoadResult
from support import synthetic_run as synthetic


class Machine:
    """Three clocks that agree but for what is done to them; one of them is read 10 µs after the other."""

    def __init__(self, pauses_s: Iterable[float] = ()) -> None:
        self.now_s, self.suspended_s, self.set_by_s = 1000.0, 50.0, 1.8e9
        self._pauses_s = list(pauses_s)

    def clock(self, which: int) -> float:
        self.now_s += self._pauses_s.pop(0) if self._pauses_s else 1e-5
        offsets = {
            time.CLOCK_MONOTONIC: 0.0,
            time.CLOCK_BOOTTIME: self.suspended_s,
            time.CLOCK_REALTIME: self.suspended_s + self.set_by_s,
        }
        return self.now_s + offsets[which]


class Generator:
    """Takes 10 s for a load, during which something happens to the machine."""

    def __init__(self, machine: Machine, *, suspended_s: float = 0.0, set_by_s: float = 0.0) -> None:
        self.machine, self.suspended_s, self.set_by_s = machine, suspended_s, set_by_s
        self.interrupted = False

    def run_together(self, _plans: object, _observe: object) -> list[LoadResult]:
        self.machine.now_s += 10
        self.machine.suspended_s += self.suspended_s
        self.machine.set_by_s += self.set_by_s
        result = LoadResult.model_validate(synthetic.load_result("nginx", 10))
        if self.interrupted:
            raise LoadInterrupted(result)
        return [result]


def verdict_of(**happens: float):
    machine = Machine()
    generator = WatchingClocks(Generator(machine, **happens), machine.clock)
    return generator.run(None, lambda _: None).verdict


@pytest.mark.parametrize("happens", [{}, {"suspended_s": 0.05}, {"set_by_s": 0.05}, {"set_by_s": -0.05}])
def test_clocks_that_agree_say_nothing(happens):
    verdict = verdict_of(**happens)
    assert (verdict.status, verdict.reasons, verdict.notes) == ("valid", [], [])


def test_a_load_in_which_the_machine_was_suspended_is_suspect():
    verdict = verdict_of(suspended_s=3600)
    [reason] = verdict.reasons
    assert (verdict.status, reason.code, verdict.notes) == ("suspect", "machine_suspended", [])
    assert "suspended for 3,600.0 s" in reason.text


@pytest.mark.parametrize(("set_by_s", "said"), [(7200, "forward by 7,200.0 s"), (-0.5, "back by 0.5 s")])
def test_a_clock_of_the_day_that_was_set_is_noted_and_casts_no_doubt(set_by_s, said):
    verdict = verdict_of(set_by_s=set_by_s)
    [note] = verdict.notes
    assert (verdict.status, verdict.reasons, note.code) == ("valid", [], "clock_set")
    assert said in note.text


def test_both_at_once_are_told_apart():
    verdict = verdict_of(suspended_s=60, set_by_s=-60)
    assert [reason.code for reason in verdict.reasons] == ["machine_suspended"]
    assert ["back by 60.0 s" in note.text for note in verdict.notes] == [True]


def test_a_load_that_was_interrupted_is_marked_too():
    machine = Machine()
    generator = Generator(machine, suspended_s=5)
    generator.interrupted = True
    with pytest.raises(LoadInterrupted) as raised:
        WatchingClocks(generator, machine.clock).run(None, lambda _: None)
    assert [reason.code for reason in raised.value.result.verdict.reasons] == ["machine_suspended"]


def test_a_pause_between_two_readings_is_not_taken_for_a_jump():
    # The process gets no CPU for 2 s within the first three of five times that the clocks are read.
    quiet, late = Machine(), Machine(pauses_s=[1e-5, 2.0, 1e-5, 1e-5] * 3)
    found, expected = Clocks.read(late.clock), Clocks.read(quiet.clock)
    assert found.suspended_s(expected) == pytest.approx(0, abs=1e-3)
    assert found.set_by_s(expected) == pytest.approx(0, abs=1e-3)


def test_the_clocks_of_this_machine_agree():
    before = Clocks.read()
    after = Clocks.read()
    assert after.monotonic_s > before.monotonic_s
    assert (after.suspended_s(before), after.set_by_s(before)) == pytest.approx((0, 0), abs=0.01)

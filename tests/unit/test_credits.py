"""CPU credits against arithmetic: when they run out, what is earned, and what that does to the quota."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.host.credits import Burst
from loadcurve.host.governor import CreditGovernor

MICRO = Burst(credits=30, baseline_cpus=0.1, max_earned=144)
"""A t2.micro."""
HOUR_S = 3600.0


@given(
    credits_at_start=st.floats(0.01, 200),
    baseline_cpus=st.floats(0.01, 1),
    excess_cpus=st.floats(0.01, 4),
)
def test_credits_run_out_after_their_minutes_by_what_is_used_beyond_the_baseline(
    credits_at_start: float, baseline_cpus: float, excess_cpus: float
) -> None:
    burst = Burst(credits_at_start, baseline_cpus, max_earned=1000)
    exhausted_s = 60 * credits_at_start / excess_cpus
    used_cpus = baseline_cpus + excess_cpus
    for moment_s, is_used_up in ((0.999 * exhausted_s, False), (1.001 * exhausted_s, True)):
        account = burst.at_start().after(moment_s, used_cpus * moment_s)
        assert account.is_used_up == is_used_up


@given(
    steps=st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 4)), min_size=1, max_size=20),
    credits_at_start=st.floats(0, 200),
)
def test_it_does_not_matter_how_often_the_account_is_settled(
    steps: list[tuple[float, float]], credits_at_start: float
) -> None:
    # The maximum is out of reach.
    burst = Burst(credits_at_start, baseline_cpus=0.5, max_earned=math.inf)
    stepwise = burst.at_start()
    for elapsed_s, cpus in steps:
        stepwise = stepwise.after(elapsed_s, cpus * elapsed_s)
    elapsed_s = sum(elapsed for elapsed, _ in steps)
    used_s = sum(elapsed * cpus for elapsed, cpus in steps)
    expected_s = 60 * credits_at_start + 0.5 * elapsed_s - used_s
    assert stepwise.launch_cpu_s + stepwise.earned_cpu_s == pytest.approx(expected_s, abs=1e-6)
    assert stepwise.credits == pytest.approx(max(expected_s, 0) / 60, abs=1e-6)


def test_an_idle_machine_earns_its_baseline_up_to_a_day_beside_its_launch_credits() -> None:
    # AWS's own example of a t2.micro: 174 credits after 24 h, and no more; 144 without those of the launch.
    idle = MICRO.at_start()
    assert idle.after(HOUR_S, 0).credits == pytest.approx(30 + 6)
    assert idle.after(24 * HOUR_S, 0).credits == pytest.approx(174)
    assert idle.after(48 * HOUR_S, 0).credits == pytest.approx(174)
    spent = idle.after(30 * 60, 30 * 60)
    assert spent.launch_cpu_s == 0
    assert spent.after(48 * HOUR_S, 0).credits == pytest.approx(144)


def test_a_machine_with_two_vcpus_earns_as_published() -> None:
    # AWS's own example: a t3.nano at 2 % of its two vCPUs accrues 3.6 credits in an hour.
    nano = Burst(credits=0, baseline_cpus=2 * 0.05, max_earned=144)
    assert nano.at_start().after(HOUR_S, 2 * 0.02 * HOUR_S).credits == pytest.approx(3.6)


def test_what_was_overdrawn_is_earned_back_before_there_are_credits_again() -> None:
    overdrawn = Burst(credits=0.1, baseline_cpus=0.1, max_earned=144).at_start().after(7, 7)
    # 6 s of credits and 0.7 s earned, of which 7 s were used.
    assert overdrawn.credits == 0
    assert overdrawn.after(2.9, 0).is_used_up
    assert not overdrawn.after(3.1, 0).is_used_up


def test_a_quarter_of_a_cpu_for_each_vcpu_runs_out_at_the_same_time() -> None:
    quarter = Burst(credits=30, baseline_cpus=0.025, max_earned=144, credit_cpu_s=15)
    whole = MICRO.at_start().after(600, 600)
    assert quarter.at_start().after(600, 150).credits == pytest.approx(whole.credits)


class Group:
    """A group of which time and use are set, and the quota is recorded."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.used_s = 50.0
        self.set_to: list[float] = []
        self.problem: OSError | None = None

    def used_cpu_s(self) -> float:
        if self.problem is not None:
            raise self.problem
        return self.used_s

    def let_pass(self, elapsed_s: float, cpus: float) -> None:
        self.now_s += elapsed_s
        self.used_s += elapsed_s * cpus


@contextmanager
def governed(group: Group, burst: Burst) -> Iterator[CreditGovernor]:
    governor = CreditGovernor(
        burst, 1.0, group.used_cpu_s, group.set_to.append, monotonic_s=lambda: group.now_s
    )
    governor.start()
    yield governor
    governor.close()


def test_the_quota_falls_when_credits_are_used_up_and_rises_when_some_were_earned() -> None:
    group = Group()
    # A second above the baseline of 0.1 CPUs takes 0.9 s of the 3 s.
    with governed(group, Burst(credits=0.05, baseline_cpus=0.1, max_earned=144)) as governor:
        group.let_pass(3.0, cpus=1.0)
        assert governor.use().remaining == pytest.approx(0.3 / 60)
        assert group.set_to == []
        group.let_pass(1.0, cpus=1.0)
        used_up = governor.use()
        assert (used_up.remaining, used_up.ran_out_s, used_up.at_baseline_s) == (0, 4.0, 0)
        assert group.set_to == [0.1]
        group.let_pass(5.0, cpus=0.1)
        assert governor.use().at_baseline_s == 5.0
        group.let_pass(10.0, cpus=0.0)
        recovered = governor.use()
        assert recovered.remaining == pytest.approx((1.0 - 0.6) / 60)
        assert group.set_to == [0.1, 1.0]
        group.let_pass(5.0, cpus=0.05)
        assert governor.use().at_baseline_s == 15.0
        assert governor.use().since(used_up).at_baseline_s == 15.0
        group.let_pass(5.0, cpus=1.0)
        again = governor.use()
        # The first time counts.
        assert (again.remaining, again.ran_out_s) == (0, 4.0)
        assert group.set_to == [0.1, 1.0, 0.1]


def test_a_machine_that_is_not_restarted_takes_what_is_left_of_its_credits_to_its_next_server() -> None:
    group = Group()
    burst = Burst(credits=0.05, baseline_cpus=0.1, max_earned=144, restarted=False)
    with governed(group, burst) as governor:
        # 2.5 s at 1 CPU take 2.25 s of the 3 s.
        group.let_pass(2.5, cpus=1.0)
        assert governor.use().remaining == pytest.approx(0.75 / 60)
    group.let_pass(1.0, cpus=0.0)
    with governed(group, burst) as governor:
        assert governor.use().remaining == pytest.approx(0.85 / 60)
        group.let_pass(2.0, cpus=1.0)
        assert governor.use().ran_out_s == 2.0
    with governed(group, burst) as governor:
        assert (governor.use().ran_out_s, group.set_to) == (0, [0.1, 0.1])
    restarted = Burst(credits=0.05, baseline_cpus=0.1, max_earned=144)
    for _ in range(2):
        with governed(group, restarted) as governor:
            assert governor.use().remaining == pytest.approx(0.05)
            group.let_pass(2.5, cpus=1.0)
            assert governor.use().remaining == pytest.approx(0.75 / 60)


def test_a_machine_without_credits_begins_at_its_baseline() -> None:
    group = Group()
    with governed(group, Burst(credits=0, baseline_cpus=0.3, max_earned=864)) as governor:
        assert group.set_to == [0.3]
        assert governor.use().ran_out_s == 0


def test_credits_that_cannot_be_accounted_for_are_an_error_and_not_a_guess() -> None:
    group = Group()
    with governed(group, MICRO) as governor:
        group.problem = OSError(2, "No such file")
        with pytest.raises(OSError, match="cannot be accounted for"):
            governor.use()

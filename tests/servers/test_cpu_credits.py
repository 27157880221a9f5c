"""CPU credits in a real control group, against the closed form."""

import secrets
import subprocess
import sys
import time

import pytest

from loadcurve.host.cgroups import ControlGroup, Limits, LimitsUnavailable, used_cpu_s
from loadcurve.host.credits import Burst
from loadcurve.host.governor import INTERVAL_S, CreditGovernor
from loadcurve.server.group import born_in_group, group_parent
from support.sandbox import wait_until

pytestmark = [pytest.mark.alone, pytest.mark.long]

FULL_CPUS = 0.5
"""What a busy loop uses on a CPU that others use, too."""
BASELINE_CPUS = 0.1
CREDITS = 0.02
PERIOD_S = 0.1
"""Of the kernel's accounting of shares: within one, it is used up at its start."""
HELD_S = 3.0


def test_a_busy_loop_is_cut_when_its_credits_run_out_and_then_has_its_baseline() -> None:
    name, parent = f"loadcurve-test-{secrets.token_hex(4)}", group_parent()
    try:
        group = ControlGroup.planned(name, Limits(cpus=FULL_CPUS))
        group.make()
    except LimitsUnavailable as unavailable:
        pytest.skip(str(unavailable))
    if parent is None:
        group.remove()
        pytest.skip("no control group of version 2 can be made here")
    counting = parent / f"{name}-count"
    burst = Burst(CREDITS, BASELINE_CPUS, max_earned=144)
    governor = CreditGovernor(
        burst, FULL_CPUS, lambda: used_cpu_s([*group.folders, counting]), group.set_cpus
    )
    with born_in_group(counting):
        governor.start()
        started_s = time.monotonic()
        loop = subprocess.Popen([*group.entering(), sys.executable, "-c", "while True: pass"])
    try:
        wait_until(lambda: governor.use().ran_out_s is not None, "the end of the credits", 30)
        used_at_end_s, ran_out_s = used_cpu_s([*group.folders, counting]), governor.use().ran_out_s
        time.sleep(HELD_S)
        used_s, held = used_cpu_s([*group.folders, counting]), governor.use()
    finally:
        loop.kill()
        loop.wait()
        governor.close()
        group.remove()
        counting.rmdir()
    assert ran_out_s is not None
    # Credits x 60 / (use - baseline), with the use that the loop really had: others may have been in its way.
    mean_cpus = used_at_end_s / ran_out_s
    assert mean_cpus <= FULL_CPUS + FULL_CPUS * PERIOD_S / ran_out_s
    expected_s = 60 * CREDITS / (mean_cpus - BASELINE_CPUS)
    print(f"ran out after {ran_out_s:.2f} s at {mean_cpus:.3f} CPUs, expected after {expected_s:.2f} s")
    assert abs(ran_out_s - expected_s) <= INTERVAL_S + PERIOD_S
    assert held.remaining == 0
    assert held.at_baseline_s == pytest.approx(HELD_S, abs=2 * INTERVAL_S)
    # Never more than the credits and what was earned, but for what was used before the quota fell.
    earned_s = BASELINE_CPUS * (time.monotonic() - started_s)
    assert used_s <= 60 * CREDITS + earned_s + FULL_CPUS * (INTERVAL_S + PERIOD_S)
    assert used_s - used_at_end_s <= BASELINE_CPUS * (HELD_S + PERIOD_S) + FULL_CPUS * PERIOD_S

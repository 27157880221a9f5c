"""Whose the time of CPUs was: parts that sum to the whole, and which of them are named."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.result.cpu_time import CpuTime, ProgramTime, Spent, divided, with_more_of_server

PARTS = ("server", "generator", "kernel", "host", "others", "idle")
QUIET = Spent(
    length_s=10.0,
    idle_s=2.0,
    interrupts_s=0.0,
    softirq_s=0.0,
    steal_s=0.0,
    server_s=8.0,
    generator_s=None,
)
SOME_S = st.floats(0, 1e4, allow_nan=False)


def parts(time: CpuTime | None) -> dict[str, float]:
    assert time is not None
    return {name: getattr(time, name) or 0.0 for name in PARTS}


def shares(spent: Spent, cpus: tuple[int, ...] = (0,)) -> dict[str, float]:
    return {name: round(share, 6) for name, share in parts(divided(cpus, spent)).items() if share > 1e-9}


@given(
    st.integers(1, 64),
    st.builds(
        Spent,
        length_s=st.floats(1e-3, 1e4),
        idle_s=SOME_S,
        interrupts_s=SOME_S,
        softirq_s=SOME_S,
        steal_s=SOME_S,
        server_s=SOME_S | st.none(),
        generator_s=SOME_S | st.none(),
        others_seen_s=SOME_S,
        kernel_threads_s=SOME_S,
        paused_s=SOME_S,
    ),
)
def test_the_parts_are_never_negative_and_sum_to_the_whole_whatever_was_read(cpus, spent):
    found = parts(divided(range(cpus), spent))
    assert all(share >= 0 for share in found.values()), found
    assert math.isclose(sum(found.values()), 1.0, rel_tol=1e-9), found


def test_what_the_cpus_were_busy_for_beyond_both_sides_is_the_others():
    spent = replace(QUIET, idle_s=0.5, server_s=6.0, generator_s=0.5)
    assert shares(spent) == {"server": 0.6, "generator": 0.05, "others": 0.3, "idle": 0.05}


def test_shares_are_of_all_cpus_together():
    spent = replace(QUIET, idle_s=10.0, server_s=5.0)
    assert shares(spent, (0, 1)) == {"server": 0.25, "others": 0.25, "idle": 0.5}


def test_a_part_that_does_not_run_there_is_absent_and_not_zero():
    found = divided((1,), QUIET)
    assert found is not None
    assert found.generator is None
    assert found.server == pytest.approx(0.8)


def test_interrupts_outside_of_processes_are_the_kernels_and_not_the_others():
    # Packets arrive while the CPU would be idle, so no process is charged for them.
    spent = replace(QUIET, server_s=5.0, interrupts_s=3.0, softirq_s=3.0)
    assert shares(spent) == {"server": 0.5, "kernel": 0.3, "idle": 0.2}


def test_interrupts_that_were_charged_to_the_server_are_taken_out_there():
    # Without CONFIG_IRQ_TIME_ACCOUNTING, what a send over loopback does in softirq is the sender's time, too.
    spent = replace(QUIET, server_s=8.0, interrupts_s=2.0, softirq_s=2.0)
    assert shares(spent) == {"server": 0.6, "kernel": 0.2, "idle": 0.2}


def test_what_processes_were_seen_to_use_is_not_taken_for_interrupts():
    # Of 10 s, 8 were the server's, 2 of these interrupts, and 2 another program's: nothing was left idle.
    charged = replace(QUIET, idle_s=0.0, interrupts_s=2.0, softirq_s=2.0)
    assert shares(replace(charged, others_seen_s=2.0)) == {"server": 0.6, "kernel": 0.2, "others": 0.2}
    assert "others" not in shares(charged), "it may all have been interrupts"


def test_threads_of_the_kernel_are_the_kernels():
    spent = replace(QUIET, server_s=7.0, kernel_threads_s=1.0)
    assert shares(spent) == {"server": 0.7, "kernel": 0.1, "idle": 0.2}


def test_pauses_that_are_no_steal_are_the_hosts_and_no_programs():
    spent = replace(QUIET, idle_s=1.0, steal_s=0.5, paused_s=1.0)
    assert shares(spent) == {"server": 0.8, "host": 0.1, "idle": 0.1}
    assert shares(replace(QUIET, paused_s=1.0)) == {"server": 0.8, "host": 0.1, "idle": 0.1}


def test_known_times_beyond_what_the_cpus_were_busy_for_leave_nothing_to_others():
    spent = replace(QUIET, server_s=9.0, generator_s=3.0)
    assert shares(spent) == {"server": 0.6, "generator": 0.2, "idle": 0.2}


def test_the_error_of_ticks_is_three_of_each_cpu():
    assert divided((0,), QUIET).uncertain == pytest.approx(0.003)
    assert divided((0, 1), replace(QUIET, length_s=1.0)).uncertain == pytest.approx(0.03)


def test_the_programs_that_used_most_are_named_first_and_five_at_most():
    programs = [ProgramTime(name=str(n), processes=1, pid=n, cpu=0, cpu_share=n / 10) for n in range(1, 8)]
    found = divided((0,), QUIET, programs)
    assert [one.name for one in found.programs] == ["7", "6", "5", "4", "3"]


def test_a_program_of_several_processes_is_said_to_be_so():
    one = ProgramTime(name="cc1", processes=1, pid=7, cpu=3, cpu_share=0.456)
    assert one.text == "cc1 (process 7) 46 % of a CPU"
    assert one.text_of_cpu == "cc1 (process 7) 46 % of CPU 3"
    assert one.model_copy(update={"processes": 4}).text == "cc1 (4 processes) 46 % of a CPU"


def test_servers_that_live_together_are_not_each_others_other_programs():
    found = divided((0,), replace(QUIET, server_s=3.0))
    assert found.others == pytest.approx(0.5)
    assert parts(with_more_of_server(found, 0.4)) | {"idle": 0} == pytest.approx(
        {"server": 0.7, "generator": 0, "kernel": 0, "host": 0, "others": 0.1, "idle": 0}
    )
    assert with_more_of_server(found, 0.9).others == 0

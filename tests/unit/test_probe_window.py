"""Summing up the probe's samples over a window; every expected value is arithmetic on the samples."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.probe.figures import Track, Window, figure
from loadcurve.probe.processor import CPU_INCOMPLETE
from loadcurve.probe.samples import Sample, SampleReader
from loadcurve.probe.series import ROWS_MAX
from loadcurve.probe.window import summed_up

WINDOW = Window(100.0, 102.0)
ANSWERED = 1000
NOTHING_READ = dict.fromkeys(set(Sample.model_fields) - {"t_s", "probe_cpu_s"})


def sample(t_s: float, **parts: Any) -> Sample:
    return Sample.model_validate({"t_s": t_s, "probe_cpu_s": t_s / 500, **NOTHING_READ, **parts})


def tree(cpu_s: float, memory_bytes: int = 0, processes: int = 1, threads: int = 1) -> dict[str, Any]:
    """The processes, with a quarter of the processor time in user mode."""
    return {
        "cpu_user_s": cpu_s / 4,
        "cpu_system_s": cpu_s * 3 / 4,
        "memory_bytes": memory_bytes,
        "processes": processes,
        "threads": threads,
    }


def switches(count: int, *, ignores_sigchld: bool = False) -> dict[str, Any]:
    return {"voluntary": count, "involuntary": count // 10, "ignores_sigchld": ignores_sigchld}


def summary(samples: list[Sample], window: Window = WINDOW, answered: float = ANSWERED):
    return summed_up(samples, window, answered, interval_s=0.1, caveats=[])


def every(step_s: float, **parts: Any) -> list[Sample]:
    """Samples from one second before the window to one after it; each part is made from its moment."""
    count = round(4 / step_s)
    moments = [99.0 + step_s * place for place in range(count + 1)]
    return [sample(t_s, **{name: make(t_s) for name, make in parts.items()}) for t_s in moments]


@pytest.mark.parametrize("step_s", [0.1, 0.3, 0.7])
def test_a_server_that_uses_half_a_cpu_has_used_it_however_the_samples_lie(step_s):
    server = summary(every(step_s, tree=lambda t_s: tree(t_s / 2))).server
    assert (server.cpu_source, server.cpu_share) == ("processes", pytest.approx(0.5))
    assert (server.cpu_user_s, server.cpu_system_s) == (pytest.approx(0.25), pytest.approx(0.75))
    # One second of processor time for a thousand answers.
    assert server.cpu_per_request_us == pytest.approx(1000)


def test_the_group_is_believed_before_the_processes():
    samples = every(0.1, tree=lambda _: tree(0), group=lambda t_s: {"cpu_user_s": t_s, "cpu_system_s": 0.0})
    server = summary(samples).server
    assert (server.cpu_source, server.cpu_share) == ("group", pytest.approx(1))


@pytest.mark.parametrize("grouped", [False, True])
def test_processes_that_forget_their_children_are_believed_in_a_group_only(grouped):
    parts: dict[str, Any] = {"tree": tree, "context_switches": lambda _: switches(1, ignores_sigchld=True)}
    if grouped:
        parts["group"] = lambda t_s: {"cpu_user_s": t_s, "cpu_system_s": t_s}
    found = summary(every(0.1, **parts))
    assert (found.server.cpu_share is not None) == grouped
    assert (found.server.cpu_per_request_us is not None) == grouped
    assert found.caveats == ([] if grouped else [CPU_INCOMPLETE])
    # Memory does not depend on it.
    assert found.server.memory_mean_bytes == 0


def spent(cpu_s: float, run_delay_s: float | None = 0.0) -> dict[str, Any]:
    return {"cpu_s": cpu_s, "run_delay_s": run_delay_s}


def shared(*, node: float, postgres: float, whole: float):
    """What programs used that took these parts of a CPU, of what all processes together took."""
    samples = every(
        0.1,
        tree=lambda t_s: tree(whole * t_s),
        programs=lambda t_s: {"node": spent(node * t_s), "postgres": spent(postgres * t_s)},
    )
    return summary(samples).server


def test_each_program_has_its_part_of_the_processor_time_and_of_each_answer():
    programs = {one.name: one for one in shared(node=0.6, postgres=0.2, whole=0.8).programs}
    assert {name: one.cpu_share for name, one in programs.items()} == {
        "node": pytest.approx(0.6),
        "postgres": pytest.approx(0.2),
    }
    # 0.4 s for a thousand answers.
    assert programs["postgres"].cpu_per_request_us == pytest.approx(400)


def test_a_program_that_appears_within_the_window_has_used_nothing_before():
    samples = every(
        0.1,
        tree=tree,
        programs=lambda t_s: {"a": spent(t_s)} if t_s < 101 else {"a": spent(101), "b": spent(t_s - 101)},
    )
    assert {one.name: one.cpu_share for one in summary(samples).server.programs} == {
        "a": pytest.approx(0.5),
        "b": pytest.approx(0.5),
    }


def test_time_that_is_of_no_known_program_leaves_the_division_open():
    server = shared(node=0.5, postgres=0.2, whole=0.8)
    assert (server.programs, server.run_delay_share) == (None, None)


def test_a_server_of_one_program_has_nothing_to_divide_and_waits_all_the_same():
    samples = every(0.1, tree=tree, programs=lambda t_s: {"nginx": spent(t_s, t_s / 4)})
    server = summary(samples).server
    assert server.programs is None
    assert server.run_delay_share == pytest.approx(0.25)
    # Half a second for a thousand answers.
    assert server.run_delay_per_request_us == pytest.approx(500)


def test_the_server_waits_for_a_cpu_as_long_as_its_programs_together():
    samples = every(
        0.1,
        tree=tree,
        programs=lambda t_s: {"node": spent(0.7 * t_s, 0.4 * t_s), "postgres": spent(0.3 * t_s, 0.8 * t_s)},
    )
    server = summary(samples).server
    assert server.run_delay_share == pytest.approx(1.2)
    assert {one.name: one.run_delay_share for one in server.programs} == {
        "node": pytest.approx(0.4),
        "postgres": pytest.approx(0.8),
    }
    assert {one.name: one.run_delay_per_request_us for one in server.programs} == {
        "node": pytest.approx(800),
        "postgres": pytest.approx(1600),
    }


def test_a_kernel_that_does_not_count_how_long_a_program_waits_leaves_it_open_for_the_server():
    samples = every(
        0.1,
        tree=tree,
        programs=lambda t_s: {"node": spent(0.7 * t_s, None), "postgres": spent(0.3 * t_s, t_s)},
    )
    server = summary(samples).server
    assert (server.run_delay_share, server.run_delay_per_request_us) == (None, None)
    assert [one.run_delay_share for one in server.programs] == [None, pytest.approx(1)]


def held(t_s: float) -> dict[str, int]:
    """A page cache that grows by 1 MiB/s, into which 4 MiB/s are read again."""
    return {"bytes": round((t_s - 99) * 2**20), "refault_bytes": round(t_s * 2**22)}


def test_the_page_cache_has_its_mean_and_what_was_read_again():
    found = summary(every(0.1, tree=tree, page_cache=held)).page_cache
    # The middle of the window is two seconds behind the first sample.
    assert found.mean_bytes == pytest.approx(2 * 2**20)
    assert found.refault_bytes_per_s == pytest.approx(2**22)
    assert summary(every(0.1, tree=tree)).page_cache is None


def footprint(disk_read_bytes: int | None) -> dict[str, int | None]:
    return {"proportional_memory_bytes": 0, "open_files": 1, "disk_read_bytes": disk_read_bytes}


def test_what_was_read_from_disks_is_known_where_it_only_grew():
    growing = every(1.0, tree=tree, footprint=lambda t_s: footprint(round(t_s * 1000)))
    assert summary(growing).server.disk_read_bytes_per_s == pytest.approx(1000)
    falling = every(1.0, tree=tree, footprint=lambda t_s: footprint(round((200 - t_s) * 1000)))
    assert summary(falling).server.disk_read_bytes_per_s is None
    hidden = every(1.0, tree=tree, footprint=lambda _: footprint(None))
    assert summary(hidden).server.disk_read_bytes_per_s is None


def used(pid: int, cpu_s: float, cpu_share: float, **more: Any) -> dict[str, Any]:
    return {"pid": pid, "name": f"worker {pid}", "cpu_s": cpu_s, "cpu_share": cpu_share, **more}


def test_one_thread_that_takes_all_of_a_cpu_is_reported_with_its_share_of_the_window():
    samples = every(0.1, busiest_thread=lambda t_s: used(7, 0.98 * t_s, 0.98, thread=9))
    thread = summary(samples).server.busiest_thread
    assert (thread.pid, thread.thread, thread.name) == (7, 9, "worker 7")
    assert thread.cpu_share == pytest.approx(0.98)


def test_processes_that_take_turns_at_being_the_busiest_are_each_known_by_their_whole_time():
    # Two workers use 0.4 and 0.6 of a CPU on average, and now the one and then the other is ahead.
    shares = {1: 0.4, 2: 0.6}
    samples = [
        sample(99.0 + place / 10, busiest_process=used(pid := 1 + place % 2, shares[pid] * place / 10, 0.9))
        for place in range(41)
    ]
    process = summary(samples).server.busiest_process
    assert (process.pid, process.cpu_share) == (2, pytest.approx(0.6))


def test_a_process_that_was_the_busiest_for_a_moment_only_is_not_taken_for_that_of_the_window():
    samples = every(0.1, busiest_process=lambda t_s: used(1, 0.5 * t_s, 0.5))
    samples[15:18] = [sample(one.t_s, busiest_process=used(2, one.t_s, 1.0)) for one in samples[15:18]]
    found = summary(samples)
    assert (found.server.busiest_process.pid, found.server.busiest_process.cpu_share) == (1, 0.5)
    # At its moments it shows.
    assert max(found.series.busiest_process_share) == 1.0


def test_where_another_process_is_the_busiest_at_each_moment_none_is_that_of_the_window():
    samples = every(0.1, busiest_process=lambda t_s: used(round(t_s * 10), 1.0, 1.0))
    assert summary(samples).server.busiest_process is None


def test_without_an_answer_there_is_no_time_for_each():
    server = summary(every(0.1, tree=tree), answered=0).server
    assert (server.cpu_share, server.cpu_per_request_us) == (pytest.approx(1), None)


def test_a_window_that_the_samples_do_not_reach_across_has_no_growth_but_what_they_showed():
    samples = [one for one in every(0.1, tree=lambda t_s: tree(t_s, 7)) if one.t_s <= 101.5]
    server = summary(samples).server
    assert (server.cpu_share, server.cpu_source) == (None, None)
    assert (server.memory_mean_bytes, server.memory_peak_bytes) == (7, 7)


def test_gauges_are_those_within_the_window():
    # The largest values lie just outside it.
    values = {99.9: 900, 100.5: 10, 101.0: 30, 101.5: 20, 102.1: 800}
    samples = [sample(t_s, tree=tree(0, count, count, 2 * count)) for t_s, count in values.items()]
    server = summary(samples).server
    assert (server.memory_mean_bytes, server.memory_peak_bytes) == (20, 30)
    assert (server.processes.min, server.processes.max) == (10, 30)
    assert (server.threads.min, server.threads.max) == (20, 60)


def test_what_is_read_rarely_is_averaged_over_the_times_when_it_was_read():
    footprint = {100.5: (10, 3), 101.5: (30, 4)}
    samples = [
        sample(t_s, footprint={"proportional_memory_bytes": memory, "open_files": files})
        for t_s, (memory, files) in footprint.items()
    ]
    server = summary([sample(99.9), *samples, sample(102.1)]).server
    assert (server.proportional_memory_bytes, server.open_files_max) == (20, 4)


def test_page_faults_are_those_within_the_window():
    # 300 a second without reading a disk, and 2 that read one.
    samples = every(
        0.1, tree=lambda t_s: tree(0) | {"minor_faults": round(300 * t_s), "major_faults": round(2 * t_s)}
    )
    faults = summary(samples).server.page_faults
    assert (faults.minor, faults.major) == (600, 4)


def test_page_faults_of_children_that_nobody_waits_for_are_not_known():
    parts: dict[str, Any] = {
        "tree": lambda _: tree(0) | {"minor_faults": 1, "major_faults": 1},
        "context_switches": lambda _: switches(1, ignores_sigchld=True),
    }
    assert summary(every(0.1, **parts)).server.page_faults is None


def test_rare_readings_of_context_switches_are_scaled_to_the_window():
    # 1000 a second, read up to half a second before the end.
    samples = [sample(t_s, context_switches=switches(round(1000 * t_s))) for t_s in (99.5, 100.5, 101.5)]
    server = summary(samples).server
    assert (server.context_switches.voluntary, server.context_switches.involuntary) == (2000, 200)


def test_readings_of_less_than_half_of_the_window_say_nothing_about_it():
    samples = [sample(t_s, context_switches=switches(round(1000 * t_s))) for t_s in (99.5, 100.9)]
    assert summary(samples).server.context_switches is None


def test_a_cpu_is_reported_as_shares_of_its_own_time():
    def cpus(t_s: float) -> dict[str, Any]:
        parts = {
            "user_s": 0.2,
            "system_s": 0.3,
            "irq_s": 0.0,
            "softirq_s": 0.1,
            "steal_s": 0.15,
            "idle_s": 0.25,
        }
        # The second CPU is idle.
        return {"cpu": [0, 3]} | {
            name: [share * t_s, t_s if name == "idle_s" else 0.0] for name, share in parts.items()
        }

    first, second = summary(every(0.1, cpus=cpus)).cpus
    assert (first.cpu, second.cpu) == (0, 3)
    assert first.busy_share == pytest.approx(0.6)
    assert (first.softirq_share, first.steal_share) == (pytest.approx(0.1), pytest.approx(0.15))
    assert (second.busy_share, second.softirq_share, second.steal_share) == (0, 0, 0)


def test_events_are_counted_from_the_last_sample_before_the_window_to_the_first_after_it():
    drops = {99.0: 3, 99.9: 5, 101.0: 6, 102.1: 9, 103.0: 20}
    counters = dict.fromkeys(
        ("listen_overflows", "syn_retransmits", "retransmits", "resets_sent", "connections_reset")
    )
    samples = [sample(t_s, tcp={"listen_drops": count, **counters}) for t_s, count in drops.items()]
    tcp = summary(samples).tcp
    assert (tcp.listen_drops, tcp.listen_overflows) == (4, None)


def test_pressure_throttling_and_the_probes_own_cost_are_shares_of_the_window():
    pressure = ("memory_some_s", "memory_full_s", "io_some_s", "io_full_s")
    samples = every(
        0.1,
        pressure=lambda t_s: {"cpu_some_s": 0.3 * t_s, **dict.fromkeys(pressure)},
        throttling=lambda t_s: {
            "periods": round(10 * t_s), "throttled_periods": round(5 * t_s), "throttled_s": t_s / 20
        },
    )  # fmt: skip
    found = summary(samples)
    assert (found.pressure.cpu_some_share, found.pressure.io_some_share) == (pytest.approx(0.3), None)
    assert (found.throttling.periods, found.throttling.throttled_periods) == (20, 10)
    assert found.throttling.throttled_s == pytest.approx(0.1)
    assert (found.cost.interval_s, found.cost.cpu_share) == (0.1, pytest.approx(0.002))


def test_sockets_are_reported_at_their_most_and_by_state_where_all_were_looked_at():
    samples = [
        sample(99.9, sockets={"established": 99, "time_wait": 1, "orphaned": None}),
        sample(100.5, sockets={"established": 4, "time_wait": 7, "orphaned": None}),
        sample(101.0, socket_states={"listen": 2, "close_wait": 5}),
        sample(101.5, socket_states={"listen": 3, "close_wait": 1}),
    ]
    sockets = summary(samples).sockets
    assert (sockets.established_max, sockets.time_wait_max, sockets.orphaned_max) == (4, 7, None)
    assert sockets.by_state_max == {"listen": 3, "close_wait": 5}


def test_the_listen_queue_is_reported_at_its_longest_with_the_backlog():
    looks = {99.9: 100, 100.5: 3, 101.0: 12, 101.5: 0, 102.1: 90}
    samples = [
        sample(t_s, listen_queue={"waiting": waiting, "backlog": 128}) for t_s, waiting in looks.items()
    ]
    found = summary(samples)
    assert (found.listen_queue.backlog, found.listen_queue.waiting_max) == (128, 12)
    assert found.series.listen_queue == [3, 12, 0]


def test_what_no_sample_has_is_absent_and_never_zero():
    found = summary(every(0.1))
    absent = (found.cpus, found.pressure, found.tcp, found.sockets, found.listen_queue, found.throttling)
    assert absent == (None,) * 6
    figures = found.server.model_dump()
    assert set(figures.values()) == {None}


def test_the_series_has_the_samples_of_the_window_in_columns_of_equal_length():
    samples = every(0.5, tree=lambda t_s: tree(t_s / 2, 7), cpus=lambda _: None)
    series = summary(samples).series
    assert series.t_s == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert series.memory_bytes == [7] * 5
    assert series.cpu_user_share == pytest.approx([0.125] * 5)
    assert series.busy_cpus is None


def test_a_rate_after_a_gap_is_that_of_the_whole_gap():
    samples = [sample(99.5, tree=tree(0)), sample(100.5), sample(101.5, tree=tree(4))]
    series = summary(samples).series
    # One CPU second in user mode within two seconds.
    assert series.cpu_user_share == [None, 0.5]


def test_what_looks_at_all_sockets_found_has_moments_of_its_own():
    samples = every(0.1)
    for place, count in ((10, 5), (20, 6), (40, 9)):
        states = {"listen": 1, "time_wait": count}
        samples[place] = sample(samples[place].t_s, socket_states=states)
    states = summary(samples).series.socket_states
    # The last one is after the window.
    assert states.t_s == [0.0, 1.0]
    assert states.by_state == {"listen": [1, 1], "time_wait": [5, 6]}


def test_what_is_read_rarely_is_still_there_when_a_long_window_is_thinned():
    footprint = {"proportional_memory_bytes": None, "open_files": 3}
    samples = [sample(place / 10, tree=tree(place / 10)) for place in range(2 * ROWS_MAX + 20)]
    # Only at odd places, so that every second row alone would keep none.
    for place in range(11, len(samples), 10):
        samples[place] = sample(place / 10, footprint=footprint)
    series = summary(samples, Window(0.95, 0.95 + 2 * ROWS_MAX / 10)).series
    known = [files for files in series.open_files if files is not None]
    assert len(known) == pytest.approx(2 * ROWS_MAX / 10, abs=1)


def test_a_long_window_keeps_few_enough_rows_and_rates_between_them():
    length_s = ROWS_MAX * 0.25
    samples = [sample(place / 10, tree=tree(place / 10)) for place in range(round(length_s * 10) + 20)]
    series = summary(samples, Window(1.0, 1.0 + length_s)).series
    assert ROWS_MAX / 2 < len(series.t_s) <= ROWS_MAX
    assert set(series.cpu_user_share) == {0.25}


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 5)), min_size=2, max_size=30),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_growths_of_two_windows_that_meet_add_up(steps, first, second):
    """Whatever a counter does: what it grew in the parts is what it grew in the whole."""
    moment_s, cpu_s, samples = 0.0, 0.0, []
    for passed_s, used_s in steps:
        samples.append(sample(moment_s, tree=tree(cpu_s)))
        moment_s, cpu_s = moment_s + passed_s, cpu_s + used_s
    end_s = samples[-1].t_s
    middle_s, start_s = end_s * max(first, second), end_s * min(first, second)
    track = Track(samples, figure("tree.cpu_user_s"))
    parts = (track.growth(Window(start_s, middle_s)), track.growth(Window(middle_s, end_s)))
    assert sum(parts) == pytest.approx(track.growth(Window(start_s, end_s)), abs=1e-9)


def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path):
    file = tmp_path / "samples"
    header = '{"format":"loadcurve-probe/1","interval_s":0.1}\n'
    line = sample(1.0).model_dump_json() + "\n"
    file.write_text(header + line[:20])
    reader = SampleReader(file)
    assert reader.new_samples(most=9) == []
    with file.open("a") as stream:
        stream.write(line[20:] + line)
    assert [one.t_s for one in reader.new_samples(most=9)] == [1.0, 1.0]
    assert reader.new_samples(most=9) == []
    reader.close()


def test_the_output_of_another_version_is_refused(tmp_path: Path):
    file = tmp_path / "samples"
    file.write_text('{"format":"loadcurve-probe/9","interval_s":0.1}\n')
    reader = SampleReader(file)
    with pytest.raises(ValueError, match="loadcurve-probe/1"):
        reader.new_samples(most=9)
    reader.close()

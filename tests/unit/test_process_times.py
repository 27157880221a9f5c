"""Who has used a machine's CPUs, from what the kernel publishes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadcurve.host.look import Look, warning
from loadcurve.host.process_times import TICKS_PER_S, ProcessTable, ProcessTime, threads_of, used_by
from loadcurve.host.processor_times import ProcessorTimes
from loadcurve.host.readings import Readings
from loadcurve.host.strangers import kernel_threads_s, named, own_family, strangers


def stat(pid: int, name: str = "p", parent: int = 1, started: int = 5, cpu: int = 0, **ticks: int) -> str:
    """Return a line as proc(5) has it: 52 fields, of which these are known."""
    fields = ["0"] * 49
    fields[0], fields[1], fields[3], fields[19 - 2] = str(parent), str(parent), str(parent), "0"
    line = ["S", *fields]
    line[1], line[3], line[19], line[36] = str(parent), str(parent), str(started), str(cpu)
    for place, key in enumerate(("user", "system", "reaped_user", "reaped_system"), start=11):
        line[place] = str(ticks.get(key, 0))
    return f"{pid} ({name}) {' '.join(line)}"


def table(folder: Path, *lines: str) -> ProcessTable:
    for line in lines:
        (folder / line.split()[0]).mkdir(parents=True, exist_ok=True)
        (folder / line.split()[0] / "stat").write_text(line)
    (folder / "self").mkdir(exist_ok=True)
    return ProcessTable.now(folder)


def test_a_line_is_read_whatever_the_name_of_the_program_holds():
    one = ProcessTime.read(stat(7, "a) b (c", parent=3, started=99, cpu=2, user=TICKS_PER_S, system=10))
    assert (one.pid, one.identity, one.parent, one.session, one.name) == (7, (7, 99), 3, 3, "a) b (c")
    assert (one.own_s, one.cpu) == (1 + 10 / TICKS_PER_S, 2)


@pytest.mark.parametrize("text", ["", "7", "7 (x", "7 (x) S 1 2 3", stat(7).replace("7 (p)", "x (p)")])
def test_what_is_no_line_of_a_process_is_refused(text):
    with pytest.raises(ValueError, match=r"invalid literal|substring not found|fields"):
        ProcessTime.read(text)


def test_a_process_has_used_what_it_grew_by_and_a_new_one_all_it_has(tmp_path):
    before = table(tmp_path / "a", stat(1, user=50), stat(2, user=10), stat(3, started=1, user=900))
    after = table(
        tmp_path / "b", stat(1, user=70, system=5), stat(3, started=8, user=30), stat(4, reaped_user=40)
    )
    used = {use.process.pid: (use.own_s, use.with_reaped_s) for use in after.since(before)}
    ticks = {pid: tuple(round(s * TICKS_PER_S) for s in both) for pid, both in used.items()}
    # The id 3 was given to another process, and 2 has ended.
    assert ticks == {1: (25, 25), 3: (30, 30), 4: (0, 40)}
    assert used_by(after.since(before), {1, 4}) == pytest.approx(65 / TICKS_PER_S)


def test_descendants_of_a_server_are_the_servers(tmp_path):
    found = table(tmp_path, stat(10), stat(11, parent=10), stat(12, parent=11), stat(20))
    assert found.with_descendants([10]) == {10, 11, 12}


def test_strangers_are_neither_side_nor_the_kernels_and_ran_on_these_cpus(tmp_path):
    empty = ProcessTable({})
    found = table(
        tmp_path,
        stat(10, "mine", user=100),
        stat(11, "far", cpu=5, user=100),
        stat(12, "kworker/0:1", parent=2, user=100),
        stat(13, "idle"),
        stat(14, "cc1", user=30),
        stat(15, "cc1", user=20),
        stat(16, "little", user=1),
    )
    uses = found.since(empty)
    programs = named(strangers(uses, {10}, {0, 1}), 2.0)
    assert [(one.name, one.processes, one.pid, one.cpu_share) for one in programs] == [
        ("cc1", 2, 14, pytest.approx(0.5 / 2))
    ]
    assert kernel_threads_s(uses, {0}) == pytest.approx(1.0)


def test_cpus_are_read_with_waiting_for_disks_as_idle(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text(
        "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 400 50 6 7 8 0 0\ncpu3 0 0 0 100 0 0 0 0 0 0\nintr 5\n"
    )
    now = ProcessorTimes.now(Readings(tmp_path))
    assert set(now.by_cpu) == {0, 3}
    ticks = [round(getattr(now.by_cpu[0], part) * TICKS_PER_S) for part in ("idle_s", "irq_s", "softirq_s")]
    assert ticks == [450, 6, 7]
    assert now.since(now, [0, 1]) is None, "nothing is known of CPU 1"
    assert now.since(now, [0, 3]).idle_s == 0


def test_threads_of_this_process_have_its_time():
    def used_s() -> float:
        return sum(one.own_s for one in threads_of(os.getpid()).processes.values())

    # The process has the time of threads that have ended, too, so only what is used from now on is compared.
    before_s, began_s = used_s(), time.process_time()
    while time.process_time() < began_s + 0.3:
        pass
    assert used_s() - before_s == pytest.approx(time.process_time() - began_s, abs=0.1)
    assert threads_of(2**22 + 1).processes == {}


def looked_at(monkeypatch, tmp_path: Path, before: list[str], after: list[str]) -> str | None:
    """Return what a look says that takes 2 s, on two CPUs, in which processes were these."""
    monkeypatch.setattr(time, "monotonic", iter([100.0, 100.1, 102.0]).__next__)
    tables = iter([table(tmp_path / "before", *before), table(tmp_path / "after", *after)])
    monkeypatch.setattr("loadcurve.host.look.ProcessTable.now", lambda: next(tables))
    waits: list[float] = []
    said = Look().disturbance(waits.append)
    assert waits == [pytest.approx(0.1)], "it looks for 0.2 s, and no longer than that"
    return said


def test_a_look_names_the_programs_that_take_a_tenth_of_a_cpu(monkeypatch, tmp_path):
    names = {7: "busy", 8: "cc1", 9: "cc1", 10: "little", 11: "threaded"}
    before = [stat(pid, name, cpu=1, user=1000) for pid, name in names.items()]
    used = {7: 190, 8: 50, 9: 30, 10: 19, 11: 300}
    after = [stat(pid, name, cpu=1, user=1000 + used[pid]) for pid, name in names.items()]
    said = looked_at(monkeypatch, tmp_path, before, after)
    assert said == (
        "threaded (process 11) 150 % of a CPU, busy (process 7) 95 % of CPU 1, "
        "cc1 (2 processes) 40 % of a CPU"
    )


def test_a_look_says_nothing_of_a_machine_that_is_left_alone(monkeypatch, tmp_path):
    assert looked_at(monkeypatch, tmp_path, [stat(7, user=5)], [stat(7, user=9)]) is None


def test_a_look_names_no_program_that_this_process_started():
    code = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"
    busy = subprocess.Popen([sys.executable, "-c", code])
    try:
        look = Look()
        own = {busy.pid, os.getpid()}
        assert own <= own_family(ProcessTable.now())
        assert f"(process {busy.pid})" not in (look.disturbance() or "")
    finally:
        busy.kill()
        busy.wait()


def test_the_warning_says_that_the_measurement_goes_on():
    said = warning("cc1 (process 7) 46 % of CPU 3")
    assert said.startswith("this machine is not quiet: cc1 (process 7) 46 % of CPU 3. ")
    assert said.endswith("Measuring all the same.")

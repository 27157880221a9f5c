"""Control groups: those of this machine where they can be had, and an imitation of version 2 where not."""

import errno
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadcurve.host import cgroups
from loadcurve.host.cgroups import (
    ControlGroup,
    Controller,
    Limits,
    LimitsUnavailable,
    Tree,
    control_group_trees,
    quota_and_period_us,
    used_cpu_s,
)
from support.sandbox import wait_until

MIB = 1 << 20
KERNEL_FILES = (
    *("cgroup.procs", "cpu.max", "cpu.stat"),
    *("memory.events", "memory.max", "memory.peak", "memory.swap.max"),
)
SHARE = 0.05
"""Of a CPU; so little is left to a process on any machine, however busy."""
BUSY = """
import time
end = time.monotonic() + 1.0
while time.monotonic() < end:
    pass
print(time.process_time())
"""
TICK_S = 0.01
"""The longest time after which the kernel looks at what a process has used."""
GREEDY = "block = b'x' * (256 << 20); print(len(block))"


@pytest.fixture
def name() -> str:
    return f"loadcurve-test-{secrets.token_hex(4)}"


@pytest.fixture
def group(request: pytest.FixtureRequest, name: str) -> Iterator[ControlGroup]:
    try:
        group = ControlGroup.planned(name, request.param)
        group.make()
    except LimitsUnavailable as unavailable:
        pytest.skip(str(unavailable))
    yield group
    group.remove()
    assert not any(folder.exists() for folder in group.folders)


def run_inside(group: ControlGroup, program: str) -> subprocess.CompletedProcess[str]:
    command = [*group.entering(), sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("group", [Limits(cpus=SHARE)], indirect=True)
def test_a_busy_process_gets_its_share_of_a_cpu_and_the_rest_is_throttled(group: ControlGroup) -> None:
    started = time.monotonic()
    used_s = float(run_inside(group, BUSY).stdout)
    elapsed_s = time.monotonic() - started
    # Its share of all periods that began meanwhile, the ones at both ends included.
    assert used_s <= SHARE * (elapsed_s + 0.2) + TICK_S
    statistics = dict(line.split() for line in (group.folders[0] / "cpu.stat").read_text().splitlines())
    assert int(statistics["nr_throttled"]) > 0
    # There is no limit of memory that could have done anything.
    assert group.use() is None


@pytest.mark.parametrize("group", [Limits(memory_bytes=64 * MIB)], indirect=True)
def test_a_process_that_needs_more_memory_is_killed_and_that_is_counted(group: ControlGroup) -> None:
    finished = run_inside(group, GREEDY)
    assert finished.returncode == -9
    use = group.use()
    assert use.oom_kills == 1
    assert use.memory_peak_bytes is not None
    assert 32 * MIB < use.memory_peak_bytes <= 64 * MIB


@pytest.mark.parametrize("group", [Limits(cpus=1.0, memory_bytes=512 * MIB)], indirect=True)
def test_a_modest_process_inside_both_limits_is_not_touched(group: ControlGroup) -> None:
    assert run_inside(group, GREEDY).stdout.strip() == str(256 * MIB)
    use = group.use()
    assert use.oom_kills == 0


def test_without_limits_there_is_no_group_and_nothing_before_the_command(name: str) -> None:
    group = ControlGroup.planned(name, Limits())
    group.make()
    assert (group.folders, group.entering()) == ([], ())


def test_a_machine_without_the_controller_is_refused_in_words(name: str) -> None:
    with pytest.raises(LimitsUnavailable, match="limit of memory cannot be set"):
        ControlGroup.planned(name, Limits(memory_bytes=MIB), trees={})


def test_a_user_without_permission_is_refused_with_what_to_do_and_nothing_is_left(
    tmp_path: Path, name: str
) -> None:
    # An ordinary folder has none of the kernel's files, so the first limit cannot be written.
    trees: dict[Controller, Tree] = {"cpu": Tree(2, tmp_path)}
    with pytest.raises(LimitsUnavailable, match=r"cpu\.max.*Run as root"):
        ControlGroup.planned(name, Limits(cpus=1.0), trees).make()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def imitated_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[Controller, Tree]:
    """Trees of version 2 in which a new folder gets the files that the kernel would make."""
    make_folder = Path.mkdir

    def make_group(folder: Path) -> None:
        make_folder(folder)
        for file in KERNEL_FILES:
            (folder / file).touch()

    monkeypatch.setattr(Path, "mkdir", make_group)
    return {"cpu": Tree(2, tmp_path), "memory": Tree(2, tmp_path)}


def test_version_2_is_written_as_the_kernel_documents_it(
    imitated_trees: dict[Controller, Tree], tmp_path: Path
) -> None:
    ControlGroup.planned("group", Limits(cpus=1.5, memory_bytes=64 * MIB), imitated_trees).make()
    assert (tmp_path / "group/cpu.max").read_text() == "150000 100000"
    assert (tmp_path / "group/memory.max").read_text() == str(64 * MIB)
    assert (tmp_path / "group/memory.swap.max").read_text() == "0", "swap would be more memory"


def test_the_limit_of_cpus_of_a_group_can_be_changed_and_its_processor_time_read(
    imitated_trees: dict[Controller, Tree], tmp_path: Path
) -> None:
    group = ControlGroup.planned("group", Limits(cpus=1.0), imitated_trees)
    group.make()
    # The kernel's file has its newest value alone.
    (tmp_path / "group/cpu.max").write_text("")
    group.set_cpus(0.1)
    assert (tmp_path / "group/cpu.max").read_text() == "10000 100000"
    (tmp_path / "group/cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    # One of version 1 beside it says nothing of it.
    (tmp_path / "old").mkdir()
    (tmp_path / "old/cpu.stat").write_text("nr_periods 3\n")
    assert used_cpu_s([tmp_path / "missing", tmp_path / "old", tmp_path / "group"]) == 1.5
    with pytest.raises(OSError, match="no control group of version 2 counts"):
        used_cpu_s([tmp_path / "old"])


@pytest.mark.parametrize(
    ("cpus", "period_us", "written"),
    [
        (0.25, 10_000, (2_500, 10_000)),
        (1.0, 10_000, (10_000, 10_000)),
        # The kernel takes no quota below a millisecond.
        (0.025, 10_000, (1_000, 40_000)),
        (0.01, 100_000, (1_000, 100_000)),
    ],
)
def test_a_small_share_has_a_longer_period_and_is_still_that_share(
    cpus: float, period_us: int, written: tuple[int, int]
) -> None:
    assert quota_and_period_us(cpus, period_us) == written
    quota_us, chosen_us = written
    assert quota_us / chosen_us == pytest.approx(cpus)


def test_version_2_is_read_as_the_kernel_documents_it(
    imitated_trees: dict[Controller, Tree], tmp_path: Path
) -> None:
    group = ControlGroup.planned("group", Limits(cpus=1.5, memory_bytes=64 * MIB), imitated_trees)
    group.make()
    (tmp_path / "group/memory.events").write_text("low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n")
    (tmp_path / "group/memory.peak").write_text("67108864\n")
    use = group.use()
    assert (use.oom_kills, use.memory_peak_bytes) == (1, 64 * MIB)


def test_the_trees_are_found_where_they_are_mounted(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    unified, memory = tmp_path / "unified", tmp_path / "memory"
    (unified / "system.slice/shell.scope").mkdir(parents=True)
    (unified / "system.slice/cgroup.subtree_control").write_text("cpu pids\n")
    (memory / "own").mkdir(parents=True)
    (tmp_path / "proc/mountinfo").write_text(
        f"31 23 0:28 / {unified} rw,relatime - cgroup2 cgroup2 rw\n"
        f"35 31 0:32 / {memory} rw,relatime - cgroup cgroup rw,memory\n"
        f"36 31 0:33 / {tmp_path} rw,relatime - tmpfs tmpfs rw\n"
    )
    (tmp_path / "proc/cgroup").write_text("4:memory:/own\n0::/system.slice/shell.scope\n")
    assert control_group_trees(tmp_path / "proc") == {
        "cpu": Tree(2, unified / "system.slice"),
        "memory": Tree(1, memory / "own"),
    }


@pytest.fixture
def login_session(tmp_path: Path) -> Path:
    """Return the folder ``/proc/PID`` of a login of root: its slice limits memory, the machine CPUs, too."""
    unified = tmp_path / "unified"
    (unified / "user.slice/user-0.slice/session-1.scope").mkdir(parents=True)
    (unified / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (unified / "user.slice/user-0.slice/cgroup.subtree_control").write_text("memory pids\n")
    (tmp_path / "proc").mkdir()
    mount = f"31 23 0:28 / {unified} rw,relatime - cgroup2 cgroup2 rw\n"
    (tmp_path / "proc/mountinfo").write_text(mount)
    (tmp_path / "proc/cgroup").write_text("0::/user.slice/user-0.slice/session-1.scope\n")
    return tmp_path / "proc"


def test_all_limits_of_version_2_are_of_one_group_as_a_process_can_be_in_no_second_one(
    login_session: Path,
) -> None:
    unified = login_session.parent / "unified"
    trees = control_group_trees(login_session)
    assert trees == {"cpu": Tree(2, unified), "memory": Tree(2, unified)}
    both = ControlGroup.planned("group", Limits(cpus=0.5, memory_bytes=64 * MIB), trees)
    assert both.folders == [unified / "group"]
    # Where the nearer folder has as many, it is the one.
    near = unified / "user.slice/user-0.slice"
    (near / "cgroup.subtree_control").write_text("cpu memory pids\n")
    assert control_group_trees(login_session) == {"cpu": Tree(2, near), "memory": Tree(2, near)}


def test_a_user_who_may_write_no_group_of_version_2_is_refused_by_the_system_and_told_what_to_do(
    login_session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(Path, "mkdir", refused)
    trees = control_group_trees(login_session)
    group = ControlGroup.planned("group", Limits(cpus=0.5, memory_bytes=64 * MIB), trees)
    with pytest.raises(LimitsUnavailable, match=r"unified/group: Permission denied\. Run as root"):
        group.make()


@pytest.fixture
def limited_container(tmp_path: Path) -> Path:
    """Return the folder ``/proc/PID`` of a process that crun has put into a group below the limited one."""
    container = tmp_path / "unified/machine.slice/libpod-1.scope"
    (container / "container").mkdir(parents=True)
    (container / "cpu.max").write_text("50000 100000\n")
    (container / "container/cpu.max").write_text("max 100000\n")
    (container / "memory.max").write_text(f"{64 * MIB}\n")
    (container / "container/memory.max").write_text("max\n")
    (container / "memory.events").write_text("oom 2\noom_kill 1\n")
    (tmp_path / "mountinfo").write_text(f"31 23 0:28 / {tmp_path}/unified rw,relatime - cgroup2 cgroup2 rw\n")
    (tmp_path / "cgroup").write_text("0::/machine.slice/libpod-1.scope/container\n")
    return tmp_path


def test_the_limits_of_a_container_are_found_in_the_group_around_its_first_process(
    limited_container: Path,
) -> None:
    limits = Limits(cpus=0.5, memory_bytes=64 * MIB)
    group = ControlGroup.that_holds(limited_container, limits, limited_container)
    use = group.use()
    assert use.oom_kills == 1


@pytest.mark.parametrize(
    ("limits", "resource"), [(Limits(cpus=0.4), "CPUs"), (Limits(memory_bytes=63 * MIB), "memory")]
)
def test_a_container_that_is_held_to_more_than_was_asked_for_is_refused(
    limits: Limits, resource: str, limited_container: Path
) -> None:
    with pytest.raises(LimitsUnavailable, match=f"the limit of {resource} is not in effect"):
        ControlGroup.that_holds(limited_container, limits, limited_container)


def test_a_group_whose_last_process_ends_in_a_moment_is_removed_then(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        group = ControlGroup.planned(name, Limits(cpus=1.0))
        group.make()
    except LimitsUnavailable as unavailable:
        pytest.skip(str(unavailable))
    members = group.folders[0] / "cgroup.procs"
    with subprocess.Popen([*group.entering(), "cat"], stdin=subprocess.PIPE) as process:
        wait_until(lambda: str(process.pid) in members.read_text().split(), "it is in the group")

        def end_it(_pause_s: float) -> None:
            process.stdin.close()
            process.wait()

        # It ends while it is waited for.
        monkeypatch.setattr(cgroups.time, "sleep", end_it)
        group.remove()
    assert not group.folders[0].exists()

"""The program `loadcurve-probe` on real processes, against psutil and `/proc` read by other means."""

import itertools
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from loadcurve.host.cgroups import remove_groups
from loadcurve.probe.samples import Header, Sample
from loadcurve.server.group import born_in_group, group_parent
from loadcurve.server.probing import PROGRAM
from loadcurve.server.processes import identify, is_running
from support.probed_tree import MOST_SAMPLES, process_tree, running_probe
from support.sandbox import wait_until

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
FIN_WAIT_2 = "05"
"""The state in the kernel's numbers: ``include/net/tcp_states.h``."""
LONG = "10s"
"""An interval that does not end within a test: after the first sample comes only that at the probe's end."""


@pytest.fixture
def tree():
    with process_tree() as tree:
        yield tree


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system + times.children_user + times.children_system


def waited_s(process: psutil.Process) -> float:
    """How long the threads of a process could run and waited for a CPU, which psutil does not tell."""
    files = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[1]) for file in files) / 1e9


def page_faults(process: psutil.Process) -> tuple[int, int]:
    """Return the minor and the major ones of a process and its children, which psutil does not tell."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    # In proc_pid_stat(5) they are fields 10 to 13, and the state, behind the name, is field 3.
    minor, of_children, major, major_of_children = map(int, fields[7:11])
    return minor + of_children, major + major_of_children


def used_s(sample, part="tree"):
    return sample[part]["cpu_user_s"] + sample[part]["cpu_system_s"]


def test_every_line_is_what_the_harness_reads(tree):
    with running_probe("--session", tree.pid, "--interval", "20ms") as probe:
        Header.model_validate(probe.header)
        samples = [probe.next() for _ in range(5)]
    for sample in samples:
        Sample.model_validate(sample)


@pytest.mark.parametrize("found_by", ["session", "pid"])
def test_a_tree_agrees_with_psutil(tree, found_by):
    with running_probe(f"--{found_by}", tree.pid, "--interval", LONG) as probe:
        probe.next()
        for command in ("fork 3", "thread 5", "grow 32", "burn 0.3", "brief 2 0.1"):
            tree.do(command)
        # Nothing runs any more: what one sees, the other must see.
        tree.rest()
        members = tree.members()
        seen = probe.last()["tree"]
        assert (seen["processes"], len(members)) == (4, 4)
        assert seen["threads"] == sum(process.num_threads() for process in members) == 9
        assert seen["memory_bytes"] == sum(process.memory_info().rss for process in members)
        assert seen["memory_bytes"] > 32 << 20
        total_s = seen["cpu_user_s"] + seen["cpu_system_s"]
        assert total_s == pytest.approx(sum(map(cpu_s, members)))
        assert total_s >= 0.5
        faults = [page_faults(process) for process in members]
        assert seen["minor_faults"] == sum(minor for minor, _ in faults) > 0
        assert seen["major_faults"] == sum(major for _, major in faults)


def test_what_is_read_rarely_agrees_with_psutil(tree):
    # Most of the memory is the tree's alone: who else maps the rest may change in between.
    for command in ("grow 32", "fork 2", "thread 3"):
        tree.do(command)
    tree.rest()
    with running_probe("--session", tree.pid, "--interval", "20ms") as probe:
        footprint, switches = probe.first("footprint"), probe.first("context_switches")
        members = tree.members()
        assert footprint["open_files"] == sum(process.num_fds() for process in members)
        assert footprint["disk_read_bytes"] == sum(process.io_counters().read_bytes for process in members)
        proportional = sum(process.memory_full_info().pss for process in members)
        assert footprint["proportional_memory_bytes"] == pytest.approx(proportional, rel=0.2)
        # psutil tells the first thread of each process; the others are read here as the kernel writes them.
        files = [file for process in members for file in Path(f"/proc/{process.pid}/task").glob("*/status")]
        assert switches["voluntary"] == sum(_number(file, "voluntary_ctxt_switches") for file in files)
        assert switches["involuntary"] == sum(_number(file, "nonvoluntary_ctxt_switches") for file in files)
        firsts = sum(process.num_ctx_switches().voluntary for process in members)
        assert 0 < firsts <= switches["voluntary"]


def test_each_program_has_used_what_psutil_finds_of_its_processes():
    # Two processes of one program, and the shell, which waits and then is another program itself.
    script = "dd if=/dev/zero of=/dev/null & dd if=/dev/zero of=/dev/null & exec sleep 3600"
    started = subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        main = psutil.Process(started.pid)
        programs = ["sleep", "dd", "dd"]
        wait_until(lambda: [one.name() for one in [main, *main.children()]] == programs, "three processes")
        with running_probe("--session", started.pid, "--interval", LONG) as probe:
            probe.next()
            wait_until(lambda: sum(map(cpu_s, main.children())) >= 0.3, "0.3 s of use")
            os.killpg(started.pid, signal.SIGSTOP)
            stopped = {psutil.STATUS_STOPPED}
            wait_until(lambda: {one.status() for one in [main, *main.children()]} == stopped, "all stopped")
            seen = probe.last()["programs"]
            assert seen.keys() == {"dd", "sleep"}
            assert seen["dd"]["cpu_s"] == pytest.approx(sum(map(cpu_s, main.children())))
            assert seen["sleep"]["cpu_s"] == pytest.approx(cpu_s(main))
            assert seen["dd"]["run_delay_s"] == pytest.approx(sum(map(waited_s, main.children())))
            assert seen["sleep"]["run_delay_s"] == pytest.approx(waited_s(main))
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def test_programs_that_are_named_have_their_processes_whatever_these_execute():
    script = "dd if=/dev/zero of=/dev/null & exec sleep 3600"
    started = [
        subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    try:
        mains = [psutil.Process(one.pid) for one in started]
        programs = ["sleep", "dd"]
        for main in mains:
            wait_until(
                lambda main=main: [one.name() for one in [main, *main.children()]] == programs,
                "two processes",
            )
        named = [("--program", name, "--session", main.pid) for name, main in zip("ab", mains, strict=True)]
        with running_probe(*named[0], *named[1], "--interval", LONG) as probe:
            probe.next()
            wait_until(lambda: sum(map(cpu_s, mains[0].children())) >= 0.3, "0.3 s of use")
            for main in mains:
                os.killpg(main.pid, signal.SIGSTOP)
            stopped = {psutil.STATUS_STOPPED}
            both = [one for main in mains for one in [main, *main.children()]]
            wait_until(lambda: {one.status() for one in both} == stopped, "all stopped")
            seen = probe.last()["programs"]
            assert seen.keys() == {"a", "b"}
            for name, main in zip("ab", mains, strict=True):
                processes = [main, *main.children()]
                assert seen[name]["cpu_s"] == pytest.approx(sum(map(cpu_s, processes)))
                assert seen[name]["memory_bytes"] == sum(one.memory_info().rss for one in processes)
    finally:
        for one in started:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def test_threads_wait_for_a_cpu_that_another_process_uses(tree):
    """The second thread never rests, on the same CPU as a process outside the tree."""
    cpu = min(os.sched_getaffinity(0))
    main = psutil.Process(tree.pid)
    # Threads have the CPUs of the one that makes them.
    main.cpu_affinity([cpu])
    tree.do("busy")
    other = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null"], stderr=subprocess.DEVNULL)
    try:
        psutil.Process(other.pid).cpu_affinity([cpu])
        before_ns = ns(waited_s(main))
        with running_probe("--session", tree.pid, "--interval", "20ms") as probe:
            first_ns = ns(delay_s(probe))
            meanwhile_ns = ns(waited_s(main))
            wait_until(lambda: ns(waited_s(main)) - meanwhile_ns >= 300_000_000, "0.3 s of waiting")
            main.suspend()
            wait_until(lambda: main.status() == psutil.STATUS_STOPPED, "it is stopped")
            after_ns = ns(waited_s(main))
            wait_until(lambda: ns(delay_s(probe)) - first_ns >= after_ns - meanwhile_ns, "all is counted")
            assert ns(delay_s(probe)) - first_ns <= after_ns - before_ns
    finally:
        main.resume()
        other.kill()
        other.wait()


def ns(time_s: float) -> int:
    """The kernel counts nanoseconds, which differences of seconds as floating-point numbers are not."""
    return round(time_s * 1e9)


def delay_s(probe) -> float:
    """How long the threads of the only program have waited for a CPU, by the next sample that knows."""
    (program,) = probe.first("programs").values()
    return program["run_delay_s"]


def test_the_busiest_process_is_the_one_that_psutil_finds(tree):
    with running_probe("--session", tree.pid, "--interval", LONG) as probe:
        probe.next()
        tree.do("fork 3")
        tree.do("burn 0.4")
        tree.rest()
        sample = probe.last()
        times = {process.pid: process.cpu_times() for process in tree.members()}
    used_s = {pid: spent.user + spent.system for pid, spent in times.items()}
    found = sample["busiest_process"]
    assert found["pid"] == tree.pid == max(used_s, key=used_s.get)
    assert found["cpu_s"] == pytest.approx(used_s[tree.pid])
    # All of its threads but one do nothing, and there is but one.
    thread = sample["busiest_thread"]
    assert (thread["pid"], thread["thread"]) == (tree.pid, tree.pid)
    assert thread["name"] == Path(f"/proc/{tree.pid}/comm").read_text().strip()
    assert thread["cpu_s"] == pytest.approx(found["cpu_s"], abs=3 * TICK_S)


def test_the_busiest_thread_is_found_among_those_that_wait(tree):
    """Against psutil, which tells the time of each thread, too."""
    for command in ("fork 2", "thread 6"):
        tree.do(command)
    thread = int(tree.do("busy"))
    main = psutil.Process(tree.pid)
    assert thread != tree.pid
    # Of equals, such as threads that all wait for a CPU, the one counts that has used the most altogether.
    wait_until(lambda: _thread_time_s(main, thread) > _thread_time_s(main, tree.pid), "it is ahead")
    before = _thread_time_s(main, thread)
    with running_probe("--session", tree.pid, "--interval", "50ms") as probe:
        taken = (probe.next() for _ in range(MOST_SAMPLES))
        samples = list(itertools.islice((one for one in taken if one["busiest_thread"]), 10))
        after = _thread_time_s(main, thread)
    assert len(samples) == 10
    # A thread that is given no CPU for a whole interval has used none in it.
    samples = [one for one in samples if one["busiest_thread"]["thread"] == thread]
    found = [one["busiest_thread"] for one in samples]
    assert len(found) >= 7
    assert {one["pid"] for one in found} == {tree.pid}
    counted_s = [one["cpu_s"] for one in found]
    # psutil's time is a sum of two, and each of them lacks up to a tick.
    assert before - TICK_S <= counted_s[0] <= counted_s[-1] <= after + 2 * TICK_S
    # The machine may give it less than all of a CPU, but what it had is known.
    passed_s = [later["t_s"] - earlier["t_s"] for earlier, later in itertools.pairwise(samples)]
    used_s = sum(one["cpu_share"] * length_s for one, length_s in zip(found[1:], passed_s, strict=True))
    assert used_s == pytest.approx(counted_s[-1] - counted_s[0], rel=0.3)


def _thread_time_s(process: psutil.Process, thread: int) -> float:
    (times,) = [times for times in process.threads() if times.id == thread]
    return times.user_time + times.system_time


def test_the_page_cache_is_that_of_the_kernels_own_figures(tree):
    with running_probe("--session", tree.pid, "--interval", LONG) as probe:
        seen = probe.next()["page_cache"]
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    kib = {words[0].rstrip(":"): int(words[1]) for words in lines}
    # Other programs read and write files meanwhile.
    assert seen["bytes"] == pytest.approx(1024 * (kib["Cached"] + kib["Buffers"] - kib["Shmem"]), rel=0.2)
    assert seen["refault_bytes"] % os.sysconf("SC_PAGE_SIZE") == 0


@pytest.mark.needs("ss")
def test_the_queue_of_the_servers_address_is_the_one_that_ss_shows(tree):
    with socket.socket() as server, ExitStack() as clients:
        server.bind(("127.0.0.1", 0))
        server.listen(23)
        address = "{}:{}".format(*server.getsockname())
        for _ in range(4):
            clients.enter_context(socket.create_connection(server.getsockname()))
        wait_until(lambda: _queue_by_ss(address) == ["4", "23"], "ss shows all clients in the queue")
        with running_probe("--pid", tree.pid, "--listen", address, "--interval", LONG) as probe:
            assert probe.next()["listen_queue"] == {"waiting": 4, "backlog": 23}
            server.accept()[0].close()
            assert probe.last()["listen_queue"] == {"waiting": 3, "backlog": 23}


def _queue_by_ss(address: str) -> list[str]:
    """How many wait in the queue of an address, and how many may."""
    command = ["ss", "-Hltn", "src", address]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1:3]


def test_sockets_are_counted_in_the_states_that_closing_one_end_brings_them_to(tree):
    count = 50
    with socket.socket() as server, ExitStack() as ends:
        server.bind(("127.0.0.1", 0))
        server.listen(count)
        for _ in range(count):
            client = ends.enter_context(socket.create_connection(server.getsockname()))
            ends.enter_context(server.accept()[0])
            client.shutdown(socket.SHUT_WR)
        # The kernel may take its time to acknowledge that an end has closed.
        local = f"{server.getsockname()[1]:04X}"
        wait_until(lambda: _sockets_towards(local, FIN_WAIT_2) == count, "every end has learnt of the other")
        with running_probe("--pid", tree.pid, "--interval", "20ms") as probe:
            states = probe.first("socket_states")
    # RFC 9293: the end that has closed waits for the other one, which waits for its program to close.
    assert states["fin_wait_2"] >= count
    assert states["close_wait"] >= count
    assert states["listen"] >= 1


def _sockets_towards(port: str, state: str) -> int:
    """Count the sockets in a state whose other end has a port, both as the kernel writes them."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2].endswith(f":{port}") and row[3] == state for row in rows)


def test_where_nobody_listens_there_is_no_queue(tree):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*free.getsockname())
        with running_probe("--pid", tree.pid, "--listen", address, "--interval", LONG) as probe:
            assert probe.next()["listen_queue"] is None


def _number(file: Path, name: str) -> int:
    (line,) = [line for line in file.read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1])


def test_children_that_come_and_go_unseen_are_counted_through_their_parent(tree):
    with running_probe("--session", tree.pid, "--interval", LONG) as probe:
        before = probe.next()
        children_s = float(tree.do("brief 8 0.1"))
        after = probe.last()
    # The kernel tells the children's times as one sum in ticks; beginning and ending them costs time, too.
    assert 0.9 * children_s <= used_s(after) - used_s(before) <= 1.5 * children_s


def test_new_processes_are_found_and_ended_ones_are_not_counted(tree):
    with running_probe("--session", tree.pid, "--interval", "10ms") as probe:

        def sees(count):
            return any((tree := probe.next()["tree"]) and tree["processes"] == count for _ in range(20))

        assert sees(1)
        tree.do("fork 4")
        wait_until(lambda: sees(5), "the children are found")
        for child in psutil.Process(tree.pid).children():
            child.kill()
        # They wait to be reaped, and yet they have ended.
        wait_until(lambda: sees(1), "the children have ended")


def test_the_total_never_falls_whatever_comes_and_goes(tree):
    with running_probe("--session", tree.pid, "--interval", "10ms") as probe:
        first = probe.next()
        children_s = float(tree.do("brief 15 0.02")) + float(tree.do("forget 15 0.02"))
        samples = [first, *probe.rest()]
    totals = [used_s(sample) for sample in samples if sample["tree"]]
    assert all(earlier <= later for earlier, later in itertools.pairwise(totals))
    # Beginning and ending them costs time, too, but nothing is counted twice.
    assert totals[-1] - totals[0] <= 1.5 * children_s + 2 * TICK_S


def test_a_process_that_left_the_session_and_its_parent_is_known_by_its_mark(tree):
    tree.do("leave 2")
    with running_probe("--session", tree.pid, "--interval", LONG) as probe:
        assert probe.next()["tree"]["processes"] == 1
    with running_probe("--session", tree.pid, "--mark", tree.mark, "--interval", LONG) as probe:
        assert probe.next()["tree"]["processes"] == len(tree.members()) == 3


@pytest.fixture
def group():
    parent = group_parent()
    if parent is None:
        pytest.skip("needs to make a control group of version 2")
    group = parent / f"loadcurve-test-{os.getpid()}"
    yield group
    remove_groups([group])
    assert not group.exists()


def test_in_a_group_of_its_own_the_time_of_forgotten_children_is_exact(group):
    with ExitStack() as running:
        with born_in_group(group):
            tree = running.enter_context(process_tree())
        probe = running.enter_context(running_probe("--cgroup", group, "--interval", LONG))
        before = probe.next()
        children_s = float(tree.do("forget 8 0.1"))
        after = probe.last()
    grown_s = used_s(after, "group") - used_s(before, "group")
    # Exact to the microsecond; beginning and ending the children costs time, too.
    assert children_s - 0.001 <= grown_s <= 1.5 * children_s
    # Over the processes nothing of them is left.
    assert used_s(after) - used_s(before) < children_s / 4


def test_it_is_reported_when_the_kernel_forgets_children(tree):
    def ignores():
        with running_probe("--session", tree.pid, "--interval", "10ms") as probe:
            return probe.first("context_switches")["ignores_sigchld"]

    assert not ignores()
    tree.do("forget 1 0")
    assert ignores()


def test_the_machine_agrees_with_psutil(tree):
    with running_probe("--pid", tree.pid, "--interval", LONG) as probe:
        before = psutil.cpu_times(percpu=True)
        probe.next()
        sample = probe.last()
        after = psutil.cpu_times(percpu=True)
    cpus = sample["cpus"]
    assert cpus["cpu"] == list(range(len(after)))
    for number, (low, high) in enumerate(zip(before, after, strict=True)):
        for name in ("system", "irq", "softirq", "steal"):
            reported = cpus[f"{name}_s"][number]
            assert getattr(low, name) - TICK_S <= reported <= getattr(high, name) + TICK_S, name
        assert low.user + low.nice - TICK_S <= cpus["user_s"][number] <= high.user + high.nice + TICK_S


def test_counters_of_tcp_are_those_of_the_kernels_tables(tree):
    with running_probe("--pid", tree.pid, "--interval", LONG) as probe:
        low = _tcp_tables()
        probe.next()
        sample = probe.last()
        high = _tcp_tables()
    names = {
        "listen_overflows": "ListenOverflows",
        "listen_drops": "ListenDrops",
        "syn_retransmits": "TCPSynRetrans",
        "retransmits": "RetransSegs",
        "dsacks_received": "TCPDSACKRecv",
        "resets_sent": "OutRsts",
        "connections_reset": "EstabResets",
    }
    for ours, kernels in names.items():
        assert low[kernels] <= sample["tcp"][ours] <= high[kernels], ours


def _tcp_tables() -> dict[str, int]:
    found: dict[str, int] = {}
    for table in ("snmp", "netstat"):
        lines = Path("/proc/net", table).read_text().splitlines()
        for titles, values in zip(lines[::2], lines[1::2], strict=True):
            if titles.startswith(("Tcp:", "TcpExt:")):
                found |= dict(zip(titles.split()[1:], map(int, values.split()[1:]), strict=True))
    return found


def test_samples_come_at_the_interval_by_the_monotonic_clock(tree):
    before_s = time.monotonic()
    with running_probe("--pid", tree.pid, "--interval", "50ms") as probe:
        moments_s = [probe.next()["t_s"] for _ in range(21)]
        # A busy machine may delay some of them, but two that it leaves alone are an interval apart ...
        later_s = (probe.next()["t_s"] for _ in range(MOST_SAMPLES))
        gaps_s = (
            later - earlier for earlier, later in itertools.pairwise(itertools.chain(moments_s, later_s))
        )
        assert any(gap_s == pytest.approx(0.05, rel=0.1) for gap_s in gaps_s)
    assert before_s < moments_s[0]
    assert moments_s[-1] < time.monotonic()
    # ... and never do they come more often.
    assert (moments_s[-1] - moments_s[0]) / 20 >= 0.95 * 0.05


def test_whoever_asks_gets_a_sample_of_the_processes_and_the_machine_at_once(tree):
    with running_probe("--session", tree.pid, "--interval", LONG) as probe:
        probe.next()
        # This many looks at once cost more than the probe may use, and are taken all the same.
        for _ in range(50):
            before_s = time.monotonic()
            sample = probe.ask()
            assert before_s <= sample["t_s"] <= time.monotonic()
            assert Sample.model_validate(sample).is_whole
            assert sample["tcp"] is not None
            assert sample["sockets"] is not None


def test_it_ends_when_its_owner_is_killed(tree):
    script = (
        "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE,"
        " stdout=subprocess.DEVNULL); print(p.pid, flush=True); time.sleep(3600)"
    )
    command = ["python3", "-c", script, PROGRAM, "--pid", str(tree.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        probe = identify(int(owner.stdout.readline()))
        owner.kill()
    wait_until(lambda: not is_running(probe), "the probe has ended")


def test_it_ends_by_sigterm(tree):
    with running_probe("--pid", tree.pid) as probe:
        probe.next()
        probe.process.terminate()
        assert probe.process.wait(timeout=10) == -signal.SIGTERM


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "no process selected: expected --session, --pid, --mark or --cgroup"),
        (["--pid", "x"], 2, 'cannot parse argument "x"'),
        (["--pid", "1", "--interval", "100"], 2, "a whole number with ms or s"),
        (["--session", "4194304"], 1, "no process of the server was found"),
        (["--pid", "1", "--listen", "localhost:80"], 2, 'cannot parse argument "localhost:80"'),
        (["--cgroup", "/nowhere"], 1, "cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_sampled_is_said(arguments, status, said):
    finished = subprocess.run(
        [PROGRAM, *arguments], stdin=subprocess.PIPE, capture_output=True, text=True, check=False
    )
    assert (finished.returncode, finished.stdout) == (status, "")
    assert said in finished.stderr


def test_a_tree_that_has_ended_is_sampled_as_nothing():
    with process_tree() as tree, running_probe("--session", tree.pid, "--interval", LONG) as probe:
        probe.next()
        tree.end()
        sample = probe.last()
    assert json.dumps(sample["tree"])
    assert (sample["tree"]["processes"], sample["tree"]["memory_bytes"]) == (0, 0)

"""What the doctor makes of the files in which the kernel describes a machine."""

import resource
from pathlib import Path

import pytest

from loadcurve.host import fitness
from loadcurve.host.cpus import CpuDivision
from loadcurve.host.readings import Readings
from loadcurve.host.tracking import no_place_in_words

APART = CpuDivision(server=(0,), load=(1,))


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    return tmp_path


def write(machine: Path, path: str, text: str) -> Readings:
    file = machine / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")
    return Readings(machine)


def test_sides_that_share_a_cpu_are_unfit() -> None:
    check = fitness.check_cpus(Readings(Path("/nowhere")), CpuDivision(server=(0, 1), load=(1,)))
    assert check.fitness == "bad"
    assert "both use CPU 1" in check.found


@pytest.mark.parametrize(
    ("siblings", "expected"), [("0-1", "caution"), ("0,1", "caution"), ("1", "good"), ("1,3", "good")]
)
def test_sides_that_share_a_core_are_reported(machine: Path, siblings: str, expected: str) -> None:
    readings = write(machine, "sys/devices/system/cpu/cpu1/topology/thread_siblings_list", siblings)
    assert fitness.check_cpus(readings, APART).fitness == expected


@pytest.mark.parametrize(("governor", "expected"), [("performance", "good"), ("powersave", "caution")])
def test_a_governor_that_slows_idle_cpus_is_reported(machine: Path, governor: str, expected: str) -> None:
    write(machine, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance")
    readings = write(machine, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", governor)
    assert fitness.check_governor(readings).fitness == expected


def test_what_the_machine_does_not_tell_is_unknown_and_not_good(machine: Path) -> None:
    readings = Readings(machine)
    checks = [
        fitness.check_governor(readings),
        *fitness.check_activity(readings, lambda _: None),
        fitness.check_clock(readings),
        fitness.check_ports(readings, None),
        fitness.check_listen_queue(readings),
    ]
    assert {check.fitness for check in checks} == {"unknown"}


def test_steal_and_other_load_are_shares_of_the_time_that_passed(machine: Path) -> None:
    # user nice system idle iowait irq softirq steal: of 200 ticks 20 are busy and 10 stolen.
    readings = write(machine, "proc/stat", "cpu 100 0 100 1000 0 0 0 50 0 0\ncpu0 1 2 3")

    def a_second(_: float) -> None:
        write(machine, "proc/stat", "cpu 110 0 105 1165 5 2 3 60 0 0\ncpu0 1 2 3")

    steal, load = fitness.check_activity(readings, a_second)
    assert (steal.fitness, load.fitness) == ("bad", "caution")
    assert steal.found.startswith("5.0 %")
    assert load.found.startswith("10.0 %")


@pytest.mark.parametrize(
    ("busy", "stolen", "expected"),
    [(0, 5, ("bad", "good")), (19, 0, ("good", "caution")), (20, 0, ("good", "bad"))],
)
def test_what_the_host_takes_and_what_others_use_are_judged_apart(
    machine: Path, busy: int, stolen: int, expected: tuple[str, str], monkeypatch
) -> None:
    monkeypatch.delenv("LOADCURVE_OTHER_PROGRAMS", raising=False)
    readings = write(machine, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0")

    def a_second(_: float) -> None:
        write(machine, "proc/stat", f"cpu {busy} 0 0 {100 - busy - stolen} 0 0 0 {stolen} 0 0")

    assert tuple(check.fitness for check in fitness.check_activity(readings, a_second)) == expected


def test_other_programs_that_are_expected_make_no_machine_unfit(machine: Path, monkeypatch) -> None:
    monkeypatch.setenv("LOADCURVE_OTHER_PROGRAMS", "note")
    readings = write(machine, "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0")

    def a_second(_: float) -> None:
        write(machine, "proc/stat", "cpu 100 0 0 0 0 0 0 0 0 0")

    _, load = fitness.check_activity(readings, a_second)
    assert load.fitness == "caution"


@pytest.mark.parametrize(
    ("total_kib", "free_kib", "expected"), [(0, 0, "good"), (1024, 1024, "good"), (1 << 20, 0, "caution")]
)
def test_swap_matters_when_it_is_used(machine: Path, total_kib: int, free_kib: int, expected: str) -> None:
    readings = write(machine, "proc/meminfo", f"SwapTotal: {total_kib} kB\nSwapFree: {free_kib} kB")
    assert fitness.check_swap(readings).fitness == expected


@pytest.mark.parametrize(("source", "expected"), [("tsc", "good"), ("kvm-clock", "good"), ("hpet", "bad")])
def test_a_slow_clock_is_unfit(machine: Path, source: str, expected: str) -> None:
    path = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    assert fitness.check_clock(write(machine, path, source)).fitness == expected


def test_open_files_below_ten_thousand_connections_are_reported_with_the_command() -> None:
    assert fitness.check_open_files(1024, 20_000).fitness == "good"
    assert fitness.check_open_files(1024, resource.RLIM_INFINITY).fitness == "good"
    few = fitness.check_open_files(1024, 4096)
    assert few.fitness == "caution"
    assert "4,096" in few.found
    assert few.remedy.startswith("ulimit -Hn")


def test_ports_last_as_long_as_time_wait_lets_them(machine: Path) -> None:
    readings = write(machine, "proc/sys/net/ipv4/ip_local_port_range", "32768\t60999")
    # 28,232 ports, each taken for 60 s: 470.5 connections per second; 400 per second take 24,000 ports.
    enough = fitness.check_ports(readings, 400)
    assert enough.fitness == "good"
    assert enough.found.startswith("28,232 local ports are free")
    assert (
        "471 on this machine (a port waits 60 s), 471 to other machines (a port waits 60 s)" in enough.found
    )
    assert (
        "400 per second require 24,000 ports on this machine, 24,000 ports to other machines" in enough.found
    )
    short = fitness.check_ports(readings, 1000)
    assert short.fitness == "caution"
    assert "require 60,000 ports" in short.found
    settings = 'net.ipv4.ip_local_port_range="1024 65535" net.ipv4.tcp_tw_reuse=1'
    assert short.remedy == f"sysctl -w {settings}"


def test_reuse_of_ports_on_this_machine_is_part_of_the_arithmetic(machine: Path) -> None:
    write(machine, "proc/sys/net/ipv4/tcp_tw_reuse", "2")
    readings = write(machine, "proc/sys/net/ipv4/ip_local_port_range", "32768\t60999")
    found = fitness.check_ports(readings, 1000).found
    assert "28,232 on this machine (a port waits 1 s), 471 to other machines (a port waits 60 s)" in found
    assert "1,000 per second require 1,000 ports on this machine, 60,000 ports to other machines" in found


def test_where_every_setting_is_at_its_best_no_command_is_given(machine: Path) -> None:
    write(machine, "proc/sys/net/ipv4/tcp_tw_reuse", "1")
    readings = write(machine, "proc/sys/net/ipv4/ip_local_port_range", "1024\t65535")
    check = fitness.check_ports(readings, 100_000)
    # 64,512 ports, each held for a second.
    assert (check.fitness, check.remedy) == ("caution", None)
    assert "64,512 to other machines" in check.found


@pytest.mark.parametrize(("longest", "expected"), [("128", "caution"), ("4096", "good")])
def test_a_short_listen_queue_is_reported(machine: Path, longest: str, expected: str) -> None:
    readings = write(machine, "proc/sys/net/core/somaxconn", longest)
    assert fitness.check_listen_queue(readings).fitness == expected


def test_a_kernel_that_tracks_no_connection_is_not_asked_how_many_it_tracks(machine: Path) -> None:
    assert list(fitness.check_connection_tracking(Readings(machine))) == []


@pytest.mark.parametrize(("used", "expected"), [("500", "good"), ("501", "caution"), ("1000", "caution")])
def test_a_table_of_tracked_connections_that_is_half_full_is_reported(
    machine: Path, used: str, expected: str
) -> None:
    write(machine, "proc/sys/net/netfilter/nf_conntrack_count", used)
    readings = write(machine, "proc/sys/net/netfilter/nf_conntrack_max", "1000")
    [check] = fitness.check_connection_tracking(readings)
    assert (check.fitness, check.found) == (
        expected,
        f"{int(used):,} of 1,000 connections are tracked (nf_conntrack)",
    )
    assert (no_place_in_words(readings) is not None) == (used == "1000")


def test_a_kernel_that_refuses_io_uring_is_quoted() -> None:
    assert fitness.check_uring(None).fitness == "good"
    refused = fitness.check_uring("io_uring is not available: set kernel.io_uring_disabled to 0")
    assert (refused.fitness, "kernel.io_uring_disabled" in refused.found) == ("caution", True)
    assert refused.remedy == "sysctl -w kernel.io_uring_disabled=0"
    assert fitness.check_uring("this kernel is older than 6.0").remedy is None

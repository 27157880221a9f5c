"""What kind of machine this is, as far as it bears on the numbers."""

import os
import platform
import resource
from typing import Any

from loadcurve.host.readings import Readings

SYSCTLS = (
    "net.core.somaxconn",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syn_linear_timeouts",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "vm.swappiness",
)
"""Settings of the kernel that decide what connections meet."""

VULNERABILITIES = "sys/devices/system/cpu/vulnerabilities/*"


def host_facts(readings: Readings | None = None) -> dict[str, Any]:
    """Return the facts by name; ``None`` where this machine does not tell one."""
    readings = Readings() if readings is None else readings
    return {
        "cpu_model": readings.field("proc/cpuinfo", "model name"),
        "cpus": sorted(os.sched_getaffinity(0)),
        "cpu_topology": _topology(readings),
        "cpu_governor": readings.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "mitigations": _mitigations(readings),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "architecture": platform.machine(),
        "virtual_machine": _is_virtual(readings),
        "machine_product": readings.text("sys/class/dmi/id/product_name"),
        "kernel": platform.release(),
        "operating_system": _operating_system(),
        "python": platform.python_version(),
        "clock_source": readings.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "limits": {
            "open_files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "processes": resource.getrlimit(resource.RLIMIT_NPROC),
            "locked_memory_bytes": resource.getrlimit(resource.RLIMIT_MEMLOCK),
        },
        "sysctls": {name: readings.text(f"proc/sys/{name.replace('.', '/')}") for name in SYSCTLS},
    }


def _topology(readings: Readings) -> dict[str, dict[str, int | None]]:
    """Return of each CPU its core and its package, by the CPU's number."""
    folders = readings.matching("sys/devices/system/cpu/cpu[0-9]*/topology")
    return {
        folder.split("/")[-2].removeprefix("cpu"): {
            "core": readings.number(f"{folder}/core_id"),
            "package": readings.number(f"{folder}/physical_package_id"),
        }
        for folder in folders
    }


def _mitigations(readings: Readings) -> dict[str, str | None]:
    """Return what the kernel does against each vulnerability that these CPUs have."""
    by_name = {path.rpartition("/")[2]: readings.text(path) for path in readings.matching(VULNERABILITIES)}
    return {name: text for name, text in by_name.items() if text != "Not affected"}


def _is_virtual(readings: Readings) -> bool | None:
    flags = readings.field("proc/cpuinfo", "flags")
    return None if flags is None else "hypervisor" in flags.split()


def _operating_system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None

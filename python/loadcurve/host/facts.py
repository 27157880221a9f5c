"""What kind of machine this is, as far as it bears on the numbers."""

import os
import platform
import re
import resource
from importlib import metadata
from typing import Any

from loadcurve.host.readings import Readings

SYSCTLS = (
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "net.core.busy_poll",
    "net.core.default_qdisc",
    "net.core.somaxconn",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_linear_timeouts",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_synack_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "vm.overcommit_memory",
    "vm.swappiness",
)
"""Settings of the kernel that decide what connections meet."""

KERNEL_PARAMETERS = frozenset(
    {
        *("mitigations", "nopti", "pti", "spectre_v2", "retbleed", "nosmt", "maxcpus", "nosmp"),
        *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "irqaffinity", "threadirqs", "preempt"),
        *("idle", "processor.max_cstate", "intel_idle.max_cstate", "intel_pstate", "amd_pstate"),
        *(
            "cpufreq.default_governor",
            "clocksource",
            "tsc",
            "transparent_hugepage",
            "hugepages",
            "numa_balancing",
        ),
        *("cgroup_disable", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy", "psi", "audit"),
    }
)
"""Parameters of the kernel that decide how fast a machine is."""

VULNERABILITIES = "sys/devices/system/cpu/vulnerabilities/*"


def host_facts(readings: Readings | None = None) -> dict[str, Any]:
    """Return the facts by name; ``None`` where this machine does not publish one."""
    readings = Readings() if readings is None else readings
    return {
        "cpu_model": readings.field("proc/cpuinfo", "model name"),
        "cpu_has_aes": _has_aes(readings),
        "cpus": sorted(os.sched_getaffinity(0)),
        "cpu_topology": _topology(readings),
        "cpu_caches": _caches(readings),
        "cpu_governors": _governors(readings),
        "cpu_boost": _boost(readings),
        "simultaneous_multithreading": readings.text("sys/devices/system/cpu/smt/control"),
        "mitigations": _mitigations(readings),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "swap_bytes": _kib_in_bytes(readings.field("proc/meminfo", "SwapTotal")),
        "transparent_hugepages": readings.text("sys/kernel/mm/transparent_hugepage/enabled"),
        "architecture": platform.machine(),
        "virtual_machine": _is_virtual(readings),
        "machine_vendor": readings.text("sys/class/dmi/id/sys_vendor"),
        "machine_product": readings.text("sys/class/dmi/id/product_name"),
        "container": _container(readings),
        "kernel": platform.release(),
        "kernel_build": platform.version(),
        "kernel_parameters": _kernel_parameters(readings),
        "operating_system": _operating_system(),
        "python": platform.python_version(),
        "python_packages": _packages(),
        "clock_source": readings.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "limits": {
            "open_files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "processes": resource.getrlimit(resource.RLIMIT_NPROC),
            "locked_memory_bytes": resource.getrlimit(resource.RLIMIT_MEMLOCK),
        },
        "sysctls": {name: readings.text(f"proc/sys/{name.replace('.', '/')}") for name in SYSCTLS},
    }


def _topology(readings: Readings) -> dict[str, dict[str, int | None]]:
    """Return of each CPU its core, its package and its NUMA node, by the CPU's number."""
    nodes = {
        cpu: int(node.removeprefix("node"))
        for path in readings.matching("sys/devices/system/cpu/cpu[0-9]*/node[0-9]*")
        for cpu, node in [path.split("/")[-2:]]
    }
    folders = readings.matching("sys/devices/system/cpu/cpu[0-9]*/topology")
    return {
        folder.split("/")[-2].removeprefix("cpu"): {
            "core": readings.number(f"{folder}/core_id"),
            "package": readings.number(f"{folder}/physical_package_id"),
            "numa_node": nodes.get(folder.split("/")[-2]),
        }
        for folder in folders
    }


def _caches(readings: Readings) -> dict[str, str | None]:
    """Return the sizes of the first CPU's caches, as ``L1 Data`` or ``L3 Unified``."""
    folders = readings.matching("sys/devices/system/cpu/cpu0/cache/index[0-9]*")
    return {
        f"L{readings.text(f'{folder}/level')} {readings.text(f'{folder}/type')}": readings.text(
            f"{folder}/size"
        )
        for folder in folders
    }


def _governors(readings: Readings) -> list[str]:
    """Return the frequency governors in use; more than one if CPUs differ, none if the kernel shows none."""
    files = readings.matching("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    return sorted({governor for governor in map(readings.text, files) if governor is not None})


def _boost(readings: Readings) -> bool | None:
    """Say whether CPUs may run faster than their nominal frequency for a while."""
    boost = readings.number("sys/devices/system/cpu/cpufreq/boost")
    without_turbo = readings.number("sys/devices/system/cpu/intel_pstate/no_turbo")
    if boost is not None:
        return boost == 1
    return None if without_turbo is None else without_turbo == 0


def _kernel_parameters(readings: Readings) -> list[str]:
    """Return those words of the kernel's command line that bear on speed; others may be nobody's business."""
    words = (readings.text("proc/cmdline") or "").split()
    return [word for word in words if word.partition("=")[0] in KERNEL_PARAMETERS]


def _kib_in_bytes(text: str | None) -> int | None:
    return None if text is None else int(text.split()[0]) * 1024


def _container(readings: Readings) -> str | None:
    """Return the kind of container that this runs in, as its runtime reports; ``None`` where none does."""
    if reported := readings.text("run/systemd/container"):
        return reported
    files = {"docker": ".dockerenv", "podman": "run/.containerenv"}
    return next((kind for kind, file in files.items() if (readings.root / file).exists()), None)


_OF_REPORTS = re.compile(r"extra == ['\"]report['\"]")


def _packages() -> dict[str, str]:
    """Return the versions of the Python packages that Loadcurve depends on, those of its reports included."""
    requirements = metadata.requires("loadcurve") or []
    needed = [text for text in requirements if "extra ==" not in text or _OF_REPORTS.search(text)]
    names = [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in needed]
    versions = {name: _version(name) for name in sorted(names)}
    return {name: version for name, version in versions.items() if version is not None}


def _version(package: str) -> str | None:
    """Return the version of a package; ``None`` where it is not there, as on a machine of servers alone."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _mitigations(readings: Readings) -> dict[str, str | None]:
    """Return what the kernel does against each vulnerability that these CPUs have."""
    by_name = {path.rpartition("/")[2]: readings.text(path) for path in readings.matching(VULNERABILITIES)}
    return {name: text for name, text in by_name.items() if text != "Not affected"}


def _has_aes(readings: Readings) -> bool | None:
    """Say whether the processor has instructions for AES: among the flags of x86 and the features of Arm."""
    flags = readings.field("proc/cpuinfo", "flags") or readings.field("proc/cpuinfo", "Features")
    return None if flags is None else "aes" in flags.split()


def _is_virtual(readings: Readings) -> bool | None:
    flags = readings.field("proc/cpuinfo", "flags")
    return None if flags is None else "hypervisor" in flags.split()


def _operating_system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None

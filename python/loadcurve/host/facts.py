"""What kind of machine this is, as far as it bears on the numbers."""

import os
import platform
from pathlib import Path
from typing import Any


def host_facts() -> dict[str, Any]:
    """Return the facts by name; ``None`` where this machine does not tell one."""
    return {
        "cpu_model": _field(Path("/proc/cpuinfo"), "model name"),
        "cpus": sorted(os.sched_getaffinity(0)),
        "cpu_governor": _text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "architecture": platform.machine(),
        "virtual_machine": _is_virtual(),
        "kernel": platform.release(),
        "operating_system": _operating_system(),
        "python": platform.python_version(),
        "listen_backlog_maximum": _number(Path("/proc/sys/net/core/somaxconn")),
        "clock_source": _text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    }


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdecimal() else None


def _field(path: Path, name: str) -> str | None:
    """Return the first value of ``name`` in a file of ``name : value`` lines."""
    for line in (_text(path) or "").splitlines():
        key, separator, value = line.partition(":")
        if separator and key.strip() == name:
            return value.strip() or None
    return None


def _is_virtual() -> bool | None:
    flags = _field(Path("/proc/cpuinfo"), "flags")
    return None if flags is None else "hypervisor" in flags.split()


def _operating_system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None

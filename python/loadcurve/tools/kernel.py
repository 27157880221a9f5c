"""The machine's TCP counters around the load of a tool, as the engine reads them around its own."""

from pathlib import Path

from loadcurve.result.generator import Kernel

_FILES = {"Tcp": Path("/proc/self/net/snmp"), "TcpExt": Path("/proc/self/net/netstat")}
_COUNTERS = {
    "syn_retransmits": ("TcpExt", "TCPSynRetrans"),
    "retransmits": ("Tcp", "RetransSegs"),
    "listen_overflows": ("TcpExt", "ListenOverflows"),
    "listen_drops": ("TcpExt", "ListenDrops"),
    "delayed_acks": ("TcpExt", "DelayedACKs"),
}


def counters_now() -> dict[str, int | None]:
    """Return the counters of this network namespace; ``None`` for what the kernel does not publish."""
    groups = {group: _values(file, f"{group}:") for group, file in _FILES.items()}
    return {name: groups[group].get(counter) for name, (group, counter) in _COUNTERS.items()}


def increase(before: dict[str, int | None], after: dict[str, int | None]) -> Kernel:
    """Return how much each counter has grown."""
    grown = {
        name: None if (now := after[name]) is None or (then := before[name]) is None else max(now - then, 0)
        for name in _COUNTERS
    }
    return Kernel(**grown)


def _values(file: Path, group: str) -> dict[str, int]:
    try:
        lines = [
            line.split()[1:]
            for line in file.read_text(encoding="ascii").splitlines()
            if line.startswith(f"{group} ")
        ]
    except OSError:
        return {}
    return dict(zip(lines[0], map(int, lines[1]), strict=False)) if len(lines) > 1 else {}

"""Connections that the kernel tracks (nf_conntrack), as firewalls and programs that run containers ask."""

from dataclasses import dataclass

from loadcurve.host.readings import Readings

FILES = "proc/sys/net/netfilter/nf_conntrack"


@dataclass(frozen=True)
class TrackedConnections:
    """How full the table of tracked connections is; new connections find no place in a full one."""

    used: int
    size: int

    @property
    def share(self) -> float:
        """How much of it is used, between 0 and 1."""
        return self.used / self.size if self.size else 1.0


def tracked_connections(readings: Readings) -> TrackedConnections | None:
    """Return how full the table is; ``None`` where the kernel tracks no connections."""
    used, size = (readings.number(f"{FILES}_{what}") for what in ("count", "max"))
    return None if used is None or size is None else TrackedConnections(used, size)


def no_place_in_words(readings: Readings | None = None) -> str | None:
    """Say that the table is full and what to do; ``None`` where it has places, or does not exist."""
    table = tracked_connections(Readings() if readings is None else readings)
    if table is None or table.used < table.size:
        return None
    return (
        f"this machine's kernel tracks {table.used:,} connections and has no place for more, so that it "
        "drops the packets of new ones: wait 2 min, or enlarge net.netfilter.nf_conntrack_max"
    )

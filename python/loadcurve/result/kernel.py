"""What a machine's kernel counted of TCP during a load."""

from loadcurve.record import Count, Record


class Kernel(Record):
    """Increase of the machine's TCP counters over the load; ``None`` where the kernel does not publish it."""

    syn_retransmits: Count | None
    retransmits: Count | None
    listen_overflows: Count | None
    listen_drops: Count | None
    delayed_acks: Count | None = None
    """Acknowledgements that waited for a timer; records may lack it."""

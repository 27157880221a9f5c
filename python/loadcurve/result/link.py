"""The link between this machine and another one: what is known of it, and how full it was during a load.

``None`` means that the kernel does not publish it, or that it could not be read; never zero.
"""

from typing import Literal

from loadcurve.record import Count, Record, Time


class InterfaceRecord(Record):
    """The network interface by which one end of a link reaches the other."""

    name: str
    speed_bits_per_s: Count | None
    """Of the link in each direction; ``None`` where the driver knows none, such as for virtual interfaces."""
    speed_from: Literal["kernel", "study"] | None
    """Who says so: the driver, or ``link_speed`` in the machine's table."""
    mtu_bytes: Count | None
    driver: str | None
    offloads: dict[str, bool] | None
    """Which work it takes off the CPUs, by the names that ``ethtool -k`` has."""

    def with_given_speed(self, speed_bits_per_s: int | None) -> "InterfaceRecord":
        """Return the same with the speed that a study gives, where it gives one."""
        if speed_bits_per_s is None:
            return self
        return self.model_copy(update={"speed_bits_per_s": speed_bits_per_s, "speed_from": "study"})


class RoundTrip(Record):
    """How long a segment of TCP and its acknowledgement took, by the kernel, over some connections."""

    count: Count
    min: Time
    median: Time


class LinkRecord(Record):
    """A link: both of its ends, and the way between them."""

    here: InterfaceRecord | None
    """Of the machine that the command runs on."""
    there: InterfaceRecord | None
    round_trip_ms: RoundTrip | None
    """Before the run, while nothing was under load."""
    path_mtu_bytes: Count | None
    """The largest packet that is sent along the way, as far as it is known here."""


class InterfaceUse(Record):
    """What went through an interface in a load's window, whoever sent it, headers of the link included."""

    received_bytes_per_s: Time
    sent_bytes_per_s: Time


class LinkUse(Record):
    """The same of both ends of a link."""

    here: InterfaceUse | None
    there: InterfaceUse | None


class InterfaceInLoad(Record):
    """The interface by which a load machine reaches what it loads, and what went through it in the window."""

    interface: InterfaceRecord
    use: InterfaceUse | None

"""The link between the machines is the limit: as many bytes go over it as it carries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.link import InterfaceRecord, InterfaceUse
from loadcurve.result.records import PointRecord
from loadcurve.units import BITS_PER_MBIT, rounded

SATURATED_SHARE = 0.9
MISJUDGED_SHARE = 1.1
"""A link that carries more than its speed has another one than was said, like machines that may burst."""
BITS_PER_BYTE = 8

CODE = FindingCode(
    "link_saturated",
    title="The link between the machines was saturated",
    seen_where="the interface that connects the server's machine, this one or a load machine with the other "
    "side carried, in one direction over the window, 90 % of its link's speed; only if that speed is known, "
    "from the interface's driver or from `link_speed` in the machine's table, and not if more than 110 "
    "% of it was carried",
    because="at 90 % utilisation a packet waits nine times as long as it takes to send it (M/M/1), and TCP "
    "gets little more out of a link; a link that carries more than its known speed has another one",
)

Direction = Literal["sent", "received"]


@dataclass(frozen=True, slots=True)
class Filled:
    """The fullest direction of an end of the link."""

    end: str
    """Whose interface it is, in words."""
    interface: str
    direction: Direction
    bits_per_s: float
    speed_bits_per_s: int
    speed_from: str | None
    retransmits: int | None
    """By the kernel of the machine that sent."""

    @property
    def share(self) -> float:
        """The part of its speed that was used."""
        return self.bits_per_s / self.speed_bits_per_s


def find(subject: Subject) -> list[Finding]:
    """Find windows in which an interface between the machines was as full as it can be."""
    observations = [
        Observation(record, fullest)
        for record in subject.records
        if (fullest := max(_filled(subject, record), key=lambda one: one.share, default=None)) is not None
        and fullest.share >= SATURATED_SHARE
    ]
    return merged(CODE, subject, observations, _explain)


def _filled(subject: Subject, record: PointRecord) -> Iterator[Filled]:
    """Yield how full each direction of each end was, as far as that is known and can be."""
    yield from _of_server_machine(subject, record)
    for part in record.load.machines.parts if record.load.machines is not None else ():
        if part.link is not None:
            sent_again = None if part.kernel is None else part.kernel.retransmits
            yield from _of_end(
                f"machine {part.machine}", part.link.interface, part.link.use, sending=sent_again
            )


def _of_server_machine(subject: Subject, record: PointRecord) -> Iterator[Filled]:
    name = subject.server.server_machine
    other = None if name is None else subject.run.machines.get(name)
    if other is None or other.link is None or record.probe.link is None:
        return
    here, there, use = other.link.here, other.link.there, record.probe.link
    # Of all machines that sent the load; of this one it is known where the load is this one's alone.
    load = record.load.kernel.retransmits
    kernel_here = load if record.load.machines is None else None
    kernel_there = None if record.probe.tcp is None else record.probe.tcp.retransmits
    # What one end receives the other one has sent, so that each direction has one that sends again.
    yield from _of_end("this machine", here, use.here, sending=kernel_here, receiving=kernel_there)
    yield from _of_end(f"machine {name}", there, use.there, sending=kernel_there, receiving=load)


def _of_end(
    end: str,
    interface: InterfaceRecord | None,
    use: InterfaceUse | None,
    *,
    sending: int | None = None,
    receiving: int | None = None,
) -> Iterator[Filled]:
    # A link without any speed is one whose speed is not known.
    if interface is None or not interface.speed_bits_per_s or use is None:
        return
    directions: Sequence[tuple[Direction, float, int | None]] = (
        ("sent", use.sent_bytes_per_s, sending),
        ("received", use.received_bytes_per_s, receiving),
    )
    found = [
        Filled(
            end,
            interface.name,
            direction,
            bytes_per_s * BITS_PER_BYTE,
            interface.speed_bits_per_s,
            interface.speed_from,
            retransmits,
        )
        for direction, bytes_per_s, retransmits in directions
    ]
    if all(one.share <= MISJUDGED_SHARE for one in found):
        yield from found


def _explain(subject: Subject, seen: Sequence[Observation[Filled]]) -> Explanation:
    details = [one.detail for one in seen]
    worst = max(details, key=lambda one: one.share)
    speed_mbit_per_s = worst.speed_bits_per_s / BITS_PER_MBIT
    source = "as set by link_speed" if worst.speed_from == "study" else "as reported by its driver"
    load = subject.load
    return Explanation(
        weight="invalidates",
        certainty="shown",
        seen=f"{worst.end[:1].upper()}{worst.end[1:]} {worst.direction} "
        f"{rounded(worst.bits_per_s / BITS_PER_MBIT)} Mbit/s on {worst.interface}, "
        f"{rounded(100 * worst.share)} % of the {rounded(speed_mbit_per_s)} Mbit/s of its link, {source}.",
        evidence=[
            *ranged("used share of the link's speed", "share", [one.share for one in details]),
            *ranged("traffic over the link", "Mbit/s", [one.bits_per_s / BITS_PER_MBIT for one in details]),
            *ranged("the link's speed", "Mbit/s", [one.speed_bits_per_s / BITS_PER_MBIT for one in details]),
            *ranged("segments retransmitted in that direction", "", [one.retransmits for one in details]),
            *ranged("throughput", load.per_second, [one.record.load.rate_rps.answered for one in seen]),
        ],
        cause=f"The link had reached its speed: a faster server would have given the same figures, and "
        f"{load.requests} waited for the link as well as for the server.",
        advice="Use a faster link between the machines, smaller or compressed answers, or a lower load; do "
        "not rank servers by these points.",
        briefly="the link between the machines was full",
    )


RULE = Rule(20, find, CODE)

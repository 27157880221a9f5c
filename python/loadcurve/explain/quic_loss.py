"""Packets of QUIC that were lost, or late."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "quic_loss",
    title="Packets of QUIC were lost or late",
    seen_where="over HTTP/3, at least 20 packets of the load, and at least 0.5 % of them, were found lost: "
    "shown if the kernel dropped at least half as many at the server, likely otherwise",
    because="what was in a lost packet is sent again one round trip or a timeout later, and the sender "
    "slows down",
)

LOST_MIN = 20
SHARE_MIN = 0.005
EXPLAINED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Lost:
    """The packets of one record."""

    sent: int
    lost: int
    dropped: int | None
    """At the server, as far as known."""

    @property
    def is_explained(self) -> bool:
        """Whether the server's full buffer is where they went."""
        return (self.dropped or 0) >= EXPLAINED_SHARE * self.lost


def _lost(record: PointRecord) -> Lost | None:
    http3 = record.load.http3
    if http3 is None:
        return None
    sent, lost = http3.packets.sent, http3.packets.lost
    is_much = lost >= LOST_MIN and lost >= SHARE_MIN * sent
    return Lost(sent, lost, http3.dropped.by_server) if is_much else None


def _explain(subject: Subject, seen: Sequence[Observation[Lost]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.lost)
    is_shown = all(one.is_explained for one in details)
    return Explanation(
        weight="explains" if is_shown else "distorts",
        certainty="shown" if is_shown else "likely",
        seen=f"Up to {most.lost:,} of {most.sent:,} packets to {subject.name} were found lost.",
        evidence=[
            *ranged("packets lost", "", [one.lost for one in details]),
            *ranged("share of those sent", "share", [one.lost / one.sent for one in details if one.sent]),
            *ranged("datagrams dropped at the server", "", [one.dropped for one in details]),
            *ranged("mean round trip", "ms", [_rtt_ms(one.record) for one in seen]),
        ],
        cause="The server's receive buffer was full, so that the kernel dropped them."
        if is_shown
        else "The way or the server lost them, or they were acknowledged so late that they only seemed lost.",
        advice="Raise the server's receive buffer; see the finding about it."
        if is_shown
        else "Look for loss on the way. On one machine nothing is lost there: then a server that takes long "
        "for a turn acknowledges late, or discards what it does not expect.",
        briefly="its full UDP buffer lost packets" if is_shown else None,
    )


def _rtt_ms(record: PointRecord) -> float | None:
    return None if record.load.http3 is None else record.load.http3.rtt_smoothed_ms.mean


RULE = Rule.of_records(156, CODE, _lost, _explain)

"""Requests that were to leave before the handshake, where the server accepted few of them, or not one."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.loads.record import HttpAsRun
from loadcurve.result.records import PointRecord
from loadcurve.units import whole_percent

CODE = FindingCode(
    "early_data_not_accepted",
    title="Less early data was accepted than the load asked for",
    seen_where="over HTTP/3, of at least 20 handshakes that offered to resume a session, the share of those "
    "with accepted early data was more than 5 points below the one that was asked for",
    because="a request that is not accepted early waits for the handshake, and is then sent again",
)

LEAST_HANDSHAKES = 20
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Early:
    """The handshakes of one record that resumed a session, or offered to and sent early data."""

    asked: float
    accepted: int
    refused: int
    without: int
    """How many had no early data."""

    @property
    def total(self) -> int:
        """How many there were."""
        return self.accepted + self.refused + self.without


def _early(record: PointRecord) -> Early | None:
    http3, load = record.load.http3, record.load.load
    if http3 is None or not isinstance(load, HttpAsRun):
        return None
    times = http3.handshakes_ms
    counts = (times.early_accepted, times.early_rejected, times.resumed)
    early = Early(load.early_data, *(one.known_count for one in counts))
    is_reached = early.accepted >= (early.asked - TOLERANCE) * early.total
    return None if early.total < LEAST_HANDSHAKES or is_reached else early


def _explain(subject: Subject, seen: Sequence[Observation[Early]]) -> Explanation:
    details = [one.detail for one in seen]
    worst = max(details, key=lambda one: one.asked - one.accepted / one.total)
    if worst.refused >= worst.total * worst.asked - worst.accepted - worst.refused:
        cause = "The server refused early data that its tickets allow: it may remember none, no longer know "
        cause += "the session, or share tickets among processes that do not accept each other's early data."
    else:
        cause = "The tickets of the server allow no early data, or no request was due when the connections "
        cause += "were opened."
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"{subject.name} accepted early data in {worst.accepted:,} of {worst.total:,} handshakes that "
        f"offered to resume a session; the load asked for it in {whole_percent(worst.asked)} of them. "
        f"It refused {worst.refused:,}.",
        evidence=[
            *ranged("share that was asked for", "share", [one.asked for one in details]),
            *ranged("handshakes with accepted early data", "", [one.accepted for one in details]),
            *ranged("handshakes with refused early data", "", [one.refused for one in details]),
            *ranged("handshakes without early data", "", [one.without for one in details]),
        ],
        cause=cause,
        advice="Turn on early data in the server's configuration, or compare servers at early_data = 0.",
    )


RULE = Rule.of_records(191, CODE, _early, _explain)

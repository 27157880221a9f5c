"""TLS sessions that were not resumed although the load asked for it: how many, and which end had none."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Certainty, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.loads.record import HttpAsRun
from loadcurve.result.records import PointRecord
from loadcurve.units import whole_percent

CODE = FindingCode(
    "not_resumed",
    title="TLS sessions were not resumed",
    seen_where="of at least 20 handshakes in the window, the share of full ones was more than 5 points above "
    "the one that was asked for",
    because="offered sessions that the server refused are counted, and so are connections for which none was "
    "left; in TLS 1.3 a ticket is used once, so a server that sends none on a resumed connection ends a "
    "chain of sessions",
)

LEAST_HANDSHAKES = 20
TOLERANCE = 0.05


_COMPARE = (
    "Compare servers at a full_handshakes that all of them reach, or with TLS 1.2 (versions in tls), whose "
    "sessions can be resumed repeatedly."
)


@dataclass(frozen=True, slots=True)
class Resuming:
    """The handshakes of one record, of which more were full than was asked for."""

    asked: float
    full: int
    resumed: int
    refused: int | None
    """How many of the full ones offered a session; ``None`` in records of earlier versions."""
    processes: int
    is_early: bool
    """Whether requests were to leave early, so that connections may end before a ticket comes."""

    @property
    def total(self) -> int:
        """How many there were."""
        return self.full + self.resumed

    @property
    def share(self) -> float:
        """Which part of them was full."""
        return self.full / self.total

    @property
    def to_resume(self) -> int:
        """How many were to resume a session."""
        return round((1.0 - self.asked) * self.total)

    @property
    def without_session(self) -> int | None:
        """How many were to resume a session and had none."""
        return None if self.refused is None else max(0, self.to_resume - self.resumed - self.refused)


def _resuming(record: PointRecord) -> Resuming | None:
    tls, load = record.load.tls, record.load.load
    if tls is None:
        return None
    used = record.probe.server
    processes = 1 if used is None or used.processes is None else used.processes.min
    if (measured := tls.measured) is not None:
        full, resumed, refused = (
            measured.full_ms.known_count,
            measured.resumed_ms.known_count,
            measured.refused,
        )
    else:
        # As many connections as are open at once find no session at the start.
        full = max(0, tls.handshakes.full - (load.connections or 0))
        resumed, refused = tls.handshakes.resumed, None
    total = full + resumed
    if total < LEAST_HANDSHAKES or full <= (load.full_handshakes + TOLERANCE) * total:
        return None
    is_early = isinstance(load, HttpAsRun) and load.early_data > 0
    return Resuming(load.full_handshakes, full, resumed, refused, processes, is_early)


@dataclass(frozen=True, slots=True)
class _Cause:
    """What counts leave possible, and what to do."""

    certainty: Certainty
    text: str
    advice: str


def _explain(subject: Subject, seen: Sequence[Observation[Resuming]]) -> Explanation:
    details = [one.detail for one in seen]
    worst = max(details, key=lambda detail: detail.share - detail.asked)
    cause = _cause(worst)
    counts = {
        "offered sessions were refused": worst.refused,
        "connections had no session to offer": worst.without_session,
    }
    counted = " and ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return Explanation(
        weight="explains",
        certainty=cause.certainty,
        seen=f"{subject.name} resumed {worst.resumed:,} of the {worst.to_resume:,} TLS sessions that the "
        f"load was to resume, so {whole_percent(worst.share)} of the handshakes were full instead of "
        f"{whole_percent(worst.asked)}{': ' if counted else ''}{counted}.",
        evidence=[
            *ranged("share of full handshakes", "share", [detail.share for detail in details]),
            *ranged("share that was asked for", "share", [detail.asked for detail in details]),
            *ranged("full handshakes", "", [detail.full for detail in details]),
            *ranged("resumed handshakes", "", [detail.resumed for detail in details]),
            *ranged("sessions offered and refused", "", [detail.refused for detail in details]),
            *ranged("connections without a session", "", [detail.without_session for detail in details]),
        ],
        cause=cause.text,
        advice=cause.advice,
    )


def _cause(worst: Resuming) -> _Cause:
    if worst.refused is None or worst.without_session is None:
        return _Cause(
            "likely" if worst.resumed else "shown",
            text="The server issued no tickets and keeps no sessions, or fewer than the connections require: "
            "a TLS 1.3 ticket is used once, and not every server issues a new one on each connection.",
            advice="Turn on session tickets or a session cache in the server's configuration. If it resumes "
            "only some, compare TLS 1.2 (versions in tls), whose tickets can be used repeatedly.",
        )
    if worst.without_session > worst.refused:
        return _without_session(worst)
    if worst.processes > 1:
        return _Cause(
            "likely",
            text=f"The server has {worst.processes} processes. Unless they share ticket keys or a store of "
            "sessions, each knows only the sessions that it began itself, one of "
            f"{worst.processes} if connections are spread evenly; a shared store may also be too small.",
            advice=f"Give all processes the same ticket keys, or a shared store of sessions. {_COMPARE}",
        )
    return _Cause(
        "likely",
        text="The server no longer knew the sessions, although the load offers the newest first: its store "
        "keeps fewer than there are connections at once, or it forgets them soon, as where its ticket keys "
        "change.",
        advice=f"Enlarge the store of sessions, or turn on tickets instead. {_COMPARE}",
    )


def _without_session(worst: Resuming) -> _Cause:
    if not worst.resumed and not worst.refused:
        return _Cause(
            "shown",
            text="The server sent no session ticket before the connections ended, and named no session.",
            advice="Turn on session tickets or a session cache in the server's configuration.",
        )
    if worst.is_early:
        return _Cause(
            "likely",
            text="A connection that ends with the answer to an early request has ended before the server "
            "sends its next ticket, and in TLS 1.3 each ticket is used once.",
            advice="Make more calls on each connection (calls): only the first one is early.",
        )
    return _Cause(
        "shown",
        text="The server does not send a ticket on every connection: in TLS 1.3 each is used once, and "
        "servers such as lighttpd, h2o and Node.js send none on a connection that resumes a session. When "
        "the tickets of a full handshake are used up, the next handshake is full: "
        f"{worst.resumed / worst.full:.2g} were resumed for each full one.",
        advice=_COMPARE,
    )


RULE = Rule.of_records(190, CODE, _resuming, _explain)

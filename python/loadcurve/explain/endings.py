"""When a server ends connections: what findings on their ends have in common."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadcurve.explain.finding import Certainty, Evidence, ranged
from loadcurve.result.http3 import NumberRange
from loadcurve.result.load import AnswersEach, EndedByServer, LoadResult

ENDED_MIN = 5
"""Fewer may be accidents at the end of a load."""
NEAR_CONSTANT = 1.1
"""The greatest number of answers before a close, in parts of the least, up to which a limit explains it: some
servers count requests that are under way, too."""
IDLE_LEAST_S = 0.1
"""A server that closes connections after their first answer does it at once, or within a round trip."""
IDLE_SHARE = 0.1
"""Of a connection's life, what it was idle for before its end; less may be of how latencies differ."""


@dataclass(frozen=True, slots=True)
class IdleEnds:
    """Connections that ended because they were idle while their clients waited to make another request."""

    certainty: Certainty
    timeout: str
    """For how long they were: as the server announced it, or about as it was seen."""
    think_s: float

    @property
    def cause(self) -> str:
        """Why they ended, as a sentence without its end."""
        meanwhile = (
            f"the clients think for {self.think_s:g} s between requests"
            if self.think_s
            else "the requests on a connection were further apart"
        )
        return f"The server ends connections that are idle for {self.timeout}, and {meanwhile}"

    @property
    def advice(self) -> str:
        """What to do about it, likewise."""
        instead = "shorten the clients' think time" if self.think_s else "use fewer connections"
        return f"Raise the server's idle timeout, or {instead}"


def idle_ends(load: LoadResult) -> IdleEnds | None:
    """Return how most of the connections that the server ended did so for being idle; ``None`` otherwise.

    Over QUIC both sides know it. Over TCP the time tells it from an end after the first answer, which comes
    at once: the connection was open for longer, while its client was still thinking.
    """
    think_s = load.load.think_s
    if load.http3 is not None:
        ends = load.http3.ends
        # Where a request was under way, the server was silent rather than the connection idle.
        idle = ends.idle_timeouts - (load.errors["quic_idle_timeout"] or 0)
        if 2 * idle <= ends.of_all:
            return None
        announced = ends.server_idle_timeout_ms
        timeout = "longer than it allows" if announced is None else f"{_seconds(announced)} (announced)"
        return IdleEnds("shown", timeout, think_s)
    connections, latency_ms = load.connections, load.latency_ms.p50
    lifetime_ms = connections.lifetime_ms.p50 if connections.lifetime_ms else None
    carried_one = (connections.replies_per_connection or 0) <= 1
    if not think_s or not carried_one or lifetime_ms is None or latency_ms is None:
        return None
    idle_s = (lifetime_ms - latency_ms) / 1000
    if not max(IDLE_LEAST_S, IDLE_SHARE * lifetime_ms / 1000) <= idle_s <= think_s:
        return None
    return IdleEnds("likely", f"about {idle_s:.2g} s", think_s)


def _seconds(times_ms: NumberRange) -> str:
    bounds = dict.fromkeys(f"{ms / 1000:g}" for ms in (times_ms.min, times_ms.max))
    return f"{' to '.join(bounds)} s"


@dataclass(frozen=True, slots=True)
class ConstantAnswers:
    """After how many answers the server closes each connection, where it is always about the same number."""

    certainty: Certainty
    answers: int

    def __str__(self) -> str:
        """Return the number for a sentence."""
        return f"{'exactly' if self.certainty == 'shown' else 'about'} {self.answers:,} answers"


def constant_answers(ended: EndedByServer) -> ConstantAnswers | None:
    """Return after how many answers each was closed; ``None`` where the numbers differ, or are few."""
    answers = ended.answers
    if answers is None or ended.count < ENDED_MIN or answers.max > NEAR_CONSTANT * answers.min:
        return None
    return ConstantAnswers("shown" if answers.min == answers.max else "likely", round(answers.mean))


def together(ended: Iterable[EndedByServer | None]) -> EndedByServer | None:
    """Return the ends of several loads as those of one; ``None`` where none were counted in any."""
    counted = [one for one in ended if one is not None and one.count > 0]
    known = [(one.count, one.answers) for one in counted if one.answers is not None]
    if not known:
        return None
    count = sum(ends for ends, _ in known)
    answers = AnswersEach(
        min=min(one.min for _, one in known),
        mean=sum(ends * one.mean for ends, one in known) / count,
        max=max(one.max for _, one in known),
    )
    return EndedByServer(count=count, answers=answers)


def answers_evidence(ended: Iterable[EndedByServer | None]) -> list[Evidence]:
    """Return the least and the greatest number of answers before a close, as far as they are known."""
    known = [one.answers for one in ended if one is not None and one.answers is not None]
    return [
        *ranged("fewest answers before a close", "", [one.min for one in known]),
        *ranged("most answers before a close", "", [one.max for one in known]),
    ]

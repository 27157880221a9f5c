"""After how many answers a server ends connections: what findings on ends of connections have in common."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadcurve.explain.finding import Certainty, Evidence, ranged
from loadcurve.result.load import AnswersEach, EndedByServer

ENDED_MIN = 5
"""Fewer may be accidents at the end of a load."""
NEAR_CONSTANT = 1.1
"""The greatest number of answers before a close, in parts of the least, up to which a limit explains it: some
servers count requests that are under way, too."""


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

"""Why points are not valid, what is noted of them, and why trials failed: those of one kind together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcurve.analysis.curves import VerdictStatus
from loadcurve.errors import sentence
from loadcurve.report import text
from loadcurve.report.findings import points as points_in_words
from loadcurve.result.folder import Run
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import FailureRecord, PointRecord
from loadcurve.result.verdict import Reason


@dataclass(frozen=True, slots=True)
class Remark:
    """One kind of reason that some of a server's points are not valid, or one kind of note on them."""

    server: str
    status: VerdictStatus | None
    """``None`` of a note, which casts no doubt on a point."""
    where: str
    """The range of the points, in words."""
    count: int
    """In how many points of trials it was so."""
    place: int
    """The place of the point of the example in the list of all points."""
    trial: int
    """The trial of the example."""
    example: str
    """The reason or note as one of them has it."""


@dataclass(frozen=True, slots=True)
class FailedTrials:
    """Trials of a server that failed for one reason at one place."""

    server: str
    trials: str
    """Which trials, in words."""
    where: str
    """The point in words, with its preposition."""
    reason: str
    log_tail: str
    """The end of the server's log in the last of them."""


def failed_trials(run: Run) -> list[FailedTrials]:
    """Return what failed by server, place and reason: a server that never starts is one, not one a trial."""
    groups: dict[tuple[str, str, str], list[FailureRecord]] = {}
    for failure in run.failures:
        key = (failure.server, text.at_point(failure.point), failure.reason.text)
        groups.setdefault(key, []).append(failure)
    return [
        FailedTrials(
            server=server,
            trials=f"trial{'' if len(found) == 1 else 's'} {text.listing(str(one.trial) for one in found)}",
            where=where,
            reason=reason,
            log_tail=found[-1].log_tail,
        )
        for (server, where, reason), found in groups.items()
    ]


def remarks(run: Run) -> list[Remark]:
    """Return the reasons by server, verdict and kind: a run has as many as kinds, however long it was.

    The example is the last of those at the highest load, where most things are worst.
    """
    return _grouped(
        run,
        (
            (record, record.load.verdict.status, reason)
            for record in run.points
            for reason in record.load.verdict.reasons
        ),
    )


def main_reason(found: Sequence[Remark]) -> str:
    """Give the most frequent of one server's reasons in a sentence."""
    often = max(found, key=lambda one: one.count)
    return sentence(f"The most frequent reason, of {often.server} at {often.where}: {often.example}")


def notes(run: Run) -> list[Remark]:
    """Return what is noted of points without any doubt, by server and kind, as :func:`remarks`."""
    return _grouped(
        run, ((record, None, note) for record in run.points for note in record.load.verdict.notes)
    )


def _grouped(run: Run, said: Iterable[tuple[PointRecord, VerdictStatus | None, Reason]]) -> list[Remark]:
    places = {point_key(point): place for place, point in enumerate(run.sweep_points)}
    groups: dict[tuple[str, VerdictStatus | None, str], list[tuple[PointRecord, str]]] = {}
    for record, status, reason in said:
        groups.setdefault((record.server, status, reason.code), []).append((record, reason.text))
    return [_remark(server, status, found, places) for (server, status, _), found in groups.items()]


def _remark(
    server: str,
    status: VerdictStatus | None,
    found: Sequence[tuple[PointRecord, str]],
    places: dict[PointKey, int],
) -> Remark:
    in_order = sorted(found, key=lambda pair: places.get(point_key(pair[0].point), 0))
    record, example = in_order[-1]
    return Remark(
        server=server,
        status=status,
        where=points_in_words([one.point for one, _ in in_order]),
        count=len(found),
        place=places.get(point_key(record.point), 0),
        trial=record.trial,
        example=example,
    )

"""Why points are not valid, what is noted of them, and why trials failed: those of one kind together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcurve.analysis.curves import VerdictStatus
from loadcurve.analysis.reasons import Kind, grouped_reasons, verdict_reasons
from loadcurve.report import text
from loadcurve.report.alike import grouped_alike
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.markdown import escaped, listed
from loadcurve.report.section import Report, Section
from loadcurve.result.folder import Run
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import FailureRecord, PointRecord


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


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that must be known of servers, each with the number of its points."""

    text: str
    points: dict[str, int]
    """By server."""


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
    return _worded(run, verdict_reasons(run))


def notes(run: Run) -> list[Remark]:
    """Return what is noted of points without any doubt, by server and kind, as :func:`remarks`."""
    noted = ((record, None, note) for record in run.points for note in record.load.verdict.notes)
    return _worded(run, grouped_reasons(run, noted))


def _worded(run: Run, groups: Mapping[Kind, Sequence[tuple[PointRecord, str]]]) -> list[Remark]:
    places = run.places()
    return [_remark(server, status, found, places) for (server, status, _), found in groups.items()]


def _remark(
    server: str,
    status: VerdictStatus | None,
    found: Sequence[tuple[PointRecord, str]],
    places: dict[PointKey, int],
) -> Remark:
    record, example = found[-1]
    return Remark(
        server=server,
        status=status,
        where=points_in_words([one.point for one, _ in found]),
        count=len(found),
        place=places.get(point_key(record.point), 0),
        trial=record.trial,
        example=example,
    )


def _caveats(run: Run) -> list[Caveat]:
    """Return what must be known of servers, each once however its numbers differ between points."""
    found: dict[str, Counter[str]] = {}
    for point in run.points:
        for caveat in point.caveats:
            found.setdefault(caveat.text, Counter())[point.server] += 1
    merged = grouped_alike(found)
    return [
        Caveat(said, dict(sum((found[text] for text in texts), Counter[str]())))
        for said, texts in merged.items()
    ]


def _notes_in_markdown(_report: Report, found: Sequence[Remark]) -> Iterable[str]:
    items = [
        escaped(f"{note.server}, {note.where}, {text.plural(note.count, 'time')}: {note.example}.")
        for note in found
    ]
    return ["### Notes on points", *listed(items)]


def _failures_in_markdown(_report: Report, found: Sequence[FailedTrials]) -> Iterable[str]:
    items = [
        escaped(f"{failure.server}, {failure.trials}, {failure.where}: {failure.reason}") for failure in found
    ]
    return ["### Trials that failed", *listed(items)]


RUN_CAVEATS: Section[list[str]] = Section(
    "run_caveats",
    "what must be known of the run",
    lambda report: [*grouped_alike(one.text for one in report.run.run.caveats)],
    [],
)
CAVEATS: Section[list[Caveat]] = Section(
    "caveats", "what must be known of servers", lambda report: _caveats(report.run), []
)
VERDICTS: Section[list[Remark]] = Section(
    "remarks", "the reasons of verdicts", lambda report: remarks(report.run), [], page="verdicts"
)
NOTES: Section[list[Remark]] = Section(
    "notes",
    "the notes on points",
    lambda report: notes(report.run),
    [],
    page="notes",
    markdown=_notes_in_markdown,
)
FAILURES: Section[list[FailedTrials]] = Section(
    "failures",
    "the trials that failed",
    lambda report: failed_trials(report.run),
    [],
    page="failures",
    markdown=_failures_in_markdown,
)

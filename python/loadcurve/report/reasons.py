"""Why points are not valid, what is noted of them, and why trials failed: those of one kind together."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcurve import units
from loadcurve.analysis.curves import VerdictStatus
from loadcurve.analysis.reasons import Kind, grouped_reasons, verdict_reasons
from loadcurve.report import text
from loadcurve.report.column import NO_TABLE, Column, Tabulated
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.markdown import escaped, listed
from loadcurve.report.section import Report, Section
from loadcurve.result.folder import Run
from loadcurve.result.measures import point_key
from loadcurve.result.records import FailureRecord, PointRecord

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_NUMBERS = re.compile(
    # A list of things by number, such as ``process 12, process 15 and process 99``, or a number by itself.
    rf"(?<![A-Za-z])(?P<word>[A-Za-z]+) {_NUMBER}(?:(?:, | and )(?P=word) {_NUMBER})+(?!\w|[.,]\d)"
    rf"|(?<![\w.,]){_NUMBER}(?!\w|[.,]\d)"
)


def grouped_alike(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return texts by what they have in common: each with those that differ from it in numbers alone.

    The key is the one text that stands for all: a number that differs is a range, and of things that are
    listed by their numbers, such as processes, it says how many there were in all.
    """
    groups: dict[str, list[str]] = {}
    for one in dict.fromkeys(texts):
        skeleton = _NUMBERS.sub(lambda found: f"{found['word']} #" if found["word"] else "#", one)
        groups.setdefault(skeleton, []).append(one)
    return {_merged(group): group for group in groups.values()}


def _merged(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    found = [list(_NUMBERS.finditer(text)) for text in texts]
    # A thing by its number and a list of several are alike, and the list has the words for many.
    fullest = max(range(len(texts)), key=lambda place: sum(one["word"] is not None for one in found[place]))
    ranges = map(_range, zip(found[fullest], zip(*found, strict=True), strict=True))
    return _NUMBERS.sub(lambda _: next(ranges), texts[fullest])


def _range(place: tuple[re.Match[str], Sequence[re.Match[str]]]) -> str:
    """Return the range of the numbers that texts have at one place, in the form of the first."""
    form, found = place
    every = sorted({number for one in found for number in re.findall(_NUMBER, one[0])}, key=_value)
    ends = every[0] if len(every) == 1 else f"{every[0]} to {every[-1]}"
    return ends if form["word"] is None else f"{form['word']} {ends}, {len(every)} in all"


def _value(number: str) -> float:
    return float(number.replace(",", ""))


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
    """Trials of servers that failed for one reason at one place."""

    servers: tuple[str, ...]
    """Several, such as one application with 1, 2 and 4 workers, where the reasons differ in numbers alone."""
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
    """Return what failed by place and reason: a server that never starts is one, not one a trial.

    Servers whose reasons and logs differ in numbers alone, such as ports and workers, are one as well.
    """
    reasons, logs = (
        {one: merged for merged, alike in grouped_alike(texts).items() for one in alike}
        for texts in (
            [failure.reason.text for failure in run.failures],
            [failure.log_tail for failure in run.failures],
        )
    )
    by_server: dict[tuple[str, str, str], list[FailureRecord]] = {}
    for failure in run.failures:
        key = (failure.server, text.at_point(failure.point), reasons[failure.reason.text])
        by_server.setdefault(key, []).append(failure)
    groups: dict[tuple[str, str, str], list[FailureRecord]] = {}
    for (_, where, reason), found in by_server.items():
        groups.setdefault((where, reason, logs[found[-1].log_tail]), []).extend(found)
    return [
        FailedTrials(
            servers=tuple(dict.fromkeys(one.server for one in found)),
            trials=_trials(sorted({one.trial for one in found})),
            where=where,
            reason=reason,
            log_tail=found[-1].log_tail,
        )
        for (where, reason, _), found in groups.items()
    ]


def _trials(numbers: Sequence[int]) -> str:
    return f"trial{'' if len(numbers) == 1 else 's'} {units.listing(map(str, numbers))}"


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
    return [_remark(run, server, status, found) for (server, status, _), found in groups.items()]


def _remark(
    run: Run, server: str, status: VerdictStatus | None, found: Sequence[tuple[PointRecord, str]]
) -> Remark:
    record, example = found[-1]
    return Remark(
        server=server,
        status=status,
        where=points_in_words([one.point for one, _ in found], run.sweep_points),
        count=len(found),
        place=run.places().get(point_key(record.point), 0),
        trial=record.trial,
        example=example,
    )


def _table(last: str, found: Sequence[Remark]) -> Tabulated[Remark]:
    """Return the table of reasons or notes, which ``last`` names."""
    is_doubt = any(one.status for one in found)
    columns: list[Column[Remark]] = [
        Column("server", lambda one: one.server, on_page="server"),
        *([Column[Remark]("verdict", lambda one: str(one.status), on_page="verdict")] if is_doubt else []),
        Column("where", lambda one: one.where, on_page="words"),
        Column("times", lambda one: f"{one.count:,}"),
        Column("example", lambda one: f"trial {one.trial}", on_page="trial"),
        Column(last, lambda one: one.example, on_page="prose"),
    ]
    return Tabulated(columns, found)


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


def _notes_in_markdown(_report: Report, found: Tabulated[Remark]) -> Iterable[str]:
    items = [
        escaped(f"{note.server}, {note.where}, {units.plural(note.count, 'time')}: {note.example}.")
        for note in found.rows
    ]
    return listed(items)


def _failures_in_markdown(_report: Report, found: Sequence[FailedTrials]) -> Iterable[str]:
    items = [
        escaped(f"{units.listing(failure.servers)}, {failure.trials}, {failure.where}: {failure.reason}")
        for failure in found
    ]
    return listed(items)


RUN_CAVEATS: Section[list[str]] = Section(
    "run_caveats",
    "what must be known of the run",
    lambda report: [*grouped_alike(one.text for one in report.run.run.caveats)],
    [],
)
CAVEATS: Section[list[Caveat]] = Section(
    "caveats", "what must be known of servers", lambda report: _caveats(report.run), []
)
VERDICTS: Section[Tabulated[Remark]] = Section(
    "remarks",
    "the reasons of verdicts",
    lambda report: _table("reason", remarks(report.run)),
    NO_TABLE,
    page="verdicts",
    heading="Why some points are not valid",
)
NOTES: Section[Tabulated[Remark]] = Section(
    "notes",
    "the notes on points",
    lambda report: _table("note", notes(report.run)),
    NO_TABLE,
    page="notes",
    markdown=_notes_in_markdown,
    heading="Notes on points",
)
FAILURES: Section[list[FailedTrials]] = Section(
    "failures",
    "the trials that failed",
    lambda report: failed_trials(report.run),
    [],
    page="failures",
    markdown=_failures_in_markdown,
    heading="Trials that failed",
)

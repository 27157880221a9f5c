"""The summary of a run that a list of runs shows, with its answer in one sentence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.report import shape_words, text
from loadcurve.report.answer import ranked_by
from loadcurve.report.ranking import in_words
from loadcurve.result.folder import Run, read_run
from loadcurve.result.summary import (
    RunSummary,
    SummarySource,
    VerdictCounts,
    keep_summary,
    source_of,
)
from loadcurve.stats.capacity import Capacity
from loadcurve.stats.measures import usable_values
from loadcurve.stats.ranking import rank
from loadcurve.stats.shape import SliceShapes, shapes
from loadcurve.stats.stopping import ending

MOST_NAMED = 4
"""So many capacities of a search are named."""


def make_summary(folder: Path) -> RunSummary:
    """Read a run folder, and return its summary and leave it there.

    Raises ``BadInput`` where the folder cannot be read as a run.
    """
    source = source_of(folder)
    run = read_run(folder)
    summary = summary_of(run, findings(run), source)
    keep_summary(folder, summary)
    return summary


def summary_of(run: Run, found: Sequence[Finding], source: SummarySource) -> RunSummary:
    """Return the summary of a run with its findings."""
    study = run.run.study
    verdicts = Counter(point.load.verdict.status for point in run.points)
    measured = {point.server for point in run.points}
    question = study.get("question")
    return RunSummary(
        format="loadcurve-summary/1",
        source=source,
        started_at=run.run.started_at,
        title=title_of(run),
        question=str(question) if question else None,
        answer=answer(run),
        complete=ending(run).reason != "unfinished",
        servers=tuple(name for name in run.run.servers if name in measured),
        trials=len({point.trial for point in run.points}),
        points=VerdictCounts(
            valid=verdicts["valid"], suspect=verdicts["suspect"], invalid=verdicts["invalid"]
        ),
        findings=len(found),
    )


def title_of(run: Run) -> str:
    """Return the title of a run's study, or its name where it has no title."""
    return str(run.run.study.get("title") or run.run.study_name)


def answer(run: Run) -> str:
    """Say who leads over the curve and by how much, or which capacity a search has found.

    Servers are compared by throughput in a closed loop. Where the study asks for a rate, each server that
    keeps up has the same throughput, and the 99th percentile of latency tells them apart.
    """
    if not run.points:
        return "nothing was measured"
    if run.run.search is not None:
        return _capacities(shapes(run, None), run.run.search.slo)
    measure = ranked_by(run)
    ranking = rank(usable_values(run, measure), measure)
    if not ranking.ranks:
        return "no point can be used: every one is invalid"
    if len(ranking.ranks) == 1:
        return _alone(run, ranking.ranks[0].server)
    # The first tier and the next one; the report has the others, and who could not be compared.
    tested = tuple(pair for pair in ranking.pairs if pair.p_value is not None)
    return run.words(in_words(replace(ranking, tiers=ranking.tiers[:2], pairs=tested), measure))


def _alone(run: Run, server: str) -> str:
    """Say where the only server with usable points answers the most requests."""
    for part in shapes(run, None):
        for shape in part.shapes:
            if shape.server == server and shape.peak is not None:
                said = run.words(shape_words.peak_words(part.part.key or "", shape.peak))
                return f"{server}: {said}".rstrip(".")
    return f"only {server} has usable points, so there is nothing to compare"


def _capacities(found: Sequence[SliceShapes], limits: str) -> str:
    """Name the capacities that a search has found, the highest first."""
    key = next((part.part.key or "" for part in found), "")
    judged = [
        (shape.server, shape.capacity)
        for part in found
        for shape in part.shapes
        if shape.capacity is not None
    ]
    if not judged:
        return f"whether {limits} holds could be judged at no load"
    judged.sort(key=lambda pair: _highest(pair[1]), reverse=True)
    named = [f"{server} {shape_words.capacity_figure(one)}" for server, one in judged[:MOST_NAMED]]
    more = [f"and {len(judged) - MOST_NAMED:,} more"] if len(judged) > MOST_NAMED else []
    return f"{limits} holds up to, in {text.load_unit(key)}: {'; '.join([*named, *more])}"


def _highest(capacity: Capacity) -> float:
    if capacity.load is not None:
        return capacity.load.value
    # A capacity below the lowest load that was tried comes behind all that were found.
    return 0.0 if capacity.bound == "below" else max(trial.load for trial in capacity.trials)

"""The summary of a run that a list of runs shows, with its answer in words."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.report.answer import answer_words
from loadcurve.result.folder import Run, read_run
from loadcurve.result.summary import (
    RunSummary,
    SummarySource,
    VerdictCounts,
    keep_summary,
    source_of,
)
from loadcurve.stats.stopping import ending


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
        answer=answer_words(run),
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

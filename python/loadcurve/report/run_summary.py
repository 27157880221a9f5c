"""The numbers of a run as they are kept: its analysis, and its summary with the answer in words."""

from pathlib import Path

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.numbers import Numbers, keep_numbers
from loadcurve.report.answer import answer_words
from loadcurve.result.folder import read_run
from loadcurve.result.summary import NumbersSource, RunSummary, VerdictCounts, source_of


def make_summary(folder: Path) -> RunSummary:
    """Read and analyse a run folder; return its summary, and leave its numbers there.

    Raises ``BadInput`` where the folder cannot be read as a run.
    """
    source = source_of(folder)
    numbers = numbers_of(analyse(read_run(folder)), source)
    keep_numbers(folder, numbers)
    return numbers.summary


def numbers_of(analysis: Analysis, source: NumbersSource) -> Numbers:
    """Return an analysis with what it was made of and its summary."""
    # What was computed here need not be checked again.
    return Numbers.model_construct(
        format="loadcurve-numbers/2", source=source, summary=summary_of(analysis), analysis=analysis
    )


def summary_of(analysis: Analysis) -> RunSummary:
    """Return the summary of a run."""
    return RunSummary(
        started_at=analysis.run.started_at,
        title=analysis.run.title,
        question=analysis.run.question,
        answer=answer_words(analysis),
        complete=analysis.complete,
        servers=tuple(analysis.measured_servers),
        trials=len({trial for curve in analysis.curves for at in curve.points for trial in at.trials}),
        points=VerdictCounts(**analysis.verdicts),
        findings=len(analysis.findings),
    )

"""All findings of a run."""

from collections.abc import Callable

from loadcurve.explain import (
    exhaustion,
    hidden_tail,
    listen_queue,
    memory,
    odd_trial,
    process_changes,
    processor,
    reconnects,
    rig,
    stalls,
    steal,
    wrong_answers,
)
from loadcurve.explain.finding import WEIGHTS, Finding
from loadcurve.explain.subject import Subject, subjects
from loadcurve.result.folder import Run

FINDERS: tuple[Callable[[Subject], list[Finding]], ...] = (
    rig.find,
    wrong_answers.find,
    exhaustion.find,
    listen_queue.find,
    stalls.find,
    steal.find,
    odd_trial.find,
    reconnects.find,
    processor.find,
    process_changes.find,
    memory.find,
    hidden_tail.find,
)
"""What is looked for in each server's records."""


def findings(run: Run) -> list[Finding]:
    """Return what can be explained about a run, the weightiest first.

    Of equal weight, what was seen at more points and in more trials comes first. Only what the run folder
    holds is looked at, so a stored run gives the same findings again.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    found = [_said(run, one) for subject in subjects(run) for find in FINDERS for one in find(subject)]
    return sorted(found, key=_order)


def _said(run: Run, one: Finding) -> Finding:
    """Return a finding, of which the finders speak in requests, in the words of the run's loads."""
    words = run.words
    evidence = [
        figure.model_copy(update={"name": words(figure.name), "unit": words(figure.unit)})
        for figure in one.evidence
    ]
    sentences = {name: words(getattr(one, name)) for name in ("seen", "cause", "advice")}
    return one.model_copy(update={**sentences, "evidence": evidence})


def _order(one: Finding) -> tuple[int, int]:
    return WEIGHTS.index(one.weight), -len(one.points) * len(one.trials)

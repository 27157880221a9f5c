"""Trials that measured all of several alternatives, such as loads, and which of these another one beats."""

import math
from collections.abc import Sequence

import numpy as np

from loadcurve.stats.interval import CONFIDENCE

Rows = list[list[float | None]]
"""A row for each trial and a column for each load; ``None`` where nothing usable was measured."""


def complete_rows(
    loads: Sequence[float], trials: Sequence[Sequence[float | None]]
) -> tuple[list[float], list[list[float]]]:
    """Return the loads and the trials that together leave no gap, so that loads are compared within trials.

    A load that most trials lack is left out first, such as one at which the server failed; then each trial
    that lacks any other. A figure that is not above 0 counts as lacking.
    """
    present = [[value is not None and value > 0 for value in row] for row in trials]
    kept = [j for j in range(len(loads)) if 2 * sum(row[j] for row in present) > len(trials)]
    rows = [
        [value for j in kept if (value := row[j]) is not None]
        for row, has in zip(trials, present, strict=True)
        if all(has[j] for j in kept)
    ]
    return [loads[j] for j in kept], rows if kept else []


def not_beaten(trials: Sequence[Sequence[float]], confidence: float = CONFIDENCE) -> list[bool]:
    """Return for each alternative (column) whether it may be the greatest, judged over trials (rows).

    Values are positive and compared within trials. An alternative is beaten if any other is greater by a
    one-sided paired t test of the logarithms at the level (1 - confidence) / (m - 1), for m alternatives.
    What is left holds the truly greatest with that confidence by Bonferroni's inequality (J. C. Hsu,
    *Multiple Comparisons*, 1996, chapter 4, on comparisons with the best). A single trial beats nothing.
    """
    n, m = len(trials), len(trials[0])
    if n == 1 or m == 1:
        return [True] * m

    from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    logs = np.log(np.asarray(trials, dtype=float))
    differences = logs[:, :, None] - logs[:, None, :]
    errors = differences.std(axis=0, ddof=1) / math.sqrt(n)
    critical = float(stdtrit(n - 1, 1 - (1 - confidence) / (m - 1)))
    beaten = (differences.mean(axis=0) > critical * errors).any(axis=0)
    return [not bool(one) for one in beaten]

"""Which of several alternatives are beaten by another, from trials that measured all of them."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from loadcurve.stats.interval import CONFIDENCE


def not_beaten(trials: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each alternative (column) whether it may be the greatest, judged over trials (rows).

    Values are positive and compared within trials. An alternative is beaten if any other is greater by a
    one-sided paired t test of the logarithms at the level 5 % / (m - 1), for m alternatives. What is left
    holds the truly greatest in at least 95 of 100 studies by Bonferroni's inequality (J. C. Hsu, *Multiple
    Comparisons*, 1996, chapter 4, on comparisons with the best). A single trial beats nothing.
    """
    n, m = len(trials), len(trials[0])
    if n == 1 or m == 1:
        return [True] * m

    logs = np.log(np.asarray(trials, dtype=float))
    differences = logs[:, :, None] - logs[:, None, :]
    errors = differences.std(axis=0, ddof=1) / math.sqrt(n)
    critical = float(stdtrit(n - 1, 1 - (1 - CONFIDENCE) / (m - 1)))
    beaten = (differences.mean(axis=0) > critical * errors).any(axis=0)
    return [not bool(one) for one in beaten]

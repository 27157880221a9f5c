"""The power of a comparison: which difference a number of trials shows, and how many show a difference."""

import functools
import math
from bisect import bisect_left
from collections.abc import Callable

from loadcurve.stats.moderated import usual_degrees

ERROR_RATE = 0.05
"""How probable it may be that any two servers of a ranking are distinguished that do not differ."""
POWER = 0.8
"""How probable it shall be that a difference is seen where there is one."""
TRIALS_MAX = 100
"""Nobody plans more trials than this to show a difference."""


@functools.cache
def noncentrality(trials: int, servers: int = 2) -> float:
    """Return the shift, in standard errors, that ``trials`` blocks find with the wanted probability.

    It is that of the t test of a pair, two-sided at 5 %, which are divided by the number of pairs as in the
    strictest step of Holm's method, with the degrees of freedom of servers that are alike
    (:func:`loadcurve.stats.moderated.usual_degrees`). The noncentral t distribution with that shift lies
    beyond the test's critical value with a probability of 80 %.

    Source: Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 2nd edition (1988), section 2.3.4
    and appendix.

    Raises ``ValueError`` for fewer than two trials or servers.
    """
    if trials < 2:  # noqa: PLR2004 - a spread needs two
        raise ValueError(f"{trials} trials can see no difference: a spread needs two")
    if servers < 2:  # noqa: PLR2004 - a comparison has two sides
        raise ValueError(f"{servers} servers have no difference: a comparison needs two")
    from scipy.special import nctdtrinc, stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    degrees = usual_degrees(trials, servers)
    pairs = servers * (servers - 1) // 2
    critical = float(stdtrit(degrees, 1 - ERROR_RATE / pairs / 2))
    return float(nctdtrinc(degrees, 1 - POWER, critical))


def trials_to_show(log_ratio: float, log_sd: float, servers: int = 2) -> int | None:
    """Return how many trials show a ratio with a probability of 80 % if it is what was measured.

    ``log_sd`` is the standard deviation of the blocks' log ratios. ``None`` where that would be more than
    :data:`TRIALS_MAX`.
    """
    return _least_trials(log_ratio, log_sd, lambda trials: noncentrality(trials, servers))


def trials_to_decide(distance: float, log_sd: float, confidence: float = 1 - ERROR_RATE) -> int | None:
    """Return how many trials give an interval that reaches no farther than ``distance``.

    ``distance`` is that of the logarithm of a ratio from the logarithm of a bound, and ``log_sd`` is the
    standard deviation of the trials' log ratios: if the ratio stays where it is, the interval of that many
    trials does not contain the bound. ``None`` where that would be more than :data:`TRIALS_MAX`.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    return _least_trials(distance, log_sd, lambda trials: float(stdtrit(trials - 1, (1 + confidence) / 2)))


def _least_trials(distance: float, log_sd: float, errors: Callable[[int], float]) -> int | None:
    """Return the least number of trials whose mean is known to within ``distance``.

    ``errors`` says how many standard errors a number of trials needs for that.
    """
    numbers = range(2, TRIALS_MAX + 1)
    # The reach becomes less from number to number, so the first one that is short enough can be searched for.
    place = bisect_left(
        numbers, -abs(distance), key=lambda trials: -errors(trials) * log_sd / math.sqrt(trials)
    )
    return numbers[place] if distance and place < len(numbers) else None

"""Noise: how far blocks' ratios spread where nothing differs, and the smallest difference to be seen so."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from loadcurve.stats.paired import Logs, block_means
from loadcurve.stats.power import noncentrality

DIFFERENCE_MAX = 1000.0
"""Trials that would only see more than this, a thousandfold, see no difference."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of the blocks' log ratios between two servers, and what it rests on."""

    log_sd: float
    degrees: int
    """Degrees of freedom: how many independent deviations it was computed from."""


@dataclass(frozen=True, slots=True)
class VisibleDifference:
    """The smallest difference that this many trials can see, as a share: 0.02 is 2 %.

    ``low`` and ``high`` are the 95 % interval that the uncertainty of the spread leaves. Each is ``None``
    where it is more than :data:`DIFFERENCE_MAX`.
    """

    trials: int
    value: float | None
    low: float | None
    high: float | None


def visible_difference(spread: Spread, trials: int, servers: int = 2) -> VisibleDifference:
    """Return the smallest difference that ``trials`` blocks of ``servers`` can see, in the right direction.

    It is the one that the test of a pair at 5 % finds with a probability of 80 %: exp(d · s / √n) - 1 for the
    shift d of :func:`loadcurve.stats.power.noncentrality`. ``low`` and ``high`` come from the chi-squared
    interval of s.

    Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 7.2.3.1 for the interval of s.

    Raises ``ValueError`` for fewer than two trials or servers.
    """
    from scipy.special import chdtri  # noqa: PLC0415 - scipy must not slow the start of the command

    per_deviation = noncentrality(trials, servers) / math.sqrt(trials)

    def difference(log_sd: float) -> float | None:
        log_ratio = per_deviation * log_sd
        return math.expm1(log_ratio) if log_ratio <= math.log1p(DIFFERENCE_MAX) else None

    # chdtri gives the value above which the chi-squared distribution has this probability.
    low, high = (
        spread.log_sd * math.sqrt(spread.degrees / float(chdtri(spread.degrees, above)))
        for above in (0.025, 0.975)
    )
    return VisibleDifference(trials, difference(spread.log_sd), difference(low), difference(high))


def spread_within(groups: Iterable[Sequence[str]], logs: Logs) -> Spread | None:
    """Return the spread of the blocks' log ratios between the servers of each group, pooled.

    The variances of all pairs are averaged. The pairs of k servers over n blocks rest on (k - 1)(n - 1)
    independent deviations, as in an analysis of variance of servers and blocks. ``None`` where no pair has
    two blocks in common.
    """
    spreads = []
    for group in groups:
        stack = np.stack([logs[server] for server in group])
        first, second = np.triu_indices(len(stack), 1)
        ratios = block_means(stack[first] - stack[second])
        blocks = np.isfinite(ratios).sum(axis=1)
        if (blocks > 1).any():
            variances = np.nanvar(ratios[blocks > 1], axis=1, ddof=1)
            degrees = (len(group) - 1) * (int(blocks[blocks > 1].min()) - 1)
            spreads.append(Spread(math.sqrt(float(variances.mean())), degrees))
    if not spreads:
        return None
    degrees = sum(spread.degrees for spread in spreads)
    variance = math.fsum(spread.log_sd**2 * spread.degrees for spread in spreads) / degrees
    return Spread(math.sqrt(variance), degrees)


def pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """Return the spread at a typical point.

    The points of a trial share its start, so together they rest on no more deviations than one of them.
    """
    known = [spread for spread in spreads if spread is not None]
    if not known:
        return None
    variance = math.fsum(spread.log_sd**2 for spread in known) / len(known)
    return Spread(math.sqrt(variance), min(spread.degrees for spread in known))

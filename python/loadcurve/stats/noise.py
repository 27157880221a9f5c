"""Noise: how far blocks' ratios spread where nothing differs, and the smallest difference to be seen so."""

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.result.folder import Run
from loadcurve.stats.curves import point_key
from loadcurve.stats.measures import Measure, Values, at_point, usable_values
from loadcurve.stats.paired import log_ratios
from loadcurve.stats.ranking import ERROR_RATE

POWER = 0.8
"""How probable it shall be that a difference is seen where there is one."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of the blocks' log ratios between two servers, and what it rests on."""

    log_sd: float
    degrees: int
    """Degrees of freedom: how many independent deviations it was computed from."""


@dataclass(frozen=True, slots=True)
class VisibleDifference:
    """The smallest difference that so many trials can see, as a share: 0.02 is 2 %.

    ``low`` and ``high`` are the 95 % interval that the uncertainty of the spread leaves.
    """

    trials: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RunNoise:
    """The noise of a run by one measure; the spread is ``None`` where there are too few blocks."""

    source: Literal["same server", "pairs"]
    """From entries of the study that are the same server, or from its pairs of different ones."""
    groups: tuple[tuple[str, ...], ...]
    """The servers whose ratios were taken, group by group."""
    spread: Spread | None


def visible_difference(spread: Spread, trials: int, pairs: int = 1) -> VisibleDifference:
    """Return the smallest difference that ``trials`` blocks can see, in the right direction.

    It is the one that a two-sided paired t test at 5 % finds with a probability of 80 %: exp(d · s / √n) - 1,
    where the noncentral t distribution with n - 1 degrees of freedom and the noncentrality d lies beyond the
    test's critical value with that probability. Where the pair is one of several that are compared together,
    the 5 % are divided by their number, as the strictest step of Holm's method does. ``low`` and ``high``
    come from the chi-squared interval of s.

    Source: Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 2nd edition (1988), section 2.3.4
    and appendix; NIST/SEMATECH e-Handbook of Statistical Methods, section 7.2.3.1 for the interval of s.

    Raises ``ValueError`` for fewer than two trials.
    """
    from scipy.special import chdtri  # noqa: PLC0415 - scipy must not slow the start of the command

    per_deviation = _noncentrality(trials, pairs) / math.sqrt(trials)

    def difference(log_sd: float) -> float:
        return math.expm1(per_deviation * log_sd)

    # chdtri gives the value above which the chi-squared distribution has this probability.
    low, high = (
        spread.log_sd * math.sqrt(spread.degrees / float(chdtri(spread.degrees, above)))
        for above in (0.025, 0.975)
    )
    return VisibleDifference(trials, difference(spread.log_sd), difference(low), difference(high))


@functools.cache
def _noncentrality(trials: int, pairs: int) -> float:
    """Return the shift, in standard errors, that the test finds with the wanted probability."""
    if trials < 2:  # noqa: PLR2004 - a spread needs two
        raise ValueError(f"{trials} trials can see no difference: a spread needs two")
    from scipy.special import nctdtrinc, stdtrit  # noqa: PLC0415 - as above

    degrees = trials - 1
    critical = float(stdtrit(degrees, 1 - ERROR_RATE / pairs / 2))
    return float(nctdtrinc(degrees, 1 - POWER, critical))


def same_servers(run: Run) -> tuple[tuple[str, ...], ...]:
    """Return the groups of entries that are one and the same server.

    Same are program, version, settings and limits, and the command by which the study starts them.
    """
    groups: list[list[str]] = []
    for name, server in run.run.servers.items():
        if server.status != "found":
            continue
        for group in groups:
            if _identity(run, name) == _identity(run, group[0]):
                group.append(name)
                break
        else:
            groups.append([name])
    return tuple(tuple(group) for group in groups if len(group) > 1)


_ASKED = ("start", "url", "version_command")
"""The keys of a server's table that decide what runs and that its record does not show."""


def _identity(run: Run, name: str) -> tuple[object, ...]:
    """Return what makes a server itself; its rendered configuration is not, for it holds one start's port."""
    record = run.run.servers[name].model_dump(exclude={"title", "configuration", "install", "documentation"})
    asked = run.run.study.get("servers", {}).get(name, {})
    return record, [asked.get(key) for key in _ASKED]


def noise_of(run: Run, measure: Measure, scope: Literal["curve", "point"] = "curve") -> RunNoise:
    """Return the noise of a run: from the same server under several names, or else from all its pairs.

    Ratios between different servers spread at least as much as those of a server with itself, as far as one
    of the two is as steady as the other; without an A/A pair they are what there is. The spread is that of
    the ratios over the curve, or that at a point, pooled over the points.
    """
    same = same_servers(run)
    values = usable_values(run, measure)
    everyone = tuple(server for server, blocks in values.items() if blocks)
    groups = same or ((everyone,) if len(everyone) > 1 else ())
    if scope == "curve":
        spread = spread_within(groups, values)
    else:
        by_point = (at_point(values, point_key(point)) for point in run.run.points)
        spread = _pooled(spread_within(groups, at_one) for at_one in by_point)
    return RunNoise("same server" if same else "pairs", groups, spread)


def spread_within(groups: Iterable[Sequence[str]], values: Values) -> Spread | None:
    """Return the spread of the blocks' log ratios between the servers of each group, pooled.

    The variances of all pairs are averaged. The pairs of k servers over n blocks rest on (k - 1)(n - 1)
    independent deviations, as in an analysis of variance of servers and blocks. ``None`` where no pair has
    two blocks in common.
    """
    spreads = []
    for group in groups:
        pairs = [
            list(log_ratios(values[first], values[second]).values())
            for first, second in itertools.combinations(group, 2)
        ]
        variances = [_variance(ratios) for ratios in pairs if len(ratios) > 1]
        if variances:
            blocks = min(len(ratios) for ratios in pairs if len(ratios) > 1)
            spread = Spread(math.sqrt(math.fsum(variances) / len(variances)), (len(group) - 1) * (blocks - 1))
            spreads.append(spread)
    if not spreads:
        return None
    degrees = sum(spread.degrees for spread in spreads)
    variance = math.fsum(spread.log_sd**2 * spread.degrees for spread in spreads) / degrees
    return Spread(math.sqrt(variance), degrees)


def _pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """Return the spread at a typical point.

    The points of a trial share its start, so together they rest on no more deviations than one of them.
    """
    known = [spread for spread in spreads if spread is not None]
    if not known:
        return None
    variance = math.fsum(spread.log_sd**2 for spread in known) / len(known)
    return Spread(math.sqrt(variance), min(spread.degrees for spread in known))


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)

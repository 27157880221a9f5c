"""Bounds of a test that looks after every block: how much of its error rate it spends by when."""

import functools
import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_BLOCKS = 4
"""The first look is after these: before, the spread rests on one or two degrees of freedom."""
POWER_OF_TIME = 2.0
"""The error rate that is spent grows with this power of the blocks: slowly at first, when little is known."""
_CELLS = 200
_REACH = 8.0
"""Standard deviations within which the normal distribution is integrated."""


@functools.cache
def nominal_levels(level: float, horizon: int) -> tuple[float, ...]:
    """Return the one-sided level of the look after each number of blocks from :data:`LEAST_BLOCKS` on.

    A test that compares its p-value with these, after each block up to ``horizon``, errs with a probability
    of ``level`` in all. By the n-th block it has spent ``level`` · (n / ``horizon``)². The levels come from
    the distribution of sums of normal values that have not crossed a bound before, integrated step by step.

    Source: Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983); Kim
    and DeMets, "Design and analysis of group sequential tests based on the type I error spending rate
    function", Biometrika 74 (1987); for the integration Armitage, McPherson and Rowe (1969), and Jennison and
    Turnbull, *Group Sequential Methods* (2000), chapter 19.

    Raises ``ValueError`` for a horizon before the first look.
    """
    if horizon < LEAST_BLOCKS:
        raise ValueError(f"a test over {horizon} blocks has no look: the first is after {LEAST_BLOCKS}")
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - scipy must not slow the start of the command

    spent = [level * (n / horizon) ** POWER_OF_TIME for n in range(LEAST_BLOCKS, horizon + 1)]
    levels = [spent[0]]
    bound = -float(ndtri(spent[0])) * math.sqrt(LEAST_BLOCKS)
    sums, weights = _cells(bound, LEAST_BLOCKS)
    density = np.exp(-(sums**2) / (2 * LEAST_BLOCKS)) / math.sqrt(2 * math.pi * LEAST_BLOCKS)
    for n, (before, now) in enumerate(pairwise(spent), start=LEAST_BLOCKS + 1):
        mass = density * weights
        bound = _bound(sums, mass, now - before, n)
        levels.append(float(ndtr(-bound / math.sqrt(n))))
        following, following_weights = _cells(bound, n)
        steps = following[:, None] - sums[None, :]
        density = np.exp(-(steps**2) / 2) @ mass / math.sqrt(2 * math.pi)
        sums, weights = following, following_weights
    return tuple(levels)


def _cells(bound: float, n: int) -> tuple[Array, Array]:
    """Return the nodes and weights of Gauss's and Legendre's rule over the sums of ``n`` below the bound."""
    nodes, weights = _legendre()
    low = -_REACH * math.sqrt(n)
    half = (bound - low) / 2
    return low + half * (nodes + 1), half * weights


@functools.cache
def _legendre() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_CELLS)
    return nodes, weights


def _bound(sums: Array, mass: Array, probability: float, n: int) -> float:
    """Return the sum that one more normal value takes the mass beyond with this probability."""
    from scipy.special import ndtr  # noqa: PLC0415 - as above

    low, high = 0.0, (_REACH + 1) * math.sqrt(n)
    for _ in range(60):
        middle = (low + high) / 2
        beyond = float(mass @ ndtr(sums - middle))
        low, high = (middle, high) if beyond > probability else (low, middle)
    return high

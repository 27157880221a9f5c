"""Estimates of several servers at one point, each over its trials."""

import math
from collections.abc import Iterable, Sequence

from loadcurve.stats.interval import (
    CONFIDENCE,
    Estimate,
    estimate_over_trials,
    exponential_ends,
    method_of,
)

TWO = 2
"""With more trials than these a server's own spread is enough."""


def estimates_of_servers(servers: Sequence[Iterable[float | None]]) -> list[Estimate | None]:
    """Return the estimate of each server from one figure per trial, as :func:`estimate_over_trials` does.

    The variance of two trials is moderated by those of the other servers (:mod:`loadcurve.stats.moderated`).
    """
    figures = [[value for value in values if value is not None] for values in servers]
    estimates = [estimate_over_trials(values) for values in figures]
    spread = [place for place, values in enumerate(figures) if len(values) >= TWO and min(values) > 0]
    if len(spread) < TWO or not any(len(figures[place]) == TWO for place in spread):
        return estimates
    logs = {place: [math.log(value) for value in figures[place]] for place in spread}
    for place, estimate in _moderated(logs).items():
        estimates[place] = estimate
    return estimates


def _moderated(logs: dict[int, list[float]]) -> dict[int, Estimate]:
    """Return the estimates of the servers with two trials; a server has the logarithms of its figures."""
    import numpy as np  # noqa: PLC0415 - it must not slow the start of the command
    from scipy.special import stdtrit  # noqa: PLC0415 - as above

    from loadcurve.stats.moderated import FOR_SERVERS, Variances, moderated  # noqa: PLC0415 - as above

    own = Variances(
        np.array([np.var(values, ddof=1) for values in logs.values()]),
        np.array([len(values) - 1.0 for values in logs.values()]),
    )
    of_all, squares = own.degrees.sum(), (own.degrees * own.values).sum()
    degrees = of_all - own.degrees
    others = Variances(np.maximum(squares - own.degrees * own.values, 0) / degrees, degrees)
    used = moderated(own, others, FOR_SERVERS)
    reaches = stdtrit(used.degrees, (1 + CONFIDENCE) / 2) * np.sqrt(used.values / (own.degrees + 1))
    estimates = {}
    for row, (place, values) in enumerate(logs.items()):
        n = len(values)
        if n == TWO:
            mean = math.fsum(values) / n
            low, high = exponential_ends(mean, float(reaches[row]))
            method = method_of(float(used.degrees[row]), n - 1)
            estimates[place] = Estimate(math.exp(mean), low, high, n, method)
    return estimates

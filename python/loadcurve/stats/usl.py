"""The universal scalability law, fitted to closed-loop curves over connections.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

X is the throughput with N connections and lambda that of one; sigma is contention, the share of the work that
is done one at a time; kappa is coherency, what every pair of requests at work costs in keeping in step. With
kappa > 0 throughput is greatest at N = √((1 - sigma) / kappa) and falls after.

Source: N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007, chapters 4 to 6.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from loadcurve.stats.interval import Estimate, geometric_interval, mean_interval
from loadcurve.stats.sweep import complete_rows

Vector = NDArray[np.float64]

LOADS_MIN = 5
"""Three parameters need more loads than three to be held against anything."""
MISFIT_SHARE_MAX = 0.20
"""A curve that lies further from the law than this, at any load, does not follow it."""
PROVEN_MISFIT_SHARE_MAX = 0.05
"""The same where the trials show, or a single trial leaves open, that it is more than chance."""
LACK_OF_FIT_LEVEL = 0.01


@dataclass(frozen=True, slots=True)
class ScalabilityFit:
    """The law that a curve follows; intervals are over trials.

    ``lambda_rps`` is the throughput of one connection, ``sigma`` and ``kappa`` are shares. ``peak_load`` is
    ``None`` where the law has no peak above one connection (kappa = 0 or sigma = 1); its interval has no
    upper end where kappa may be 0. ``misfit_share`` is how far the mean curve lies from the law at most, as
    a share of it.
    """

    lambda_rps: Estimate
    sigma: Estimate
    kappa: Estimate
    peak_load: Estimate | None
    misfit_share: float

    def throughput_rps(self, connections: float) -> float:
        """Return the throughput that the law gives with so many connections."""
        n = connections
        return self.lambda_rps.value * n / (1 + self.sigma.value * (n - 1) + self.kappa.value * n * (n - 1))


@dataclass(frozen=True, slots=True)
class NoFit:
    """Why the law was not fitted, as a sentence."""

    reason: str


def fit_scalability(
    connections: Sequence[float],
    throughput_rps: Sequence[Sequence[float | None]],
) -> ScalabilityFit | NoFit:
    """Fit the law to trials (rows) over ascending numbers of connections (columns).

    The fit is nonlinear least squares on the logarithms of the geometric mean curve, with sigma from 0 to 1
    and kappa at least 0, so that each load counts alike by its relative error. For the intervals each
    trial's distance from the unbounded fit, brought through the linearised fit, gives that trial's own
    parameters (one Gauss-Newton step from the common fit); the interval is Student's t over the trials, cut
    at 0. So whatever the points of a trial share is in it.

    There is no fit with fewer than 5 loads; nor where the mean curve is off the law by more than 20 % at any
    load, or by more than 5 % while that is more than the trials' disagreement explains: the F test of lack of
    fit against the pure error (N. R. Draper and H. Smith, *Applied Regression Analysis*, 1998, section 2.1)
    at the 1 % level, with each trial's own level taken out of the pure error.
    """
    kept, rows = complete_rows(connections, throughput_rps)
    if len(kept) < LOADS_MIN or not rows:
        return NoFit(f"it takes at least {LOADS_MIN} numbers of clients; {len(kept)} could be used")
    loads, logs = np.asarray(kept), np.log(np.asarray(rows))
    mean = logs.mean(axis=0)
    bounded = _least_squares(loads, mean, bounded=True)
    residuals = mean - _log_law(bounded, loads)
    refusal = _refusal(loads, logs, residuals)
    if refusal is not None:
        return refusal
    free = _least_squares(loads, mean, bounded=False)
    steps = (logs - _log_law(free, loads)) @ np.linalg.pinv(_jacobian(free, loads)).T
    own = free + steps
    log_lambda, sigma, kappa = (float(value) for value in bounded)
    return ScalabilityFit(
        lambda_rps=_with_value(math.exp(log_lambda), geometric_interval(np.exp(own[:, 0]).tolist())),
        sigma=_cut_at_zero(sigma, mean_interval(own[:, 1].tolist())),
        kappa=_cut_at_zero(kappa, mean_interval(own[:, 2].tolist())),
        peak_load=_peak_load(sigma, kappa, free, steps),
        misfit_share=float(np.abs(np.expm1(residuals)).max()),
    )


def _log_law(parameters: Vector, loads: Vector) -> Vector:
    """Return the logarithm of the law; ``parameters`` are (log lambda, sigma, kappa)."""
    log_lambda, sigma, kappa = parameters
    cost = 1 + sigma * (loads - 1) + kappa * loads * (loads - 1)
    # Outside the law's domain only the unbounded search passes by; there it finds nothing attractive.
    return np.asarray(log_lambda + np.log(loads) - np.log(np.maximum(cost, 1e-9)))


def _jacobian(parameters: Vector, loads: Vector) -> Vector:
    _, sigma, kappa = parameters
    cost = np.maximum(1 + sigma * (loads - 1) + kappa * loads * (loads - 1), 1e-9)
    return np.column_stack([np.ones_like(loads), -(loads - 1) / cost, -loads * (loads - 1) / cost])


def _least_squares(loads: Vector, log_rates: Vector, *, bounded: bool) -> Vector:
    # It takes longest of all to import, and only a curve of enough loads needs it.
    from scipy.optimize import least_squares, nnls  # noqa: PLC0415 - as said above

    # N / X is linear in 1/lambda, sigma/lambda and kappa/lambda, so non-negative linear least squares of the
    # relative errors give a start.
    terms = np.column_stack([np.ones_like(loads), loads - 1, loads * (loads - 1)])
    start, _ = nnls(terms * (np.exp(log_rates) / loads)[:, None], np.ones_like(loads))
    first = max(start[0], np.min(loads / np.exp(log_rates)) * 1e-3)
    largest = loads[-1]
    bounds = ([-np.inf, 0.0, 0.0], [np.inf, 1.0, np.inf]) if bounded else (-np.inf, np.inf)
    fitted = least_squares(
        lambda parameters: _log_law(parameters, loads) - log_rates,
        x0=[-math.log(first), np.clip(start[1] / first, 1e-9, 1 - 1e-9), max(start[2] / first, 1e-12)],
        jac=lambda parameters: _jacobian(parameters, loads),
        bounds=bounds,
        x_scale=[1.0, 1 / largest, 1 / largest**2],
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return np.asarray(fitted.x)


def _refusal(loads: Vector, logs: Vector, residuals: Vector) -> NoFit | None:
    misfits = np.abs(np.expm1(residuals))
    worst = int(np.argmax(misfits))
    share, trials = float(misfits[worst]), len(logs)
    side = "above" if residuals[worst] > 0 else "below"
    where = f"the curve is {100 * share:.0f} % {side} the law at {loads[worst]:g}"
    if share > MISFIT_SHARE_MAX:
        return NoFit(where)
    if share > PROVEN_MISFIT_SHARE_MAX:
        if trials == 1:
            return NoFit(f"{where}, and a single trial does not tell whether that is chance")
        if _lack_of_fit(logs, residuals) < LACK_OF_FIT_LEVEL:
            return NoFit(f"{where}, which is more than the difference between trials explains")
    return None


def _lack_of_fit(logs: Vector, residuals: Vector) -> float:
    """Return how probable residuals so large are if the law holds: the p-value of the F test."""
    trials, loads = logs.shape
    noise = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    noise_freedom, misfit_freedom = (trials - 1) * (loads - 1), loads - 3
    pure_error = float((noise**2).sum()) / noise_freedom
    misfit = trials * float((residuals**2).sum()) / misfit_freedom
    return 0.0 if pure_error == 0 else float(fdtrc(misfit_freedom, noise_freedom, misfit / pure_error))


def _with_value(value: float, interval: Estimate) -> Estimate:
    """Return the interval around the bounded fit's value, stretched where that lies outside."""
    low = None if interval.low is None else min(interval.low, value)
    high = None if interval.high is None else max(interval.high, value)
    return Estimate(value, low, high, interval.n, f"universal scalability law, {interval.method}")


def _cut_at_zero(value: float, interval: Estimate) -> Estimate:
    cut = _with_value(value, interval)
    return Estimate(cut.value, None if cut.low is None else max(0.0, cut.low), cut.high, cut.n, cut.method)


def _peak_load(sigma: float, kappa: float, free: Vector, steps: Vector) -> Estimate | None:
    """Return √((1 - sigma) / kappa); its interval is that of kappa / (1 - sigma), which may reach to 0."""
    if kappa <= 0 or sigma >= 1:
        return None
    rest = 1 - free[1]
    own = free[2] / rest + steps @ np.array([0.0, free[2] / rest**2, 1 / rest])
    inverse_square = _cut_at_zero(kappa / (1 - sigma), mean_interval(own.tolist()))
    low = None if inverse_square.high is None else 1 / math.sqrt(inverse_square.high)
    high = 1 / math.sqrt(inverse_square.low) if inverse_square.low else None
    return Estimate(1 / math.sqrt(inverse_square.value), low, high, inverse_square.n, inverse_square.method)

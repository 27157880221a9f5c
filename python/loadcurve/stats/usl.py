"""The universal scalability law, fitted to closed-loop curves over connections.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

X is the throughput with N connections and lambda that of one; sigma is contention, the share of the work that
is done one at a time; kappa is coherency, what every pair of requests at work costs in keeping in step. With
kappa > 0 throughput is greatest at N = √((1 - sigma) / kappa) and falls after.

Source: N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007, chapters 4 to 6.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.complete import complete_rows
from loadcurve.stats.interval import GEOMETRIC, Estimate, interval_of_logarithms, mean_interval
from loadcurve.units import setting

Vector = NDArray[np.float64]

LOADS_MIN = 5
"""Three parameters need more loads than three to be held against anything."""
MISFIT_SHARE_MAX = 0.20
"""A curve that lies further from the law than this, at any load, does not follow it."""
SMALL_MISFIT_SHARE = 0.05
"""A misfit up to this is small, whether or not it is more than chance."""
LACK_OF_FIT_LEVEL = 0.01
BOUND_WIDTH = 1e-6
"""A parameter this near to a bound lies on it; coherency in units that matter at the greatest load."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """How far the mean curve lies from the law, where it lies farthest."""

    share: float
    """As a share of the curve's greatest throughput; positive where the curve is above the law."""
    load: float
    cause: Literal["small", "chance", "unknown", "proven"]
    """Where it is not small: trials differ as much, a single trial does not show it, or they do not."""


@dataclass(frozen=True, slots=True)
class ScalabilityFit:
    """The law that a curve follows; intervals are over trials, and ``None`` where a misfit is proven.

    ``lambda_rps`` is the throughput of one connection, ``sigma`` and ``kappa`` are shares. ``peak_load`` is
    ``None`` where the law has no peak above one connection (kappa = 0 or sigma = 1); its interval has no
    upper end where kappa may be 0.
    """

    lambda_rps: Estimate
    sigma: Estimate
    kappa: Estimate
    peak_load: Estimate | None
    misfit: Misfit

    def throughput_rps(self, connections: float) -> float:
        """Return the throughput that the law gives with this many connections."""
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

    The fit is nonlinear least squares on the throughput of the geometric mean curve, as in the R package
    ``usl``, with sigma from 0 to 1 and kappa at least 0. For the intervals each trial's distance from the
    unbounded fit, brought through the linearised fit, gives that trial's own parameters (one Gauss-Newton
    step from the common fit); the interval is Student's t over the trials, cut at 0. So whatever the points
    of a trial share is in it.

    There is no fit with fewer than 5 loads, nor where the mean curve is off the law by more than 20 % of its
    greatest throughput at any load. Where it is off by more than 5 %, and that is more than the trials'
    disagreement explains, the fit describes the curve and has no intervals: trials that agree on a curve
    that is not the law's would bound parameters that it does not have.
    """
    kept, rows = complete_rows(connections, throughput_rps)
    if len(kept) < LOADS_MIN or not rows:
        return NoFit(f"it takes at least {LOADS_MIN} loads; {len(kept)} could be used")
    loads, rates = np.asarray(kept), np.asarray(rows)
    mean = np.exp(np.log(rates).mean(axis=0))
    bounded = _least_squares(loads, mean, mean.max(), bounded=True)
    misfit = _misfit(loads, rates, mean - _law(bounded, loads))
    if abs(misfit.share) > MISFIT_SHARE_MAX:
        side = "above" if misfit.share > 0 else "below"
        off = f"{100 * abs(misfit.share):.0f} % of its greatest throughput"
        return NoFit(f"the curve is {off} {side} the law at {setting(misfit.load)}")
    # A minimum within the bounds is one without them, too.
    free = bounded if _is_inside(bounded, loads) else _least_squares(loads, mean, mean.max(), bounded=False)
    steps = (rates - _law(free, loads)) @ np.linalg.pinv(_jacobian(free, loads)).T
    own = free + steps
    log_lambda, sigma, kappa = (float(value) for value in bounded)
    fit = ScalabilityFit(
        lambda_rps=_with_value(math.exp(log_lambda), _interval_of_lambda(own[:, 0].tolist())),
        sigma=_cut_at_zero(sigma, mean_interval(own[:, 1].tolist())),
        kappa=_cut_at_zero(kappa, mean_interval(own[:, 2].tolist())),
        peak_load=_peak_load(sigma, kappa, free, steps),
        misfit=misfit,
    )
    return _without_intervals(fit) if misfit.cause == "proven" else fit


def _interval_of_lambda(logarithms: Sequence[float]) -> Estimate:
    """Return the interval of the trials' own values; it bounds nothing where their mean is no number."""
    try:
        return interval_of_logarithms(logarithms)
    except OverflowError:
        return Estimate(math.inf, None, None, len(logarithms), GEOMETRIC)


def _is_inside(parameters: Vector, loads: Vector) -> bool:
    """Whether contention and coherency both lie off their bounds, by more than the search's precision."""
    _, sigma, kappa = parameters
    return bool(BOUND_WIDTH < sigma < 1 - BOUND_WIDTH and kappa * loads[-1] ** 2 > BOUND_WIDTH)


def _law(parameters: Vector, loads: Vector) -> Vector:
    """Return the throughput that the law gives; ``parameters`` are (log lambda, sigma, kappa)."""
    return np.asarray(np.exp(parameters[0]) * loads / _cost(parameters, loads))


def _cost(parameters: Vector, loads: Vector) -> Vector:
    _, sigma, kappa = parameters
    # Outside the law's domain only the unbounded search passes by; there it finds nothing attractive.
    return np.asarray(np.maximum(1 + sigma * (loads - 1) + kappa * loads * (loads - 1), 1e-9))


def _jacobian(parameters: Vector, loads: Vector) -> Vector:
    cost = _cost(parameters, loads)
    by_parameter = np.column_stack([np.ones_like(loads), -(loads - 1) / cost, -loads * (loads - 1) / cost])
    return np.asarray(_law(parameters, loads)[:, None] * by_parameter)


def _least_squares(loads: Vector, rates: Vector, unit: Vector | float, *, bounded: bool) -> Vector:
    """Return the parameters with the least squares of errors in a unit, one for all loads or each its own."""
    # It takes longest of all to import, and only a curve of enough loads needs it.
    from scipy.optimize import least_squares, nnls  # noqa: PLC0415 - as said above

    # N / X is linear in 1/lambda, sigma/lambda and kappa/lambda, so non-negative linear least squares of the
    # relative errors give a start.
    terms = np.column_stack([np.ones_like(loads), loads - 1, loads * (loads - 1)])
    start, _ = nnls(terms * (rates / loads)[:, None], np.ones_like(loads))
    first = max(start[0], np.min(loads / rates) * 1e-3)
    largest = loads[-1]
    units = np.broadcast_to(unit, loads.shape)
    bounds = ([-np.inf, 0.0, 0.0], [np.inf, 1.0, np.inf]) if bounded else (-np.inf, np.inf)
    fitted = least_squares(
        lambda parameters: (_law(parameters, loads) - rates) / units,
        x0=[-math.log(first), np.clip(start[1] / first, 1e-9, 1 - 1e-9), max(start[2] / first, 1e-12)],
        jac=lambda parameters: _jacobian(parameters, loads) / units[:, None],
        bounds=bounds,
        x_scale=[1.0, 1 / largest, 1 / largest**2],
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return np.asarray(fitted.x)


def _misfit(loads: Vector, rates: Vector, residuals: Vector) -> Misfit:
    worst = int(np.argmax(np.abs(residuals)))
    greatest = np.exp(np.log(rates).mean(axis=0)).max()
    share, load = float(residuals[worst] / greatest), float(loads[worst])
    if abs(share) <= SMALL_MISFIT_SHARE:
        return Misfit(share, load, "small")
    if len(rates) == 1:
        return Misfit(share, load, "unknown")
    return Misfit(share, load, "proven" if _lack_of_fit(loads, rates) < LACK_OF_FIT_LEVEL else "chance")


def _lack_of_fit(loads: Vector, rates: Vector) -> float:
    """Return how probable a misfit so large is if the law holds: the p-value of the F test of lack of fit.

    The test is against the pure error, with each trial's own level taken out of it, and of a fit whose
    errors are relative, as are those of trials (N. R. Draper and H. Smith, *Applied Regression Analysis*,
    1998, section 2.1).
    """
    logs = np.log(rates)
    mean = logs.mean(axis=0)
    residuals = mean - np.log(_law(_least_squares(loads, np.exp(mean), np.exp(mean), bounded=True), loads))
    noise = logs - mean - logs.mean(axis=1, keepdims=True) + logs.mean()
    trials = len(rates)
    noise_freedom, misfit_freedom = (trials - 1) * (len(loads) - 1), len(loads) - 3
    pure_error = float((noise**2).sum()) / noise_freedom
    misfit = trials * float((residuals**2).sum()) / misfit_freedom
    if pure_error == 0:
        return 0.0

    from scipy.special import fdtrc  # noqa: PLC0415 - scipy must not slow the start of the command

    return float(fdtrc(misfit_freedom, noise_freedom, misfit / pure_error))


def _without_intervals(fit: ScalabilityFit) -> ScalabilityFit:
    lambda_rps, sigma, kappa = (
        replace(estimate, low=None, high=None) for estimate in (fit.lambda_rps, fit.sigma, fit.kappa)
    )
    peak_load = fit.peak_load and replace(fit.peak_load, low=None, high=None)
    return ScalabilityFit(lambda_rps, sigma, kappa, peak_load, fit.misfit)


def _with_value(value: float, interval: Estimate) -> Estimate:
    """Return the interval around the bounded fit's value, stretched where that lies outside."""
    low = None if interval.low is None else min(interval.low, value)
    high = None if interval.high is None else max(interval.high, value)
    return Estimate(value, low, high, interval.n, f"universal scalability law, {interval.method}")


def _cut_at_zero(value: float, interval: Estimate) -> Estimate:
    cut = _with_value(value, interval)
    return Estimate(cut.value, None if cut.low is None else max(0.0, cut.low), cut.high, cut.n, cut.method)


def _peak_load(sigma: float, kappa: float, free: Vector, steps: Vector) -> Estimate | None:
    """Return √((1 - sigma) / kappa); its interval is that of kappa / (1 - sigma), which may reach to 0.

    A level curve has all of its work done one at a time, and no peak, however little the bounded fit is off.
    """
    rest = 1 - free[1]
    if kappa <= 0 or sigma >= 1 or rest <= 0:
        return None
    own = free[2] / rest + steps @ np.array([0.0, free[2] / rest**2, 1 / rest])
    inverse_square = _cut_at_zero(kappa / (1 - sigma), mean_interval(own.tolist()))
    low = None if inverse_square.high is None else 1 / math.sqrt(inverse_square.high)
    high = 1 / math.sqrt(inverse_square.low) if inverse_square.low else None
    return Estimate(1 / math.sqrt(inverse_square.value), low, high, inverse_square.n, inverse_square.method)

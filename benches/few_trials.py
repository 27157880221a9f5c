"""What intervals and rankings of few trials promise: simulated studies of servers that are alike and unlike.

For each number of servers and trials, machine and kind of noise: how often the interval of a ratio holds the
truth, over all pairs and for the pair that it holds least often; how often any two servers that are the same
are told apart; how often a server that is twice as fast is told apart from another, at a spread of 5 %; and
how often the interval of a server's mean holds the truth, for all servers and for the worst. Three ways: as
published, Student's t alone, and Smyth's d0 found in the run's own variances, as limma does for genes.
"""

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import polygamma, psi, stdtr, stdtrit

from benches.synthetic_studies import (
    Array,
    Autoregressive,
    Drift,
    Noise,
    RandomWalk,
    Steady,
    Studies,
    heavy_tailed,
    normal,
    slow_trials,
    studies,
)
from loadcurve.stats.interval import CONFIDENCE
from loadcurve.stats.moderated import (
    FOR_RATIOS,
    FOR_SERVERS,
    BlockSpread,
    Borrowing,
    Variances,
    moderated,
)
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.ranking import holm_adjusted

SERVERS = (2, 3, 6, 12)
TRIALS = (2, 3, 4, 5)
NOISE_SD = 0.02
SPREAD_OF_FACTOR_TWO = 0.05


@dataclass(frozen=True)
class Setting:
    """One kind of machine and servers."""

    name: str
    drift: Drift = field(default_factory=Steady)
    noise: Noise = normal
    spreads: Callable[[int], list[float]] = lambda servers: [1.0] * servers
    """By the number of servers: how unsteady each is, in units of the common spread."""


def one_unsteady(servers: int) -> list[float]:
    """Return the spreads of servers of which the last is five times as unsteady."""
    return [1.0] * (servers - 1) + [5.0]


def unlike(servers: int) -> list[float]:
    """Return spreads from 1 to 4, evenly on a logarithmic scale."""
    return [float(4 ** (place / (servers - 1))) for place in range(servers)]


SETTINGS = [
    Setting("alike"),
    Setting("drift, half as strong", Autoregressive(sd=0.01, half_life_blocks=1)),
    Setting("drift, as strong", Autoregressive(sd=0.02, half_life_blocks=1)),
    Setting("random walk", RandomWalk(sd_per_block=0.02)),
    Setting("heavy tails", noise=heavy_tailed),
    Setting("rare slow trials", noise=slow_trials),
    Setting("unlike, 1 to 4", spreads=unlike),
    Setting("one of 5 times", spreads=one_unsteady),
]


Estimator = Callable[[Variances, Variances, Borrowing], Variances]
"""From the own variances, those of the others and how to borrow: the variances to use."""


def students(own: Variances, _others: Variances, _how: Borrowing) -> Variances:
    """Return the own variances as they are."""
    return own


def limmas(own: Variances, _others: Variances, _how: Borrowing) -> Variances:
    """Return the variances as limma's squeezeVar does, with no more degrees of freedom than all have."""
    if len(own.values) == 1:
        return own
    prior, prior_degrees = fit_f_dist(own)
    if np.isinf(prior_degrees):
        values = np.full_like(own.values, prior)
    else:
        values = (prior_degrees * prior + own.degrees * own.values) / (prior_degrees + own.degrees)
    return Variances(values, np.minimum(own.degrees + prior_degrees, own.degrees.sum()))


def fit_f_dist(own: Variances) -> tuple[float, float]:
    """Return s0² and d0 by the moments of the logarithms, from at least two variances.

    Source: Smyth (2004), section 6.2: log s² has the mean log s0² + psi(d/2) - log(d/2) - psi(d0/2) +
    log(d0/2) and the variance trigamma(d/2) + trigamma(d0/2).
    """
    half = own.degrees / 2
    logs = np.log(np.maximum(own.values, 1e-300)) - psi(half) + np.log(half)
    mean = float(logs.mean())
    excess = float(logs.var(ddof=1) - polygamma(1, half).mean())
    if excess <= 0:
        return float(np.exp(mean)), np.inf
    prior_half = inverse_trigamma(excess)
    return float(np.exp(mean + psi(prior_half) - np.log(prior_half))), 2 * prior_half


def inverse_trigamma(x: float) -> float:
    """Return y with trigamma(y) = x, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    y = 0.5 + 1 / x
    for _ in range(50):
        trigamma = float(polygamma(1, y))
        step = trigamma * (1 - trigamma / x) / float(polygamma(2, y))
        y += step
        if -step / y < 1e-8:  # noqa: PLR2004 - precise enough
            break
    return y


ESTIMATORS: dict[str, Estimator] = {"published": moderated, "Student": students, "limma": limmas}


@dataclass(frozen=True)
class Ratios:
    """The pairs of one study: the mean log ratio of each, its standard error and degrees of freedom."""

    means: Array
    errors: Array
    degrees: Array

    def hold(self, truths: Array) -> Array:
        """Return for each pair whether its interval holds the truth."""
        reach = stdtrit(self.degrees, (1 + CONFIDENCE) / 2) * self.errors
        return np.asarray(np.abs(self.means - truths) <= reach, dtype=float)

    def told_apart(self) -> NDArray[np.bool_]:
        """Return for each pair whether the ranking tells the two apart."""
        p_values = 2 * stdtr(self.degrees, -np.abs(self.means) / self.errors)
        return np.asarray(np.array(holm_adjusted(p_values.tolist())) <= ERROR_RATE)


def ratios_of(logs: Array, estimator: Estimator) -> Ratios:
    """Return the ratios of all pairs of servers (rows) over blocks (columns), as the ranking has them."""
    servers, blocks = logs.shape
    first, second = np.triu_indices(servers, 1)
    pairs = logs[first] - logs[second]
    own = Variances(pairs.var(axis=1, ddof=1), np.full(len(pairs), blocks - 1.0))
    spread = BlockSpread.of(pairs, logs.mean(axis=0), servers)
    others = spread.beside(pairs, np.full(len(pairs), 2.0), own.degrees)
    used = estimator(own, others, FOR_RATIOS)
    return Ratios(pairs.mean(axis=1), np.sqrt(used.values / blocks), used.degrees)


def means_hold(logs: Array, truths: Array, estimator: Estimator) -> Array:
    """Return for each server whether the interval of its mean holds the truth."""
    servers, blocks = logs.shape
    own = Variances(logs.var(axis=1, ddof=1), np.full(servers, blocks - 1.0))
    others = (own.values.sum() - own.values) / (servers - 1)
    used = estimator(own, Variances(others, own.degrees * (servers - 1)), FOR_SERVERS)
    reach = stdtrit(used.degrees, (1 + CONFIDENCE) / 2) * np.sqrt(used.values / blocks)
    return np.asarray(np.abs(logs.mean(axis=1) - truths) <= reach, dtype=float)


@dataclass(frozen=True)
class Promise:
    """Shares of studies, of one."""

    ratios: float
    worst_ratio: float
    alarms: float
    factor_two: float
    means: float
    worst_mean: float


def promise(setting: Setting, servers: int, trials: int, count: int, estimator: Estimator) -> Promise:
    """Simulate ``count`` studies of equal servers, and as many in which the first is twice as fast."""
    sds = np.array(setting.spreads(servers))
    levels = [1000.0] * servers
    seed = 100 * servers + trials
    same = studies(
        count,
        levels,
        trials,
        setting.drift,
        noise_sd=(NOISE_SD * sds).tolist(),
        noise=setting.noise,
        seed=seed,
    )
    twice = studies(
        count,
        [2000.0, *levels[1:]],
        trials,
        setting.drift,
        noise_sd=(SPREAD_OF_FACTOR_TWO * sds / sds.max()).tolist(),
        noise=setting.noise,
        seed=seed + 1,
    )
    ratios = [ratios_of(np.log(study), estimator) for study in same.values]
    covered = np.array([one.hold(np.zeros_like(one.means)) for one in ratios]).mean(axis=0)
    means = _means(same, estimator)
    shown = [ratios_of(np.log(study), estimator).told_apart()[0] for study in twice.values]
    return Promise(
        ratios=float(covered.mean()),
        worst_ratio=float(covered.min()),
        alarms=float(np.mean([one.told_apart().any() for one in ratios])),
        factor_two=float(np.mean(shown)),
        means=float(means.mean()),
        worst_mean=float(means.min()),
    )


def _means(simulated: Studies, estimator: Estimator) -> Array:
    rows = [
        means_hold(np.log(values), np.log(truths), estimator)
        for values, truths in zip(simulated.values, simulated.truths, strict=True)
    ]
    return np.asarray(np.array(rows).mean(axis=0))


def main() -> None:
    """Print the table, in per cent."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2000, help="simulated for each row")
    parser.add_argument("--servers", nargs="*", type=int, default=SERVERS, metavar="N")
    parser.add_argument("--trials", nargs="*", type=int, default=TRIALS, metavar="N")
    parser.add_argument("--ways", nargs="*", default=list(ESTIMATORS), choices=list(ESTIMATORS))
    arguments = parser.parse_args()
    print(f"{arguments.studies:,} studies a row; in per cent\n")
    print(
        "| servers | trials | machine and servers | way | ratio | worst | alarms | factor 2 | mean | worst |"
    )
    print("|--:|--:|---|---|--:|--:|--:|--:|--:|--:|")
    for servers, trials, setting in itertools.product(arguments.servers, arguments.trials, SETTINGS):
        for way in arguments.ways:
            found = promise(setting, servers, trials, arguments.studies, ESTIMATORS[way])
            shares = (
                found.ratios,
                found.worst_ratio,
                found.alarms,
                found.factor_two,
                found.means,
                found.worst_mean,
            )
            figures = " | ".join(f"{100 * share:.1f}" for share in shares)
            print(f"| {servers} | {trials} | {setting.name} | {way} | {figures} |", flush=True)


if __name__ == "__main__":
    main()

"""What a gate promises: simulated gates of equal builds, and of builds that are worse by 3 and by 5 %.

For each kind of noise and drift: how many gates of equal builds fail, after the first draw and after the
confirmation; how many find a regression in one of five measures within the blocks of 15 minutes, at a spread
of 5 % between blocks; and how many blocks a decision takes. With ``--requests N`` the p50 and
the p99 of N requests are gated, too.
"""

import argparse
import math
from dataclasses import dataclass, field, replace

import numpy as np

from benches.synthetic_studies import (
    Array,
    Autoregressive,
    Drift,
    Noise,
    RandomWalk,
    Steady,
    heavy_tailed,
    normal,
    slow_trials,
    studies,
)
from loadcurve.analysis.gated import GATED, OF_REQUESTS, plan_of
from loadcurve.result.records import GateRecord
from loadcurve.stats.sequential import Answer, Judged, judge

MEASURES = len(GATED)
BLOCKS = 45
"""Of 20 seconds each, such as two loads of 8 s with their starts, in 15 minutes."""
SPREAD = 0.05
"""The standard deviation of the blocks' log ratios."""
SLOW_SD = math.sqrt(1 + 25 * 0.1 * 0.9)
"""That of ``slow_trials``, by which they are brought to the same spread as the other noises."""


@dataclass(frozen=True)
class Machine:
    """A kind of noise and drift."""

    name: str
    noise: Noise = normal
    noise_sd: float = 1.0
    drift: Drift = field(default_factory=Steady)


MACHINES = (
    Machine("normal"),
    Machine("heavy tails", heavy_tailed),
    Machine("drift, as strong", drift=Autoregressive(sd=SPREAD, half_life_blocks=1)),
    Machine("drift, three blocks long", drift=Autoregressive(sd=SPREAD, half_life_blocks=3)),
    Machine("random walk", drift=RandomWalk(sd_per_block=SPREAD)),
    Machine("steal: one trial in ten slow", slow_trials, SLOW_SD),
    Machine("all three", slow_trials, SLOW_SD, RandomWalk(sd_per_block=SPREAD)),
)


@dataclass(frozen=True)
class Case:
    """A regression in one of the measures, and the least one that counts."""

    regression: float
    least: float
    requests: int = 0
    """That are gated each alone; where there are any, the regression is in the first of them."""

    @property
    def figures(self) -> int:
        """How many are gated: those of the load come first."""
        return MEASURES + self.requests * len(OF_REQUESTS)

    def record(self, blocks: int) -> GateRecord:
        """Return what such a gate tests in at most these blocks."""
        return GateRecord(
            base="base",
            head="head",
            origin=None,
            least=self.least,
            measures=list(GATED),
            requests=[f"GET /{place}" for place in range(self.requests)],
            budget_s=1.0,
            blocks=blocks,
        )


@dataclass(frozen=True)
class Outcomes:
    """Shares of gates, of one, and the blocks that the median gate took."""

    suspected: float
    """Those with a measure that the first draw has shown to be worse."""
    failed: float
    passed: float
    blocks: float


def blocks_of(machine: Machine, gates: int, blocks: int, seed: int, figures: int = MEASURES) -> Array:
    """Return the log ratios of equal builds, by gate, figure and block; worse is above 0."""
    simulated = studies(
        gates * figures,
        [1000.0, 1000.0],
        blocks,
        machine.drift,
        noise_sd=SPREAD / math.sqrt(2) / machine.noise_sd,
        noise=machine.noise,
        seed=seed,
    )
    logs = np.log(simulated.values)
    return np.asarray((logs[:, 1] - logs[:, 0]).reshape(gates, figures, blocks))


def outcomes(machine: Machine, case: Case, gates: int, blocks: int, seed: int) -> Outcomes:
    """Simulate gates with one measure that is worse by the regression of the case."""
    record = case.record(blocks)
    plans = [plan_of(record)] * MEASURES
    plans += [plan_of(record, None, name) for name in record.requests for _ in OF_REQUESTS]
    ratios = blocks_of(machine, gates, blocks, seed, case.figures)
    ratios[:, MEASURES if case.requests else 0] += math.log1p(case.regression)
    ended = [_ended([judge(*one) for one in zip(plans, gate, strict=True)], blocks) for gate in ratios]
    return Outcomes(
        suspected=float(np.mean([one.suspected for one in ended])),
        failed=float(np.mean([one.answer == "regression" for one in ended])),
        passed=float(np.mean([one.answer == "ruled_out" for one in ended])),
        blocks=float(np.median([one.blocks for one in ended])),
    )


@dataclass(frozen=True)
class _Ended:
    answer: Answer
    suspected: bool
    blocks: int


def _ended(judged: list[Judged], blocks: int) -> _Ended:
    """Return how a gate ends: at the first confirmed regression, or when the last measure is ruled out.

    Those of requests need not be ruled out, unless the first draw has shown a regression.
    """
    suspected = any(one.confirmation is not None for one in judged)
    judged = judged[:MEASURES] + [one for one in judged[MEASURES:] if one.confirmation is not None]
    worse = [one.decided_after or blocks for one in judged if one.answer == "regression"]
    if worse:
        return _Ended("regression", suspected, min(worse))
    if all(one.answer == "ruled_out" for one in judged):
        return _Ended("ruled_out", suspected, max(one.decided_after or blocks for one in judged))
    return _Ended("open", suspected, blocks)


CASES = (Case(0.0, 0.03), Case(0.05, 0.03), Case(0.03, 0.03), Case(0.03, 0.02))


def main() -> None:
    """Print the table, in per cent."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gates", type=int, default=1000, help="simulated for each row")
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="at most, in each gate")
    parser.add_argument("--requests", type=int, default=0, help="gated each by its p50 and p99")
    arguments = parser.parse_args()
    print(f"{arguments.gates:,} gates a row of at most {arguments.blocks} blocks; in per cent\n")
    print("| machine | worse by | limit | first draw | failed | passed | undecided | blocks, median |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for place, case in enumerate(replace(one, requests=arguments.requests) for one in CASES):
        for number, machine in enumerate(MACHINES):
            found = outcomes(machine, case, arguments.gates, arguments.blocks, seed=100 * place + number)
            shares = (found.suspected, found.failed, found.passed, 1 - found.failed - found.passed)
            figures = " | ".join(f"{100 * share:.1f}" for share in shares)
            print(
                f"| {machine.name} | {100 * case.regression:g} | {100 * case.least:g} | {figures} "
                f"| {found.blocks:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""How often changes of a history are false, and how soon a step is found: simulated histories.

Histories of 100 runs and 40 figures without a change: the share in which any is shown. And steps after the
50th run, in multiples of the noise, either way: how often one is found within five runs, at most two off.
And dips, which are steps taken back after four runs: how often both ends are found after 100 runs.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.change_points import Reading, change_points

Array = NDArray[np.float64]
FIGURES, RUNS, BEFORE, WITHIN, OFF_MAX = 40, 100, 50, 5, 2
LOG_SD = 0.03
NOISE = 1.96 * LOG_SD
SPIKES = 0.01
STEPS = (1.0, 1.5, 2.0)
DIPS, DIP_RUNS = (2.0, 3.0), 4
GENERATOR = np.random.default_rng(1)


def normal(count: int) -> Array:
    """Draw readings whose logarithms are normal."""
    return GENERATOR.normal(0, LOG_SD, count)


def heavy_tailed(count: int) -> Array:
    """Draw from Student's t with three degrees of freedom, scaled to the variance of the others."""
    return LOG_SD / math.sqrt(3) * GENERATOR.standard_t(3, count)


def with_spikes(count: int) -> Array:
    """Draw normal readings, one of a hundred of them much higher."""
    return normal(count) + (GENERATOR.random(count) < SPIKES) * GENERATOR.exponential(0.5, count)


KINDS: dict[str, Callable[[int], Array]] = {
    "normal": normal,
    "heavy tails (t, 3 degrees)": heavy_tailed,
    "normal, 1 % spikes": with_spikes,
}


def main() -> None:
    """Print the table of the methodology."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=1_000, help="histories with a step of each size")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    GENERATOR.bit_generator.state = np.random.default_rng(arguments.seed).bit_generator.state
    steps = [f"step of {step:g} times the noise" for step in STEPS]
    steps += [f"{DIP_RUNS} runs at {dip:g} times" for dip in DIPS]
    print(f"| runs | histories without a change that show one | {' | '.join(steps)} |")
    print(f"|---|---|{'---|' * len(steps)}")
    for name, drawn in KINDS.items():
        alarms = sum(map(shows_any, [drawn] * arguments.histories)) / arguments.histories
        found = [sum(finds(drawn, step) for _ in range(arguments.steps)) / arguments.steps for step in STEPS]
        found += [
            sum(finds_dip(drawn, dip) for _ in range(arguments.steps)) / arguments.steps for dip in DIPS
        ]
        shares = " | ".join(f"{share:.1%}" for share in found)
        print(f"| {name} | {alarms:.1%} | {shares} |", flush=True)


def shows_any(drawn: Callable[[int], Array]) -> bool:
    """Draw a history without a change, and say whether any figure shows one."""
    return any(change_points(readings(drawn(RUNS)), FIGURES).points for _ in range(FIGURES))


def finds(drawn: Callable[[int], Array], step: float) -> bool:
    """Draw a history with a step, and say whether it is found in time."""
    logs = drawn(BEFORE + WITHIN)
    logs[BEFORE:] += step * NOISE * GENERATOR.choice([-1, 1])
    return any(
        abs(one.place - BEFORE) <= OFF_MAX
        for count in range(BEFORE + 3, BEFORE + WITHIN + 1)
        for one in change_points(readings(logs[:count]), FIGURES).points
    )


def finds_dip(drawn: Callable[[int], Array], dip: float) -> bool:
    """Draw a history with a step that is taken back, and say whether both are found."""
    logs = drawn(RUNS)
    logs[BEFORE : BEFORE + DIP_RUNS] += dip * NOISE * GENERATOR.choice([-1, 1])
    places = [one.place for one in change_points(readings(logs), FIGURES).points]
    ends = BEFORE, BEFORE + DIP_RUNS
    return all(any(abs(place - end) <= OFF_MAX for place in places) for end in ends)


def readings(logs: Array) -> list[Reading]:
    """Return readings with these logarithms."""
    return [Reading(float(one)) for one in np.exp(logs)]


if __name__ == "__main__":
    main()

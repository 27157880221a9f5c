"""How long statistics and findings take over a large run: 10 servers, 50 points and 10 trials by default.

The run is that of `benches.large_run`.
"""

import functools
import time
from collections.abc import Callable

from benches.large_run import large_run, parser_of_size
from benches.rig import machine
from loadcurve.analysis.analysis import RANKED
from loadcurve.analysis.curves import Curve, curves
from loadcurve.analysis.noise import noise_of
from loadcurve.analysis.ranking import RunRanking, rank_run
from loadcurve.explain.all import RULES, findings
from loadcurve.explain.finding import Finding
from loadcurve.explain.subject import Subject, subjects
from loadcurve.result.folder import Run

GOAL_S = 5.0


def main() -> None:
    """Print the time of each part, and the sum beside the goal."""
    arguments = parser_of_size(__doc__).parse_args()
    print(machine())
    run = large_run(arguments)
    print(f"{len(run.points):,} records of a load of {arguments.duration} s\n")
    # The first call imports scipy.
    found = curves(run)
    rank_run(found, RANKED[0])
    parts_s = [
        timed("curves", lambda: curves(run)),
        timed("rankings and noise", lambda: rankings(run, found)),
        timed("findings", lambda: findings(run)),
    ]
    for rule in RULES:
        timed(f"  {rule.codes[0].code}", functools.partial(found_by, rule.find, run))
    print(f"\n{'statistics and findings':<24} {sum(parts_s):>7.2f} s, goal {GOAL_S:g} s")


def rankings(run: Run, found: list[Curve]) -> list[RunRanking]:
    """Return the rankings by every measure, with the noise computed, too."""
    for measure in RANKED:
        noise_of(run, found, measure)
    return [rank_run(found, measure) for measure in RANKED]


def found_by(find: Callable[[Subject], list[Finding]], run: Run) -> list[Finding]:
    """Return what one kind of finding finds."""
    return [one for subject in subjects(run) for one in find(subject)]


def timed(name: str, work: Callable[[], object]) -> float:
    """Print how long some work takes, and return it."""
    before_s = time.perf_counter()
    work()
    passed_s = time.perf_counter() - before_s
    print(f"{name:<24} {passed_s:>7.2f} s")
    return passed_s


if __name__ == "__main__":
    main()

"""The engine and other load generators against the same server, taken in turn in one run.

The server has one CPU and the generator another. Each pair is measured back to back.
"""

import argparse
import sys
from collections.abc import Sequence

from benches.generators import OTHERS, OURS, Generator, Load, Loop
from benches.goals import GOALS, LOOPS, PIPELINED
from benches.pairs import Comparison, compare
from benches.rig import machine, own_cpus, running_server


def main() -> None:
    """Print the ratios, and beside each goal what was reached."""
    names = [generator.name for generator in OTHERS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each run")
    parser.add_argument(
        "--loops", type=_loop, nargs="+", default=(*LOOPS, PIPELINED), metavar="CONNECTIONS[xPIPELINE]"
    )
    parser.add_argument(
        "--against", nargs="+", choices=names, default=names, metavar="GENERATOR", help="all by default"
    )
    parser.add_argument("--server", default="limit", help="of the catalogue")
    arguments = parser.parse_args()
    asked = [generator for generator in OTHERS if generator.name in arguments.against]
    others = [generator for generator in asked if generator.is_installed()]
    missing = [generator for generator in asked if not generator.is_installed()]
    if not others:
        sys.exit(f"nothing to compare with: {_in_words(missing)}")
    cpus = own_cpus()
    _print_beginning(others, missing, arguments.server)
    comparisons: list[Comparison] = []
    with running_server(arguments.server, cpus.server) as target:
        for loop in arguments.loops:
            load = Load(target, loop, arguments.duration)
            for other in (other for other in others if other.can(loop)):
                latest = compare(other, load, arguments.pairs, cpus.generator)
                for comparison in latest:
                    _print_comparison(comparison)
                comparisons += latest
    print(f"\n{'connections':>11}  {'pair':<17} {'ratio of':<15} {'goal':>7}  median")
    for goal in GOALS:
        print(goal.beside(comparisons))


def _loop(text: str) -> Loop:
    connections, _, pipeline = text.partition("x")
    return Loop(int(connections), int(pipeline or 1))


def _print_beginning(others: Sequence[Generator], missing: Sequence[Generator], server: str) -> None:
    print(machine())
    print("; ".join(generator.version() for generator in (OURS, *others)))
    if missing:
        print(f"not compared: {_in_words(missing)}")
    print(
        f"one thread on one CPU against {server} on another; CPU of the whole process, its start included,\n"
        f"and beside the floor that of the threads that make the load\n"
    )
    print(f"{'connections':>11}  {'pair':<17} {'ratio of':<15} {'median':>7}  {'lowest':>7}  {'highest':>7}")


def _in_words(missing: Sequence[Generator]) -> str:
    return "; ".join(f"{generator.name} is not installed ({generator.install})" for generator in missing)


def _print_comparison(comparison: Comparison) -> None:
    print(
        f"{comparison.loop!s:>11}  {f'loadcurve/{comparison.other}':<17} {comparison.quantity:<15} "
        f"{comparison.median:>7.2f}  {min(comparison.ratios):>7.2f}  {max(comparison.ratios):>7.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""What a list of requests costs: found in a file, against held in memory; a mix of ten, against one request.

    python -m benches.request_lists [--requests N] [--pairs N]

Load goes to ``limit`` over 50 connections of one thread, which answers every path alike. A long list, in
order and at random, is compared with a list of 100 requests, which is held in memory, in pairs taken in turn.
One URL would not do: the server parses a request that equals the last one less. Given are the medians of the
ratios, long by short, with their quartiles.

A mix of ten requests with names, methods, header fields and weights is compared with one of them, in a closed
loop and at the same rate. Of that only the CPU is given: the server has more to do for the mix, so that in a
closed loop the generator finds fewer answers each time it wakes, which the rate leaves out.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benches.pairs import pairs_in_turn, quartiles
from benches.rig import LOADCURVE, PATH, load_by, machine, own_cpus, running_server

REQUESTS = 1_000_000
SHORT_LIST = 100
"""The most that are held in memory, each with its own figures."""
CONNECTIONS = 50
MIXED = 10
"""The requests of a mix. More than 2 % of CPU for each answer over that of one request would be too much."""
MIX_RPS = 20_000
"""A rate that generator and server reach with ease, on a CPU each."""


def main() -> None:
    """Print the ratios of each way to pick requests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=REQUESTS, metavar="N", help="in the list")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each load")
    asked = parser.parse_args()
    cpus = own_cpus()
    print(f"{machine()}\n{asked.requests} requests in the list")
    print(f"{'requests':<12} {'quantity':<12} {'median':>6}  quartiles")
    with running_server("limit", cpus.server) as target, tempfile.TemporaryDirectory() as folder:
        short, long = (_list(Path(folder), count) for count in (SHORT_LIST, asked.requests))
        common = ("-c", str(CONNECTIONS), "-d", f"{asked.duration}s")
        for pick in ("in-order", "random"):
            held, found = ((*common, "--urls", str(file), "--pick", pick) for file in (short, long))
            measure = partial(load_by, LOADCURVE, cpus.generator, target.url)
            pairs = pairs_in_turn(partial(measure, held), partial(measure, found), asked.pairs)
            for quantity in ("requests/s", "CPU"):
                ratios = [later[quantity] / earlier[quantity] for earlier, later in pairs]
                print(_line(pick, quantity, ratios), flush=True)
        measure = partial(load_by, LOADCURVE, cpus.generator, target.url)
        for title, pace in (("mix", ()), ("mix, paced", ("-R", str(MIX_RPS)))):
            one, ten = ((*common, *pace, "--urls", str(_mix(Path(folder), count))) for count in (1, MIXED))
            pairs = pairs_in_turn(partial(measure, one), partial(measure, ten), asked.pairs)
            print(
                _line(title, "CPU", [later["CPU"] / earlier["CPU"] for earlier, later in pairs]), flush=True
            )


def _list(folder: Path, count: int) -> Path:
    """Write a list of requests whose paths all have the same length."""
    file = folder / f"{count}.urls"
    file.write_text("".join(f"{PATH}?{number:09}\n" for number in range(count)))
    return file


def _mix(folder: Path, count: int) -> Path:
    """Write targets with weights, as vegeta's JSON has them; half of them ask for the head alone."""
    file = folder / f"mix-{count}.json"
    with file.open("w") as opened:
        for number in range(count):
            target = {
                "method": ("GET", "HEAD")[number % 2],
                "url": f"{PATH}?{number:09}",
                "header": {"X-Number": [str(number)]},
                "weight": 1 + number % 3,
            }
            opened.write(f"{json.dumps(target)}\n")
    return file


def _line(pick: str, quantity: str, ratios: Sequence[float]) -> str:
    low, median, high = quartiles(ratios)
    return f"{pick:<12} {quantity:<12} {median:>6.3f}  {low:.3f} to {high:.3f}"


if __name__ == "__main__":
    main()

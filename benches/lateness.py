"""How late the engine sends at a fixed rate, and in turn with it how late a plain timer loop wakes.

The timer loop does nothing but sleep until each due time: it says how quiet the machine is, and so how much
of the engine's lateness is its own.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from typing import Literal

from benches.generators import FLOOR, LOADCURVE
from benches.rig import PATH, machine, own_cpus, run_or_exit, running_web_server
from loadcurve.result.generator import Lateness
from loadcurve.result.load import LoadResult

Quantile = Literal["p50", "p99", "p99_9", "max"]
QUANTILES: tuple[Quantile, ...] = ("p50", "p99", "p99_9", "max")
EXIT_MEASURED = (0, 3)
"""Of the command: done, and measured but invalid, which a noisy machine makes of a late load."""


def main() -> None:
    """Print the lateness of both at each quantile, and their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each run")
    parser.add_argument("--rate", type=int, default=10_000, help="requests per second")
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--streams", type=int, help="on each connection, over HTTP/2 (default: HTTP/1.1)")
    parser.add_argument("--tls", action="store_true", help="the same over TLS")
    parser.add_argument("--server", default="limit", help="of the catalogue")
    arguments = parser.parse_args()
    cpus = own_cpus()
    streams = () if arguments.streams is None else ("--http", "2", "--streams", str(arguments.streams))
    load = ("-R", str(arguments.rate), "-c", str(arguments.connections), "-d", f"{arguments.duration}s")
    security = ("--insecure",) if arguments.tls else ()
    settings = {"tls": arguments.tls, "http2": arguments.streams is not None}
    pairs = []
    with running_web_server(arguments.server, settings, cpus.server) as server:
        for _ in range(arguments.pairs):
            engine = _engine(f"{server.url}{PATH}", (*load, *streams, *security), cpus.generator)
            timer = _timer(arguments.rate, arguments.duration, cpus.generator)
            pairs.append((engine, timer))
    print(machine())
    print(
        f"{arguments.rate} per second; the engine with {arguments.connections} connections "
        f"{f'of {arguments.streams} streams ' if streams else ''}{'over TLS ' if arguments.tls else ''}"
        f"against {arguments.server} on another CPU; medians of {arguments.pairs} pairs\n"
    )
    print(f"{'lateness':>8}  {'engine µs':>9}  {'timer µs':>9}  {'ratio':>7}  {'lowest':>7}  {'highest':>7}")
    for quantile in QUANTILES:
        _print_quantile(quantile, pairs)


def _engine(url: str, options: Sequence[str], cpu: int) -> Lateness:
    finished = run_or_exit([LOADCURVE, "load", url, "--json", *options], cpu, EXIT_MEASURED)
    lateness_ms = LoadResult.model_validate_json(finished.output).generator.lateness_ms
    assert lateness_ms is not None, "an open loop has times to be late against"
    return lateness_ms


def _timer(rate_rps: int, duration_s: int, cpu: int) -> Lateness:
    command = [FLOOR, "timer", "--rate", str(rate_rps), "--duration", str(duration_s)]
    return Lateness.model_validate(json.loads(run_or_exit(command, cpu).output)["lateness_ms"])


def _print_quantile(quantile: Quantile, pairs: list[tuple[Lateness, Lateness]]) -> None:
    engine_us = [_us(engine, quantile) for engine, _ in pairs]
    timer_us = [_us(timer, quantile) for _, timer in pairs]
    ratios = [ours / theirs for ours, theirs in zip(engine_us, timer_us, strict=True)]
    print(
        f"{quantile:>8}  {statistics.median(engine_us):>9.1f}  {statistics.median(timer_us):>9.1f}  "
        f"{statistics.median(ratios):>7.2f}  {min(ratios):>7.2f}  {max(ratios):>7.2f}"
    )


def _us(lateness: Lateness, quantile: Quantile) -> float:
    lateness_ms: float | None = getattr(lateness, quantile)
    assert lateness_ms is not None, f"too few requests for {quantile}: take a longer duration"
    return lateness_ms * 1e3


if __name__ == "__main__":
    main()

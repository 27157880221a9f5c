"""How late the engine sends at a fixed rate, and in turn with it how late a plain timer loop wakes.

The timer loop does nothing but sleep until each due time: it says how quiet the machine is, and so how much
of the engine's lateness is its own.

Requests for a file are sent unless ``--messages`` says otherwise, over any version of HTTP that has them:
``--http 3 --connections 10 --streams 100``, ``--messages websocket``, ``--messages bidirectional``.
"""

import argparse
import json
import statistics
from collections.abc import Sequence
from typing import Final, Literal, get_args

from benches.generators import FLOOR
from benches.rig import LOADCURVE, PATH, machine, own_cpus, run_or_exit, running_web_server
from loadcurve.protocol import HTTP1_1, HTTP2, HTTP3, HTTP_FAMILIES, WEBSOCKET, AnsweredMessages, HttpFamily
from loadcurve.result.generator import Lateness
from loadcurve.result.load import LoadResult

Quantile = Literal["p50", "p99", "p99_9", "max"]
QUANTILES: tuple[Quantile, ...] = ("p50", "p99", "p99_9", "max")
UNITS: Final[dict[AnsweredMessages | None, str]] = {
    None: "requests",
    "websocket": "messages by WebSocket",
    "unary": "unary calls of gRPC",
    "bidirectional": "messages in bidirectional calls of gRPC",
}
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
    help_http = "version; default: 2 with streams or gRPC, else 1.1"
    parser.add_argument("--http", choices=HTTP_FAMILIES, help=help_http)
    parser.add_argument("--streams", type=int, help="on each connection, over HTTP/2 and HTTP/3")
    parser.add_argument("--messages", choices=get_args(AnsweredMessages), help="in place of requests")
    parser.add_argument("--tls", action="store_true", help="the same over TLS, which HTTP/3 always has")
    parser.add_argument("--server", default="limit", help="of the catalogue; messages require limit")
    arguments = parser.parse_args()
    messages: AnsweredMessages | None = arguments.messages
    is_call = messages not in (None, WEBSOCKET)
    http: HttpFamily = arguments.http or (HTTP2 if arguments.streams or is_call else HTTP1_1)
    if is_call and http != HTTP2:
        parser.error(f"--http {http}: calls of gRPC are made over HTTP/2")
    if messages == WEBSOCKET and http == HTTP3:
        parser.error("--http 3: a WebSocket is opened over HTTP/1.1 or HTTP/2")
    if arguments.streams and http == HTTP1_1:
        parser.error("--streams: HTTP/1.1 has none")
    is_encrypted = arguments.tls or http == HTTP3
    cpus = own_cpus()
    load = ["-R", str(arguments.rate), "-c", str(arguments.connections), "-d", f"{arguments.duration}s"]
    load += ["--http", http, *(["--streams", str(arguments.streams)] if arguments.streams else [])]
    load += ["--insecure"] if is_encrypted else []
    settings: dict[str, object] = {"tls": is_encrypted, "http2": http == HTTP2, "http3": http == HTTP3}
    if messages == "bidirectional":
        settings["call_messages"] = "echo"
    pairs = []
    with running_web_server(arguments.server, settings, cpus.server) as server:
        url, sent = _sent(server.address, messages, is_encrypted=is_encrypted)
        for _ in range(arguments.pairs):
            engine = _engine(url, (*load, *sent), cpus.generator)
            timer = _timer(arguments.rate, arguments.duration, cpus.generator)
            pairs.append((engine, timer))
    print(machine())
    print(
        f"{arguments.rate} {UNITS[messages]} per second; the engine with {arguments.connections} connections "
        f"of HTTP/{http} {f'with {arguments.streams} streams ' if arguments.streams else ''}"
        f"{'over TLS ' if is_encrypted else ''}"
        f"against {arguments.server} on another CPU; medians of {arguments.pairs} pairs\n"
    )
    print(f"{'lateness':>8}  {'engine µs':>9}  {'timer µs':>9}  {'ratio':>7}  {'lowest':>7}  {'highest':>7}")
    for quantile in QUANTILES:
        _print_quantile(quantile, pairs)


def _sent(
    address: str, messages: AnsweredMessages | None, *, is_encrypted: bool
) -> tuple[str, Sequence[str]]:
    """Return the URL of a load, and the options that say what is sent there."""
    last = "s" if is_encrypted else ""
    if messages is None:
        return f"http{last}://{address}{PATH}", ()
    if messages == WEBSOCKET:
        return f"ws{last}://{address}/", ("--body", "sixteen letters.")
    return f"grpc{last}://{address}/loadcurve.Echo/Call", ("--call", messages)


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

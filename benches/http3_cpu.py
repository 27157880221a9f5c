"""What a request over HTTP/3 costs the generator beside its server: `python -m benches.http3_cpu`.

The servers are those of the catalogue that `loadcurve servers install` brings, with one worker on one CPU;
the generator has the other. Of each object size and number of requests at once on each connection, the
generator's CPU time per answer is divided by the server's own in the same load: the medians of the trials,
with their quartiles. The next column has the datagrams of one receive, which are several where the server
sends segments, and one where it does not.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benches.http3_counts import CONNECTIONS, KIB, STREAMS, name_of
from benches.rig import LOADCURVE, MEASURED_EXIT_CODES, machine, own_cpus
from loadcurve.result.folder import read_run
from loadcurve.result.records import PointRecord
from loadcurve.server.installed.place import installed_server

SERVERS = {"nginx": {"workers": 1, "worker_connections": 4096}, "caddy": {}, "envoy": {"workers": 1}}
NGINX_GOAL = 0.6
"""At 1 KiB, ours by nginx's."""
SEGMENTS_GOAL = 3.0
"""Datagrams for each receive, where the server sends segments: nginx does not."""


def study(asked: argparse.Namespace, names: Sequence[str]) -> str:
    """Return a study of these servers, each with each object."""
    cpus = own_cpus()
    lines = [
        'title = "HTTP/3, the generator beside its servers"',
        *(f'content."{name_of(kib)}" = "{kib}KiB"' for kib in KIB),
        "[load]",
        'model = "closed"',
        'http = "3"',
        f'requests = ["/{name_of(KIB[0])}"]',
        f"connections = {CONNECTIONS}",
        'warmup = "1s"',
        f'duration = "{asked.duration}s"',
        "[sweep]",
        f"streams = {list(STREAMS)}",
        "[trials]",
        f"count = {asked.trials}",
        "[host]",
        f"server_cpus = [{cpus.server}]",
        f"load_cpus = [{cpus.generator}]",
    ]
    for name in names:
        settings = [f"{key} = {value}" for key, value in SERVERS[name].items()]
        installed = installed_server(name)
        if installed is None:
            sys.exit(f"needs {name} by: loadcurve servers install {name}")
        for kib in KIB:
            lines += [
                f"[servers.{name}-{kib}]",
                f'use = "{name}"',
                f'binary = "{installed.program}"',
                "tls = true",
                "http3 = true",
                *settings,
                f'load = {{ requests = ["/{name_of(kib)}"] }}',
            ]
    return "\n".join(lines)


def row(server: str, streams: float, records: Sequence[PointRecord]) -> str:
    """Return what one load says, in columns."""
    ratios, receives = [], []
    for record in records:
        ours, theirs = record.load.generator.cpu_per_request_us, record.probe.server
        if ours is not None and theirs is not None and theirs.cpu_per_request_us:
            ratios.append(ours / theirs.cpu_per_request_us)
        if record.load.http3 is not None and record.load.http3.datagrams.per_receive is not None:
            receives.append(record.load.http3.datagrams.per_receive)
    if len(ratios) <= 1 or not receives:
        return f"{server:<12} {streams:>7g}  not measured"
    low, median, high = statistics.quantiles(ratios, n=4)
    failed = sum(record.load.requests.failed or 0 for record in records)
    name, _, kib = server.rpartition("-")
    goals = [f"CPU {NGINX_GOAL}"] if name == "nginx" and int(kib) == KIB[0] else []
    goals += [f"datagrams {SEGMENTS_GOAL:g}"] if name != "nginx" and int(kib) > KIB[0] else []
    shown = f"{median:.3f}  {low:.3f} to {high:.3f}  {statistics.median(receives):9.2f}  {failed:6}"
    return f"{server:<12} {streams:>7g}  {shown}  {', '.join(goals)}"


def main() -> None:
    """Run the study, and print a line for each of its points."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SERVERS, default=list(SERVERS))
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each load")
    asked = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(study(asked, asked.only), encoding="utf-8")
        command = [LOADCURVE, "run", "study.toml", "--out", "run", "--yes"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in MEASURED_EXIT_CODES:
            sys.exit(done.stderr)
        points = read_run(Path(folder, "run")).points
    print(f"{'server-KiB':<12} {'streams':>7}  {'CPU':<5}  {'quartiles':<14}  datagrams  failed  goal")
    for server, streams in sorted({(one.server, one.point["streams"]) for one in points}):
        print(
            row(server, streams, [r for r in points if (r.server, r.point["streams"]) == (server, streams)])
        )


if __name__ == "__main__":
    main()

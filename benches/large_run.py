"""A large run: 10 servers, 50 points and 10 trials by default.

One short load is measured for real, so that series and histograms are as long as they are; its record is
copied to every point of every trial, with other rates, CPU and memory. In one point of ten, connections took
a second, which is what makes findings decode a histogram.
"""

import argparse
import math
import random
import subprocess
import tempfile
from pathlib import Path

from benches.rig import LOADCURVE
from loadcurve.result.folder import Run, read_run
from loadcurve.result.load import LoadResult
from loadcurve.result.records import PlannedTrial, PointRecord

STUDY = """\
title = "One point"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
calls = 100
think = "1ms"
warmup = "200ms"
duration = "{duration_s}s"
[sweep]
connections = [50]
[trials]
count = 1
[servers.limit]
"""


def parser_of_size(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that say how large the run is."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", type=int, default=10)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument(
        "--duration", type=int, default=10, metavar="SECONDS", help="of the load that is copied"
    )
    return parser


def measured_record(duration_s: int) -> tuple[Run, PointRecord]:
    """Run one load for real; return its run and its only record."""
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as name:
        study, folder = Path(name) / "one.toml", Path(name) / "run"
        study.write_text(STUDY.format(duration_s=duration_s))
        command = [LOADCURVE, "run", str(study), "--out", str(folder)]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        run = read_run(folder)
    return run, run.points[0]


def large_run(size: argparse.Namespace) -> Run:
    """Measure one load and copy its record to all points of all trials of all servers."""
    run, record = measured_record(size.duration)
    drawn = random.Random(1)  # noqa: S311 - noise, no secret
    names = [f"server-{number}" for number in range(size.servers)]
    sweep = [{"connections": float(10 * number)} for number in range(1, size.points + 1)]
    order = [
        PlannedTrial(trial=block * size.servers + place, block=block, server=name)
        for block in range(size.trials)
        for place, name in enumerate(names)
    ]
    records = [
        copied(record, planned, point["connections"], drawn.gauss(0, 0.02))
        for planned in order
        for point in sweep
    ]
    known = run.run.servers["limit"]
    changed = run.run.model_copy(
        update={"order": order, "points": sweep, "servers": dict.fromkeys(names, known)}
    )
    return Run(folder=run.folder, run=changed, records=list(records), study_text="", cut_off=False)


def copied(record: PointRecord, planned: PlannedTrial, connections: float, noise: float) -> PointRecord:
    """Return a record at another point, with a rate and a memory that suit it."""
    factor = math.exp(noise)
    rate = record.load.rate_rps.model_copy(
        update={"answered": 1e4 * connections / (connections + 50) * factor}
    )
    update: dict[str, object] = {"rate_rps": rate}
    if connections % 100 == 0:
        update |= retried(record.load)
    update["load"] = record.load.load.model_copy(update={"connections": int(connections)})
    server = record.probe.server
    assert server is not None, "the server was this run's own"
    memory = {"memory_mean_bytes": (1 << 24) + 1e5 * connections * factor}
    probe = record.probe.model_copy(update={"server": server.model_copy(update=memory)})
    return record.model_copy(
        update={
            "trial": planned.trial,
            "block": planned.block,
            "server": planned.server,
            "point": {"connections": connections},
            "measurements": {"load": record.load.model_copy(update=update)},
            "probe": probe,
        }
    )


def retried(load: LoadResult) -> dict[str, object]:
    """Return what makes a load look as if connections had waited for a SYN to be sent again."""
    return {
        "connect_ms": load.connect_ms and load.connect_ms.model_copy(update={"max": 1003.0}),
        "kernel": load.kernel.model_copy(update={"syn_retransmits": 3, "listen_overflows": 3}),
    }

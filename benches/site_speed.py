"""How long the pages of published results take: of a large run, of a thousand runs, and of one more.

python -m benches.site_speed [RUNS]
"""

import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from loadcurve.analysis.publication import RANKED_NAMES, rankings_of
from loadcurve.report.site.build import build_site
from loadcurve.result.publication import (
    PublishedFigure,
    PublishedMachine,
    PublishedMeasure,
    PublishedPoint,
    PublishedRun,
    PublishedServer,
    PublishedWork,
    publish_run,
)

STUDIES, MACHINES = 10, 5
_MEASURES = [
    PublishedMeasure(
        name=name, title=name.rpartition("_")[0].replace("_", " "), unit="s",
        better="higher" if name == "throughput_rps" else "lower",
    )
    for name in RANKED_NAMES
]  # fmt: skip


def published(number: int, servers: int, points: int, trials: int) -> PublishedRun:
    """Return a run of this size; its number decides its figures."""
    source = np.random.default_rng(number)
    values = np.exp(
        source.normal(0, 0.05, (len(_MEASURES), servers, points, trials))
        + np.arange(servers)[:, None, None] * 0.05
    )
    of_points = [
        PublishedPoint(
            server=f"server-{server}", point={"connections": 2.0**point}, blocks=list(range(trials)),
            verdicts=["valid"] * trials, reason=None,
            figures={
                measure.name: _figure(values[place, server, point]) for place, measure in enumerate(_MEASURES)
            },
        )
        for server in range(servers)
        for point in range(points)
    ]  # fmt: skip
    machine = number % MACHINES
    work = PublishedWork(options={}, servers=[f"server-{server}" for server in range(servers)])
    started_at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    return PublishedRun(
        format="loadcurve-published/1", run=f"{number:08x}" + "0" * 56, subject=f"study-{number % STUDIES}",
        title=f"Study {number % STUDIES}", question=None, complete=True,
        started_at=f"{started_at:%Y-%m-%dT%H:%M:%SZ}",
        loadcurve_version="1", conditions=f"{number % STUDIES:064x}", work="http",
        load={"model": "closed"}, seed=1, options=[], ranked_by="throughput_rps",
        study="[load]\n", study_sha256=None,
        machine=PublishedMachine(
            slug=f"machine-{machine}", name=f"machine {machine}", fingerprint=f"{machine:064x}",
            cpu_model="a CPU", cpus=2, memory_bytes=8 << 30, architecture="x86_64", virtual_machine=True,
            kernel="6.1", operating_system="Debian",
        ),
        noise=None, measures=_MEASURES,
        servers=[
            PublishedServer(
                name=f"server-{server}", slug=f"server-{server}", title=f"Server {server}", version="1",
                settings={}, configuration={}, programs={}, documentation=None, missing=False, cpus=1,
            )
            for server in range(servers)
        ],
        points=of_points, works=[work],
        rankings=list(rankings_of(of_points, _MEASURES, [work], ())), unranked=[], findings=[],
    )  # fmt: skip


def _figure(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> PublishedFigure:
    mean, spread = float(values.mean()), float(values.std())
    return PublishedFigure(
        values=[round(one, 6) for one in values.tolist()],
        value=mean,
        low=mean - spread,
        high=mean + spread,
        n=len(values),
    )


def _timed_build(site: Path) -> tuple[float, int]:
    started = time.perf_counter()
    written = build_site(site).written
    return time.perf_counter() - started, written


def main() -> None:
    """Print the size of a large page, and the times of a site of many runs."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        large = published(0, servers=100, points=10, trials=5)
        publish_run(Path(folder), large)
        build_site(Path(folder))
        page = Path(folder) / large.place.replace(".json", ".html")
        print(f"page of 100 servers, 10 points, 5 trials: {page.stat().st_size / 1e6:.2f} MB (goal 3)")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            publish_run(Path(folder), published(number, servers=10, points=6, trials=3))
        took_s, written = _timed_build(Path(folder))
        print(f"{runs} runs of 10 servers: {written} pages in {took_s:.1f} s (goal 60)")
        publish_run(Path(folder), published(runs, servers=10, points=6, trials=3))
        took_s, written = _timed_build(Path(folder))
        print(f"one more: {written} pages in {took_s:.2f} s (goal 2)")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at most {peak_mib:.0f} MiB (goal 500 MB)")


if __name__ == "__main__":
    main()

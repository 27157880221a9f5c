"""How long the pages of published results take to be built, and until their first screens are painted.

Built are those of a large run, of a thousand runs, and of one more; opened the largest ones, in the system's
Chromium. The bytes and the times to the first paint, of anything and of content, are those of the browser's
own entries (W3C Paint Timing, Navigation Timing); each visit is from disk in a fresh profile, and given are
the medians.

python -m benches.site_speed [RUNS]
"""

import resource
import shutil
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benches.page_speed import FLAGS
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
VISITS, SCREEN_GOAL_S = 7, 1.0
SCREEN = """async () => {
  const isPainted = () => performance.getEntriesByName("first-contentful-paint").length > 0;
  while (!isPainted()) await new Promise(requestAnimationFrame);
  const [page] = performance.getEntriesByType("navigation");
  const painted = (name) => performance.getEntriesByName(name)[0].startTime / 1000;
  return {
    bytes: page.decodedBodySize,
    paint: painted("first-paint"),
    content: painted("first-contentful-paint"),
    parsed: page.domContentLoadedEventEnd / 1000,
  };
}"""
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


def _timed_build(site: Path) -> str:
    started, started_cpu = time.perf_counter(), time.process_time()
    written = build_site(site).written
    took_s, cpu_s = time.perf_counter() - started, time.process_time() - started_cpu
    return f"{written} pages in {took_s:.2f} s, {cpu_s:.2f} s of CPU time"


def visited(browser: Browser, path: Path) -> dict[str, float]:
    """Open a page from disk in a fresh profile; return its bytes and when it was painted, in seconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    entries: dict[str, float] = page.evaluate(SCREEN)
    context.close()
    return entries


def print_first_screens(pages: dict[str, Path]) -> None:
    """Print the bytes of each page, and when its first screen is painted."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no first screen is measured: needs chromium; on Debian: apt-get install chromium")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, path in pages.items():
            visits = [visited(browser, path) for _ in range(VISITS)]
            median = {key: statistics.median(one[key] for one in visits) for key in visits[0]}
            print(
                f"{name}: {median['bytes'] / 1e6:.2f} MB, painted after {median['paint']:.2f} s, "
                f"content {median['content']:.2f} s (goal {SCREEN_GOAL_S:g}), parsed {median['parsed']:.2f} s"
            )
        browser.close()


def main() -> None:
    """Print the size of a large page, the times of a site of many runs, and those of first screens."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        large = published(0, servers=100, points=10, trials=5)
        publish_run(Path(folder), large)
        build_site(Path(folder))
        page = Path(folder) / large.place.replace(".json", ".html")
        print(f"page of 100 servers, 10 points, 5 trials: {page.stat().st_size / 1e6:.2f} MB (goal 3)")
        print_first_screens({"the page of that run": page})
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            publish_run(Path(folder), published(number, servers=10, points=6, trials=3))
        print(f"{runs} runs of 10 servers: {_timed_build(Path(folder))} (goal 60)")
        publish_run(Path(folder), published(runs, servers=10, points=6, trials=3))
        print(f"one more: {_timed_build(Path(folder))} (goal 2)")
        site = Path(folder)
        study = site / "study-0" / "index.html"
        server = site / "servers" / "server-0.html"
        print_first_screens({"the front page": site / "index.html", "a study": study, "a server": server})
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at most {peak_mib:.0f} MiB (goal 500 MB)")


if __name__ == "__main__":
    main()

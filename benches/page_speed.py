"""How soon the page of a run can be used, an ordinary one and a large one, in the system's Chromium.

The large one has 10 servers, 50 points and 10 trials, unless options say otherwise. Their records come from
`benches.large_run`. Each visit begins in a fresh profile; given are the medians. The page
can be used when its scripts have run and its first figure is drawn; the figures that are not in sight follow
one by one, and what they keep the page busy is given, too.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benches.large_run import large_run, parser_of_size
from benches.rig import machine
from loadcurve.analysis.analysis import analyse
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.result.folder import Run

GOAL_S = 2.0
ORDINARY = {"servers": 6, "points": 5, "trials": 3}
"""About what the quickstart measures."""
ORDINARY_GOAL_S = 0.5
GOAL_BYTES = 8_000_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

WATCH = """
window.busy = [];
new PerformanceObserver((list) => busy.push(...list.getEntries()))
  .observe({ type: "longtask", buffered: true });
let embed;
Object.defineProperty(window, "vegaEmbed", {
  get: () => async (...given) => {
    const result = await embed(...given);
    performance.mark("figure");
    return result;
  },
  set: (given) => { embed = given; },
});
"""
"""Runs before the page's own scripts: marks when a figure is drawn, keeps what blocks for 50 ms or more."""

MILESTONES = """async (figures) => {
  const drawn = () => performance.getEntriesByName("figure");
  while (drawn().length < figures) await new Promise(requestAnimationFrame);
  const [navigation] = performance.getEntriesByType("navigation");
  const usable = Math.max(navigation.domContentLoadedEventEnd, drawn()[0].startTime);
  const pauses = busy.filter((one) => one.startTime > usable).map((one) => one.duration);
  return {
    "first paint": performance.getEntriesByName("first-contentful-paint")[0].startTime,
    "usable": usable,
    "all figures": drawn().at(-1).startTime,
    "longest pause after that": Math.max(0, ...pauses),
  };
}"""


def main() -> None:
    """Print how large each page is and when it reaches each milestone, beside the goals."""
    parser = parser_of_size(__doc__)
    parser.add_argument("--visits", type=int, default=7)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("needs chromium; on Debian: apt-get install chromium")
    print(machine())
    ordinary = argparse.Namespace(**{**vars(arguments), **ORDINARY})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for size, goal_s in ((ordinary, ORDINARY_GOAL_S), (arguments, GOAL_S)):
            print(f"{size.servers} servers, {size.points} points, {size.trials} trials")
            measure(browser, large_run(size), arguments.visits, goal_s)
        browser.close()


def measure(browser: Browser, run: Run, visits: int, goal_s: float) -> None:
    """Print the size of the page of one run, and the median of each milestone over some visits."""
    before_s = time.perf_counter()
    page = render_page(Report(run, analyse(run))).encode()
    print(f"{'written':<26}{time.perf_counter() - before_s:>7.2f} s")
    print(f"{'size':<26}{len(page) / 1e6:>7.2f} MB, goal {GOAL_BYTES / 1e6:g} MB")
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as folder:
        path = Path(folder) / "report.html"
        path.write_bytes(page)
        visited_at = [visited(browser, path) for _ in range(visits)]
    for milestone in visited_at[0]:
        median_s = statistics.median(visit[milestone] for visit in visited_at) / 1000
        goal = f", goal {goal_s:g} s" if milestone == "usable" else ""
        print(f"{milestone:<26}{median_s:>7.2f} s{goal}")


def visited(browser: Browser, path: Path) -> dict[str, float]:
    """Open the page in a fresh profile; return when it reached each milestone, in milliseconds."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, offline=True)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(path.as_uri())
    figures = page.locator("figure:not([hidden]) .chart").count()
    milestones: dict[str, float] = page.evaluate(MILESTONES, figures)
    context.close()
    return milestones


if __name__ == "__main__":
    main()

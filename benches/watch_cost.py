"""What an open page costs the measurement: the same short study with the page in Chromium, and without it.

Each round runs the study three times, in an order that turns from round to round: without a page, without
one again, and with the page open in the system's Chromium, headless and where the system puts it. A round is
a block of Loadcurve's paired statistics: the ratio of the two without a page is the rig's own noise (A/A),
and that of the page has to lie within it. The machine has to be quiet.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benches.rig import LOADCURVE, machine
from loadcurve.analysis.curves import curves, usable_logs
from loadcurve.result.folder import read_run
from loadcurve.result.measure_names import MeasureName
from loadcurve.result.measures import MEASURES
from loadcurve.stats.interval import Estimate
from loadcurve.stats.paired import Array, block_means, paired_ratios

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
COMPARED: tuple[MeasureName, ...] = ("throughput", "p50", "p99", "cpu_per_request_us")
SERVER = "watched"
STUDY = """\
title = "The same server with a page and without"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "2s"
duration = "{duration_s}s"
[sweep]
connections = [1, 10, 100]
[trials]
count = 1
[servers.{name}]
use = "{server}"
"""

Kind = Literal["without", "without again", "with the page"]
KINDS: tuple[Kind, ...] = ("without", "without again", "with the page")


@dataclass
class Measured:
    """The figures of one kind of run, by measure, round and point."""

    values: dict[MeasureName, list[Array]] = field(default_factory=lambda: {name: [] for name in COMPARED})

    def add(self, folder: Path) -> None:
        """Take the figures of the run of one round."""
        found = curves(read_run(folder))
        for name, rounds in self.values.items():
            # The only trial of each run is its block 0.
            [figures] = usable_logs(found, MEASURES[name])[1][SERVER]
            rounds.append(figures)


def main() -> None:
    """Print the ratios of each measure, with their intervals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each load")
    parser.add_argument("--server", default="nginx", metavar="NAME", help="of the catalogue")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("needs chromium; on Debian: apt-get install chromium")
    print(machine())
    measured = {kind: Measured() for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as folder, sync_playwright() as playwright:
        # A server that root starts reads the files as another user.
        Path(folder).chmod(0o755)
        study = Path(folder) / "study.toml"
        study.write_text(STUDY.format(duration_s=arguments.duration, server=arguments.server, name=SERVER))
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for number in range(arguments.rounds):
            turn = number % len(KINDS)
            for kind in (*KINDS[turn:], *KINDS[:turn]):
                out = Path(folder) / f"{number}-{kind.replace(' ', '-')}"
                run(study, out, browser if kind == "with the page" else None)
                measured[kind].add(out)
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        browser.close()
    print_ratios(measured)


def run(study: Path, out: Path, reader: Browser | None) -> None:
    """Run the study, with its page open where there is a reader."""
    watch = [] if reader is None else ["--watch"]
    command = [LOADCURVE, "run", str(study), "--out", str(out), *watch]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None, "asked for"
        page = None
        if reader is not None:
            page = reader.new_page(viewport={"width": 1440, "height": 900})
            page.goto(process.stderr.readline().split()[-1])
        said = process.stderr.read()
    if page is not None:
        # The page leads to the report, unless it was not open to the end.
        page.wait_for_url("**/report.html")
        page.close()
    if process.returncode not in {0, 3}:
        sys.exit(f"the run ended with {process.returncode}: {said}")


def print_ratios(measured: dict[Kind, Measured]) -> None:
    """Print the paired ratios of the second and the third kind to the first."""
    print(f"{'ratio to a run without the page':<34}  {'without again (A/A)':<34}  with the page")
    for name in COMPARED:
        ratios = []
        for kind in KINDS[1:]:
            taken, without = (np.array(measured[one].values[name]) for one in (kind, "without"))
            [found] = paired_ratios(block_means(taken - without)[None, :])
            estimate = None if found is None else found.estimate
            ratios.append("not measured" if estimate is None else in_words(estimate))
        print(f"{MEASURES[name].title:<34}  {ratios[0]:<34}  {ratios[1]}")


def in_words(estimate: Estimate) -> str:
    """Return a ratio with its interval and its number of rounds."""
    ends = (
        ""
        if estimate.low is None or estimate.high is None
        else f" ({estimate.low:.3f} to {estimate.high:.3f})"
    )
    return f"{estimate.value:.3f}{ends}, n = {estimate.n}"


if __name__ == "__main__":
    main()

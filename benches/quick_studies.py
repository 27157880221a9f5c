"""Every experiment that comes with Loadcurve, in its shortened form, and what became of its authors' claims.

``python -m benches.quick_studies [NAME...]``

Each must end with figures. How long it took is shown and judged by nobody: a server that is built first takes
minutes. The command ends with 1 where a study failed or has no usable point.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.interference import together_of
from loadcurve.analysis.numbers import analysis_of
from loadcurve.report.claims import claim_rows
from loadcurve.report.together import sentences
from loadcurve.result.run_files import has_several_loads
from loadcurve.study.bundled import STUDY_FILE, bundled_studies


@dataclass(frozen=True)
class Tried:
    """One experiment as it was run."""

    name: str
    exit_code: int
    length_s: float
    analyses: list[Analysis]
    interference: list[str]

    @property
    def verdicts(self) -> str:
        """How many points of trials have each verdict."""
        counts: Counter[str] = Counter()
        for analysis in self.analyses:
            counts.update(analysis.verdicts)
        return ", ".join(f"{count} {status}" for status, count in counts.items() if count)

    @property
    def is_good(self) -> bool:
        """Whether it has figures."""
        usable = (one.verdicts["valid"] + one.verdicts["suspect"] for one in self.analyses)
        return self.exit_code == 0 and any(usable)


def experiments() -> list[str]:
    """Return the names of the studies that are folders: those of publications."""
    return [name for name, file in bundled_studies().items() if file.name == STUDY_FILE]


def tried(name: str, folder: Path) -> Tried:
    """Run one experiment."""
    started_s = time.monotonic()
    command = [str(Path(sys.executable).with_name("loadcurve")), "run", name, "--quick", "--out", str(folder)]
    finished = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    length_s = time.monotonic() - started_s
    analyses, interference = [], []
    if finished.returncode == 0:
        if has_several_loads(folder):
            together = together_of(folder)
            analyses, interference = [load.analysis for load in together.loads], sentences(together)
        else:
            analyses = [analysis_of(folder)]
    return Tried(name, finished.returncode, length_s, analyses, interference)


def rows(one: Tried) -> Iterator[tuple[str, str]]:
    """Yield what became of each claim, or how one load interferes with another, in words."""
    for analysis in one.analyses:
        for row in claim_rows(analysis):
            yield row.title, f"{row.text} {row.why}"
    for sentence in one.interference:
        yield "interference", sentence


def main(names: list[str]) -> int:
    """Run the experiments of these names, or all; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        found = [tried(name, Path(folder, name)) for name in names or experiments()]
    console = Console(width=110)
    sizes = Table(title="shortened studies", box=None)
    for column in ("study", "exit", "seconds", "points"):
        sizes.add_column(column)
    for one in found:
        sizes.add_row(one.name, str(one.exit_code), f"{one.length_s:.0f}", one.verdicts)
    claims = Table(title="claims", box=None)
    for column in ("study", "outcome", "claim"):
        claims.add_column(column)
    for one in found:
        for outcome, words in rows(one):
            claims.add_row(one.name, outcome, Text(words))
    console.print(sizes)
    console.print(claims)
    return 0 if all(one.is_good for one in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

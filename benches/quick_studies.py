"""Every experiment that comes with Loadcurve, in its shortened form: its claims, and what explains puzzles.

``python -m benches.quick_studies [--out DIR] [NAME...]``

Servers that are built from source are built first, apart from the time. Each experiment must end with figures
within 120 s, of every server that is installed here. The run folders are kept in DIR, where one is named. The
command ends with 1 where a study failed, an installed server has no usable point, or it took longer.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benches.rig import LOADCURVE
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.interference import together_by
from loadcurve.analysis.numbers import analysis_of
from loadcurve.analysis.unusable import without_usable_figures
from loadcurve.errors import NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID
from loadcurve.report.claims import claim_rows
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.together import sentences
from loadcurve.result.run_files import has_several_loads
from loadcurve.result.several import read_loads
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import catalog_rows
from loadcurve.study.bundled import STUDY_FILE, bundled_studies
from loadcurve.study.several import studies_in

LONGEST_S = 120.0
"""What a first look may take."""
PUZZLES: dict[str, tuple[str, frozenset[str]]] = {
    "A-credits": ("identical trials disagree", frozenset({"cpu_credits", "odd_trial"})),
    "A-web": ("a few requests above 3,000 ms", frozenset({"listen_queue_overflow", "connections_retried"})),
    "C-bound": ("a dip at 15 to 16 connections, a bump near 50", frozenset({"processes_changed"})),
    "C-servers": ("a dip at 15 to 16 connections, a bump near 50", frozenset({"processes_changed"})),
    "D-connections": (
        "one request per connection takes up to two seconds",
        frozenset({"listen_queue_overflow", "connections_retried"}),
    ),
}
"""By experiment, what puzzled its authors, and the findings that explain it."""


@dataclass(frozen=True)
class Tried:
    """One experiment as it was run."""

    name: str
    exit_code: int
    length_s: float
    analyses: list[Analysis]
    interference: list[str]
    missing: list[str]
    """The servers that are not installed here."""

    @property
    def verdicts(self) -> str:
        """How many points of trials have each verdict."""
        counts: Counter[str] = Counter()
        for analysis in self.analyses:
            counts.update(analysis.verdicts)
        return ", ".join(f"{count} {status}" for status, count in counts.items() if count)

    @property
    def is_good(self) -> bool:
        """Whether it has figures, in time; one without any server here has nothing to fail at."""
        if self.missing and not self.analyses and self.exit_code == NothingMeasured.exit_code:
            return True
        usable = (one.verdicts["valid"] + one.verdicts["suspect"] for one in self.analyses)
        return self.exit_code in MEASURED and any(usable) and not self.unusable and self.length_s <= LONGEST_S

    @property
    def unusable(self) -> list[str]:
        """The servers that are installed here and have no usable point; a run with any ends with 3.

        It ends with 3 as well where the only ones are not installed, which is no fault of the study.
        """
        return list(dict.fromkeys(chain.from_iterable(map(unusable_servers, self.analyses))))


MEASURED = (EXIT_DONE, EXIT_INVALID)
"""The exit codes of a run that has measured something."""


def unusable_servers(analysis: Analysis) -> Iterator[str]:
    """Yield the servers of one run that were installed, and have no usable point."""
    installed = [name for name, server in analysis.run.servers.items() if server.status != "missing"]
    for one in without_usable_figures(analysis, installed):
        yield one.server


def experiments() -> list[str]:
    """Return the names of the studies that are folders: those of publications."""
    return [name for name, file in bundled_studies().items() if file.name == STUDY_FILE]


def entries_of(name: str) -> list[str]:
    """Return the entries of the catalogue that the shortened form of an experiment uses."""
    quick = [study.quick() for study in studies_in(bundled_studies()[name])]
    return sorted({server.use for study in quick for server in study.servers.values()})


def missing_of(names: list[str]) -> list[str]:
    """Return which entries are not here, after those that are built from source have been built."""
    entries = [entry for entry in load_catalog() if entry.name in names]
    for row in catalog_rows(entries):
        if row.status == "not built":
            subprocess.run([LOADCURVE, "servers", "check", row.name], capture_output=True, check=False)
    return [row.name for row in catalog_rows(entries) if row.status != "found"]


def tried(name: str, folder: Path) -> Tried:
    """Run one experiment."""
    missing = missing_of(entries_of(name))
    started_s = time.monotonic()
    command = [LOADCURVE, "run", name, "--quick", "--out", str(folder)]
    finished = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    length_s = time.monotonic() - started_s
    analyses, interference = [], []
    if finished.returncode in MEASURED:
        if has_several_loads(folder):
            record = read_loads(folder)
            together = together_by(record, {one.name: analysis_of(folder / one.name) for one in record.loads})
            analyses, interference = [load.analysis for load in together.loads], sentences(together)
        else:
            analyses = [analysis_of(folder)]
    return Tried(name, finished.returncode, length_s, analyses, interference, missing)


def rows(one: Tried) -> Iterator[tuple[str, str]]:
    """Yield what became of each claim, or how one load interferes with another, in words."""
    for analysis in one.analyses:
        for row in claim_rows(analysis):
            yield row.title, f"{row.text} {row.why}"
    for sentence in one.interference:
        yield "interference", sentence


def explanations(one: Tried) -> Iterator[tuple[str, str]]:
    """Yield the findings that explain what puzzled the authors, with their codes; or that none came about."""
    if one.name not in PUZZLES:
        return
    puzzle, codes = PUZZLES[one.name]
    found = [finding for analysis in one.analyses for finding in analysis.findings if finding.code in codes]
    for finding in found:
        where = points_in_words(finding.points)
        yield finding.code, f"{puzzle}: {finding.server} at {where}. {finding.seen} {finding.cause}"
    if not found:
        yield "none", f"{puzzle}: it did not come about here"


def table(title: str, *columns: str) -> Table:
    """Return a table with these headings."""
    made = Table(title=title, box=None)
    for column in columns:
        made.add_column(column)
    return made


def printed(found: list[Tried]) -> None:
    """Print what became of the experiments."""
    console = Console(width=110)
    sizes = table("shortened studies", "study", "exit", "seconds", "points", "unusable", "not installed here")
    for one in found:
        late = " (too long)" if one.length_s > LONGEST_S else ""
        seconds = f"{one.length_s:.0f}{late}"
        unusable, missing = ", ".join(one.unusable), ", ".join(one.missing)
        sizes.add_row(one.name, str(one.exit_code), seconds, one.verdicts, unusable, missing)
    claims = table("claims", "study", "outcome", "claim")
    puzzles = table("puzzles", "study", "finding", "explanation")
    for one in found:
        for outcome, words in rows(one):
            claims.add_row(one.name, outcome, Text(words))
        for code, words in explanations(one):
            puzzles.add_row(one.name, code, Text(words))
    for shown in (sizes, claims, puzzles):
        console.print(shown)


def main(arguments: list[str]) -> int:
    """Run the experiments of these names, or all; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benches.quick_studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments; default: all")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the run folders are kept")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.out or Path(temporary)
        found = [tried(name, folder / name) for name in asked.names or experiments()]
    printed(found)
    return 0 if all(one.is_good for one in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

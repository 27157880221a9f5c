"""A run with a known truth, written in some formats."""

from pathlib import Path

from loadcurve.report.formats.write import write_formats
from loadcurve.stats.slo import parse_objective
from support import synthetic_run as synthetic

RUNS_IN_A_SPREADSHEET = "=cmd|' /C calc'!A0"
"""A name that a spreadsheet runs, were it a formula."""


def formats_of(
    folder: Path, *formats: str, server: str = "tiny", limits: str | None = None
) -> dict[str, bytes]:
    """Write a run whose third server has this name, and return its files by name."""
    run = synthetic.write_renamed_run(folder / "run", "tiny", server)
    objective = None if limits is None else parse_objective(limits)
    return {path.name: path.read_bytes() for path in write_formats(run, formats, objective, folder / "out")}

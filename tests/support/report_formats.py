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
    return {
        path.name: path.read_bytes() for path in write_formats(run, formats, objective, folder / "out").paths
    }


def write_run_of_two_keys(folder: Path) -> Path:
    """Write a run whose every load was measured at two depths of the pipeline."""
    depths = (1.0, 8.0)
    record = synthetic.run_record()
    points = [{**point, "pipeline": depth} for point in record.points for depth in depths]
    measured = [
        one.model_copy(update={"point": {**one.point, "pipeline": depth}})
        for one in synthetic.trial_records(record)
        if one.kind == "point"
        for depth in depths
    ]
    return synthetic.write_run(folder, record.model_copy(update={"points": points}), list(measured))

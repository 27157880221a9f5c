"""What several loads do to each other, of their run folder."""

from pathlib import Path

from loadcurve.analysis.interference import Together, together_by
from loadcurve.analysis.numbers import analysis_of
from loadcurve.result.several import read_loads


def together_of(folder: Path) -> Together:
    """Read the run folders of several loads, and compute what the loads do to each other."""
    record = read_loads(folder)
    return together_by(record, {load.name: analysis_of(folder / load.name) for load in record.loads})

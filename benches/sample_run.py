"""A small run folder of real records, as many as are asked for, without measuring anything."""

from pathlib import Path

from loadcurve.result.folder import Run, RunFolder, read_run
from loadcurve.result.records import FORMAT, PlannedTrial

SAMPLE = Path(__file__).parents[1] / "tests" / "data" / "old-run-sessions"


def write_sample(folder: Path, trials: int = 2) -> Run:
    """Write a run of one server in two points of ``trials`` trials into a new folder, and read it."""
    sample = read_run(SAMPLE)
    order = [PlannedTrial(trial=trial, block=trial, server="limit") for trial in range(trials)]
    record = sample.run.model_copy(update={"format": FORMAT, "order": order})
    first_trial = [point for point in sample.points if point.trial == 0]
    with RunFolder.create(folder, record, sample.study_text) as writer:
        for trial in range(trials):
            for point in first_trial:
                writer.append(point.model_copy(update={"trial": trial, "block": trial}))
    return read_run(folder)

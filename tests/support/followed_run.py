"""A synthetic run in progress: its folder grows record by record, and says how far it is."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord
from loadcurve.result.run_files import TRIALS_FILE
from loadcurve.watch.progress import ProgressFile, RunProgress
from support import synthetic_run as synthetic


def progress(**changes: Any) -> RunProgress:
    """The progress of a run that starts the first server, unless it is changed."""
    said = {
        "format": "loadcurve-progress/1",
        "trial": PlannedTrial(trial=0, block=0, server="nginx"),
        "trials_planned": 9,
        "point": None,
        "since_unix_s": 1000.0,
        "since_monotonic_s": 1000.0,
        "warmup_s": None,
        "duration_s": None,
        "counted": "points",
        "over": 0,
        "planned": 72,
        "at_most": False,
        "left_s": None,
    }
    return RunProgress.model_validate(said | changes)


@dataclass
class GrowingRun:
    """A run folder with the plan of the synthetic run, and as many of its records as were added."""

    folder: Path
    record: Any = field(default_factory=synthetic.run_record)

    def __post_init__(self) -> None:
        synthetic.write_run(self.folder, self.record, records=[])
        self.to_come: list[PointRecord | FailureRecord] = list(synthetic.trial_records(self.record))
        self.file = ProgressFile(self.folder)

    def add(self, count: int) -> None:
        """Append the next records, of which a reader sees either none or all."""
        added, self.to_come = self.to_come[:count], self.to_come[count:]
        file, grown = self.folder / TRIALS_FILE, self.folder / "grown"
        lines = "".join(one.model_dump_json(by_alias=True) + "\n" for one in added)
        grown.write_text(file.read_text(encoding="utf-8") + lines, encoding="utf-8")
        grown.replace(file)

    def add_all(self) -> None:
        """Append all that are still to come."""
        self.add(len(self.to_come))

    def says(self, **changes: Any) -> None:
        """Write how far the run is."""
        self.file.write(progress(**changes))

    def ends(self) -> None:
        """Take the file of the progress away, as a run does at its end."""
        self.file.__exit__(None, None, None)

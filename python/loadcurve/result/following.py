"""Reading a run folder again and again while it grows, each line once."""

import os
from pathlib import Path

from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.files import open_regular, read_regular
from loadcurve.result.folder import Run
from loadcurve.result.load import Histograms
from loadcurve.result.records import PointRecord, RunRecord, TrialLine, read_trial_record
from loadcurve.result.resumed import lines_cut_off, used_records
from loadcurve.result.run_files import RUN_FILE, STUDY_FILE, TRIALS_FILE

NO_HISTOGRAMS = Histograms(latency="", service_time="", connect="", first_byte="", transfer="")


class FollowedRun:
    """A run folder that is looked at while its run goes on.

    Of each record only what curves are made of is kept, without series, histograms and slowest requests: a
    long run would otherwise fill the memory of the machine that it measures.
    """

    def __init__(self, folder: Path) -> None:
        """Stand for a folder that need not exist yet."""
        self.folder = folder
        self._record: RunRecord | None = None
        self._study_text = ""
        self._lines: list[TrialLine] = []
        self._read_bytes = 0

    def read(self) -> Run | None:
        """Read what is new and return the run until now; ``None`` as long as there is no run folder.

        Raises ``BadInput`` where a file cannot be read as what it should be.
        """
        try:
            if self._record is None:
                self._record = RunRecord.model_validate_json(read_regular(self.folder / RUN_FILE))
                self._study_text = read_regular(self.folder / STUDY_FILE).decode(errors="replace")
            self._read_new_lines(self._record)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"{error.filename or self.folder} cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            raise BadInput(f"{self.folder} cannot be read as a run folder: {error}") from error
        records, gaps = used_records(self._lines)
        return Run(self.folder, self._record, records, self._study_text, cut_off=False, gaps=gaps)

    def _read_new_lines(self, run: RunRecord) -> None:
        with open_regular(self.folder / TRIALS_FILE) as file:
            file.seek(self._read_bytes, os.SEEK_SET)
            # What follows the last line end is still being written, or was cut off by a kill.
            finished, line_end, _ = file.read().rpartition(b"\n")
        lines = [line for line in finished.split(b"\n") if line.strip()]
        cut_off = lines_cut_off(lines)
        self._lines += [
            _lightened(read_trial_record(line, run.format))
            for place, line in enumerate(lines)
            if place not in cut_off
        ]
        self._read_bytes += len(finished) + len(line_end)


def _lightened(record: TrialLine) -> TrialLine:
    if not isinstance(record, PointRecord):
        return record
    left_out = {"series": [], "slowest": [], "histograms": NO_HISTOGRAMS}
    measurements = {name: load.model_copy(update=left_out) for name, load in record.measurements.items()}
    probe = record.probe.model_copy(update={"series": None})
    return record.model_copy(update={"measurements": measurements, "probe": probe})

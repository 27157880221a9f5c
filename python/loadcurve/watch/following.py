"""Reading a run folder again and again while it grows, each line once."""

import os
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.files import open_regular
from loadcurve.result.folder import Run, another_version, read_run_record, read_study
from loadcurve.result.load import Histograms
from loadcurve.result.records import PointRecord, RunRecord, TrialLine
from loadcurve.result.run_files import RUN_FILE, TRIALS_FILE
from loadcurve.result.trial_lines import DamagedLine, TrialReader, UnknownRecordError, whole_lines
from loadcurve.result.which_count import counted, damaged_lines, used_records

NO_HISTOGRAMS = Histograms(latency="", service_time="", connect="", first_byte="", transfer="")


class FollowedRun:
    """A run folder that is looked at during its run.

    Of each record only what curves are made of is kept, without series, histograms and slowest requests: a
    long run would otherwise fill the memory of the machine that it measures.
    """

    def __init__(self, folder: Path) -> None:
        """Stand for a folder that need not exist yet."""
        self.folder = folder
        self._begin: _Begin | None = None
        self._lines: list[TrialLine | DamagedLine] = []
        self._read_bytes = 0
        self._number = 0

    def read(self) -> Run | None:
        """Read what is new and return the run until now; ``None`` as long as there is no run folder.

        Raises ``BadInput`` where a file cannot be read as what it should be.
        """
        if self._begin is None and not os.path.lexists(self.folder / RUN_FILE):
            return None
        begin = self._begin = self._begin or _Begin.of(self.folder)
        try:
            self._read_new_lines(begin.reader)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"{error.filename or self.folder} cannot be read: {error.strerror}.") from error
        except UnknownRecordError as unknown:
            raise another_version(self.folder, begin.record, unknown) from unknown
        used, gaps = used_records(self._lines)
        records, repeated = counted(used, begin.record.server_cpus)
        return Run(
            self.folder,
            begin.record,
            records,
            begin.study_text,
            cut_off=False,
            gaps=gaps,
            damage=(*begin.damage, *map(str, damaged_lines(self._lines))),
            repeated=repeated,
        )

    def _read_new_lines(self, reader: TrialReader) -> None:
        with open_regular(self.folder / TRIALS_FILE) as file:
            file.seek(self._read_bytes, os.SEEK_SET)
            # What follows the last line end is still being written, or was cut off by a kill.
            for line in whole_lines(file):
                self._number += 1
                self._lines += map(_lightened, reader.read(self._number, line))
                self._read_bytes += len(line) + 1
        reader.require_known()


@dataclass(frozen=True, slots=True)
class _Begin:
    """What a run folder holds before its first record."""

    record: RunRecord
    study_text: str
    damage: tuple[str, ...]
    reader: TrialReader

    @classmethod
    def of(cls, folder: Path) -> "_Begin":
        record, run_damage = read_run_record(folder)
        study_text, study_damage = read_study(folder, record)
        return cls(record, study_text, (*run_damage, *study_damage), TrialReader(record.format))


def _lightened(record: TrialLine | DamagedLine) -> TrialLine | DamagedLine:
    if not isinstance(record, PointRecord):
        return record
    left_out = {"series": [], "slowest": [], "histograms": NO_HISTOGRAMS}
    measurements = {name: load.model_copy(update=left_out) for name, load in record.measurements.items()}
    probe = record.probe.model_copy(update={"series": None})
    return record.model_copy(update={"measurements": measurements, "probe": probe})

"""Every single bit of a run folder flipped, one at a time: ``python -m benches.bit_flips [--points N]``.

Each flip must be found, or read as if it had not been, and must cost no record but its own. The reader goes
through every flip, the whole page through one in ``--pages``.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from benches.sample_run import write_sample
from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.result.folder import Run, read_run, read_run_record, read_study
from loadcurve.result.records import FORMAT
from loadcurve.result.run_files import RUN_COPY_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.result.trial_lines import DamagedLine, TrialReader

SMALL_FILES = (RUN_FILE, RUN_COPY_FILE, STUDY_FILE)
BATCH = 40
"""Flips that one reader reads; it gives up after a hundred damaged lines, and a flip makes two at most."""
HARMLESS, FOUND, FAULT = "harmless", "found", "FAULT"


def verdict(before: Run, after: Run, *, may_lose: int) -> str:
    """Judge what was read behind a flip against what was read before."""
    lost = len(before.records) - len(after.records)
    is_rest = [one for one in before.records if one in after.records] == after.records
    if replace(after, damage=before.damage) == before:
        return HARMLESS if not after.damage else FOUND
    is_found = bool(after.damage) or after.cut_off
    return FOUND if is_found and is_rest and 0 <= lost <= may_lose else FAULT


def flips(data: bytes, every: int) -> Iterator[tuple[int, bytes]]:
    """Yield places and the bytes with one bit flipped."""
    changed = bytearray(data)
    for bit in range(0, 8 * len(data), every):
        place, mask = bit // 8, 1 << bit % 8
        changed[place] ^= mask
        yield bit, bytes(changed)
        changed[place] ^= mask


def of_small_files(run: Run, every: int) -> Counter[str]:
    """Flip the bits of the files beside the records, and read these files after each.

    What they say must be as before, but for a study that was hit itself, which is named.
    """
    counts: Counter[str] = Counter()
    before = (run.run, run.study_text)
    for name in SMALL_FILES:
        file = run.folder / name
        data = file.read_bytes()
        for bit, changed in flips(data, every):
            file.write_bytes(changed)
            record, run_damage = read_run_record(run.folder)
            study_text, study_damage = read_study(run.folder, record)
            is_named = any(sentence.startswith(name) for sentence in (*run_damage, *study_damage))
            is_same = (record, study_text) == before
            is_right = is_same or (is_named and record == run.run and name == STUDY_FILE)
            found = (FOUND if is_named else HARMLESS) if is_right else FAULT
            counts[found] += 1
            if found == FAULT:
                print(f"{name}, bit {bit}")
        file.write_bytes(data)
    return counts


def guarded(run: Run, place: str, may_lose: int) -> str:
    """Read the folder and judge it; a refusal is a fault, because nothing is reported then."""
    try:
        found = verdict(run, read_run(run.folder), may_lose=may_lose)
    except BadInput as error:
        print(f"{place}: {error}")
        return FAULT
    if found == FAULT:
        print(f"{place}: not found, or more is lost than its record")
    return found


def of_lines(run: Run, every: int) -> Counter[str]:
    """Flip the bits of every record, and read its line behind one whole line and before another.

    What a reader makes of a line depends on it and on whether others have checksums, so that the others of
    the file need not be read each time; :func:`of_whole_records` does so for some.
    """
    lines = (run.folder / TRIALS_FILE).read_bytes().splitlines(keepends=True)
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines):
        places = (number - 1, number, (number + 1) % len(lines))
        hit = HitLine([lines[place] for place in places], [run.records[place] for place in places])
        left = flips(line, every)
        while batch := list(islice(left, BATCH)):
            for bit, found in hit.judged(batch):
                counts[found] += 1
                if found == FAULT:
                    print(f"{TRIALS_FILE}, line {number + 1}, bit {bit}")
    return counts


@dataclass(frozen=True)
class HitLine:
    """A line whose bits are flipped, between the two beside it."""

    lines: Sequence[bytes]
    records: Sequence[object]

    def judged(self, batch: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
        """Yield what is found of each flip; one reader reads all between the two whole lines."""
        before, _, after = self.lines
        reader = TrialReader(FORMAT)
        others = [*_read(reader, before)]
        for bit, changed in batch:
            # Without its end the line continues with the next one.
            yield bit, self._of_line(reader, changed) if changed[-1:] == b"\n" else self._alone(changed)
        others += _read(reader, after)
        reader.require_known()
        if others != [self.records[0], self.records[2]]:
            yield batch[0][0], FAULT

    def _of_line(self, reader: TrialReader, changed: bytes) -> str:
        read = list(_read(reader, changed))
        if read == [self.records[1]]:
            return HARMLESS
        return FOUND if read and all(isinstance(one, DamagedLine) for one in read) else FAULT

    def _alone(self, changed: bytes) -> str:
        reader = TrialReader(FORMAT)
        read = list(_read(reader, self.lines[0] + changed + self.lines[2]))
        reader.require_known()
        records = [one for one in read if not isinstance(one, DamagedLine)]
        if records == list(self.records):
            return HARMLESS
        others = [self.records[0], self.records[2]]
        return FOUND if records == others and len(records) < len(read) else FAULT


def _read(reader: TrialReader, data: bytes) -> Iterator[object]:
    for number, line in enumerate(data.split(b"\n")):
        yield from reader.read(number, line)


def of_whole_records(run: Run, every: int) -> Counter[str]:
    """Flip bits of the records and read the whole folder."""
    file = run.folder / TRIALS_FILE
    data = file.read_bytes()
    counts: Counter[str] = Counter()
    for bit, changed in flips(data, every):
        file.write_bytes(changed)
        counts[guarded(run, f"{TRIALS_FILE}, bit {bit}", may_lose=1)] += 1
    file.write_bytes(data)
    return counts


def of_pages(run: Run, pages: int) -> Counter[str]:
    """Flip bits of all files, and compare the whole page: it is the same, or names the damage."""
    whole = page_of(run)
    counts: Counter[str] = Counter()
    for name in (*SMALL_FILES, TRIALS_FILE):
        file = run.folder / name
        data = file.read_bytes()
        for bit, changed in flips(data, max(1, 8 * len(data) * 4 // pages + 1)):
            file.write_bytes(changed)
            after = read_run(run.folder)
            page = page_of(after)
            named = all(sentence.split("(")[0][:40] in page for sentence in after.damage) and bool(
                after.damage
            )
            cut = after.cut_off and "was cut off" in page
            found = HARMLESS if page == whole else FOUND if named or cut else FAULT
            counts[found] += 1
            if found == FAULT:
                print(f"page: {name}, bit {bit}")
        file.write_bytes(data)
    return counts


def page_of(run: Run) -> str:
    """Return the page of a run."""
    return render_page(Report(run, analyse(run)))


def main() -> None:
    """Print how many flips were found, and end with 1 where one was not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth bit")
    parser.add_argument("--whole", type=int, default=500, help="flips with which the whole folder is read")
    parser.add_argument("--pages", type=int, default=40, help="flips with which the whole page is made")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="loadcurve-bits-") as folder:
        run = write_sample(Path(folder) / "run", trials=given.points // 2)
        bits = 8 * (run.folder / TRIALS_FILE).stat().st_size
        parts: dict[str, Callable[[], Counter[str]]] = {
            f"{', '.join(SMALL_FILES)}: each bit": lambda: of_small_files(run, given.every),
            f"{TRIALS_FILE}: each bit of {len(run.records)} records": lambda: of_lines(run, given.every),
            f"{TRIALS_FILE}: the whole folder": lambda: of_whole_records(run, bits // given.whole),
            "pages": lambda: of_pages(run, given.pages),
        }
        for title, part in parts.items():
            began = time.monotonic()
            counts = part()
            total += counts
            said = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
            print(f"{title}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    sys.exit(1 if total[FAULT] else 0)


if __name__ == "__main__":
    main()

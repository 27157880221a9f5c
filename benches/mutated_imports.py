"""Whether damaged files of other generators are noticed: `python -m benches.mutated_imports [--trials N]`.

Each file of the tests' data, of each format that is imported, is changed in up to three places: bits, digits,
lines left out, repeated or swapped, bytes put in, an end too early; a reader's trials are spread over its
files. What is read of it must be refused by a sentence, or make a record whose figures can be true at once:
counts that add up, percentiles in their order, nothing negative, infinite or not a number. A file that ends
too early supports no other figure than the whole one: with a row for each request or interval it has as many
or fewer, and of a summary each figure is the same or missing.
"""

import argparse
import itertools
import math
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType

from pydantic import TypeAdapter

from benches.rig import machine
from loadcurve.errors import BadInput
from loadcurve.imported.plan import Imported
from loadcurve.imported.records import load_result
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.possible import ASCENDING
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "tests" / "data" / "tools"
LONGEST_S = 10.0
"""Reading one damaged file may take as long, of CPU time, so that a busy machine is no fault of a reader."""
LARGEST_BYTES = 2_000_000
TRIALS_OF_FILE = 500
"""At least, however many the reader has."""
ENDS_EARLY = "ends early"
CONTRADICTORY = "contradictory"
SLACK = 0.02
"""By this share of the greatest time, figures that are computed in different ways may be out of order."""

DIGITS = (
    b"0", b"9", b"-1", b"1e9", b"1e999", b"99999999999999999999", b"9" * 400, b"9" * 5_000, b"", b".",
    b"0.0.", b"NaN",
)  # fmt: skip
"""What one digit becomes; a float ends at 309 digits, and Python reads no number of more than 4,300."""

Change = Callable[[bytes, random.Random], bytes]


def _bit(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]


def _digit(data: bytes, chance: random.Random) -> bytes:
    places = [index for index, byte in enumerate(data) if chr(byte).isdecimal()]
    if not places:
        return data
    place = chance.choice(places)
    digits = chance.choice(DIGITS)
    return data[:place] + digits + data[place + 1 :]


def _with_lines(change: Callable[[list[bytes], random.Random], None]) -> Change:
    def changed(data: bytes, chance: random.Random) -> bytes:
        lines = data.splitlines(keepends=True)
        change(lines, chance)
        return b"".join(lines)

    return changed


def _leave_out(lines: list[bytes], chance: random.Random) -> None:
    del lines[chance.randrange(len(lines))]


def _repeat(lines: list[bytes], chance: random.Random) -> None:
    place = chance.randrange(len(lines))
    lines.insert(place, lines[place])


def _swap(lines: list[bytes], chance: random.Random) -> None:
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _put_in(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    what = chance.choice(
        [b"\x00", b"\xff", b'"', b"\n\n", b",", b"\r", "é".encode(), b"{", b"<", b"x" * 5_000]
    )
    return data[:place] + what + data[place:]


CHANGES: Sequence[Change] = (
    _bit,
    _digit,
    _digit,
    _with_lines(_leave_out),
    _with_lines(_repeat),
    _with_lines(_swap),
    _put_in,
)


class _LateError(Exception):
    """Reading took too long."""


@contextmanager
def _bounded() -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise _LateError

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def impossible(figures: ToolFigures) -> Iterator[str]:
    """Yield what cannot be true of these figures, or not at once."""
    if not math.isfinite(figures.duration_s) or figures.duration_s <= 0:
        yield f"a duration of {figures.duration_s} s"
    counts = {
        "answered": figures.answered,
        "failed": figures.failed,
        "never sent": figures.never_sent,
        "ok": figures.ok,
        "bytes": figures.bytes_received,
        "connections": figures.connections_opened,
        **{f"errors of {name}": count for name, count in figures.errors.items()},
        **{f"answers of {name}": count for name, count in (figures.status or {}).items()},
    }
    yield from (f"{count} {name}" for name, count in counts.items() if count is not None and count < 0)
    if figures.ok is not None and figures.ok > figures.answered:
        yield f"{figures.ok} of {figures.answered} answers are right"
    if sum(figures.errors.values()) > (figures.failed or 0):
        yield f"{sum(figures.errors.values())} errors of {figures.failed} failures"
    if figures.status is not None and sum(figures.status.values()) > figures.answered:
        yield f"{sum(figures.status.values())} statuses of {figures.answered} answers"
    for name in ("latency", "service", "connect", "first_byte"):
        times: Times | None = getattr(figures, name)
        if times is not None:
            yield from (f"{name}: {problem}" for problem in _disorder(times))


def _disorder(times: Times) -> Iterator[str]:
    found = times.distribution
    known = [(name, value) for name in ASCENDING if (value := getattr(found, name)) is not None]
    yield from (f"{name} of {value}" for name, value in known if not math.isfinite(value) or value < 0)
    slack = max(times.resolution_ms or 0.0, SLACK * max((value for _, value in known), default=0.0))
    for (name, value), (higher, above) in itertools.pairwise(known):
        if value - above > slack:
            yield f"{name} of {value} above {higher} of {above}"
    if found.mean is not None and not math.isfinite(found.mean):
        yield f"a mean of {found.mean}"


def _figures(figures: ToolFigures) -> dict[str, float | None]:
    """Return what an end too early may take away from a summary, and must not change."""
    times = figures.latency.distribution if figures.latency else None
    return {
        "duration_s": figures.duration_s,
        "answered": figures.answered,
        "failed": figures.failed,
        "ok": figures.ok,
        "bytes_received": figures.bytes_received,
        **({name: getattr(times, name) for name in (*ASCENDING, "mean")} if times else {}),
    }


def unsupported(whole: ToolFigures, part: ToolFigures, *, has_rows: bool) -> Iterator[str]:
    """Yield which figures of a file's begin the whole file does not support."""
    if has_rows:
        before, after = (each.answered + (each.failed or 0) for each in (whole, part))
        if after > before:
            yield f"{after} requests of {before}"
        return
    known = _figures(whole)
    for name, value in _figures(part).items():
        if value is not None and known.get(name) != value:
            yield f"{name} is {value}, not {known.get(name)}"


@dataclass(frozen=True)
class Fault:
    """What went wrong, and with which damage."""

    trial: int
    what: str


@dataclass(frozen=True)
class Outcome:
    """What became of all damaged forms of one file."""

    file: str
    form: str
    read: int
    refused: int
    slowest_s: float
    faults: Sequence[Fault]


NO_TOTAL = frozenset({"go-ycsb-2020-made.txt"})
"""Files of versions that neither count what they list nor mark the end: with a line's end they are whole."""
SHOWN_AGAIN = frozenset({"12.13.0-every.txt"})
"""Files with several whole reports, of which the last one counts: with another end it is another one."""


INTERVALS = frozenset({"hlog", "ycsb-hdr", "jmeter-summary"})
"""Formats with a row for each interval, of which a line's end is the end of all that was known then."""


def _has_rows(whole: ToolFigures, form: str) -> bool:
    return bool(whole.series) or form in INTERVALS


def _damaged(data: bytes, chance: random.Random) -> tuple[bytes, bool]:
    """Return a damaged form, and whether that is the file's begin alone."""
    if chance.random() < 1 / (len(CHANGES) + 1):
        return data[: chance.randrange(len(data))], True
    for _ in range(chance.randint(1, 3)):
        if data:
            data = chance.choice(CHANGES)(data, chance)
    return data, False


def imported_as(path: Path, form: str, figures: ToolFigures) -> Imported:
    """Return what an import makes of a file's figures."""
    return Imported(
        path=path, bytes=1, sha256="0" * 64, format=form, server="x", point={}, trial=0, figures=figures
    )


def _fault(path: Path, named: str, whole: ToolFigures, *, is_cut: bool) -> str | None:
    """Read a damaged file; return what is wrong, or ``None``; raises ``BadInput`` where it is refused."""
    source = Source(path)
    try:
        with _bounded():
            figures, form = read_figures(source, named)
            verdict = load_result(imported_as(path, form.name, figures)).verdict
    except BadInput as error:
        if "\n" in str(error).strip() or not str(error):
            return f"refused by no sentence: {str(error)!r}"
        raise
    except _LateError:
        return f"took more than {LONGEST_S:g} s of CPU time"
    except Exception as error:  # noqa: BLE001 -- whatever a reader raises but BadInput is what is sought
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
    # A file that contradicts itself is read where the contradiction is said.
    is_said = any(reason.code == CONTRADICTORY for reason in verdict.reasons)
    found = [] if is_said else [*impossible(figures)]
    if is_cut:
        found += unsupported(whole, figures, has_rows=_has_rows(whole, named))
    return "; ".join(found) or None


def tried(share: tuple[Path, int], seed: int) -> Outcome:
    """Damage one file as many times as is asked."""
    path, trials = share
    data = path.read_bytes()
    form = format_of(Source(path), None)
    whole = form.read(Source(path))
    counts: Counter[str] = Counter()
    faults: list[Fault] = []
    slowest_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        damaged_path = Path(folder) / path.name
        for trial in range(trials):
            chance = random.Random(f"{seed}/{path.name}/{trial}")  # noqa: S311 -- to be repeated
            damaged, is_cut = _damaged(data, chance)
            damaged_path.write_bytes(damaged)
            before = time.monotonic()
            try:
                is_whole = path.name in SHOWN_AGAIN or (path.name in NO_TOTAL and damaged.endswith(b"\n"))
                fault = _fault(damaged_path, form.name, whole, is_cut=is_cut and not is_whole)
                counts["read"] += fault is None
                if fault is not None:
                    faults.append(Fault(trial, f"{ENDS_EARLY}: {fault}" if is_cut else fault))
            except BadInput:
                counts["refused"] += 1
            slowest_s = max(slowest_s, time.monotonic() - before)
    return Outcome(
        str(path.relative_to(DATA)), form.name, counts["read"], counts["refused"], slowest_s, faults
    )


def readable_files() -> dict[Path, str]:
    """Return the files of the tests' data that are read without being told what they are, by tool."""
    found = {}
    for path in sorted(DATA.rglob("*")):
        if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
            continue
        try:
            form = format_of(Source(path), None)
            form.read(Source(path))
        except BadInput:
            continue
        found[path] = form.tool
    return found


def spread(files: Mapping[Path, str], trials: int) -> list[tuple[Path, int]]:
    """Return the files with how often each is damaged, so often that each tool's reader has its trials."""
    shares = Counter(files.values())
    least = min(trials, TRIALS_OF_FILE)
    return [(path, max(-(-trials // shares[tool]), least)) for path, tool in files.items()]


def kept_in(file: Path | None) -> list[Outcome]:
    """Return the outcomes of a run that was ended before it was over."""
    if file is None or not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [TypeAdapter(Outcome).validate_json(line) for line in lines]


def main() -> None:
    """Print the table; end with 1 where a damaged file did what it must not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=300, metavar="N", help="of each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", help="keep each outcome there, and go on behind those that are"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="files with this in their names")
    arguments = parser.parse_args()
    print(machine())
    files = {path: form for path, form in readable_files().items() if arguments.only in str(path)}
    one = partial(tried, seed=arguments.seed)
    outcomes = kept_in(arguments.kept)
    done = {outcome.file for outcome in outcomes}
    asked = [each for each in spread(files, arguments.trials) if str(each[0].relative_to(DATA)) not in done]
    # The threads that read tables are not there any more in a process that is forked.
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        for outcome in pool.map(one, asked):
            outcomes.append(outcome)
            if arguments.kept is not None:
                with arguments.kept.open("a", encoding="utf-8") as file:
                    file.write(TypeAdapter(Outcome).dump_json(outcome).decode() + "\n")
            print(
                f"{outcome.file:<44} {outcome.form:<18} {outcome.read:>6} read {outcome.refused:>6} refused "
                f"{len(outcome.faults):>4} faults, slowest {outcome.slowest_s:.2f} s",
                flush=True,
            )
            for fault in outcome.faults[:5]:
                print(f"    trial {fault.trial}: {fault.what}", flush=True)
    faults = sum(len(outcome.faults) for outcome in outcomes)
    total = sum(outcome.read + outcome.refused + len(outcome.faults) for outcome in outcomes)
    readers = len(set(files.values()))
    print(f"\n{readers} readers, {len(outcomes)} files, {total:,} damaged forms, {faults:,} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

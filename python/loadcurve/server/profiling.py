"""Samples the stacks of a server, and counts its system calls, by Linux's ``perf``."""

import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from loadcurve.result.cpu_time import Stack

PERF = "perf"
SAMPLES_PER_S = 499
"""No multiple of the rate of the kernel's own ticks, so that what runs at these is not seen more often."""
SYSTEM_CALLS = "raw_syscalls:sys_enter"
BEGIN_TIMEOUT_S = 0.5
"""It ends within this time where it may not watch the processes."""
END_TIMEOUT_S = 30.0
STACK_MOST = 256
"""Functions of one stack; what lies deeper is left out."""
NOT_INSTALLED = "perf is not installed; on Debian: apt-get install linux-perf"
UNKNOWN = "[unknown]"


class PerfWatch:
    """Watches processes as a context manager; nothing that goes wrong with it is raised."""

    what: ClassVar[str]
    """What it does, for the message where it cannot."""

    def __init__(self, pids: Collection[int], file: Path) -> None:
        """Prepare to watch processes, with all that they start from then on."""
        self._pids = ",".join(map(str, sorted(pids)))
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None
        self.missing: str | None = None
        """Why nothing was seen, as a sentence."""

    def _words(self) -> list[str]:
        """Return the subcommand of perf with its options."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Begin to watch."""
        if shutil.which(PERF) is None:
            self.missing = NOT_INSTALLED
            return self
        process = subprocess.Popen(  # noqa: S603 - a tool of the system, with our own words
            [PERF, *self._words(), "-o", str(self._file), "-p", self._pids],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            _, said = process.communicate(timeout=BEGIN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process = process
        else:
            self.missing = f"perf could not {self.what}: {_first_line(said)}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what watches."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.communicate(timeout=END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


class StackWatch(PerfWatch):
    """Samples the stacks of what runs."""

    what = "sample the stacks"

    def _words(self) -> list[str]:
        return ["record", "-F", str(SAMPLES_PER_S), "-e", "cpu-clock", "-g"]

    def stacks(self) -> Counter[Stack]:
        """Return how many samples were in each stack."""
        if self._process is None:
            return Counter()
        read = subprocess.run(  # noqa: S603 - as above
            [PERF, "script", "-i", str(self._file), "-F", "comm,ip,sym"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        found = Counter(stacks_in(read.stdout.decode(errors="replace").splitlines()))
        if not found:
            self.missing = "perf took no sample"
        return found


class CallWatch(PerfWatch):
    """Counts the calls of the kernel."""

    what = "count the system calls"

    def _words(self) -> list[str]:
        return ["stat", "-x", ",", "-e", SYSTEM_CALLS]

    def calls(self) -> int | None:
        """Return how many there were; ``None`` where they were not counted."""
        return None if self._process is None else counted_calls(self._file)


def stacks_in(lines: Iterable[str]) -> Iterator[Stack]:
    """Yield the stack of each sample in what ``perf script -F comm,ip,sym`` prints: innermost lines first."""
    program, functions = "", list[str]()
    for line in [*lines, ""]:
        if not line.strip():
            if program:
                yield (program, *reversed(functions[:STACK_MOST]))
            program, functions = "", []
        elif line[0].isspace():
            name = line.split(maxsplit=1)[1:]
            function = name[0].strip() if name else UNKNOWN
            # Where symbols are missing a whole chain of functions is unknown: one of them says as much.
            if function != UNKNOWN or functions[-1:] != [UNKNOWN]:
                functions.append(function)
        else:
            program = line.strip()


def counted_calls(file: Path) -> int | None:
    """Return the count in what ``perf stat -x ,`` has written; ``None`` where it has counted nothing."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    counts = [line.split(",")[0] for line in lines if SYSTEM_CALLS in line]
    return int(counts[0]) if counts and counts[0].isdecimal() else None


def _first_line(said: bytes) -> str:
    lines: Sequence[str] = said.decode(errors="replace").split("\n")
    return next((line.strip() for line in lines if line.strip()), "it ended at once")

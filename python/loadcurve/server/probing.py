"""The probe's process: started beside a server, read when a load is over, and gone with the server."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

from loadcurve.errors import BadInput
from loadcurve.host.process_times import ProcessTable, threads_of
from loadcurve.host.strangers import own_family, strangers
from loadcurve.probe.figures import Window
from loadcurve.probe.samples import SampleReader
from loadcurve.probe.whose_time import BesideServer, with_cpu_time
from loadcurve.probe.window import nothing_observed, summed_up
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ProbeRecord
from loadcurve.server.adoption import start_own
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.launch import ServerMarks
from loadcurve.server.probe_reading import SteadyReader
from loadcurve.server.processes import ProcessIdentity, carries_variable
from loadcurve.server.spawn import bound_to


class BesideWatch:
    """Looks at all processes before a load and after it; the next load begins with the last look."""

    def __init__(self, marks: ServerMarks, cpus: Collection[int]) -> None:
        """Look for the first time."""
        self._marks = marks
        self._cpus = frozenset(cpus)
        self._look()

    def _look(self) -> None:
        self._moment_s, self._table = time.monotonic(), ProcessTable.now()
        self._probe = ProcessTable({})

    def since_last(self, probe_pid: int) -> BesideServer:
        """Look again, and return what ran on the server's CPUs since the last time."""
        then_s, then, probe_then = self._moment_s, self._table, self._probe
        self._look()
        self._probe = threads_of(probe_pid)
        uses = self._table.since(then)
        of_probe = self._probe.since(probe_then)
        known = pids_of(self._marks, self._table) | own_family(self._table)
        found = strangers(uses, known, self._cpus)
        variables = [part.variable for part in self._marks.parts if part.variable is not None]
        return BesideServer(
            cpus=self._cpus,
            length_s=self._moment_s - then_s,
            uses=uses,
            strangers=[
                use
                for use in found
                if not any(carries_variable(ProcessIdentity(*use.process.identity), one) for one in variables)
            ],
            probe_s=sum(use.own_s for use in of_probe if use.process.cpu in self._cpus),
        )


def pids_of(marks: ServerMarks, table: ProcessTable) -> set[int]:
    """Return the processes of a server among those that there are."""
    found: set[int] = set()
    for part in marks.parts:
        session = part.session
        members = [one.pid for one in table.processes.values() if session in (one.session, one.pid)]
        found |= table.with_descendants([*members, *part.pids, *_of_group(part.group)])
    return found


def _of_group(folder: Path | None) -> Iterator[int]:
    if folder is None:
        return
    for members in folder.rglob("cgroup.procs"):
        with suppress(OSError, ValueError):
            yield from map(int, members.read_text(encoding="ascii").split())


PROGRAM = NATIVE_FOLDER / "loadcurve-probe"
SAMPLES_FILE = "loadcurve-probe.jsonl"
COMPLAINTS_FILE = "loadcurve-probe.log"
START_TIMEOUT_S = 5.0
STOP_TIMEOUT_S = 5.0
PATIENCE_S = 2.0
"""How much later than it is asked for a sample may come before it counts as missing."""
POLL_S = 0.005
LEAST_FREE_BYTES = 64 * 1024
"""With less a disk counts as full: a file system gives space by pages and blocks."""
KEPT_BEFORE_S = 30.0
"""How much of the past is kept for the next window: what is read rarely may be as old."""


def _known_by(marks: ServerMarks) -> Iterator[str]:
    """Yield the options by which the probe knows the processes of a server."""
    if marks.session is not None:
        yield from ("--session", str(marks.session))
    if marks.variable is not None:
        yield from ("--mark", marks.variable)
    if marks.group is not None:
        yield from ("--cgroup", str(marks.group))
    for pid in marks.pids:
        yield from ("--pid", str(pid))
    for name, part in marks.programs.items():
        # A group would hold one of them alone.
        yield from ("--program", name, *_known_by(replace(part, group=None)))


@dataclass(frozen=True)
class RunningProbe:
    """The probe's process, and where it writes."""

    process: subprocess.Popen[bytes]
    reader: SteadyReader
    complaints_file: Path

    def ask(self) -> None:
        """Ask for a sample of everything, at once."""
        if self.process.stdin is not None:
            # That it has ended is found out by who waits for the sample.
            with contextlib.suppress(BrokenPipeError):
                os.write(self.process.stdin.fileno(), b"\n")

    def complaint(self) -> str:
        """Return what the probe said on its standard error, or why it could not say anything."""
        said = self.complaints_file.read_text(errors="replace").strip()
        folder = self.complaints_file.parent
        if not said and shutil.disk_usage(folder).free < LEAST_FREE_BYTES:
            return f"the disk of {folder.parent} is full; free some space, or set TMPDIR to another folder"
        return said or "it printed nothing"


class Probe:
    """Samples one server, as a context manager: it runs inside the block and writes into the server's folder.

    Nothing that goes wrong with it is raised: the load is measured without it, and :meth:`observed` says why.
    It ends when its standard input is closed, so the end of this process, however it comes, ends it, too.
    """

    def __init__(
        self,
        marks: ServerMarks,
        address: str | None,
        cpus: Collection[int],
        interval_s: float,
        server_cpus: Collection[int] = (),
    ) -> None:
        """Prepare the probe, on ``cpus``, of a server that listens at the numeric ``host:port``, if known.

        Pauses of ``server_cpus`` are looked for by a thread that runs on these.
        """
        self._marks = marks
        self._address = address
        self._cpus = cpus
        self._server_cpus = server_cpus
        self._interval_ms = round(interval_s * 1000)
        self._running: RunningProbe | None = None
        self._trouble: Caveat | None = None
        self._beside = BesideWatch(marks, server_cpus)

    def __enter__(self) -> Self:
        """Start the probe and wait for its first sample, as far as there will be one."""
        try:
            self._running = self._started(self._marks)
            self._running.reader.start()
        except (OSError, BadInput) as error:
            text = f"the probe could not be started: {error}"
            self._trouble = Caveat.of("probe_not_started", text)
        else:
            self._read_until(time.monotonic(), START_TIMEOUT_S)
            self._beside.since_last(self._running.process.pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the probe."""
        if self._running is None:
            return
        self._running.reader.close()
        process = self._running.process
        try:
            # This closes its standard input and waits for its end.
            process.communicate(timeout=STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def observed(self, load: LoadResult, /) -> ProbeRecord:
        """Return what the probe saw during the measured window of a load that is over."""
        start_s = load.began_monotonic_s
        answered = (load.rate_rps.answered or 0.0) * load.duration_s
        return self.observed_within(Window(start_s, start_s + load.duration_s), answered)

    def observed_within(self, window: Window, answered: float) -> ProbeRecord:
        """Return what the probe saw in a window that is over; ``answered`` is how many requests were."""
        if self._running is not None:
            self._running.ask()
        trouble = self._read_until(window.end_s, PATIENCE_S)
        caveats = [] if trouble is None else [trouble]
        if self._running is None:
            return nothing_observed(caveats)
        beside = self._beside.since_last(self._running.process.pid)
        with self._running.reader.kept() as store:
            if not store.samples:
                return nothing_observed(caveats)
            try:
                record = summed_up(store.samples, window, answered, self._interval_ms / 1000, caveats)
                record = with_cpu_time(record, store.samples, window, beside)
            except MemoryError:
                # What the load has measured must not be lost for it.
                text = "not enough memory to read the probe's samples"
                record = nothing_observed([*caveats, Caveat.of("probe_unreadable", text)])
            finally:
                store.forget_before(window.end_s - KEPT_BEFORE_S)
        return record

    def _started(self, marks: ServerMarks) -> RunningProbe:
        listens = self._address is not None and marks.on_this_network
        command = [
            str(PROGRAM),
            *_known_by(marks),
            *(["--cpus", ",".join(map(str, self._server_cpus))] if self._server_cpus else []),
            *(["--listen", str(self._address)] if listens else []),
            *("--interval", f"{self._interval_ms}ms"),
        ]
        samples_file, complaints_file = marks.folder / SAMPLES_FILE, marks.folder / COMPLAINTS_FILE
        with (
            bound_to(self._cpus),
            samples_file.open("wb") as output,
            complaints_file.open("wb") as complaints,
            contextlib.ExitStack() as on_failure,
        ):
            samples = SampleReader(samples_file)
            on_failure.callback(samples.close)
            process = start_own(
                lambda: subprocess.Popen(  # noqa: S603 -- the package's own program
                    command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=complaints,
                    # Ctrl-C in the terminal is for the run, which ends the probe itself.
                    start_new_session=True,
                )
            )
            on_failure.pop_all()
        return RunningProbe(process, SteadyReader(samples, self._cpus), complaints_file)

    def _read_until(self, moment_s: float, timeout_s: float) -> Caveat | None:
        """Read samples until one is whole and not older than a moment; returns why there is none."""
        if self._running is None or self._trouble is not None:
            return self._trouble
        deadline = time.monotonic() + timeout_s
        while True:
            # Asked before reading, so that nothing written before its end is missed.
            status = self._running.process.poll()
            try:
                newest = self._running.reader.read()
            except ValueError as error:
                text = f"the probe's samples cannot be read: {error}"
                self._trouble = Caveat.of("probe_unreadable", text)
                return self._trouble
            later = takewhile(lambda sample: sample.t_s >= moment_s, reversed(newest))
            if any(sample.is_whole for sample in later):
                return None
            if status is not None:
                text = f"the probe ended with status {status}: {self._running.complaint()}"
                return Caveat.of("probe_died", text)
            if time.monotonic() > deadline:
                return Caveat.of("probe_silent", f"the probe wrote no sample for {timeout_s:g} s")
            time.sleep(POLL_S)

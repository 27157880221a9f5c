"""The lines that ``loadcurve-probe`` writes.

Times and counters count from the start of a process or of the machine, so that any two samples give what
happened between them. ``None`` is what was not read at this moment, or is not published by the kernel.
"""

import ctypes
from collections import deque
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loadcurve.result.pauses import RawPause

_LIBC = ctypes.CDLL(None, use_errno=True)
_KEEP_SIZE, _PUNCH_HOLE = 0x01, 0x02
_offset = ctypes.c_int64


class Line(BaseModel):
    """A part of a line; keys that this version does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Header(Line):
    """The first line."""

    format: Literal["loadcurve-probe/1"]
    interval_s: float


class CpuTime(Line):
    """Processor time of a control group."""

    cpu_user_s: float
    cpu_system_s: float


class TreeSample(CpuTime):
    """The server's processes together."""

    memory_bytes: int
    processes: int
    threads: int
    minor_faults: int | None = None
    """Pages that were not there when they were needed, and came without reading a disk."""
    major_faults: int | None = None


class ProgramSample(Line):
    """The processes of one program, since the first reading of each."""

    cpu_s: float
    run_delay_s: float | None
    """How long their threads could run and waited for a CPU, all together."""
    memory_bytes: int | None = None
    """What they have in memory now; a page that several share counts for each of them."""


class BusiestProcessSample(Line):
    """The process that has used the most CPU since the reading before."""

    pid: int
    name: str | None
    cpu_s: float
    """Since its start, so that readings of the same process can be subtracted."""
    cpu_share: float
    """Of a CPU, since the reading before."""


class BusiestThreadSample(BusiestProcessSample):
    """The same of threads; the first thread has the id of the process."""

    thread: int


class SwitchesSample(Line):
    """Context switches of all threads that were seen."""

    voluntary: int
    involuntary: int
    ignores_sigchld: bool
    """Some process ignores SIGCHLD, so the kernel forgets the processor time of its children that end."""


class Footprint(Line):
    """What is read more rarely, because it costs the server something, too."""

    proportional_memory_bytes: int | None
    open_files: int | None
    disk_read_bytes: int | None = None
    """Since the start of each process."""


class CpusSample(Line):
    """What each CPU did, in the order of ``cpu``."""

    cpu: list[int]
    user_s: list[float]
    system_s: list[float]
    irq_s: list[float]
    softirq_s: list[float]
    steal_s: list[float]
    idle_s: list[float]


class TcpSample(Line):
    """Counters of TCP."""

    listen_overflows: int | None
    listen_drops: int | None
    syn_retransmits: int | None
    retransmits: int | None
    resets_sent: int | None
    connections_reset: int | None
    dsacks_received: int | None = None


class SocketsSample(Line):
    """Sockets that there are at this moment."""

    established: int | None
    time_wait: int | None
    orphaned: int | None


class ListenQueueSample(Line):
    """The queue of a socket that listens at the server's address."""

    waiting: int
    backlog: int


class ThrottlingSample(Line):
    """How limits of processor time held the server's groups back."""

    periods: int
    throttled_periods: int
    throttled_s: float


class PressureSample(Line):
    """For how long some work, or all of it, waited for a resource."""

    cpu_some_s: float | None
    memory_some_s: float | None
    memory_full_s: float | None
    io_some_s: float | None
    io_full_s: float | None


class PageCacheSample(Line):
    """What the machine holds of files in memory."""

    bytes: int | None
    refault_bytes: int | None
    """What was read again since the machine's start, soon after it had been dropped from memory."""


class Sample(Line):
    """Every line but the first; ``t_s`` is the monotonic clock."""

    t_s: float
    probe_cpu_s: float
    group: CpuTime | None
    tree: TreeSample | None
    programs: dict[str, ProgramSample] | None = None
    """What each program of the server has used and waited for, by its name."""
    busiest_process: BusiestProcessSample | None
    busiest_thread: BusiestThreadSample | None
    context_switches: SwitchesSample | None
    footprint: Footprint | None
    cpus: CpusSample | None
    tcp: TcpSample | None
    sockets: SocketsSample | None
    listen_queue: ListenQueueSample | None
    socket_states: dict[str, int] | None
    throttling: ThrottlingSample | None
    pressure: PressureSample | None
    page_cache: PageCacheSample | None = None
    pauses: list[RawPause] | None
    """Of the server's CPUs, by the monotonic clock, since the sample before."""

    @property
    def is_whole(self) -> bool:
        """Whether both the processes and the machine were read, as they are when a sample is asked for."""
        return self.tree is not None and self.cpus is not None


class SampleReader:
    """Reads the probe's output while it is being written."""

    def __init__(self, file: Path) -> None:
        """Open the file, which may still be empty."""
        self._stream = file.open("r+b", buffering=0)
        self._lines: deque[bytes] = deque()
        self._begun = b""
        self._header: Header | None = None

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def new_samples(self, most: int) -> list[Sample]:
        """Return at most ``most`` samples that were not returned yet; a line without its end waits for it.

        Raises ``ValueError``: a line is not what this version of the probe writes; so does the next call.
        """
        if not self._lines:
            *lines, self._begun = (self._begun + self._stream.read()).split(b"\n")
            self._lines.extend(lines)
        if self._lines and self._header is None:
            self._header = Header.model_validate_json(self._lines[0])
            self._lines.popleft()
        samples: list[Sample] = []
        while self._lines and len(samples) < most:
            samples.append(Sample.model_validate_json(self._lines[0]))
            self._lines.popleft()
        return samples

    def release(self) -> None:
        """Give the disk back what was read; the probe writes on at its place, behind a hole."""
        read = self._stream.tell()
        # A file system that cannot do so keeps it.
        _LIBC.fallocate(self._stream.fileno(), _PUNCH_HOLE | _KEEP_SIZE, _offset(0), _offset(read))

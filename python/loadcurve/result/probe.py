"""What a load cost the server, and what happened on its machine: the probe's part of a point's record.

Everything is about the measured window. A share of 1 is one CPU for the whole time, so a server on several
CPUs may have a share above 1; shares of a single CPU and of pressure lie between 0 and 1. ``None`` means "not
measured", never zero. docs/methodology/probe.md says how each figure is measured and how far to trust it.
"""

from typing import Literal

from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.cpu_time import CpuTime, Throttling
from loadcurve.result.link import LinkUse
from loadcurve.result.outcomes import Caveat
from loadcurve.result.pauses import Pauses

Column = Many[int | float | None] | None
"""One value for each moment of the series; ``None`` where the figure was measured at no moment."""


class CountRange(Record):
    """The least and the greatest number at any sample of the window."""

    min: Count
    max: Count


class ContextSwitches(Record):
    """How often threads gave up their CPU by themselves, and how often it was taken from them."""

    voluntary: Count
    involuntary: Count


class PageFaults(Record):
    """How often a page that was needed was not in the process's memory."""

    minor: Count
    """It came without reading a disk: new memory, or a page that others have already."""
    major: Count
    """It was read from a disk."""


class BusiestProcess(Record):
    """The process that used the most processor time, of those that were the busiest for long enough."""

    pid: Count
    name: str | None
    cpu_share: Time


class BusiestThread(BusiestProcess):
    """The same of threads; near 1 it is the limit of the server, whatever else is idle."""

    thread: Count
    """The first thread has the id of the process."""


class ProgramUse(Record):
    """What the processes of one program used, by its name in the study or, in 15 bytes, in the kernel."""

    name: str
    cpu_share: Time
    cpu_per_request_us: Time | None
    run_delay_share: Time | None = None
    """How many of their threads could run and waited for a CPU, on average."""
    run_delay_per_request_us: Time | None = None
    memory_mean_bytes: Time | None = None
    """Resident memory; a page that several of its processes share counts for each of them."""
    memory_peak_bytes: Count | None = None


class ServerUse(Record):
    """What the server's processes used together, those included that came and went."""

    cpu_source: Literal["group", "processes"] | None
    """Who added up the processor time: the kernel, in a control group, or the probe, over processes."""
    cpu_user_s: Time | None
    cpu_system_s: Time | None
    cpu_share: Time | None
    cpu_per_request_us: Time | None
    """Processor time divided by the requests that were answered in the window."""
    run_delay_share: Time | None = None
    """How many of its threads could run and waited for a CPU, on average: where the processes that come and
    go used little."""
    run_delay_per_request_us: Time | None = None
    """For how long they did, divided by the requests that were answered."""
    busiest_process: BusiestProcess | None
    busiest_thread: BusiestThread | None
    memory_mean_bytes: Time | None
    """Resident memory; a page that several processes share counts for each of them."""
    memory_peak_bytes: Count | None
    proportional_memory_bytes: Time | None
    """The mean; each page is divided by the processes that share it."""
    processes: CountRange | None
    threads: CountRange | None
    open_files_max: Count | None
    disk_read_bytes_per_s: Time | None = None
    """What the kernel read from disks for it: of files that were not in memory."""
    context_switches: ContextSwitches | None
    page_faults: PageFaults | None = None
    """Records may lack them, and so do servers whose processes end without being waited for."""
    programs: Many[ProgramUse] | None = None
    """Where processes ran several programs, and nearly all processor time is known to be of one of them."""


class CpuUse(Record):
    """One CPU: how busy it was, how much of that with packets and the like, and its steal.

    Steal is time for which it had work and the host did not run it.
    """

    cpu: Count
    busy_share: Time
    softirq_share: Time
    steal_share: Time


class PressureUse(Record):
    """The share of the time in which some work, or all of it, waited for a resource."""

    cpu_some_share: Time | None
    memory_some_share: Time | None
    memory_full_share: Time | None
    io_some_share: Time | None
    io_full_share: Time | None


class TcpUse(Record):
    """What the machine's TCP counted, from the last sample before the window to the first one after it."""

    listen_overflows: Count | None
    listen_drops: Count | None
    syn_retransmits: Count | None
    retransmits: Count | None
    resets_sent: Count | None
    connections_reset: Count | None
    dsacks_received: Count | None = None
    """Segments that were retransmitted although they had arrived (D-SACK); records may lack it."""


class SocketsUse(Record):
    """The most sockets at any sample; both ends of a connection within the machine count."""

    established_max: Count | None
    time_wait_max: Count | None
    orphaned_max: Count | None
    by_state_max: dict[str, Count] | None
    """By every state of TCP, at the rarer samples that look at all sockets."""


class ListenQueue(Record):
    """The connections that the server had yet to accept, at the address of the load."""

    backlog: Count
    """How many could wait, at any sample: what the server asked for, as far as the machine allowed it."""
    waiting_max: Count


class SocketStatesSeries(Record):
    """How many sockets were in each state of TCP, at the rarer samples that look at all sockets."""

    t_s: Many[float]
    """From the start of the window."""
    by_state: dict[str, Many[Count]]


class ProbeSeries(Record):
    """The window's samples in columns of equal length.

    Shares, and counts of events, are of the time since the moment before that has the figure. Columns that
    end in ``_cpus`` are sums over all CPUs of the machine.
    """

    t_s: Many[float]
    """From the start of the window, as in the series of the load."""
    cpu_user_share: Column
    cpu_system_share: Column
    busiest_process_share: Column
    busiest_thread_share: Column
    """Whichever it was at that moment."""
    memory_bytes: Column
    proportional_memory_bytes: Column
    processes: Column
    threads: Column
    open_files: Column
    voluntary_context_switches: Column
    involuntary_context_switches: Column
    busy_cpus: Column
    softirq_cpus: Column
    steal_cpus: Column
    established_sockets: Column
    time_wait_sockets: Column
    orphaned_sockets: Column
    listen_queue: Column
    """Connections that waited to be accepted."""
    listen_overflows: Column
    listen_drops: Column
    syn_retransmits: Column
    retransmits: Column
    resets_sent: Column
    connections_reset: Column
    dsacks_received: Column = None
    throttled_s: Column
    pressure_cpu_some_share: Column
    pressure_memory_some_share: Column
    pressure_memory_full_share: Column
    pressure_io_some_share: Column
    pressure_io_full_share: Column
    socket_states: SocketStatesSeries | None


class PageCacheUse(Record):
    """What the machine held of files in memory, of all processes together."""

    mean_bytes: Time | None
    """Without shared memory, which is in memory alone."""
    refault_bytes_per_s: Time | None
    """What was read again soon after it had been dropped: more is in use than the memory holds."""


class ProbeCost(Record):
    """What the probe itself took."""

    interval_s: Time
    cpu_share: Time | None


class ClockComparison(Record):
    """How far one clock was ahead of another, and by how much that may be wrong."""

    offset_s: float
    error_s: Time


class ServerClock(Record):
    """How far the clock of the server's machine was ahead of the generator's, before and after a load."""

    machine: str
    before: ClockComparison
    after: ClockComparison


class ProbeRecord(Record):
    """What the probe measured over one window; ``caveats`` say what is missing or to be read with care."""

    cost: ProbeCost | None
    server: ServerUse | None
    cpus: Many[CpuUse] | None
    pressure: PressureUse | None
    tcp: TcpUse | None
    sockets: SocketsUse | None
    listen_queue: ListenQueue | None
    throttling: Throttling | None
    series: ProbeSeries | None
    caveats: Many[Caveat]
    pauses: Pauses | None = None
    """Of the server's CPUs; records may lack them."""
    clock: ServerClock | None = None
    """Brings what was seen on another machine to the generator's clock; ``None`` on the same machine."""
    page_cache: PageCacheUse | None = None
    """Of the machine; records may lack it."""
    link: LinkUse | None = None
    """What went over the link to another machine; ``None`` on the same machine."""
    cpu_time: CpuTime | None = None
    """Whose the time of the server's CPUs was; records may lack it, and where the load shares any of these
    CPUs its generator has it."""

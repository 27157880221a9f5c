"""What sent a load: the engine, a tool or several machines, what it cost them and how punctual it was."""

from typing import Literal

from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.cpu_time import CpuTime, Throttling
from loadcurve.result.distribution import Distribution
from loadcurve.result.link import InterfaceInLoad
from loadcurve.result.outcomes import Errors, Requests
from loadcurve.result.pauses import Pauses


class Lateness(Record):
    """How late the generator itself was, in ms."""

    p50: Time | None
    p99: Time | None
    p99_9: Time | None
    max: Time | None


class Generator(Record):
    """What the load cost the generator; of an imported load nothing of it is known."""

    threads: Count | None
    io: Literal["epoll", "uring"] | None
    cpu_user_s: Time | None
    cpu_system_s: Time | None
    cpu_spun_s: Time | None
    """The part of the two that went into waiting without sleeping."""
    cpu_per_request_us: Time | None
    voluntary_context_switches: Count | None = None
    """How often its threads went to sleep because nothing had arrived. The next answer wakes one, at the
    cost of its server. Records may lack it.
    """
    waiting: Literal["polling", "sleeping"] | None = None
    """How its threads have mostly waited for answers; records may lack it, and the next two."""
    polled_waits: Count | None = None
    """How many waits without sleeping have found something."""
    poll_pause_max_us: Time | None = None
    """The longest pause between two looks for answers: an answer can be timed so much late."""
    lateness_ms: Lateness | None
    pauses: Pauses | None = None
    """Of the CPUs of the load, or of the process that sends it; records may lack these three."""
    steal_share: Time | None = None
    """Of the CPU that lost most: for how much of the window it had work and the host did not run it."""
    throttling: Throttling | None = None
    """How limits of processor time held back the process that sends the load."""
    cpu_time: CpuTime | None = None
    """Whose the time of the load's CPUs was, and the server's where both share any; records may lack it."""

    @property
    def cpu_busy_s(self) -> float | None:
        """The processor time that the load needed, without the part that only looked for work."""
        if self.cpu_user_s is None or self.cpu_system_s is None:
            return None
        return self.cpu_user_s + self.cpu_system_s - (self.cpu_spun_s or 0.0)


class RequestSent(Record):
    """A request as a tool sends it, looked at before the load."""

    bytes: Count
    """Of its whole head; the requests of driven tools have no body."""
    user_agent: str | None
    """The value of ``User-Agent``; ``None`` where it sends none."""


class ToolRecord(Record):
    """The tool that has sent a load, and what it reports."""

    name: str
    """That of ``loadcurve generators``, such as ``wrk``."""
    version: str | None
    """``None`` where it does not tell it."""
    command: Many[str]
    """The program and its arguments, exactly as it was started; none of an imported load."""
    latency_basis: Literal["due", "send"]
    """Whether a latency begins when its request was due, or when it was sent."""
    resolution_ms: Time | None
    """The step between two latencies that it can tell apart; ``None`` where that is not known."""
    completeness: Literal["complete", "sampled", "percentiles", "summary"]
    """Whether every latency is known, those of a sample, some percentiles, or a mean and extremes alone."""
    warmup: Literal["none", "own", "separate"] | None
    """Whether there was a warm-up: a feature of the tool, or a process of it that was ended before the
    measured one began, whose connections are new; ``None`` where that is not known."""
    interrupted_after_s: Time | None = None
    """When it was interrupted, as it has no end by a duration, or takes whole seconds alone and its load has
    another length."""
    request: RequestSent | None = None
    """What a request of it looks like; ``None`` over HTTP/2, and of an imported load."""
    not_measured: Many[str]
    """What it does not measure."""


class Kernel(Record):
    """Increase of the machine's TCP and UDP counters over the load; ``None`` where it does not publish it."""

    syn_retransmits: Count | None
    retransmits: Count | None
    listen_overflows: Count | None
    listen_drops: Count | None
    delayed_acks: Count | None = None
    """Acknowledgements that waited for a timer; records may lack it."""
    tracking_drops: Count | None = None
    """Packets dropped because the table of tracked connections (conntrack) was full; records may lack it."""
    udp_receive_buffer_errors: Count | None = None
    """Datagrams that found no room in their receiver's buffer, whoever that was; records may lack it."""
    udp_send_buffer_errors: Count | None = None
    """Datagrams for which there was no memory to send them; records may lack it."""


class LoadMachineClock(Record):
    """How far a machine's monotonic clock was ahead of that of the machine that asked for the load.

    The truth lies within ``offset_s`` ± ``error_ms``, at the start of the load.
    """

    offset_s: float
    error_ms: Time
    drift_ppm: float | None
    """How much faster the clock went; ``None`` where it was not compared after the load."""
    round_trip_ms: Time
    """Of the exchange that says it: the one of least delay."""
    exchanges: Count
    """How many were answered, before or after the load, whichever are fewer."""
    over: Literal["echo", "channel"]
    """Whether by datagrams between the two clocks, or by messages of the agent, which take longer."""


class MachinePart(Record):
    """One machine's part of a load; what is not known of a machine that was lost is ``None``."""

    machine: str
    lost: str | None
    """Why nothing came of it; ``None`` where its part has arrived."""
    clock: LoadMachineClock | None
    start_ms: float | None
    """From the planned begin to its own, by the clock of who asked; off by ``clock.error_ms`` at most."""
    started_within_ms: Time | None
    """How much later than its first thread the last one began."""
    ended_s: Time | None
    """From its start to its end, warm-up included."""
    interrupted: bool | None
    connections_opened: Count | None
    requests: Requests | None
    sent_rps: Time | None
    """Over the common window, so that the rates of the parts add up."""
    answered_rps: Time | None
    latency_ms: Distribution | None
    errors: Errors | None
    cpu_share: Time | None
    """How busy its threads were: 1 is all of their time."""
    generator: Generator | None
    cpus: Many[Count] | None = None
    """What its threads were bound to in turn; empty if its system placed them. Records may lack it."""
    link: InterfaceInLoad | None = None
    """Where it reaches what it loads; ``None`` where that is not known. Records may lack it."""
    kernel: Kernel | None = None
    """What its kernel counted during the load, whatever caused it; the same for each part on one machine.
    Records may lack it."""


class LoadMachines(Record):
    """The machines that sent one load."""

    start_spread_ms: Time | None
    """From the first begin of a machine to the last; ``None`` where fewer than two are known."""
    start_error_ms: Time | None
    """By how much that may be off: the errors of both clocks."""
    parts: Many[MachinePart]

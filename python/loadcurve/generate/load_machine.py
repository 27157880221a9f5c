"""A machine that sends a part of a load: what is asked of one, and one for which an agent speaks."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

from loadcurve._engine import clock_exchanges
from loadcurve.generate import far_calls
from loadcurve.generate.far_calls import FarPart
from loadcurve.generate.generator import Progress
from loadcurve.generate.looking import ShownProgress, progress_of
from loadcurve.machines.channel import Channel, FarError, MachineLost
from loadcurve.machines.clock import EXCHANGES, compared_over, exchanges_over
from loadcurve.machines.clock_offsets import Exchange, Offset, offset_of
from loadcurve.machines.files import digest_of, parts_of

FIRST_EXCHANGES: Final = 3
"""Where none of these is answered, nothing gets through, such as where a firewall drops datagrams."""
PATIENCE_S: Final = 0.3
ROUND_TRIPS: Final = 3
REACHABLE: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's variable for whether other machines are to reach a node, which it reads when it is imported. Unless
it is ``0``, Ray on Linux replaces 127.0.0.1 by an address of the network and listens on all."""

Way = Literal["echo", "channel"]
Observe = Callable[[Progress], None]


class Compared(NamedTuple):
    """How far a machine's clock is ahead, and by which way that was found."""

    offset: Offset
    over: Way


@dataclass(frozen=True)
class Share:
    """One machine's part of a plan: of ``count`` equal ones, that of this index from 0."""

    index: int
    count: int


class LoadMachine(Protocol):
    """A machine that sends a part of a load. What is to be waited for is returned as an answer to be.

    Each answer raises MachineLost where the machine cannot be reached any more.
    """

    name: str
    cpus: Sequence[int]
    """What its threads are bound to in turn, unless it is here and has those of the plan; empty for none."""
    source_addresses: Sequence[str]
    """Its addresses from which connections come in turn; empty lets its kernel choose."""
    is_here: bool
    """Whether it has the files and the loopback of the process that asks."""

    def receive(self, files: Sequence[str]) -> None:
        """Bring files there that plans name; raises BadInput for one that cannot be read here."""

    def reach(self, host: str, port: int) -> Future[Any]:
        """Open and close one connection from there; raises NothingMeasured where none can be opened."""

    def start_part(self, load: str, plan: str, share: Share) -> Future[Any]:
        """Start a share of a plan under the name ``load``; its connections are opened."""

    def until_ready(self, load: str) -> Future[Any]:
        """Wait until its connections are open, as far as that is possible."""

    def run_part(self, load: str, at_ns: int, report_s: float, observe: Observe) -> Future[FarPart]:
        """Let a part begin at a moment of the clock there, and wait for what it records.

        ``observe`` is called about every ``report_s``, in another thread.
        """

    def stop_part(self, load: str) -> None:
        """Ask a part to end now; one that has begun still returns what it has measured."""

    def round_trip_s(self) -> float:
        """Measure how long a question and its answer take, the slowest of a few."""

    def compare_clocks(self) -> Compared:
        """Compare the clock there with the one here."""


class AgentMachine(LoadMachine):
    """A machine for which an agent speaks, at the other end of a channel."""

    def __init__(
        self,
        channel: Channel,
        *,
        address: str = "127.0.0.1",
        cpus: Sequence[int] = (),
        source_addresses: Sequence[str] = (),
        is_here: bool = False,
        link_speed_bits_per_s: int | None = None,
    ) -> None:
        """Take the channel; ``address`` is the machine's own, numeric, to which datagrams can be sent.

        ``link_speed_bits_per_s`` is that of its link, where a person has given it.
        """
        self.name = channel.machine
        self.cpus = cpus
        self.source_addresses = source_addresses
        self.is_here = is_here
        self._link_speed_bits_per_s = link_speed_bits_per_s
        self._channel = channel
        self._address = address
        self._echo: tuple[str, bytes] | None = None
        """Where the echo is, and its key, once there is one."""
        self._has_echo = True
        self._files: dict[str, str] = {}
        """The digests of the files that it has, by their names here."""

    def receive(self, files: Sequence[str]) -> None:
        """Bring the files there whose content it does not have."""
        for name in files:
            digest = digest_of(Path(name))
            if digest not in self._files.values():
                for data in parts_of(Path(name)):
                    self._channel.call(far_calls.PUT, digest=digest, data=data)
                self._channel.call(far_calls.SEAL, digest=digest)
            self._files[name] = digest

    def reach(self, host: str, port: int) -> Future[Any]:
        """Open and close one connection from there."""
        return self._channel.start(far_calls.REACH, host=host, port=port)

    def start_part(self, load: str, plan: str, share: Share) -> Future[Any]:
        """Start a share of a plan; raises also BadInput and NothingMeasured, as a load here does."""
        asked = {"load": load, "plan": plan, "index": share.index, "count": share.count}
        return self._channel.start(far_calls.START, files=self._files, **asked)

    def until_ready(self, load: str) -> Future[Any]:
        """Wait until its connections are open."""
        return self._channel.start(far_calls.READY, load=load)

    def run_part(self, load: str, at_ns: int, report_s: float, observe: Observe) -> Future[FarPart]:
        """Let a part begin; raises also NothingMeasured, where it could not begin then."""

        def show(shown: ShownProgress) -> None:
            observe(progress_of(shown))

        brought: Future[FarPart] = Future()

        def take(answer: Future[FarPart]) -> None:
            try:
                brought.set_result(self._with_given_speed(answer.result()))
            except Exception as error:  # noqa: BLE001 -- whoever waits for the part raises it
                brought.set_exception(error)

        asked = self._channel.start(far_calls.RUN, show, load=load, at_ns=at_ns, report_s=report_s)
        asked.add_done_callback(take)
        return brought

    def _with_given_speed(self, part: FarPart) -> FarPart:
        if part.link is None:
            return part
        interface = part.link.interface.with_given_speed(self._link_speed_bits_per_s)
        return part.model_copy(update={"link": part.link.model_copy(update={"interface": interface})})

    def stop_part(self, load: str) -> None:
        """Ask a part to end now."""
        self._channel.start(far_calls.STOP, load=load)

    def round_trip_s(self) -> float:
        """Measure how long a question and its answer take."""
        return max(one.arrived_ns - one.sent_ns for one in exchanges_over(self._channel, ROUND_TRIPS)) / 1e9

    def compare_clocks(self) -> Compared:
        """Compare clocks by the echo, or where no datagram gets through by the messages of the channel."""
        exchanges = self._by_echo() if self._has_echo else []
        if exchanges:
            return Compared(offset_of(exchanges), "echo")
        self._has_echo = False
        return Compared(compared_over(self._channel), "channel")

    def _by_echo(self) -> list[Exchange]:
        """Return what the echo answers; nothing where there can be none, or it cannot be reached."""
        try:
            if self._echo is None:
                found = self._channel.call(far_calls.CLOCK, address=self._address)
                if not self._is_own(found.address):
                    return []
                self._echo = found.address, bytes.fromhex(found.key)
                if not clock_exchanges(*self._echo, FIRST_EXCHANGES, PATIENCE_S):
                    return []
            readings = clock_exchanges(*self._echo, EXCHANGES, PATIENCE_S)
        except MachineLost:
            raise
        except (FarError, OSError):
            return []
        return [Exchange(*one) for one in readings]

    def _is_own(self, echo: str) -> bool:
        """Say whether an echo is at the machine's own address: datagrams go nowhere else."""
        return echo.rpartition(":")[0].strip("[]") == self._address

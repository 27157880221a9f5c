"""A server of several programs: started one after the other, watched and stopped together."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from loadcurve.host.cgroups import NO_LIMITS
from loadcurve.host.process_times import ProcessTable
from loadcurve.loads.table import LoadTable
from loadcurve.result.records import ContentRecord, LimitUse
from loadcurve.server.failure import ServerFailure
from loadcurve.server.here import (
    FAILURE_LOG_LINES,
    PORT_ATTEMPTS,
    Among,
    Server,
    cpus_of_server,
    free_port,
)
from loadcurve.server.launch import Neighbour, ServerMarks
from loadcurve.server.listeners import Place, holders_of
from loadcurve.server.live import LiveServer
from loadcurve.server.location import LOOPBACK
from loadcurve.server.probing import Probe
from loadcurve.server.settings import fit_to_cpus
from loadcurve.server.several import FoundProgram, FoundPrograms, GivenProgram
from loadcurve.server.transport import Transport


class ServerOfPrograms(LiveServer):
    """Several programs, one of them serving, as a context manager: all ready inside the block, gone after it.

    It must be entered in a thread that outlives the block, see :class:`loadcurve.server.here.Server`.
    """

    def __init__(
        self,
        found: FoundPrograms,
        content_folder: Path | None,
        content: Mapping[str, ContentRecord],
        cpus: Collection[int] | None = None,
    ) -> None:
        """Prepare the programs for these CPUs, or for those of this process; nothing is started."""
        self.found = found
        self._cpus = cpus_of_server(NO_LIMITS, cpus)
        self.settings = fit_to_cpus(found.entry.description.settings, found.settings, len(self._cpus))
        self._content_folder = content_folder
        self._content = content
        self._started: dict[str, Server] = {}
        self._begun: GivenProgram | None = None
        """The program whose start began last."""

    def __enter__(self) -> Self:
        """Start the programs in their order, each when those before it are ready.

        Raises:
            BadInput: the ledger cannot be written, or the CPUs cannot be had.
            ServerFailure: one did not get ready, or has ended; the code says why, the text which one.

        """
        try:
            self._start_all()
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def address(self) -> str:
        """Where the program listens that serves, as ``host:port``."""
        return self._serving.address

    @property
    def transport(self) -> Transport:
        """How it is spoken to."""
        return self._serving.transport

    @property
    def url(self) -> str:
        """Where it is reached."""
        return self._serving.url

    @property
    def configuration(self) -> Mapping[str, str]:
        """Unknown: what configures the programs is the study's."""
        return {}

    def verify(self, paths: Sequence[str] = (), load: LoadTable | None = None, /) -> None:
        """Check the answer to each path, asked for as a load asks.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer"), or a program has ended instead.

        """
        try:
            self._serving.verify(paths, load)
        except ServerFailure as failure:
            # Another one may be why.
            self.raise_if_exited()
            raise ServerFailure(failure.code, failure.text, self.log_tail()) from None

    def raise_if_exited(self) -> None:
        """Do nothing as long as all programs run; raises ServerFailure where one has ended ("died")."""
        for server in self._started.values():
            server.raise_if_exited()

    def probe(self, cpus: Collection[int], interval_s: float, /) -> Probe:
        """Return the probe of all programs, which tells them apart, and runs on these CPUs while entered."""
        parts = {name: server.marks for name, server in self._started.items()}
        first = next(iter(parts.values()))
        marks = ServerMarks(None, None, None, first.folder, first.on_this_network, programs=parts)
        return Probe(marks, self.address, cpus, interval_s, self._cpus)

    def limit_use(self) -> LimitUse | None:
        """Return what limits have done to the programs together; ``None`` where none has a limit of memory.

        The most memory is the sum of theirs, each at its own moment, so that together it may have been less.
        """
        found = [use for one in self._started.values() if (use := one.limit_use()) is not None]
        kills = [use.oom_kills for use in found if use.oom_kills is not None]
        peaks = [use.memory_peak_bytes for use in found if use.memory_peak_bytes is not None]
        if not kills and not peaks:
            return None
        return LimitUse(oom_kills=sum(kills), memory_peak_bytes=sum(peaks) if peaks else None)

    def log_tail(self, line_count: int = FAILURE_LOG_LINES, /) -> str:
        """Return the last lines of what each program printed; empty after the stop."""
        tails = {name: server.log_tail(line_count) for name, server in [*self._started.items()]}
        return "\n".join(f"{name}:\n{tail}" for name, tail in tails.items() if tail)

    def stop(self) -> None:
        """Stop the programs, the last one first, and leave nothing of them behind; again does nothing.

        Raises ``ServerFailure``: a process cannot be ended ("left_behind").
        """
        with ExitStack() as stack:
            for server in self._started.values():
                stack.callback(server.stop)
        self._started = {}

    @property
    def _serving(self) -> Server:
        return self._started[self.found.serving.given.name]

    def _start_all(self) -> None:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            try:
                self._start_each()
            except ServerFailure as failure:
                # Another attempt changes no port that a program cannot be given.
                is_fixed = self._begun is not None and self._begun.port is not None
                if failure.code != "port_taken" or attempt == PORT_ATTEMPTS or is_fixed:
                    raise
                self.stop()
            else:
                return

    def _start_each(self) -> None:
        ports = self._ports()
        for one in self.found.programs:
            name, self._begun = one.given.name, one.given
            if one.given.port is not None:
                _require_free(name, one.given.port)
            beside = {name: self._neighbour(name, port) for name, port in ports.items()}
            among = Among(ports[name], beside, one.given.sign, partial(self._look_beside, name))
            server = self._server(one, among)
            self._started[name] = server
            server.__enter__()

    def _neighbour(self, name: str, port: int) -> Neighbour:
        started = self._started.get(name)
        return Neighbour(LOOPBACK, port, "" if started is None else str(started.socket or ""))

    def _ports(self) -> dict[str, int]:
        """Return the port of each program: its own one, or a free one that no other program is given."""
        ports = {one.given.name: one.given.port for one in self.found.programs}
        taken = {port for port in ports.values() if port is not None}
        chosen: dict[str, int] = {}
        for name, port in ports.items():
            found = port or free_port()
            while port is None and found in taken:
                found = free_port()
            taken.add(found)
            chosen[name] = found
        return chosen

    def _server(self, one: FoundProgram, among: Among) -> Server:
        return Server(one.found, self._content_folder, self._content, self._cpus, among)

    def _look_beside(self, waited_for: str) -> None:
        """Raise ServerFailure where a program has ended that was ready before another one is."""
        for name, server in self._started.items():
            if name != waited_for:
                server.raise_if_exited(f"before the program {waited_for} was ready")


def _require_free(name: str, port: int) -> None:
    """Raise ServerFailure where somebody else listens on the port that a program cannot be given."""
    if sockets := Place(ip_address(LOOPBACK), port).listeners():
        holders = holders_of(sockets, ProcessTable.now()).found
        who = ", ".join(f"process {one.pid} ({one.name})" for one in holders) or "another program"
        what = f"The program {name} cannot listen on its port {port}"
        raise ServerFailure("port_taken", f"{what}, on which {who} listens: end that one first.")

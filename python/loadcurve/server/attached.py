"""A server that runs already, somewhere: verified and measured, but neither started nor stopped."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Self

from loadcurve.errors import BadInput
from loadcurve.loads.table import LoadTable
from loadcurve.probe.window import nothing_observed
from loadcurve.redaction import without_password
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import ANSWER_TIMEOUT_S
from loadcurve.server.failure import ServerFailure
from loadcurve.server.launch import ServerMarks
from loadcurve.server.live import LiveProbe, LiveServer
from loadcurve.server.members import SeenProcesses, UnseenProcesses, processes_of
from loadcurve.server.probing import Probe
from loadcurve.server.running import RunningServer
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.temporary import temporary_folder
from loadcurve.server.transport import Transport
from loadcurve.server.verify import verify_from_here


def _unknown(text: str) -> Caveat:
    return Caveat.of("processes_unknown", text)


class AttachedServer(LiveServer):
    """A server that runs already, and continues after it was measured."""

    def __init__(
        self,
        found: RunningServer,
        content: Mapping[str, ContentRecord] | None,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        """Take a server as it is, which has ``timeout_s`` for each answer that is verified.

        Without ``content`` any answer of status 200 counts as the right one.
        """
        self.settings = {**found.settings, "url": without_password(found.url)}
        self._found = found
        self._content = content
        self._timeout_s = timeout_s
        self._processes = found.processes

    def __enter__(self) -> Self:
        """Look for its processes, which may be others than before."""
        self._processes = _processes_now(self._found)
        return self

    @property
    def address(self) -> str:
        """Where the server listens: the numeric ``host:port`` of a web server, the hosts of a database."""
        return self._found.address

    @property
    def authority(self) -> str:
        """What ``Host`` names."""
        return self._found.authority

    @property
    def transport(self) -> Transport:
        """How a web server is spoken to, as its URL says."""
        return self._found.transport

    @property
    def url(self) -> str:
        """Where the server is reached by its protocol; that of a database may hold a password."""
        return self._found.url

    @property
    def own_cpus(self) -> Collection[int] | None:
        """The CPUs on which its processes may run, where they can be seen."""
        return (self._processes.cpus or None) if isinstance(self._processes, SeenProcesses) else None

    @property
    def configuration(self) -> Mapping[str, str]:
        """Unknown: the server was configured elsewhere."""
        return {}

    def verify(self, paths: Sequence[str] = (), load: LoadTable | None = None, /) -> None:
        """Ask for each path once, as a load does; without content, at least the status is checked.

        A database is given something to keep, which is read back and removed.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer").

        """
        url = self._found.url
        try:
            verify_from_here(
                self, self._found.kind, paths, load, content=self._content, timeout_s=self._timeout_s
            )
        except ServerFailure as failure:
            raise ServerFailure(failure.code, f"{without_password(url)}: {failure.text}") from None

    def raise_if_exited(self) -> None:
        """Do nothing as long as it is not known to have ended.

        Raises ``ServerFailure``: its processes were seen, all have ended, and nobody listens in their place
        ("died"). What goes wrong with others shows in the load.
        """
        seen, place = self._processes, self._found.place
        if not isinstance(seen, SeenProcesses) or place is None or not seen.on_this_network:
            return
        if len(seen.ended) == len(seen.roots) and not place.listeners():
            text = f"{without_password(self._found.url)}: {seen.text}, ended during the trial."
            raise ServerFailure("died", text)

    def probe(self, cpus: Collection[int], interval_s: float, /) -> "AttachedProbe":
        """Return what watches its processes, as far as they can be seen."""
        return AttachedProbe(self._found, self._processes, cpus, interval_s)

    def limit_use(self) -> None:
        """Return nothing: it is held to no limits from here."""

    def log_tail(self, _line_count: int = 0, /) -> str:
        """Return nothing: its logs are not known."""
        return ""

    def stop(self) -> None:
        """Do nothing: it was there before the run."""


def _processes_now(found: RunningServer) -> SeenProcesses | UnseenProcesses:
    """Return the processes of a server, which were looked for before."""
    try:
        return processes_of(found.named, found.place)
    except UnusableSetting as fault:
        return UnseenProcesses(f"{fault.setting}: {fault}")


class AttachedProbe(AbstractContextManager["AttachedProbe"], LiveProbe):
    """The probe of a server that runs already; it begins anew where other processes take their place."""

    def __init__(
        self,
        found: RunningServer,
        processes: SeenProcesses | UnseenProcesses,
        cpus: Collection[int],
        interval_s: float,
    ) -> None:
        """Prepare the probe, which runs on ``cpus``."""
        self._found = found
        self._processes = processes
        self._cpus = cpus
        self._interval_s = interval_s
        self._stack = ExitStack()
        self._probe: Probe | None = None
        self._trouble: Caveat | None = None

    def __enter__(self) -> Self:
        """Start the probe, if there is something to be seen."""
        if isinstance(self._processes, UnseenProcesses):
            reason = self._processes.reason
            self._trouble = _unknown(f"CPU and memory of the server are not measured: {reason}")
            return self
        seen = self._processes
        try:
            folder = self._stack.enter_context(temporary_folder("the probe of a running server"))
        except (BadInput, OSError) as error:
            text = f"the probe could not be started: {error}"
            self._trouble = Caveat.of("probe_not_started", text)
            return self
        pids = () if seen.group else tuple(root.pid for root in seen.roots)
        marks = ServerMarks(None, None, seen.group, folder, seen.on_this_network, pids)
        place = self._found.place
        # A UDP port has no queue of connections, and TCP's port of this number may be another program's.
        queue = None if place is None or place.is_over_udp else str(place)
        probe = Probe(marks, queue, self._cpus, self._interval_s, sorted(seen.cpus))
        self._probe = self._stack.enter_context(probe)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the probe."""
        self._probe, self._trouble = None, None
        self._stack.close()

    def observed(self, load: LoadResult, /) -> ProbeRecord:
        """Return what was seen during the measured window of a load that is over, and what was not."""
        if self._probe is None or isinstance(self._processes, UnseenProcesses):
            return nothing_observed([] if self._trouble is None else [self._trouble])
        record = self._probe.observed(load)
        seen = self._processes
        caveats = [_unknown(text) for text in seen.missing]
        if ended := seen.ended:
            pids = ", ".join(str(root.pid) for root in ended)
            one = "process" if len(ended) == 1 else "processes"
            text = f"{one} {pids} of the server ended during the load: the use of its successor is missing"
            caveats.append(_unknown(text))
            self._begin_anew()
        return record.model_copy(update={"caveats": [*record.caveats, *caveats]})

    def _begin_anew(self) -> None:
        self.__exit__(None, None, None)
        self._processes = _processes_now(self._found)
        self.__enter__()

"""Servers on another machine: found, started, probed and stopped by the agent there, and loaded from here."""

import contextlib
import hashlib
import json
import queue
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from loadcurve.errors import NothingMeasured, sentence
from loadcurve.host.fitness import Check
from loadcurve.host.link import interface_to
from loadcurve.loads.table import LoadTable
from loadcurve.loads.tls import TlsTable
from loadcurve.machines.channel import Channel, FarError, MachineLost
from loadcurve.machines.clock import compared_over
from loadcurve.machines.clock_offsets import ClockCourse, Offset
from loadcurve.machines.far_call import Answer, FarCall
from loadcurve.machines.files import parts_of
from loadcurve.probe.figures import Window
from loadcurve.probe.link_watch import LinkWatch
from loadcurve.probe.window import nothing_observed
from loadcurve.redaction import hosts_of, remember_url
from loadcurve.result.link import LinkRecord, LinkUse
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ClockComparison, ProbeRecord, ServerClock
from loadcurve.result.records import ContainerRecord, ContentRecord, LimitUse
from loadcurve.server import far_calls
from loadcurve.server.answers import ANSWER_TIMEOUT_S
from loadcurve.server.asking import Json, asked_for
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides, StartableServer
from loadcurve.server.live import LiveProbe, LiveServer
from loadcurve.server.packaged import PACKAGED_CATALOG
from loadcurve.server.settings import SettingValue, choose_settings
from loadcurve.server.temporary import temporary_folder
from loadcurve.server.transport import Transport
from loadcurve.server.verify import verify_from_here
from loadcurve.server.way import CONNECTIONS, measured_way, require_reached
from loadcurve.study.container import ContainerTable

LOG_LINES = 20
SHOWN_CHARACTERS = 200
MS_PER_S = 1e3
NS_PER_S = 1e9


@dataclass(frozen=True)
class ServerOnMachine(StartableServer):
    """A server that another machine has and can start, see :class:`loadcurve.server.found.FoundServer`."""

    machine: "ServerMachine"
    asked: Json
    """As the agent is asked for it."""
    version: str
    binary: str
    """Its path on that machine."""
    binary_sha256: str | None
    container: ContainerRecord | None


class ServerMachine:
    """Another machine on which a run starts its servers, by the agent that ``connect`` leads to.

    A connection that was lost is made anew when a server is next started there: what the lost one had, the
    agent has removed.
    """

    def __init__(
        self,
        name: str,
        address: str,
        connect: Callable[[], Channel],
        link_speed_bits_per_s: int | None = None,
    ) -> None:
        """Reach the machine, and see that a server there would be reached from here.

        ``link_speed_bits_per_s`` is that of its link, where a person has given it.

        Raises:
            MachineLost: it is not reached; the text says what ssh said.
            NothingMeasured: servers there cannot listen on the address, or are not reached on it.

        """
        self.name, self.address = name, address
        self._connect = connect
        self._channel = connect()
        self._sent: set[str] = set()
        try:
            self._prepared = self._prepare()
            self.link = self._way(link_speed_bits_per_s)
        except BaseException:
            self.close()
            raise

    @property
    def cpus(self) -> list[int]:
        """The CPUs that a server there may use."""
        return self._prepared.cpus

    @property
    def facts(self) -> far_calls.Facts:
        """What kind of machine it is."""
        return self._prepared.facts

    @property
    def recorded_facts(self) -> dict[str, Any]:
        """The same as records have it, with the CPUs."""
        return {**self.facts.model_dump(mode="json"), "cpus": self.cpus}

    def close(self) -> None:
        """Leave the machine; what was started there is gone afterwards."""
        self._channel.close()

    def channel(self) -> Channel:
        """Return the way to the agent, a new one where the last was lost; raises MachineLost."""
        if self._channel.lost is not None:
            self._channel.close()
            self._channel = self._connect()
            self._sent.clear()
            self._prepare()
        return self._channel

    def fitness(self) -> list[Check]:
        """Return whether the machine is fit to have servers that are measured; it is watched for a second."""
        return self.channel().call(far_calls.FITNESS)

    def installed_program(self, name: str) -> Path | None:
        """Return the program there of a server that ``loadcurve servers install`` installed, by its name.

        ``None`` where it is not installed, or the machine was lost, which the search for the server says.
        """
        try:
            program = self.channel().call(far_calls.INSTALLED, name=name)
        except MachineLost:
            return None
        return None if program is None else Path(program)

    def find(
        self,
        entry: CatalogEntry,
        settings: Mapping[str, object],
        overrides: Overrides,
        table: ContainerTable,
        say: Callable[[str], None],
    ) -> ServerOnMachine | MissingServer:
        """Look for a server there, and build it there where that is all it lacks.

        Raises:
            UnusableSetting: a given setting or key is unknown, does not fit or is missing.
            ServerFailure: the server is there, and its version cannot be found out, or it cannot be built.

        """
        choose_settings(entry.name, entry.description.settings, settings)
        with failures_in_words(self.name):
            # A user's own catalogue is not there.
            is_packaged = entry.folder.parent == PACKAGED_CATALOG
            catalog = None if is_packaged else self.send(entry.folder.parent)
            asked = asked_for(entry.name, catalog, settings, overrides, table)
            channel = self.channel()
            answer = channel.result_of(far_calls.FIND, channel.start(far_calls.FIND, say, **asked))
        if (found := answer.found) is not None:
            return ServerOnMachine(
                entry, self, asked, found.version, found.binary, found.binary_sha256, found.container
            )
        missing = answer.missing
        if missing is None:
            reason = f"nothing is said of it on machine {self.name}"
            return MissingServer(entry, reason, None)
        fault = None if missing.fault is None else ServerFailure(**missing.fault.model_dump())
        return MissingServer(entry, f"{missing.reason} on machine {self.name}", missing.install, fault=fault)

    def send(self, folder: Path, records: Mapping[str, ContentRecord] | None = None) -> str:
        """See that the agent has the files of a folder; return the digest that it knows them by."""
        records = content_of_folder(folder) if records is None else records
        files = {name: record.model_dump(mode="json") for name, record in sorted(records.items())}
        digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
        channel = self.channel()
        if digest not in self._sent and not channel.call(far_calls.HAS, digest=digest):
            for name in files:
                _send_file(channel, digest, name, folder / name)
            channel.call(far_calls.SEAL, digest=digest, files=files)
        self._sent.add(digest)
        return digest

    def send_again(self, digest: str, folder: Path) -> None:
        """See that the agent has the files of a folder that were sent, perhaps to one that was lost."""
        if digest not in self._sent:
            self.send(folder)

    def _prepare(self) -> far_calls.Prepared:
        prepared = self._channel.call(far_calls.PREPARE, address=self.address)
        self.notes = [f"machine {self.name}: {text}" for text in prepared.cleaned]
        self.others = prepared.others
        return prepared

    def _way(self, link_speed_bits_per_s: int | None) -> LinkRecord:
        """Try whether a connection from here comes about, before anything is started; return what it is."""
        ports: queue.SimpleQueue[int] = queue.SimpleQueue()
        answer = self._channel.start(far_calls.KNOCK, ports.put, connections=CONNECTIONS)
        answer.add_done_callback(lambda _: ports.put(0))
        try:
            port = ports.get(timeout=far_calls.KNOCK.limit_s)
        except queue.Empty:
            port = 0
        if port == 0:
            # The call has failed, or its machine is lost.
            self._channel.result_of(far_calls.KNOCK, answer)
            raise MachineLost(self.name, "it named no port on which it can be reached")
        round_trip, path_mtu_bytes = measured_way(self.name, self.address, port)
        there = self._channel.result_of(far_calls.KNOCK, answer)
        return LinkRecord(
            here=interface_to(self.address),
            there=there and there.with_given_speed(link_speed_bits_per_s),
            round_trip_ms=round_trip,
            path_mtu_bytes=path_mtu_bytes,
        )


def _send_file(channel: Channel, digest: str, name: str, file: Path) -> None:
    mode = file.stat().st_mode & 0o777
    for number, data in enumerate(parts_of(file)):
        channel.call(far_calls.PUT, digest=digest, name=name, data=data, mode=mode, begins=number == 0)


@contextmanager
def failures_in_words(machine: str) -> Iterator[None]:
    """Raise what the agent says of a server as it would be raised here."""
    try:
        yield
    except MachineLost as lost:
        raise ServerFailure("machine_lost", sentence(str(lost))) from None
    except FarError as error:
        if (unusable := far_calls.setting_fault(error)) is not None:
            raise unusable from None
        if (fault := far_calls.server_fault(error)) is not None:
            text = f"machine {machine}: {error.text}"
            raise ServerFailure(fault.code, text, fault.log_tail) from None
        raise


class ServerElsewhere(LiveServer):
    """A server on another machine, as a context manager: ready inside the block, gone after it."""

    def __init__(
        self,
        found: ServerOnMachine,
        content_folder: Path | None,
        content: Mapping[str, ContentRecord],
        cpus: Collection[int] | None = None,
    ) -> None:
        """Prepare a server for these CPUs of its machine, or for all of them; nothing is started."""
        self.settings: Mapping[str, SettingValue] = {}
        self._found = found
        self._machine = found.machine
        self._content_folder = content_folder
        self._content = content
        self._cpus = None if cpus is None else sorted(cpus)
        self._channel: Channel | None = None
        self._start: far_calls.FarStart | None = None
        self._transport = Transport()
        self._ended: Future[None] = Future()
        self._own_files = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start the server there, and see that it is reached from here.

        Raises ``ServerFailure``: it did not get ready, or the machine was lost; the code says why.
        """
        with failures_in_words(self._machine.name):
            channel = self._machine.channel()
            content = None
            if self._content_folder is not None:
                content = self._machine.send(self._content_folder, self._content)
            # An agent that was reached anew has nothing of what the lost one had.
            if (catalog := self._found.asked.get("catalog")) is not None:
                self._machine.send_again(catalog, self._found.entry.folder.parent)
            self._start = channel.call(
                far_calls.START, asked=self._found.asked, content=content, cpus=self._cpus
            )
            self._channel = channel
        try:
            if self._found.kind.has_driver:
                remember_url(self.url)
                self._require_there()
            else:
                authority = self._own_files.enter_context(temporary_folder("authority")) / "authority.pem"
                self._transport = _transport_here(self._started.transport, authority)
            self.settings = self._started.settings
            self._ended = channel.start(far_calls.WATCH, None, server=self._number)
            require_reached(self._machine.name, self._machine.address, self._started.port)
        except NothingMeasured as error:
            self.stop()
            raise ServerFailure("not_ready", sentence(str(error))) from None
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def address(self) -> str:
        """Where the server listens, as ``host:port``."""
        return f"{self._machine.address}:{self._started.port}"

    @property
    def url(self) -> str:
        """Where the server is reached by its protocol; that of a database may hold a password."""
        return self._started.url

    @property
    def transport(self) -> Transport:
        """How a web server is spoken to."""
        return self._transport

    @property
    def configuration(self) -> Mapping[str, str]:
        """The rendered configuration files by name, with placeholders for port and folders of this start."""
        return self._started.configuration

    def verify(self, paths: Sequence[str] = (), load: LoadTable | None = None, /) -> None:
        """Check, from here, the answer to each path; of a database, what it gives back.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong, or the server has ended instead.

        """
        content = None if self._content_folder is None else self._content
        try:
            verify_from_here(self, self._found.kind, paths, load, content=content, timeout_s=ANSWER_TIMEOUT_S)
        except ServerFailure as failure:
            self._call(far_calls.RAISE_IF_EXITED)
            title = self._found.entry.description.title
            raise ServerFailure(failure.code, f"{title}: {failure.text}", self.log_tail()) from None

    def raise_if_exited(self) -> None:
        """Do nothing as long as the server lives, as far as its machine has said."""
        if self._ended.done():
            with failures_in_words(self._machine.name):
                self._ended.result()

    def probe(self, cpus: Collection[int], interval_s: float, /) -> "ProbeElsewhere":
        """Return the probe, which runs beside the server on these CPUs of its machine."""
        return ProbeElsewhere(self, self._machine, cpus, interval_s)

    def limit_use(self) -> LimitUse | None:
        """Return what limits of memory and credits have done to it since its start; ``None`` without any."""
        return self._call(far_calls.LIMIT_USE)

    def log_tail(self, line_count: int = LOG_LINES, /) -> str:
        """Return the last lines of what the server wrote; empty after the stop, and of a lost machine."""
        with contextlib.suppress(ServerFailure):
            return self._call(far_calls.LOG_TAIL, line_count=line_count)
        return ""

    def stop(self) -> None:
        """Stop the server; again does nothing. Of a machine that is lost, the agent sees to it."""
        if self._channel is None:
            return
        channel, self._channel = self._channel, None
        self._own_files.close()
        # The loss is suppressed before it could become the failure of a trial that is over.
        with failures_in_words(self._machine.name), contextlib.suppress(MachineLost):
            if channel.lost is None:
                channel.call(far_calls.STOP, server=self._number)

    def compare_clocks(self) -> Offset:
        """Return how far the clock of the machine is ahead; raises ServerFailure where it is lost."""
        with failures_in_words(self._machine.name):
            return compared_over(self._live_channel)

    def call(self, asked: FarCall[Answer], **arguments: object) -> Answer:
        """Have the agent do something for this server; raises what is said of servers here."""
        return self._call(asked, **arguments)

    def _call(self, asked: FarCall[Answer], **arguments: object) -> Answer:
        with failures_in_words(self._machine.name):
            channel = self._live_channel
            answer = channel.start(asked, None, server=self._number, **arguments)
            return channel.result_of(asked, answer)

    def _require_there(self) -> None:
        """Raise ``NothingMeasured`` where the database that is to be loaded is not where it was started."""
        if hosts_of(self.url) != self.address:
            raise NothingMeasured(
                f"machine {self._machine.name}: the server was to be at {self.address}, and the agent named "
                f"another place: {hosts_of(self.url)[:SHOWN_CHARACTERS]}"
            )

    @property
    def _live_channel(self) -> Channel:
        if self._channel is None:
            raise RuntimeError("the server is not started")
        return self._channel

    @property
    def _started(self) -> far_calls.FarStart:
        if self._start is None:
            raise RuntimeError("the server is not started")
        return self._start

    @property
    def _number(self) -> int:
        return self._started.server


class ProbeElsewhere(LiveProbe):
    """Watches a server on its machine; what it saw is brought to the clock of this one."""

    def __init__(
        self, server: ServerElsewhere, machine: ServerMachine, cpus: Collection[int], interval_s: float
    ) -> None:
        """Prepare the probe; nothing is started."""
        self._server = server
        self._machine = machine.name
        here, there = machine.link.here, machine.link.there
        self._link = LinkWatch(None if here is None else here.name, interval_s)
        self._interface_there = None if there is None else there.name
        self._cpus = sorted(cpus)
        self._interval_s = interval_s
        self._before: Offset | None = None

    def __enter__(self) -> Self:
        """Compare the clocks, start the probe and wait for its first sample."""
        self._before = self._server.compare_clocks()
        self._server.call(
            far_calls.PROBE, cpus=self._cpus, interval_s=self._interval_s, interface=self._interface_there
        )
        self._link.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the probe; on a machine that is lost the agent sees to it."""
        self._link.__exit__(None, None, None)
        with contextlib.suppress(ServerFailure):
            self._server.call(far_calls.LEAVE_PROBE)

    def observed(self, load: LoadResult, /) -> ProbeRecord:
        """Return what the probe saw during the measured window of a load that is over.

        Raises ``ServerFailure``: the server has ended, or its machine was lost.
        """
        after, before = self._server.compare_clocks(), self._before
        if before is None:
            return nothing_observed([])
        self._before = after
        course = ClockCourse(before, after)
        start_s = load.began_monotonic_s
        seen = self._server.call(
            far_calls.OBSERVED,
            start_s=_there_s(course, start_s),
            end_s=_there_s(course, start_s + load.duration_s),
            answered=(load.rate_rps.answered or 0.0) * load.duration_s,
        )
        record = seen.probe
        clock = ServerClock(
            machine=self._machine,
            before=_comparison(before),
            after=_comparison(after),
        )
        link = LinkUse(
            here=self._link.use_within(Window(start_s, start_s + load.duration_s)),
            there=seen.link,
        )
        caveats = [*record.caveats, *drift_caveats(clock, self._interval_s)]
        return record.model_copy(update={"clock": clock, "link": link, "caveats": caveats})


def _transport_here(given: far_calls.FarTransport, authority: Path) -> Transport:
    """Return how a web server is spoken to; the authority is written to a file of this machine."""
    if given.authority is None:
        return Transport(http_versions=given.http_versions)
    authority.write_text(given.authority, encoding="ascii")
    return Transport("https", TlsTable(verify=str(authority)), given.http_versions)


def _there_s(course: ClockCourse, moment_s: float) -> float:
    """Return what the other clock showed at a moment of the one here."""
    return moment_s + course.at(round(moment_s * NS_PER_S)).offset_ns / NS_PER_S


def _comparison(offset: Offset) -> ClockComparison:
    return ClockComparison(offset_s=offset.offset_ns / NS_PER_S, error_s=offset.error_ns / NS_PER_S)


def drift_caveats(clock: ServerClock, interval_s: float) -> list[Caveat]:
    """Return what must be known where a clock was not followed to within the probe's interval."""
    error_s = max(clock.before.error_s, clock.after.error_s)
    drift_s = abs(clock.after.offset_s - clock.before.offset_s)
    if drift_s <= interval_s and error_s <= interval_s:
        return []
    text = (
        f"the clock of machine {clock.machine} moved by {drift_s * MS_PER_S:,.3g} ms relative to this "
        f"machine's during the load, and is known to ± {error_s * MS_PER_S:,.3g} ms, while the probe "
        f"samples every {interval_s * MS_PER_S:,.3g} ms: its samples may belong to another moment"
    )
    return [Caveat.of("clock_drift", text)]

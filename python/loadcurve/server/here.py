"""A server under test: started on a free port, verified, and gone without a trace at the end."""

import atexit
import contextlib
import errno
import math
import os
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Self
from urllib.parse import quote

from loadcurve.errors import BadInput, sentence
from loadcurve.host.cgroups import Limits
from loadcurve.loads.table import LoadTable
from loadcurve.loads.way import SOCKET_HOST, socket_address
from loadcurve.result.records import ContentRecord, LimitUse
from loadcurve.server.answers import ONLY_OK, WebSite
from loadcurve.server.database import RunningDatabase
from loadcurve.server.environment_beside import advice_on_module
from loadcurve.server.failure import FailureCode, ServerFailure
from loadcurve.server.found import FoundServer, ReadyQuestion
from loadcurve.server.launch import Launch, Neighbour, ServerMarks
from loadcurve.server.live import LiveServer, Service
from loadcurve.server.location import LOOPBACK
from loadcurve.server.probing import Probe
from loadcurve.server.settings import fit_to_cpus
from loadcurve.server.several import Sign
from loadcurve.server.signs import Life, OpenPort, OpenSocket
from loadcurve.server.transport import Transport
from loadcurve.units import BYTES_PER_MIB

PORT_ATTEMPTS = 5
FIRST_WAIT_S = 0.005
LONGEST_WAIT_S = 0.1
LEAST_ATTEMPT_S = 1.0
"""The last question before the timeout may wait so long: cut short, it would hide what the server answers."""
SILENT_S = 1.0
"""A question without an answer for so long waits for one: a port on which nobody listens refuses at once."""
OTHER_PORT_S = 1.5
"""From then on it is said of a study's own program that it listens elsewhere, and not where it should."""
ONLY_OTHER_PORT_S = 10.0
"""A program that then still does has not understood its port; some open that of a debugger first."""
FAILURE_LOG_LINES = 20
PORT_TAKEN_WORDS = (os.strerror(errno.EADDRINUSE).lower(), "connection in use")
"""By which a server says that another program has its port: the system's words, and Gunicorn's."""


def free_port(address: str = LOOPBACK) -> int:
    """Return a port of a numeric address that is free now; another program may take it before it is used."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Among:
    """What one of several programs is given, which are a server together."""

    port: int
    """On which it listens, if it listens at all."""
    beside: Mapping[str, Neighbour]
    """Where all of them listen."""
    sign: Sign
    """By what it is ready."""
    look: Callable[[], None]
    """Raises ServerFailure where one of the others has ended."""


class Server(LiveServer):
    """One server, as a context manager: ready inside the block, gone after it.

    A web server serves one content; a database has none, and begins empty. It must be started in a thread
    that outlives the block, see :func:`loadcurve.server.spawn.spawn`.
    """

    def __init__(
        self,
        found: FoundServer,
        content_folder: Path | None,
        content: Mapping[str, ContentRecord],
        cpus: Collection[int] | None = None,
        among: Among | None = None,
    ) -> None:
        """Prepare a server for these CPUs, or for those of this process; nothing is started.

        ``among`` is given to one of several programs.
        """
        description = found.entry.description
        self._cpus = cpus_of_server(found.limits, cpus)
        cpu_count = len(self._cpus)
        self.found = found
        self.settings = fit_to_cpus(description.settings, found.settings, cpu_count)
        self._content_folder = content_folder
        self._content = content
        self._among = among
        self._life = Life()
        self._refusal: str | None = None
        self._asked_at_s: float | None = None
        has_any = description.messages or (
            content_folder is not None and (content or not description.ready.is_of_files)
        )
        is_asked = among is None or among.sign == "answer"
        if is_asked and description.kind.serves_content and not has_any and found.ready is None:
            raise BadInput("The server has nothing to serve: the content contains no file.")
        self._launch: Launch | None = None

    def __enter__(self) -> Self:
        """Start the server and wait until it is ready.

        Raises:
            BadInput: the ledger cannot be written, or the CPUs cannot be had.
            ServerFailure: it did not get ready; the code says why.

        """
        # An interrupt can come between the end of a `with` block and __exit__; then the server ends here.
        atexit.register(self._stop_at_exit)
        try:
            self._require_cpus()
            self._start_on_a_free_port()
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def address(self) -> str:
        """Where the server listens, as ``host:port``, or as ``unix:PATH`` on a socket."""
        socket_path = self._running.socket
        if socket_path is not None:
            return socket_address(str(socket_path))
        return f"{self.found.location.address}:{self._running.port}"

    @property
    def authority(self) -> str:
        """What ``Host`` names; a socket has no host."""
        return self.address if self._running.socket is None else SOCKET_HOST

    @property
    def url(self) -> str:
        """Where the server is reached by its protocol; that of a database may hold a password."""
        return self._service.url

    @property
    def transport(self) -> Transport:
        """How a web server is spoken to."""
        return self._running.transport

    @property
    def socket(self) -> Path | None:
        """The Unix socket on which it listens instead of a port, if it does."""
        return self._running.socket

    @property
    def port(self) -> int:
        """The port of :attr:`address`."""
        return self._running.port

    @property
    def pid(self) -> int:
        """The id of the main process, which is also the id of the session of all its processes."""
        return self._running.pid

    def limit_use(self) -> LimitUse | None:
        """Return what limits of memory and credits have done to it since its start; ``None`` without any."""
        return self._running.limit_use()

    @property
    def marks(self) -> ServerMarks:
        """What its processes are known by."""
        return self._running.marks

    @property
    def configuration(self) -> Mapping[str, str]:
        """The rendered configuration files by name, with placeholders for port and folders of this start."""
        return self._running.configuration

    def verify(self, paths: Sequence[str] = (), load: LoadTable | None = None, /) -> None:
        """Check the answer to each path, asked for as a load asks; of a database, what it gives back.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer"), or the server has ended instead
            ("died", "out_of_memory").

        """
        try:
            self._service.verify(paths, load)
        except ServerFailure as failure:
            self._fail_if_it_is_ending()
            self._fail(failure.code, f"{self._title}: {failure.text}{self._running.advice_on_user()}")

    def raise_if_exited(self, when: str = "during the trial") -> None:
        """Do nothing as long as the main process runs.

        Raises ``ServerFailure``: it has ended ("died", "out_of_memory"); the text says how.
        """
        self._running.look_after_orphans()
        if ended := self._running.exit_in_words():
            self._fail_as_ended(f"{self._title} {ended} {when}.")

    def probe(self, cpus: Collection[int], interval_s: float, /) -> Probe:
        """Return the probe, which runs beside the server on these CPUs while it is entered."""
        return Probe(self.marks, self.address, cpus, interval_s, self._cpus)

    def log_tail(self, line_count: int = FAILURE_LOG_LINES, /) -> str:
        """Return the last lines of what the server printed and of each of its logs; empty after the stop."""
        return "" if self._launch is None else self._launch.log_tail(line_count)

    def why_not_ready(self) -> str | None:
        """Return what was last answered while the server was waited for, in words, or that nothing is."""
        asked_at_s = self._asked_at_s
        if asked_at_s is not None and time.monotonic() - asked_at_s >= SILENT_S:
            return f"it was asked, and does not {self._service.sign_of_life} yet"
        return self._refusal

    def stop(self) -> None:
        """Stop the server and leave nothing of it behind; again does nothing.

        Raises ``ServerFailure``: a process cannot be ended ("left_behind").
        """
        if self._launch is not None:
            self._launch.end()
            self._launch = None
        atexit.unregister(self._stop_at_exit)

    def _stop_at_exit(self) -> None:
        # What cannot be stopped now either is in the ledger.
        with contextlib.suppress(ServerFailure):
            self.stop()

    @property
    def _title(self) -> str:
        return self.found.entry.description.title

    @property
    def _running(self) -> Launch:
        if self._launch is None:
            raise RuntimeError("the server is not started")
        return self._launch

    @property
    def _service(self) -> Service:
        """What is asked whether the server is ready, and right."""
        launch = self._running
        if launch.url is not None:
            return RunningDatabase(launch.url)
        if self._among is not None and self._among.sign != "answer":
            if self._among.sign == "live":
                return self._life
            socket_path = launch.socket
            return (
                OpenPort(self.found.location.address, launch.port)
                if socket_path is None
                else OpenSocket(socket_path)
            )
        return WebSite(
            self.found.location.address,
            launch.port,
            self.found.ready or self._usual_question,
            self._content_folder,
            None if self._content_folder is None else self._content,
            launch.transport,
            launch.socket,
        )

    @property
    def _usual_question(self) -> ReadyQuestion | None:
        """What shows that a server of the catalogue is ready; ``None``: a connection, or QUIC's answer."""
        ready = self.found.entry.description.ready
        if ready.connects or ready.quic:
            return None
        path = ready.path or "/" + quote(next(iter(self._content)))
        return ReadyQuestion(path, ONLY_OK)

    def _require_cpus(self) -> None:
        wanted = self.found.limits.cpus
        if wanted is not None and wanted > len(self._cpus):
            text = (
                f"{self._title} requires {wanted:g} CPUs, and servers have {len(self._cpus)} here: add "
                "CPUs to `server_cpus` in [host], or to its `cpus`, or limit the server to fewer."
            )
            self._fail("limits_unavailable", text)

    def _start_on_a_free_port(self) -> None:
        if self._among is not None:
            # Who has given it its port, and knows the others, tries again.
            self._launch = Launch(self.found, self._among.port, self._among.beside)
            self._start(self._launch)
            return
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self._launch = Launch(self.found, self._free_port())
            try:
                self._start(self._launch)
            except ServerFailure as failure:
                if failure.code != "port_taken" or attempt == PORT_ATTEMPTS:
                    raise
                self._launch.end()
            else:
                return

    def _start(self, launch: Launch) -> None:
        launch.start(self.settings, self._content_folder, self._cpus)
        self._life = Life()
        self._wait_until_ready(launch)

    def _free_port(self) -> int:
        location = self.found.location
        return location.free_port(free_port(location.address))

    def _wait_until_ready(self, launch: Launch) -> None:
        timeout_s = self.found.entry.description.ready.timeout_s
        started = time.monotonic()
        deadline = started + timeout_s
        wait_s = FIRST_WAIT_S
        while (remaining_s := deadline - time.monotonic()) > 0:
            # Another program on the port may let the question wait for as long as there is time.
            self._require_own_port(launch)
            self._asked_at_s = time.monotonic()
            try:
                refusal = self._service.refusal(max(remaining_s, LEAST_ATTEMPT_S))
            finally:
                self._asked_at_s = None
            launch.look_after_orphans()
            if ended := launch.exit_in_words():
                self._fail_because_it_ended(launch, ended)
            if self._among is not None:
                self._among.look()
            if refusal is None:
                self._refusal = None
                self._require_own_port(launch)
                launch.look_after_orphans(with_strays=True)
                return
            elsewhere = None
            if self.found.entry.description.is_own_program:
                elsewhere = self._listens_elsewhere(launch, time.monotonic() - started)
            # Others may read it at any time, and it has one value for one look.
            self._refusal = elsewhere or refusal
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        expected = f"{self._service.sign_of_life} within {timeout_s:g} s"
        text = sentence(f"{self._title} runs but did not {expected}: {refusal}")
        self._fail("not_ready", text + launch.advice_on_user())

    def _listens_elsewhere(self, launch: Launch, waited_s: float) -> str | None:
        """Return where a program listens instead of on its port, and what helps; fail if it has for long."""
        if waited_s < OTHER_PORT_S:
            return None
        if ports := launch.ports_instead():
            named = ("port " if len(ports) == 1 else "ports ") + ", ".join(map(str, sorted(ports)))
            elsewhere = f"listens on {named}, and not on {launch.port}, which is the {{port}} of its command"
            helps = "give it that as the port to listen on, in start or, where it reads it there, "
            helps += 'by environment = { PORT = "{port}" }'
        elif found := launch.addresses_instead(address := self.found.location.listen_address):
            elsewhere = f"listens at {' and '.join(sorted(found))}, and not at {address}, where it is asked"
            helps = f"give it {address} as the address to listen on; localhost may be another one"
        else:
            return None
        if waited_s > ONLY_OTHER_PORT_S:
            self._fail("not_ready", f"{self._title} {elsewhere}, even after {waited_s:.0f} s.")
        return f"it {elsewhere}: {helps}"

    def _require_own_port(self, launch: Launch) -> None:
        if launch.foreign_listeners():
            self._fail("port_taken", f"{self._title} shares port {launch.port} with another program.")

    def _fail_because_it_ended(self, launch: Launch, ended: str) -> NoReturn:
        said = self.log_tail().lower()
        if any(words in said for words in PORT_TAKEN_WORDS):
            self._fail(
                "port_taken", f"{self._title} could not use port {launch.port}: another program uses it."
            )
        complaint = launch.complaint_about_configuration()
        if complaint is not None:
            text = f"{self._title} rejects its configuration." + launch.advice_on_user(complaint)
            raise ServerFailure("config_rejected", text, complaint)
        advice = launch.advice_on_user()
        if self.found.folder is not None:
            advice = advice_on_module(self.found.folder.path, self.found.binary, self.log_tail()) or advice
        self._fail_as_ended(f"{self._title} {ended} before it was ready.{advice}")

    def _fail_if_it_is_ending(self) -> None:
        """Fail where the main process ends in a moment: its connections are closed shortly before."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while time.monotonic() < deadline:
            self.raise_if_exited()
            time.sleep(FIRST_WAIT_S)

    def _fail_as_ended(self, text: str) -> NoReturn:
        """Fail with how the server ended, and with the reason where that is its limit of memory."""
        if self._running.went_into_the_background():
            text += " It still runs in the background: its start command must keep it in the foreground."
        use, limit_bytes = self.limit_use(), self.found.limits.memory_bytes
        if use is None or not use.oom_kills or limit_bytes is None:
            self._fail("died", text)
        limit = f"its limit of {limit_bytes / BYTES_PER_MIB:,.6g} MiB was reached"
        self._fail(
            "out_of_memory", f"{text} The kernel had killed {use.oom_kills} of its processes: {limit}."
        )

    def _fail(self, code: FailureCode, text: str) -> NoReturn:
        raise ServerFailure(code, text, self.log_tail()) from None


def cpus_of_server(limits: Limits, given: Collection[int] | None) -> list[int]:
    """Return as many CPUs as the limits let a server use at once; all of them where that is more.

    They are of those that are ``given``, or of those of this process. A machine with one CPU cannot run on
    two at the same time, and a server that counts them finds one.
    """
    cpus = os.sched_getaffinity(0) if given is None else set(given)
    count = len(cpus) if limits.cpus is None else math.ceil(limits.cpus)
    return sorted(cpus)[:count]

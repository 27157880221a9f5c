"""One start of one server on one port: its folder and its processes, from the first to the last of them."""

import contextlib
import errno
import os
import re
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from loadcurve.errors import refusal, sentence
from loadcurve.host.cgroups import LimitsUnavailable
from loadcurve.host.state import cache_folder
from loadcurve.loads.limits import SOCKET_PATH_BYTES_MAX
from loadcurve.redaction import remember
from loadcurve.result.records import LimitUse
from loadcurve.server.certificates import CERTIFICATES_FOLDER, NO_FILES, CertificateFiles
from loadcurve.server.description import CONSOLE_LOG, PRIVATE_FOLDER, SCRATCH_FOLDER, SOCKET_PLACE
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NATIVE_FOLDER, FoundServer, places
from loadcurve.server.group import group_parent
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.ledger import KILL_TIMEOUT_S, MARK_VARIABLE, LedgerEntry, Start, kill_all, processes_of
from loadcurve.server.preparation import PREPARE_LOG, prepare
from loadcurve.server.private_folder import (
    begin_and_end,
    log_tail,
    template_names,
    write_private_folder,
)
from loadcurve.server.privileges import ServerUser, user_of_server
from loadcurve.server.processes import (
    addresses_instead,
    held_sockets,
    is_running,
    listeners,
    listening_ports,
    listening_sockets,
    send_signal,
)
from loadcurve.server.reach import closed_folder, reachable_part, reachable_program, require_reachable
from loadcurve.server.settings import SettingValue
from loadcurve.server.start import StartCommand
from loadcurve.server.transport import CERTIFICATE, CERTIFICATE_KINDS, CLEAR_TEXT, Transport, transport_of

POLL_S = 0.01
PORT_CLOSE_TIMEOUT_S = 5.0
CHECK_TIMEOUT_S = 10.0
PASSWORD_BYTES = 24
ADVICE_LOG_LINES = 20
COMPLAINT_LINES = 20
SHELL_STATUSES = {
    126: "of a shell that may not run the command: chmod +x makes a file executable",
    127: "of a shell that does not find the command: is it installed, and on the PATH?",
}
"""What these statuses mean where a shell has started the command (POSIX, Shell Command Language, 2.8.2)."""
ENDED_IN_GOOD_ORDER = "ended with status 0"


@dataclass(frozen=True)
class ServerMarks:
    """What the processes of a running server are known by, and the folder that goes away with them."""

    session: int | None
    variable: str | None
    """A variable of their environment, as ``NAME=value``."""
    group: Path | None
    """The folder of the control group of version 2 that holds them and nothing else, where there is one."""
    folder: Path
    on_this_network: bool = True
    """Whether its sockets are among those of this machine."""
    pids: tuple[int, ...] = ()
    """Processes that belong to it with all that they start."""
    programs: Mapping[str, "ServerMarks"] = field(default_factory=dict)
    """By what each of its programs is known, by name, if it has several."""

    @property
    def parts(self) -> list["ServerMarks"]:
        """By what its programs are known, or it as a whole."""
        return list(self.programs.values()) or [self]


@dataclass(frozen=True)
class Neighbour:
    """Where a program listens that is a server together with others."""

    address: str
    port: int
    socket: str = ""
    """The path of the Unix socket on which it listens instead, if it does and has started."""


class Launch:
    """A started server, ready or not: made by :meth:`start`, and nothing of it is left after :meth:`end`."""

    def __init__(
        self, found: FoundServer, port: int, beside: Mapping[str, Neighbour] = MappingProxyType({})
    ) -> None:
        """Prepare the start of a server on a port; nothing exists yet.

        ``beside`` has the programs that it may name.
        """
        self.port = port
        # No part of the mark, which the name of the private folder shows.
        self._password = secrets.token_urlsafe(PASSWORD_BYTES)
        remember(self._password)
        self.configuration: dict[str, str] = {}
        self._entry = found.entry
        self._start_command = found.start
        self._own_folder = found.folder
        self._closed_folder: Path | None = None
        """The folder in which it would work, if its user could enter it."""
        self._added_environment = found.environment
        self._user = user_of_server(found.entry.description.user, found.user)
        self._names: dict[str, object] = {
            **beside,
            **places(found.entry, found.binary),
            **{name: str(path) for name, path in found.parts.items()},
            "address": found.location.listen_address,
            "port": found.location.listen_port(port),
            "version": found.version,
            **NO_FILES,
        }
        self._transport = CLEAR_TEXT
        self._certificates: CertificateFiles | None = None
        self._ledger_entry: LedgerEntry | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._on_socket = found.on_socket
        self._limits = found.limits
        self._location = found.location
        self._processes = found.location.processes()

    @property
    def url(self) -> str | None:
        """Where a database is reached; ``None`` for a web server."""
        url = self._entry.description.url
        return url and url.format(address=self._location.address, port=self.port, password=self._password)

    @property
    def socket(self) -> Path | None:
        """The Unix socket on which the server listens; ``None`` where it listens on its port."""
        scratch = self._folder / SCRATCH_FOLDER
        return scratch / "server.sock" if self._on_socket else None

    @property
    def transport(self) -> Transport:
        """How a web server is spoken to."""
        return self._transport

    @property
    def pid(self) -> int:
        """The id of the server's main process, which is also the id of its session."""
        return self._processes.leader.pid

    @property
    def marks(self) -> ServerMarks:
        """What the server's processes are known by."""
        start = self._start_record
        return ServerMarks(
            self.pid,
            start.mark_variable,
            self._processes.group,
            start.private_folder,
            self._processes.on_this_network,
        )

    def start(
        self, settings: Mapping[str, SettingValue], content_folder: Path | None, cpus: Collection[int] | None
    ) -> None:
        """Record the start, write and prepare the private folder and start the process; interrupts wait.

        Raises:
            BadInput: the ledger cannot be written, or the CPUs or the server's user cannot be had.
            ServerFailure: the folder cannot be written or the process not started ("not_started"), what goes
                before it fails ("not_prepared"), or the server cannot be held to its limits
                ("limits_unavailable").

        """
        with interrupts_deferred() as interrupted:
            temporary = Path(tempfile.gettempdir()).resolve()
            self._ledger_entry = LedgerEntry(self._entry.name, temporary, group_parent())
            content = None if content_folder is None else content_folder.resolve()
            try:
                self._make_folders(settings, content)
                self._make_certificate(settings)
                self._write_configuration()
                environment = self._environment()
                if (words := self._entry.description.prepare) is not None:
                    prepare(
                        self._title,
                        self._filled(words),
                        self._folder,
                        self._prepare_log,
                        user=self._user,
                        cpus=cpus,
                        environment=environment,
                        interrupted=interrupted,
                    )
                command = StartCommand(
                    title=self._title,
                    argv=self._filled(self._start_command),
                    user=self._user,
                    folder=self._own_folder.path if self._own_folder else self._folder,
                    log=self._console_log,
                    content=content,
                    certificates=None if self._certificates is None else self._certificates.folder,
                    port=self.port,
                    environment=environment,
                    secret_variables={name for name, one in self._added_environment.items() if one.source},
                    cpus=cpus,
                    limits=self._limits,
                )
                self._process = self._processes.start(command, self._ledger_entry, interrupted)
            except LimitsUnavailable as unavailable:
                raise ServerFailure("limits_unavailable", f"{self._title}: {unavailable}") from None
            except OSError as error:
                text = sentence(f"{self._title} could not be started: {refusal(error)}")
                raise ServerFailure("not_started", text) from None

    def limit_use(self) -> LimitUse | None:
        """Return what limits of memory and credits have done to it since its start; ``None`` without any."""
        return self._processes.limit_use()

    def exit_in_words(self) -> str | None:
        """Say how the main process ended; ``None`` while it runs.

        The process is not reaped here, so that its id, which is its session's, stays ours until the end.
        """
        if self._process is None:
            raise RuntimeError("the server is not started")
        # The engine of a container ends a moment after the server, and only then knows the status.
        wait = os.WNOHANG if is_running(self._processes.leader) else 0
        result = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | wait)
        if result is None:
            return None
        if result.si_code == os.CLD_EXITED:
            meaning = SHELL_STATUSES.get(result.si_status)
            return f"ended with status {result.si_status}" + (f" ({meaning})" if meaning else "")
        return f"was ended by {signal.Signals(result.si_status).name}"

    def look_after_orphans(self, *, with_strays: bool = False) -> None:
        """Keep in mind which processes of the server have lost their parents; cheap enough for any moment.

        ``with_strays`` keeps those, too, that have left the session; that looks at every process there is.
        """
        self._processes.look_after_orphans(with_strays=with_strays)

    def went_into_the_background(self) -> bool:
        """Say whether the main process has ended in good order and others of the server run on."""
        self.look_after_orphans()
        return self.exit_in_words() == ENDED_IN_GOOD_ORDER and any(processes_of(self._start_record))

    def foreign_listeners(self) -> set[int]:
        """Return the sockets that listen on the port and are not this server's.

        Where the open files of one of its processes may not be read, all are taken for its own. What leads
        to a network of the server's own is no process of the server.
        """
        if self._on_socket or not self._processes.on_this_network:
            return set()
        foreign = listening_sockets(self.port)
        if not foreign:
            return foreign
        for process in processes_of(self._start_record):
            held = held_sockets(process.identity)
            if held is None:
                return set()
            foreign -= held
        return foreign

    def ports_instead(self) -> set[int]:
        """Return the ports on which the server listens, where its own is not one of them."""
        if self._on_socket or not self._processes.on_this_network:
            return set()
        ports = listening_ports()
        held = (held_sockets(process.identity) or set() for process in processes_of(self._start_record))
        found = {ports[inode] for sockets in held for inode in sockets & ports.keys()}
        return set() if self.port in found else found

    def addresses_instead(self, address: str) -> set[str]:
        """Return the addresses at which the server listens on its port, where this one leads to none."""
        if self._on_socket or not self._processes.on_this_network:
            return set()
        own = {
            inode for one in processes_of(self._start_record) for inode in held_sockets(one.identity) or ()
        }
        return addresses_instead((one for one in listeners() if one.inode in own), self.port, address)

    def log_tail(self, line_count: int) -> str:
        """Return the last lines of what the server printed and of each of its logs; empty after the end."""
        if self._ledger_entry is None:
            return ""
        return log_tail(self._console_log, self._folder, self._entry, line_count)

    def advice_on_user(self, said: str = "") -> str:
        """Return a sentence on the server's user, where what it said or logged asks for one; else ""."""
        refused = os.strerror(errno.EACCES).lower() in (said or self.log_tail(ADVICE_LOG_LINES)).lower()
        if self._user is not None and self._closed_folder is not None:
            return (
                f" It ran as the user {self._user.name}, because root started it, and in an empty folder, "
                f"because that user cannot enter {self._closed_folder}: move the study to where other users "
                'can, or set user = "root" in the table of the server.'
            )
        if self._user is None or not refused:
            return ""
        return (
            f" It ran as the user {self._user.name}, because root started it, and was denied access: give "
            'that user access, or set user = "root" in the table of the server.'
        )

    def complaint_about_configuration(self) -> str | None:
        """Ask the server what is wrong with its configuration; ``None`` where it names nothing."""
        check = self._entry.description.check
        if check is None:
            return None
        try:
            finished = self._location.output_of(
                self._filled(check), CHECK_TIMEOUT_S, self._folder, self._environment(), self._user
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        said = finished.stdout.decode(errors="replace").strip()
        return begin_and_end(said, COMPLAINT_LINES) if finished.returncode else None

    def end(self) -> None:
        """Stop the server, kill what is left of it, and remove its folder; a second time does nothing.

        Interrupts wait until all is gone. When one comes, the server gets no more time to end by itself.

        Raises ``ServerFailure``: a process cannot be looked for or ended, or still listens ("left_behind");
        the ledger keeps it.
        """
        with interrupts_deferred() as interrupted:
            if self._ledger_entry is None:
                return
            try:
                if self._process is None:
                    # What was prepared before a start that failed may have left processes behind.
                    self._kill_all()
                else:
                    self._end_processes(interrupted)
                self._processes.clear()
            except OSError as error:
                self._end_unseen()
                unknown = f"{self._title} was signalled to stop; whether it has stopped is unknown"
                text = sentence(f"{unknown}: {refusal(error)}")
                raise ServerFailure("left_behind", text) from error
            self._ledger_entry.remove()
            self._ledger_entry = None

    @property
    def _title(self) -> str:
        return self._entry.description.title

    @property
    def _start_record(self) -> Start:
        if self._ledger_entry is None:
            raise RuntimeError("the server is not started, or already stopped")
        return self._ledger_entry.start

    @property
    def _folder(self) -> Path:
        """The server's private folder; what the harness writes lies outside, where nobody plants links."""
        return self._start_record.private_folder / PRIVATE_FOLDER

    @property
    def _console_log(self) -> Path:
        return self._start_record.private_folder / CONSOLE_LOG

    @property
    def _prepare_log(self) -> Path:
        return self._start_record.private_folder / PREPARE_LOG

    def _make_folders(self, settings: Mapping[str, SettingValue], content: Path | None) -> None:
        """Make the folder of the start, which the server's user can reach, and name what will lie in it."""
        outer, folder = self._start_record.private_folder, self._folder
        outer.mkdir(mode=0o700)
        outer.chmod(0o711 if os.geteuid() == 0 else 0o700)
        for log in (self._console_log, self._prepare_log):
            log.touch(mode=0o600)
            if self._user is not None:
                # It may open its standard output anew, as /dev/stdout.
                os.chown(log, *self._user.ids)
        # What passes messages on may be a web server of files, too; here it has none.
        none = folder / SCRATCH_FOLDER if self._entry.description.messages else None
        served = content or none
        self._names |= {
            **settings,
            **({} if served is None else {"content": str(served)}),
            "private": str(folder),
            "scratch": str(folder / SCRATCH_FOLDER),
            **({SOCKET_PLACE: str(self._socket_path())} if self._on_socket else {}),
        }
        if self._user is not None:
            self._let_reach(self._user, content)

    def _socket_path(self) -> Path:
        """Return the path of the socket; raises ServerFailure where no socket can have it."""
        path = self.socket or Path()
        if len(str(path).encode()) > SOCKET_PATH_BYTES_MAX:
            text = (
                f"{self._title} cannot listen on {path}: the path of a socket has at most "
                f"{SOCKET_PATH_BYTES_MAX} bytes. Set TMPDIR to a folder with a shorter name."
            )
            raise ServerFailure("not_started", text)
        return path

    def _make_certificate(self, settings: Mapping[str, SettingValue]) -> None:
        """Write the certificate of a server that listens for TLS."""
        files = CertificateFiles(self._start_record.private_folder / CERTIFICATES_FOLDER)
        is_quic_alone = self._entry.description.ready.quic
        self._transport = transport_of(settings, files.authority, is_quic_alone=is_quic_alone)
        if not self._transport.is_encrypted:
            return
        kind = str(settings.get(CERTIFICATE, CERTIFICATE_KINDS[0]))
        files.write(kind, self._location.address, self._user)
        self._certificates = files
        self._names |= files.names

    def _write_configuration(self) -> None:
        names = self._names | template_names(self._user)
        self.configuration = write_private_folder(self._folder, self._entry, names, self._user)

    def _let_reach(self, user: ServerUser, content: Path | None) -> None:
        """Require that another user can reach what the server needs; what is ours is copied for it."""
        if self._location.is_this_machine:
            program, ours = Path(str(self._names["binary"])), (NATIVE_FOLDER, cache_folder())
            copies = self._start_record.private_folder
            self._names["binary"] = str(reachable_program(self._title, user, program, ours, copies))
            for name in self._entry.description.part_names:
                part = Path(str(self._names[name]))
                self._names[name] = str(reachable_part(user, part, cache_folder(), copies))
        if content is not None:
            require_reachable(self._title, user, content)
        self._let_enter(user)
        temporary = self._start_record.private_folder
        require_reachable(
            self._title, user, temporary, advice="Set TMPDIR to a folder that other users can enter"
        )

    def _let_enter(self, user: ServerUser) -> None:
        """Require that another user can enter the folder where it is to work; leave one that is not named."""
        if self._own_folder is None:
            return
        if self._own_folder.is_given:
            require_reachable(self._title, user, self._own_folder.path)
        elif closed_folder(user, self._own_folder.path / "*") is not None:
            self._closed_folder, self._own_folder = self._own_folder.path, None

    def _filled(self, texts: Iterable[str], **secrets: str) -> list[str]:
        """Return texts of the description with the names of this start filled in."""
        values = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in self._names.items()
        }
        return [text.format(**values, **secrets) for text in texts]

    def _with_names(self, text: str) -> str:
        """Return a text of the study with the names of this start filled in; other braces are its own."""

        def named(found: re.Match[str]) -> str:
            name, _, part = found[1].partition(".")
            known = self._names.get(name)
            is_known = hasattr(known, part) and isinstance(known, Neighbour) if part else name in self._names
            return self._filled([found[0]])[0] if is_known else found[0]

        return re.sub(r"\{(\w+(?:\.\w+)?)\}", named, text)

    def _environment(self) -> dict[str, str]:
        own = self._entry.description.environment
        # In the C locale, system errors such as a taken port read the same everywhere.
        fixed = {"LC_ALL": "C", MARK_VARIABLE: self._start_record.mark}
        filled = self._filled(own.values(), password=self._password)
        added = {
            name: self._with_names(value.text) if value.source is None else value.text
            for name, value in self._added_environment.items()
        }
        return {**self._of_user(), **dict(zip(own, filled, strict=True)), **added, **fixed}

    def _of_user(self) -> dict[str, str]:
        """Return the variables of another user than ours, for which our folders may be closed."""
        if self._user is None:
            return {}
        scratch = str(self._folder / SCRATCH_FOLDER)
        name = self._user.name
        return {"HOME": str(self._folder), "TMPDIR": scratch, "USER": name, "LOGNAME": name}

    def _end_processes(self, interrupted: Callable[[], bool]) -> None:
        listening = listening_sockets(self.port) - self.foreign_listeners()
        self._ask_to_stop(interrupted)
        self._kill_all()
        deadline = time.monotonic() + PORT_CLOSE_TIMEOUT_S
        while listening & listening_sockets(self.port):
            if time.monotonic() > deadline:
                text = f"{self._title} was stopped, but a process still listens on its port {self.port}."
                raise ServerFailure("left_behind", text)
            time.sleep(POLL_S)
        self._process = None

    def _end_unseen(self) -> None:
        """Ask the main process and its group to end, without opening a file: descriptors may be exhausted."""
        if self._process is not None:
            # It is not reaped yet, so that the id is still its own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)

    def _kill_all(self) -> None:
        deadline = time.monotonic() + KILL_TIMEOUT_S
        known = None
        remaining: set[int] = set()
        # What a killed process leaves may be known by nothing else than that it comes to this process then.
        while known != self._start_record.adopted and time.monotonic() < deadline:
            known = self._start_record.adopted
            _, remaining = kill_all(self._start_record)
            self.look_after_orphans()
        if remaining:
            pids = ", ".join(map(str, sorted(remaining)))
            raise ServerFailure(
                "left_behind", f"{self._title} was killed, but its processes {pids} are still running."
            )

    def _ask_to_stop(self, interrupted: Callable[[], bool]) -> None:
        """Send the stop signal; wait until the main process ends, its time is over or an interrupt comes."""
        stop = self._entry.description.stop
        stop_signal = signal.Signals[stop.signal]
        if not self._processes.hears(stop_signal):
            return
        send_signal(self._processes.leader, stop_signal)
        deadline = time.monotonic() + stop.timeout_s
        while self.exit_in_words() is None and time.monotonic() < deadline and not interrupted():
            time.sleep(POLL_S)

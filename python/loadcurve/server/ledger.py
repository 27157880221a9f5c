"""The ledger of started servers, so that a killed run's servers can be found and ended later.

Each start has one small file in the state folder, written before anything else of the start exists and
removed after the stop. A file whose owner no longer lives belongs to a killed run.

No process is ended on the strength of its id, because ids are used again. A process is ours

- if it carries the start's random mark in its environment, or is in a control group named after it;
- if it belongs to the recorded session, whose leader is still the recorded process (same start time);
- if it uses the start's private folder, whose name holds the mark, and either belongs to the session or began
  after the leader, without a terminal and not as a child of the owner. So a server is found that went into
  the background and wrote over its environment, as nginx does, and left alone is a person who looks at its
  logs, or the probe.
"""

import os
import secrets
import shutil
import socket
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from stat import S_ISDIR
from typing import Literal

from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.files import write_whole
from loadcurve.host.cgroups import remove_groups
from loadcurve.host.state import state_folder
from loadcurve.load.values import Record
from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.group import members_of_groups
from loadcurve.server.processes import (
    PROC,
    ProcessIdentity,
    ProcessStatus,
    carries_variable,
    identify,
    is_running,
    keeps_its_id,
    running_processes,
    send_signal,
    uses_folder,
)
from loadcurve.study.container import EngineName
from loadcurve.toml.text_file import require_utf8

MARK_VARIABLE = "LOADCURVE_SERVER_MARK"
"""The environment variable that carries the mark of a start into the server and what it forks."""

FOLDER_PREFIX = "loadcurve-"
KILL_TIMEOUT_S = 10.0
POLL_S = 0.01
PASSES_IN_VAIN = 2
"""Only after so many looks that find nothing is nothing left: in the middle of exec a process has no mark."""


class RecordedProcess(Record):
    """A process as the ledger's file has it, see :class:`ProcessIdentity`."""

    pid: int
    start_ticks: int

    @property
    def identity(self) -> ProcessIdentity:
        """The process."""
        return ProcessIdentity(self.pid, self.start_ticks)


class RecordedContainer(Record):
    """A container as the ledger's file has it."""

    engine: EngineName
    engine_arguments: tuple[str, ...]
    name: str

    def remove(self) -> bool:
        """Remove it; returns whether it was there, and raises EngineError where it still is."""
        return Engine(self.engine, self.engine_arguments).remove_container(self.name)


class Start(Record):
    """One file of the ledger: one start of one server."""

    format: Literal["loadcurve-started/1"]
    server: str
    mark: str
    host: str
    boot: str
    owner: RecordedProcess
    private_folder: Path
    counting_group: Path | None = None
    """The folder of the control group in which the kernel adds up what the server uses, see :mod:`group`."""
    limiting_groups: tuple[Path, ...] = ()
    """The folders of the control group that holds the server to its limits."""
    container: RecordedContainer | None = None
    """The container that the server runs in, if it does; it need not exist."""
    session_leader: RecordedProcess | None
    """The server's main process, whose id is its session's; ``None`` until it is started."""

    @property
    def groups(self) -> list[Path]:
        """The folders of the server's control groups; they need not exist."""
        return [*self.limiting_groups, *([] if self.counting_group is None else [self.counting_group])]

    @property
    def mark_variable(self) -> str:
        """The mark as it stands in the environment of the server."""
        return f"{MARK_VARIABLE}={self.mark}"


@dataclass(frozen=True)
class CleanedUp:
    """What was done about one server of a killed run. Only where something remains, its record is kept."""

    server: str
    owner_pid: int
    killed_pids: tuple[int, ...]
    remaining_pids: tuple[int, ...]
    removed_folder: Path | None
    removed_container: str | None = None
    remaining_container: str | None = None

    @property
    def text(self) -> str:
        """One sentence that says what was done."""
        done = []
        if self.killed_pids:
            done.append(f"its processes {_join(self.killed_pids)} were killed")
        if self.remaining_pids:
            done.append(f"of these {_join(self.remaining_pids)} could not be ended and still run")
        if self.removed_container is not None:
            done.append(f"its container {self.removed_container} was removed")
        if self.remaining_container is not None:
            done.append(f"its container {self.remaining_container} could not be removed and is still there")
        if self.removed_folder is not None:
            done.append(f"its folder {self.removed_folder} was removed")
        what = ", ".join(done) or "only its record, which was removed"
        return f"A killed run (process {self.owner_pid}) left {self.server} behind: {what}."


def ledger_folder() -> Path:
    """Return the folder of the ledger."""
    return state_folder("started")


def current_boot() -> str:
    """Name this boot and this process id namespace: process ids are comparable only within both."""
    boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {(PROC / 'self/ns/pid').readlink()}"


class LedgerEntry:
    """The ledger's file of a start that is under way."""

    def __init__(self, server: str, parent: Path, group_parent: Path | None = None) -> None:
        """Record a start that will use a new private folder below ``parent``, and may use a control group.

        Raises ``BadInput``: the state folder cannot be written, or no record can name ``parent``.
        """
        require_utf8(parent, "name another folder for temporary files in TMPDIR")
        mark = secrets.token_hex(8)
        owner = identify(os.getpid())
        self.start = Start(
            format="loadcurve-started/1",
            server=server,
            mark=mark,
            host=socket.gethostname(),
            boot=current_boot(),
            owner=_record(owner),
            private_folder=parent / _folder_name(server, mark),
            counting_group=None
            if group_parent is None
            else group_parent / f"{_folder_name(server, mark)}-count",
            session_leader=None,
        )
        self._file = ledger_folder() / f"{owner.pid}-{mark}.json"
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write()
        except OSError as error:
            raise BadInput(
                f"Started servers cannot be recorded in {self._file.parent}: {error.strerror}. "
                "Without the record a killed run would leave servers behind; name a folder that can be "
                "written in XDG_STATE_HOME."
            ) from None

    def record_session(self, leader: ProcessIdentity) -> None:
        """Add the server's main process, the leader of its session."""
        self.start = self.start.model_copy(update={"session_leader": _record(leader)})
        self._write()

    def record_container(self, container: RecordedContainer) -> None:
        """Add the container that is about to be made."""
        self.start = self.start.model_copy(update={"container": container})
        self._write()

    def record_limiting_groups(self, folders: Collection[Path]) -> None:
        """Add the folders of a control group that is about to be made."""
        self.start = self.start.model_copy(update={"limiting_groups": tuple(folders)})
        self._write()

    def remove(self) -> None:
        """Remove the private folder and forget the start; what cannot be removed is left to the next run."""
        folder = self.start.private_folder
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            self._file.unlink(missing_ok=True)

    def _write(self) -> None:
        write_whole(self._file, self.start.model_dump_json().encode())


def processes_of(start: Start) -> Iterator[ProcessStatus]:
    """Every running process that is known to belong to a start, by the rule at the top of this file."""
    leader = start.session_leader
    leader_known = leader is not None and keeps_its_id(leader.identity)
    # The kernel does not use an id again within the moment until the process is looked at.
    grouped = members_of_groups(start.groups)
    for process in running_processes():
        in_session = leader is not None and process.session == leader.pid
        may_use_folder = in_session or _may_be_in_the_background(process, start)
        if (
            process.identity.pid in grouped
            or (in_session and leader_known)
            or carries_variable(process.identity, start.mark_variable)
            or (may_use_folder and uses_folder(process.identity, start.private_folder))
        ):
            yield process


def _may_be_in_the_background(process: ProcessStatus, start: Start) -> bool:
    leader = start.session_leader
    return (
        leader is not None
        and process.identity.start_ticks >= leader.start_ticks
        and process.parent != start.owner.pid
        and not process.has_terminal
    )


def kill_all(start: Start, timeout_s: float = KILL_TIMEOUT_S) -> tuple[set[int], set[int]]:
    """Kill every process of a start until none is left; returns the ids killed and the ids still there."""
    killed: set[int] = set()
    deadline = time.monotonic() + timeout_s
    in_vain = 0
    while True:
        remaining = list(processes_of(start))
        for process in remaining:
            send_signal(process.identity, SIGKILL)
            killed.add(process.identity.pid)
        in_vain = 0 if remaining else in_vain + 1
        if in_vain == PASSES_IN_VAIN or time.monotonic() > deadline:
            return killed, {process.identity.pid for process in remaining}
        time.sleep(POLL_S)


def clean_up_after_killed_runs() -> list[CleanedUp]:
    """End what killed runs of this user on this machine have left behind, and say what was done.

    Files that another version wrote, or another machine that shares the state folder, are left alone.
    """
    return [_clean_up(start, file) for start, file in _starts_here() if not _owner_lives(start)]


def other_owners() -> set[int]:
    """Return the ids of the other processes of this user that have servers on this machine now."""
    owners = {start.owner.pid for start, _ in _starts_here() if _owner_lives(start)}
    return owners - {os.getpid()}


def _starts_here() -> Iterator[tuple[Start, Path]]:
    for file in sorted(ledger_folder().glob("*.json")):
        try:
            start = Start.model_validate_json(file.read_bytes())
        except (ValidationError, OSError):
            continue
        if start.host == socket.gethostname():
            yield start, file


def _owner_lives(start: Start) -> bool:
    return start.boot == current_boot() and is_running(start.owner.identity)


def _clean_up(start: Start, file: Path) -> CleanedUp:
    if start.boot != current_boot():
        # Process ids of another boot mean nothing here; only the mark counts.
        start = start.model_copy(update={"session_leader": None})
    container = start.container
    try:
        container_removed, container_remains = container is not None and container.remove(), False
    except EngineError:
        container_removed, container_remains = False, True
    killed, remaining = kill_all(start)
    folder = None
    if not remaining and not container_remains:
        folder = start.private_folder if _remove_private_folder(start) else None
        remove_groups(start.groups)
        file.unlink(missing_ok=True)
    return CleanedUp(
        server=start.server,
        owner_pid=start.owner.pid,
        killed_pids=tuple(sorted(killed)),
        remaining_pids=tuple(sorted(remaining)),
        removed_folder=folder,
        removed_container=container.name if container is not None and container_removed else None,
        remaining_container=container.name if container is not None and container_remains else None,
    )


def _remove_private_folder(start: Start) -> bool:
    """Remove the folder of a start if it is there and ours; say whether it was."""
    folder = start.private_folder
    try:
        found = folder.lstat()
    except OSError:
        return False
    named_by_us = folder.name == _folder_name(start.server, start.mark)
    if not (named_by_us and S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _folder_name(server: str, mark: str) -> str:
    return f"{FOLDER_PREFIX}{server}-{mark}"


def _record(process: ProcessIdentity) -> RecordedProcess:
    return RecordedProcess(pid=process.pid, start_ticks=process.start_ticks)


def _join(pids: tuple[int, ...]) -> str:
    return ", ".join(map(str, pids))

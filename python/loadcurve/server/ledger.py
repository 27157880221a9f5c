"""The ledger of started servers, so that a killed run's servers can be found and ended later.

Each start has one small file in the state folder, written before anything else of the start exists and
removed after the stop. A file whose owner no longer lives belongs to a killed run.

The folder may be shared by containers and machines, where an owner's id means nothing or names another
process. So a file is believed only where it is this user's, and then

- of this boot and this namespace of process ids: by the owner's id and start time;
- of another namespace of this machine: never, for its own processes must look after it;
- of another boot: where the machine has this one's name and nobody holds the owner's lock any more, see
  :mod:`presence`. It was restarted, so no process can be left, and none is ended.

No process is ended on the strength of its id, because ids are used again. A process is ours

- if it carries the start's random mark in its environment, or is in a control group named after it;
- if it was seen below the server, or to become a child of the owner while it ran, see :mod:`adoption`;
- if it belongs to the recorded session, whose leader is still the recorded process (same start time);
- if it uses the start's private folder, whose name holds the mark, and either belongs to the session or began
  after the leader, without a terminal and not as a child of the owner. So a server is found that went into
  the background and wrote over its environment, as nginx does, and left alone is a person who looks at its
  logs, or the probe.
"""

import hashlib
import itertools
import os
import secrets
import shutil
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from stat import S_ISDIR
from typing import Literal

from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.files import open_regular, write_whole
from loadcurve.host.cgroups import remove_groups
from loadcurve.host.state import state_folder
from loadcurve.record import Record
from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.group import members_of_groups
from loadcurve.server.presence import Place, announce, current_place, is_gone, neighbours
from loadcurve.server.processes import (
    ProcessIdentity,
    ProcessStatus,
    carries_variable,
    identify,
    is_running,
    keeps_its_id,
    read_status,
    running_processes,
    send_signal,
    uses_folder,
)
from loadcurve.study.container import EngineName
from loadcurve.toml.text_file import require_utf8

MARK_VARIABLE = "LOADCURVE_SERVER_MARK"
"""The environment variable that carries the mark of a start into the server and what it forks."""

FOLDER_PREFIX = "loadcurve-"
KILL_TIMEOUT_S = 30.0
"""How long a killed process may take to end: one that waits for a disk ends only when it has been served."""

KILLED_LOOKS = 100
"""How often is looked before a killed process counts as one that does not end: the machine itself may stand
still for longer than any timeout, and then the process had no time to end."""

POLL_S = 0.01
MOST_BYTES = 1 << 20
PLACE_DIGITS = 8
PASSES_IN_VAIN = 2
"""Only after this many looks that find nothing is it known that nothing is left: in the middle of exec a
process has no mark."""


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
    owner_lock: str | None = None
    """The name of the owner's lock, see :mod:`presence`; ``None`` where it could have none."""
    adopted: tuple[RecordedProcess, ...] = ()
    """Processes of the server that have lost their parents or left its session, see :mod:`adoption`."""

    @property
    def groups(self) -> list[Path]:
        """The folders of the server's control groups, which its mark names; they need not exist."""
        groups = [*self.limiting_groups, *([] if self.counting_group is None else [self.counting_group])]
        return [group for group in groups if self.mark in group.name]

    @property
    def mark_variable(self) -> str:
        """The mark as it is in the environment of the server."""
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
            done.append(f"of these, {_join(self.remaining_pids)} could not be killed and are still running")
        if self.removed_container is not None:
            done.append(f"its container {self.removed_container} was removed")
        if self.remaining_container is not None:
            done.append(f"its container {self.remaining_container} could not be removed and still exists")
        if self.removed_folder is not None:
            done.append(f"its folder {self.removed_folder} was removed")
        what = ", ".join(done) or "only its record, which was removed"
        return f"A killed run (process {self.owner_pid}) left {self.server} behind: {what}."


def ledger_folder() -> Path:
    """Return the folder of the ledger."""
    return state_folder("started")


class LedgerEntry:
    """The ledger's file of a start that is under way."""

    def __init__(self, server: str, parent: Path, group_parent: Path | None = None) -> None:
        """Record a start that will use a new private folder below ``parent``, and may use a control group.

        Raises ``BadInput``: the state folder cannot be written, or no record can name ``parent``.
        """
        require_utf8(parent, "set TMPDIR to another folder for temporary files")
        mark = secrets.token_hex(8)
        owner = identify(os.getpid())
        self.start = Start(
            format="loadcurve-started/1",
            server=server,
            mark=mark,
            host=socket.gethostname(),
            boot=str(current_place()),
            owner=_record(owner),
            owner_lock=announce(),
            private_folder=parent / _folder_name(server, mark),
            counting_group=None
            if group_parent is None
            else group_parent / f"{_folder_name(server, mark)}-count",
            session_leader=None,
        )
        self._file = ledger_folder() / f"{owner.pid}-{_place_in_names()}-{mark}.json"
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._write()
        except OSError as error:
            raise BadInput(
                f"Started servers cannot be recorded in {self._file.parent}: {error.strerror}. Without the "
                "record, a killed run would leave servers running; set XDG_STATE_HOME to a writable "
                "folder."
            ) from None

    def record_session(self, leader: ProcessIdentity) -> None:
        """Add the server's main process, the leader of its session."""
        self.start = self.start.model_copy(update={"session_leader": _record(leader)})
        self._write()

    def record_adopted(self, processes: Iterable[ProcessIdentity]) -> None:
        """Add processes of the server that were seen outside of its session."""
        adopted = (*self.start.adopted, *map(_record, processes))
        self.start = self.start.model_copy(update={"adopted": adopted})
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
    adopted = {one.identity for one in start.adopted}
    for process in running_processes():
        in_session = leader is not None and process.session == leader.pid
        may_use_folder = in_session or _may_be_in_the_background(process, start)
        if (
            process.identity.pid in grouped
            or process.identity in adopted
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
    for looks in itertools.count(1):
        remaining = [process.identity for process in processes_of(start)]
        for process in remaining:
            send_signal(process, SIGKILL)
            killed.add(process.pid)
        in_vain = 0 if remaining else in_vain + 1
        if in_vain == PASSES_IN_VAIN or (looks > KILLED_LOOKS and time.monotonic() > deadline):
            break
        time.sleep(POLL_S)
    return killed, {process.pid for process in remaining}


def clean_up_after_killed_runs() -> list[CleanedUp]:
    """End what killed runs of this user on this machine have left behind, and say what was done.

    Files that another version wrote, or that are not to be believed here, are left alone.
    """
    # This removes what dead owners have left of their locks.
    neighbours()
    here = current_place()
    cleaned = []
    for start, file in _starts_of_this_user():
        place = Place.read(start.boot)
        if place == here and not is_running(start.owner.identity):
            cleaned.append(_clean_up(start, file))
        elif place.boot != here.boot and _was_restarted_since(start):
            cleaned.append(_clean_up(start, file, may_run=False))
    _remove_unfinished_files()
    return cleaned


def _remove_unfinished_files() -> None:
    """Remove what runs that were killed while they wrote a file have left of it, which may be empty.

    Only its name says whose it is. A file that stays, because its owner's id is used again, harms nothing.
    """
    for file in ledger_folder().glob(f".*-{_place_in_names()}-*.json.*"):
        owner = file.name[1:].partition("-")[0]
        if owner.isdecimal() and read_status(int(owner)) is None:
            file.unlink(missing_ok=True)


def _place_in_names() -> str:
    """Return where this process is, as the names of the ledger's files have it."""
    return hashlib.sha256(str(current_place()).encode()).hexdigest()[:PLACE_DIGITS]


def _starts_of_this_user() -> Iterator[tuple[Start, Path]]:
    for file in sorted(ledger_folder().glob("*.json")):
        try:
            with open_regular(file) as opened:
                is_own = os.fstat(opened.fileno()).st_uid == os.geteuid()
                start = Start.model_validate_json(opened.read(MOST_BYTES))
        except (ValidationError, OSError):
            continue
        if is_own:
            yield start, file


def _was_restarted_since(start: Start) -> bool:
    is_this_machine = start.host == socket.gethostname()
    return is_this_machine and start.owner_lock is not None and is_gone(start.owner_lock)


def _clean_up(start: Start, file: Path, *, may_run: bool = True) -> CleanedUp:
    container = start.container
    try:
        container_removed, container_remains = container is not None and container.remove(), False
    except EngineError:
        container_removed, container_remains = False, True
    killed, remaining = kill_all(start) if may_run else (set(), set())
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

"""Who of this user measures on this machine now, in whichever namespace of process ids or container.

Each process holds a lock on its own file in the state folder. The kernel drops the lock however the
process ends, and it is seen wherever the folder is, where a process's id means nothing.
"""

import atexit
import contextlib
import fcntl
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from loadcurve.files import open_regular
from loadcurve.host.state import state_folder
from loadcurve.server.processes import PROC


@dataclass(frozen=True)
class Place:
    """Where process ids mean the same: one boot of one machine, and one namespace of it."""

    boot: str
    namespace: str

    def __str__(self) -> str:
        """Return both, as files have them."""
        return f"{self.boot} {self.namespace}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """Return the place of a file."""
        boot, _, namespace = text.strip().partition(" ")
        return cls(boot, namespace)


def current_place() -> Place:
    """Return where this process is.

    Start times are counted from the boot as the namespace of time has it, so that belongs to the namespace.
    """
    boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    namespaces = []
    for kind in ("pid", "time"):
        # Kernels before 5.6 have no namespaces of time.
        with contextlib.suppress(OSError):
            namespaces.append(str((PROC / "self/ns" / kind).readlink()))
    return Place(boot, " ".join(namespaces))


@dataclass(frozen=True)
class Neighbour:
    """Another process that measures on this machine."""

    pid: int
    """Its id where it is."""
    is_elsewhere: bool
    """Whether it is in another namespace, where this id means nothing here."""

    @property
    def text(self) -> str:
        """What it is, in words."""
        return f"process {self.pid}" + (" of another container" if self.is_elsewhere else "")


@dataclass(frozen=True)
class _Held:
    pid: int
    file: Path
    descriptor: int


_held: dict[Path, _Held] = {}
"""The lock of this process by its folder; of several only where the state folder changes, as in tests."""


def announce() -> str | None:
    """Let others see that this process measures, until it ends; returns the name of its lock.

    It is ``None`` where the state folder cannot be written, which a server's start reports, or where its file
    system knows no locks: others cannot know of this process then.
    """
    with contextlib.suppress(OSError):
        return _announced()
    return None


def _announced() -> str:
    folder = _folder()
    held = _held.get(folder)
    if held is not None and held.pid == os.getpid() and held.file.exists():
        return held.file.name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / f"{os.getpid()}-{secrets.token_hex(8)}.lock"
    # Nobody sees it before it is locked.
    descriptor, staged = _unseen_file(folder)
    try:
        os.write(descriptor, str(current_place()).encode())
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if staged is None:
            # Without a descriptor CPython calls link(2), which follows no link whatever is asked for.
            os.link(f"/proc/self/fd/{descriptor}", file, src_dir_fd=descriptor, follow_symlinks=True)
        else:
            staged.replace(file)
    except OSError:
        if staged is not None:
            staged.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    _held[folder] = _Held(os.getpid(), file, descriptor)
    atexit.register(_leave, os.getpid(), file)
    return file.name


def _unseen_file(folder: Path) -> tuple[int, Path | None]:
    """Open a file without a name: if this process is killed, nothing of it is left.

    Returns its descriptor, and the name that it has where a file system, such as NFS, knows no files without.
    """
    flags = os.O_WRONLY | os.O_CLOEXEC
    try:
        return os.open(folder, flags | os.O_TMPFILE, 0o600), None
    except OSError:
        staged = folder / f"{secrets.token_hex(8)}.new"
        return os.open(staged, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), staged


def neighbours() -> list[Neighbour]:
    """Return the others of this user that measure on this machine; the files of dead ones are removed."""
    here = current_place()
    found = []
    for file in sorted(_folder().glob("*.lock")):
        place = _place_of_living(file)
        if place is None:
            continue
        pid = int(file.name.partition("-")[0])
        own = _held.get(_folder())
        is_self = own is not None and own.file == file and own.pid == os.getpid()
        if place.boot == here.boot and not is_self:
            found.append(Neighbour(pid, is_elsewhere=place != here))
    return found


def is_gone(name: str) -> bool:
    """Say whether the process with the lock of this name has ended, wherever it was."""
    return _place_of_living(_folder() / name) is None


def _place_of_living(file: Path) -> Place | None:
    """Return where the process is that holds a lock; ``None`` where none does, whose file is then removed.

    A file that is another user's, or cannot be read, is nobody's.
    """
    try:
        with open_regular(file) as opened:
            if os.fstat(opened.fileno()).st_uid != os.geteuid():
                return None
            try:
                # Several may look at once.
                fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return Place.read(opened.read().decode("ascii", errors="replace"))
            file.unlink(missing_ok=True)
    except OSError:
        return None
    return None


def _leave(pid: int, file: Path) -> None:
    if pid == os.getpid():
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _folder() -> Path:
    return state_folder("at-work")

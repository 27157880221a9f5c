"""Building a server that the catalogue holds as source: once for each state of its sources, into a cache.

A build in use is locked, by each process that uses it until that ends, so that the cache can be kept small.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import refusal
from loadcurve.host.state import cache_folder
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.environment import environment_of_builds
from loadcurve.server.failure import ServerFailure
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.packaged import DESCRIPTION_FILE
from loadcurve.server.spawn import run_to_its_end

CACHE_TAG = "CACHEDIR.TAG"
"""The file by which a folder says that it can be made again (bford.info/cachedir); cargo writes it."""

DONE_FILE = "done"
LOCK_FILE = "lock"

DIGEST_DIGITS = 16
FAILURE_LOG_LINES = 20

KEPT_BUILDS = 3
"""How many builds of one server stay in the cache, the newest ones."""

_held_locks: dict[Path, int] = {}
"""The descriptors by which this process holds builds, until it ends."""


@dataclass(frozen=True)
class Build:
    """How one server is built, and where what is built is kept."""

    entry: CatalogEntry
    command: tuple[str, ...]
    folder: Path
    """Of this state of the sources alone, so that an older build is never taken for a newer one."""

    @property
    def tool(self) -> str:
        """The program that builds."""
        return self.command[0]

    def is_done(self) -> bool:
        """Say whether a build has come to its end here; one that was cut short does not count."""
        return self._done_file.exists()

    def hold(self) -> bool:
        """Say whether the build is done; if it is, no other run removes it before this process ends."""
        if not self.is_done() or self.folder in _held_locks:
            return self.is_done()
        try:
            lock = os.open(self._lock_file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        fcntl.flock(lock, fcntl.LOCK_SH)
        if not self.is_done():
            # It was being removed.
            os.close(lock)
            return False
        _held_locks[self.folder] = lock
        return True

    def run(self, say: Callable[[str], None]) -> None:
        """Build, unless it is done, and remove old builds; where another run is building it, wait for that.

        Raises ``ServerFailure``: "not_built", with the last lines of what the build printed.
        """
        if self.is_done():
            return
        say(f"building {self.entry.name} …")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._lock_file.open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self.is_done():
                    self._run_command()
                    self._done_file.touch()
            self._remove_old_builds()
        except OSError as error:
            raise self._failure(refusal(error)) from None

    @property
    def _done_file(self) -> Path:
        return self.folder / DONE_FILE

    @property
    def _lock_file(self) -> Path:
        return self.folder / LOCK_FILE

    def _remove_old_builds(self) -> None:
        """Remove all but the newest builds of this server; those that failed count as the oldest."""
        name = re.compile(rf"{re.escape(self.entry.name)}-[0-9a-f]{{{DIGEST_DIGITS}}}")
        others = [
            folder
            for folder in self.folder.parent.iterdir()
            if name.fullmatch(folder.name) and folder != self.folder
        ]
        others.sort(key=_built_at, reverse=True)
        for folder in others[KEPT_BUILDS - 1 :]:
            _remove_unless_held(folder)

    def _run_command(self) -> None:
        log = self.folder / "build.log"
        with interrupts_deferred() as interrupted:
            status = run_to_its_end(
                self.command,
                self.entry.folder,
                log,
                cpus=None,
                environment=environment_of_builds(),
                interrupted=interrupted,
            )
        if status != 0:
            said = log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise self._failure(
                f"`{shlex.join(self.command)}` ended with status {status}; all that it printed is in {log}",
                "\n".join(said[-FAILURE_LOG_LINES:]),
            )

    def _failure(self, reason: str, log_tail: str = "") -> ServerFailure:
        return ServerFailure(
            "not_built", f"{self.entry.description.title} could not be built: {reason}.", log_tail
        )


def build_of(entry: CatalogEntry) -> Build | None:
    """Return how a server is built; ``None`` for one that is not built from source."""
    words = entry.description.build
    if words is None:
        return None
    folder = cache_folder() / f"{entry.name}-{_digest(words, entry.folder)}"
    command = tuple(word.format(entry=entry.folder, build=folder) for word in words)
    return Build(entry, command, folder)


def _built_at(folder: Path) -> float:
    """Return when a build came to its end, in seconds since 1970; 0 for one that did not."""
    try:
        return (folder / DONE_FILE).stat().st_mtime
    except FileNotFoundError:
        return 0


def _remove_unless_held(folder: Path) -> None:
    """Remove a build that no run uses or makes; one that cannot be removed stays."""
    with contextlib.suppress(OSError), (folder / LOCK_FILE).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (folder / DONE_FILE).unlink(missing_ok=True)
        shutil.rmtree(folder)


def _digest(command: Sequence[str], folder: Path) -> str:
    """Return the beginning of a SHA-256 over a build's command and the names and bytes of its sources."""
    digest = hashlib.sha256()
    for text in command:
        _add(digest, text.encode())
    for file in _source_files(folder):
        _add(digest, os.fsencode(file.relative_to(folder)))
        _add(digest, file.read_bytes())
    return digest.hexdigest()[:DIGEST_DIGITS]


def _add(digest: "hashlib._Hash", part: bytes) -> None:
    """Add a part with its length before it, so that parts cannot run into one another unseen."""
    digest.update(len(part).to_bytes(8, "big") + part)


def _source_files(folder: Path) -> Iterator[Path]:
    """Every file of an entry but its description, in a fixed order, without what a tool has built there."""
    for parent, folders, files in os.walk(folder):
        if CACHE_TAG in files:
            folders.clear()
            continue
        folders.sort()
        for name in sorted(files):
            file = Path(parent) / name
            if file != folder / DESCRIPTION_FILE:
                yield file

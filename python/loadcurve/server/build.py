"""Building a server that the catalogue holds as source: once for each state of its sources, into a cache."""

import fcntl
import hashlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import refusal
from loadcurve.host.state import cache_folder
from loadcurve.server.catalog import DESCRIPTION_FILE, CatalogEntry
from loadcurve.server.failure import ServerFailure
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.spawn import run_to_its_end

CACHE_TAG = "CACHEDIR.TAG"
"""The file by which a folder says that it can be made again (bford.info/cachedir); cargo writes it."""

DIGEST_DIGITS = 16
FAILURE_LOG_LINES = 20


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

    def run(self, say: Callable[[str], None]) -> None:
        """Build, unless it is done; where another run is building this server, wait for it.

        Raises:
            ServerFailure: "not_built", with the last lines of what the build printed.

        """
        if self.is_done():
            return
        say(f"building {self.entry.name} …")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / "lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self.is_done():
                    self._run_command()
                    self._done_file.touch()
        except OSError as error:
            raise self._failure(refusal(error)) from None

    @property
    def _done_file(self) -> Path:
        return self.folder / "done"

    def _run_command(self) -> None:
        log = self.folder / "build.log"
        with interrupts_deferred() as interrupted:
            status = run_to_its_end(
                self.command,
                self.entry.folder,
                log,
                cpus=None,
                environment=os.environ,
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

"""Revisions of a Git repository in worktrees, built: the sides of a gate that are commits."""

import contextlib
import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcurve.errors import BadInput, NothingMeasured, refusal
from loadcurve.redaction import hidden
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.spawn import run_to_its_end
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder

LAST_LINES = 20
TIMEOUT_S = 120.0
"""For one command of Git; a checkout of a large repository takes a while."""
_WITHOUT_PROGRAMS: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""No program runs that the repository's own settings name."""


@dataclass(frozen=True)
class Revision:
    """A commit that a person has named."""

    option: str
    name: str
    """Such as ``main``."""
    commit: str


@dataclass(frozen=True)
class Repository:
    """The repository that a study lies in."""

    root: Path
    place: Path
    """The folder of the study in it, relative to its root."""

    @classmethod
    def of(cls, study_file: Path, option: str) -> "Repository":
        """Return the repository of a study; raises ``BadInput`` where there is none."""
        folder = study_file.resolve().parent
        root = _git(folder, "rev-parse", "--show-toplevel")
        if root is None:
            raise BadInput(
                f"{option}: {study_file} lies in no Git repository (or there is no git here); expected a "
                "study beside the sources, or --base and --head with folders"
            )
        return cls(Path(root), folder.relative_to(Path(root).resolve()))

    def revision(self, option: str, name: str) -> Revision:
        """Return a commit by what a person calls it; raises ``BadInput`` where there is none."""
        commit = _git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if commit is None:
            raise BadInput(
                f"{option} {name}: the repository {self.root} has no such commit; expected a branch, a tag "
                "or a commit (in CI, fetch more than the last one)"
            )
        return Revision(option, name, commit)

    @contextmanager
    def checked_out(self, revision: Revision, folder: Path) -> Iterator[None]:
        """Have a revision in a new folder for the length of a block."""
        # Both belong to the block: what an interrupt leaves would be a worktree that Git still knows.
        try:
            with interrupts_deferred():
                said = _said(
                    self.root, "worktree", "add", "--detach", "--force", str(folder), revision.commit
                )
            if said is not None:
                raise BadInput(f"{revision.option} {revision.name} cannot be checked out: {said}")
            yield
        finally:
            with interrupts_deferred():
                _said(self.root, "worktree", "remove", "--force", "--force", str(folder))


@contextmanager
def built_revisions(
    study_file: Path, named: Mapping[str, str], build: str | None
) -> Iterator[Mapping[str, tuple[Revision, Path]]]:
    """Yield each revision, by its option, with the folder that is in the place of the study's; removed after.

    ``build`` is a command of a shell, which runs at the root of each.

    Raises ``BadInput``: there is no such revision. Raises ``NothingMeasured``: one cannot be built.
    """
    repository = Repository.of(study_file, next(iter(named)))
    revisions = [repository.revision(option, name) for option, name in named.items()]
    with temporary_folder("gate", READ_BY_ALL_MODE) as parent, ExitStack() as stack:
        found = {}
        for revision in revisions:
            folder = parent / revision.option.strip("-")
            stack.enter_context(repository.checked_out(revision, folder))
            if build is not None:
                _build(revision, build, folder, parent / f"{folder.name}.log")
            found[revision.option] = revision, folder / repository.place
        for option, (revision, folder) in found.items():
            if not folder.is_dir():
                raise BadInput(
                    f"{option} {revision.name}: its files have no folder {repository.place}, which is that "
                    "of the study; expected a study in a folder that both have"
                )
        yield found


def _build(revision: Revision, command: str, folder: Path, log: Path) -> None:
    # Its own output follows what is read here, whatever its exit code.
    with interrupts_deferred() as interrupted:
        try:
            status = run_to_its_end(
                ["/bin/sh", "-c", command],
                folder,
                log,
                cpus=None,
                environment=dict(os.environ),
                interrupted=interrupted,
            )
        except OSError as error:
            raise NothingMeasured(f"--build {shlex.quote(command)} cannot run: {refusal(error)}") from None
    if status != 0:
        said = hidden(log.read_text(encoding="utf-8", errors="replace")).splitlines()[-LAST_LINES:]
        raise NothingMeasured(
            f"{revision.option} {revision.name} ({revision.commit[:12]}) does not build: "
            f"--build {shlex.quote(command)} ended with status {status}."
            + (" Its last lines:" if said else " It printed nothing.")
            + "".join(f"\n  {line}" for line in said)
        )


def _git(folder: Path, *words: str) -> str | None:
    """Return what Git prints; ``None`` where it fails or prints nothing."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        finished = _finished(folder, *words)
        if finished.returncode == 0:
            return finished.stdout.strip() or None
    return None


def _said(folder: Path, *words: str) -> str | None:
    """Return why Git failed; ``None`` where it did not."""
    try:
        finished = _finished(folder, *words)
    except OSError as error:
        return refusal(error)
    except subprocess.TimeoutExpired:
        return f"git {words[0]} took longer than {TIMEOUT_S:.0f} s"
    return None if finished.returncode == 0 else hidden(finished.stderr.strip())


def _finished(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- the words are those of this module
        ["git", "-C", str(folder), *_WITHOUT_PROGRAMS, *words],  # noqa: S607 -- the git of PATH
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
        # An interrupt of the terminal is ours to handle.
        start_new_session=True,
    )

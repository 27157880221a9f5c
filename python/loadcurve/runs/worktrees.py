"""Revisions of a Git repository in worktrees, built: the sides of a gate that are commits."""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput, NothingMeasured, refusal
from loadcurve.host import git
from loadcurve.redaction import hidden
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.spawn import run_to_its_end
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder

LAST_LINES = 20


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
        root = git.answer(folder, "rev-parse", "--show-toplevel")
        if root is None:
            raise BadInput(
                f"{option}: {study_file} lies in no Git repository (or there is no git here); expected a "
                "study beside the sources, or --base and --head with folders"
            )
        return cls(Path(root), folder.relative_to(Path(root).resolve()))

    def revision(self, option: str, name: str) -> Revision:
        """Return a commit by what a person calls it; raises ``BadInput`` where there is none."""
        commit = git.answer(
            self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
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
                said = git.failure(
                    self.root, "worktree", "add", "--detach", "--force", str(folder), revision.commit
                )
            if said is not None:
                raise BadInput(f"{revision.option} {revision.name} cannot be checked out: {said}")
            yield
        finally:
            with interrupts_deferred():
                git.failure(self.root, "worktree", "remove", "--force", "--force", str(folder))


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

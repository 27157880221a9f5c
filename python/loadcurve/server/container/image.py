"""The image of a server: named by the person, made from a root filesystem, or built from a Containerfile."""

import posixpath
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from loadcurve.errors import sentence
from loadcurve.files import sha256_of
from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.failure import FailureCode, ServerFailure
from loadcurve.server.temporary import temporary_folder

DIGEST_DIGITS = 16
FAILURE_LOG_LINES = 20


@dataclass(frozen=True)
class Image:
    """An image that the engine has."""

    name: str
    """As it was asked for, or as the engine knows what was made of a folder."""
    id: str
    """The digest of its configuration, which names its layers: the same id is the same image."""
    digest: str | None
    """The digest of its manifest, by which a registry knows it."""
    command: tuple[str, ...]
    """What it runs by itself, where a program with a path has an absolute one."""


class ImageSource(Protocol):
    """Where an image comes from."""

    def image(self, engine: Engine, say: Callable[[str], None]) -> Image:
        """Return the image; where the engine does not have it yet, make it or fetch it, and say so.

        Raises ``ServerFailure``: that cannot be done ("image_unavailable", "not_built").
        """


@dataclass(frozen=True)
class NamedImage:
    """An image that the engine has, or that it can pull from a registry."""

    name: str

    def image(self, engine: Engine, say: Callable[[str], None]) -> Image:
        """Return the image, pulled if it does not exist."""
        try:
            known = engine.image(self.name)
            if known is None:
                say(f"{engine.name} pulls the image {self.name} …")
                engine.answer("pull", self.name, timeout_s=None)
                known = _present(engine, self.name)
        except EngineError as failure:
            raise _failure("image_unavailable", f"The image {self.name} does not exist", failure) from None
        return _described(self.name, known)


@dataclass(frozen=True)
class RootFilesystem:
    """A root filesystem in a folder or a tar file, whose image is named after the digest of its content."""

    path: Path

    def image(self, engine: Engine, say: Callable[[str], None]) -> Image:
        """Return its image, imported if this state of it was not imported before."""
        try:
            if not self.path.is_dir():
                return self._imported(engine, self.path, say)
            with temporary_folder("rootfs") as folder:
                file = folder / "rootfs.tar"
                with tarfile.open(file, mode="w") as archive:
                    # Members come in the order of their names, so that equal content is an equal archive.
                    archive.add(self.path, arcname=".")
                return self._imported(engine, file, say)
        except OSError as error:
            text = f"The root filesystem {self.path} cannot be read: {error.filename}: {error.strerror}."
            raise ServerFailure("image_unavailable", text) from None
        except EngineError as failure:
            text = f"The root filesystem {self.path} cannot be imported"
            raise _failure("image_unavailable", text, failure) from None

    def _imported(self, engine: Engine, archive: Path, say: Callable[[str], None]) -> Image:
        name = f"localhost/loadcurve-rootfs:{sha256_of(archive)[:DIGEST_DIGITS]}"
        known = engine.image(name)
        if known is None:
            say(f"{engine.name} imports the root filesystem {self.path} …")
            engine.answer("import", str(archive), name, timeout_s=None)
            known = _present(engine, name)
        return _described(name, known)


@dataclass(frozen=True)
class Containerfile:
    """The Containerfile of a server, whose folder is what it may copy from."""

    server: str
    file: Path

    def image(self, engine: Engine, say: Callable[[str], None]) -> Image:
        """Return the image that is built from it; the engine knows what it has built before."""
        name = f"localhost/loadcurve-{self.server}"
        say(f"{engine.name} builds the image of {self.server} …")
        try:
            # Docker's own builder keeps the container of a step that fails.
            words = ("build", "--force-rm", "--file", str(self.file), "--tag", name, str(self.file.parent))
            engine.answer(*words, timeout_s=None)
            return _described(name, _present(engine, name))
        except EngineError as failure:
            raise _failure("not_built", f"The image of {self.server} cannot be built", failure) from None


def _present(engine: Engine, name: str) -> dict[str, Any]:
    """Return what the engine knows of an image that must be there; raises EngineError where it is not."""
    known = engine.image(name)
    if known is None:
        raise EngineError(f"{engine.name} has no image {name} although it was created", "")
    return known


def _described(name: str, facts: dict[str, Any]) -> Image:
    own = facts.get("Config") or {}
    command = [*(own.get("Entrypoint") or ()), *(own.get("Cmd") or ())]
    if command and "/" in command[0]:
        command[0] = posixpath.join("/", own.get("WorkingDir") or "", command[0])
    digests = facts.get("RepoDigests") or []
    return Image(
        name=name,
        id=facts["Id"].removeprefix("sha256:"),
        digest=digests[0].rpartition("@")[2] if digests else None,
        command=tuple(command),
    )


def _failure(code: FailureCode, text: str, failure: EngineError) -> ServerFailure:
    said = "\n".join(failure.said.splitlines()[-FAILURE_LOG_LINES:])
    return ServerFailure(code, sentence(f"{text}: {failure}"), said)

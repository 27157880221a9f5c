"""A container as the place where a server is looked for and run."""

import contextlib
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from loadcurve.errors import sentence
from loadcurve.server.container.command import ContainerCommand, Mount, PublishedPort
from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.container.image import Image
from loadcurve.server.container.processes import ContainerProcesses
from loadcurve.server.failure import ServerFailure
from loadcurve.server.ledger import FOLDER_PREFIX
from loadcurve.server.location import EXTRA_PROGRAM_FOLDERS, LOOPBACK, THIS_MACHINE
from loadcurve.server.privileges import ServerUser
from loadcurve.server.start import StartCommand
from loadcurve.study.container import Network

LOOK_TIMEOUT_S = 30.0
NOT_FOUND = 1
"""The status of a look that found nothing; an engine's own are greater."""

NO_SHELL = frozenset({126, 127})
"""The status of ``run`` where the command cannot be started, or is not there."""

FIND_PROGRAM = f"""\
PATH=$PATH:{":".join(EXTRA_PROGRAM_FOLDERS)}
for name; do command -v "$name" && exit; done
exit {NOT_FOUND}"""

FIND_FOLDER = f"""\
for folder; do cd "$folder" && pwd -P && exit; done 2> /dev/null
exit {NOT_FOUND}"""

# Without separators of fields, the shell expands a pattern and does not divide it.
FIND_FILE = f"""\
IFS= LC_ALL=C last=
for file in $1; do last=$file; done
[ -e "$last" ] || exit {NOT_FOUND}
readlink -f "$last\""""


@dataclass(frozen=True)
class InContainer:
    """A container of an image, see :class:`loadcurve.server.location.Location`.

    Folders of this machine that a server needs are found inside under the same paths, so that its
    configuration and its command are the same here and there.
    """

    engine: Engine
    engine_version: str
    image: Image
    network: Network = "host"
    folders: tuple[Path, ...] = ()
    """Those that hold programs of this machine, such as a server built here."""
    fixed_port: int | None = None
    """The port on which the server listens, if it cannot be given one."""
    content_folder: str | None = None
    """Where the server looks for the content, if it cannot be given a folder."""
    run_arguments: tuple[str, ...] = ()
    address: str = LOOPBACK
    """Where the server is reached."""
    runs_own_command: bool = False
    """Whether the image's own command is the server."""

    is_this_machine: ClassVar[bool] = False

    @property
    def listen_address(self) -> str:
        """Where it is reached, or every address of a private network, where no other machine is."""
        return self.address if self.network == "host" else "0.0.0.0"  # noqa: S104 -- a separate network

    @property
    def searched(self) -> str:
        """Where programs are searched, in words."""
        return f"in the image {self.image.name}, on its PATH, in {' or in '.join(EXTRA_PROGRAM_FOLDERS)}"

    def listen_port(self, port: int) -> int:
        """Return the port on which the server listens inside."""
        return port if self.fixed_port is None else self.fixed_port

    def free_port(self, free_here: int) -> int:
        """Return a free port, or the server's own one where it shares this machine's network."""
        return free_here if self.fixed_port is None or self.network == "private" else self.fixed_port

    def own_command(self) -> list[str] | None:
        """Return what the image runs by itself."""
        return [word.replace("{", "{{").replace("}", "}}") for word in self.image.command] or None

    def program_named(self, names: Sequence[str], user: ServerUser | None = None) -> Path | None:  # noqa: ARG002 -- who it is inside is not known here
        """Search in the image, and for a path into a shared folder here."""
        here = [name for name in names if self._is_shared(Path(name))]
        return THIS_MACHINE.program_named(here) or self._looked_for(FIND_PROGRAM, *names)

    def given_program(self, program: Path) -> Path | str:
        """Return its path, into the image; the engine says it where it is not there."""
        return program

    def first_folder(self, folders: Sequence[Path]) -> Path | None:
        """Return the first folder that exists in the image."""
        return self._looked_for(FIND_FOLDER, *map(str, folders))

    def last_file(self, pattern: str) -> Path | None:
        """Return the last file that exists in the image."""
        return self._looked_for(FIND_FILE, pattern)

    def output_of(
        self,
        command: Sequence[str],
        timeout_s: float,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        user: ServerUser | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the command in its own container; its standard error comes after its output."""
        own = [] if folder is None else [Mount(folder, folder)]
        name = f"{FOLDER_PREFIX}look-{secrets.token_hex(8)}"
        inside = replace(
            self._command(command),
            name=name,
            mounts=[*self._mounts, *own],
            folder=folder,
            user=user,
            environment=environment or {},
        )
        try:
            words = inside.words(self.engine)
            finished = self.engine.finished(words, timeout_s, inside.variables_of_engine)
        except BaseException:
            # The engine's program has ended, which does not end the container.
            with contextlib.suppress(EngineError):
                self.engine.remove_container(name)
            raise
        return subprocess.CompletedProcess(command, finished.returncode, finished.stdout + finished.stderr)

    def processes(self) -> ContainerProcesses:
        """Return the processes of a container that is yet to be started."""
        return ContainerProcesses(self.engine, self.started, on_this_network=self.network == "host")

    def started(self, start: StartCommand, name: str) -> ContainerCommand:
        """Return the command that starts a server in a container of this name."""
        content = []
        if start.content is not None:
            targets = [start.content, *([] if self.content_folder is None else [Path(self.content_folder)])]
            content = [Mount(start.content, target) for target in targets]
        private = self.network == "private"
        return replace(
            self._command(start.argv),
            name=name,
            network=self.engine.kind.private_network if private else "host",
            published=PublishedPort(start.port, self.listen_port(start.port), self.address)
            if private
            else None,
            mounts=[
                *self._mounts,
                *content,
                *([] if start.certificates is None else [Mount(start.certificates, start.certificates)]),
                Mount(start.folder, start.folder, writable=True),
            ],
            environment=start.environment,
            secrets=start.secret_variables,
            folder=None if self.runs_own_command else start.folder,
            user=start.user,
            cpus=start.cpus,
            limits=start.limits,
        )

    @property
    def _mounts(self) -> list[Mount]:
        return [Mount(folder, folder) for folder in self.folders if folder.is_dir()]

    def _command(self, argv: Sequence[str]) -> ContainerCommand:
        return ContainerCommand(self.image.id, argv, mounts=self._mounts, extra=self.run_arguments)

    def _is_shared(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)

    def _looked_for(self, script: str, *arguments: str) -> Path | None:
        """Return the path that a script of the shell prints in a container; ``None`` where it finds none."""
        try:
            looked = self.output_of(["sh", "-c", script, "sh", *arguments], LOOK_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServerFailure(
                "engine_unavailable", sentence(f"{self.engine.name} cannot be queried: {error}")
            ) from None
        said = looked.stdout.decode(errors="replace").strip()
        if looked.returncode == 0:
            # It is followed by what the engine may have warned of.
            return Path(said.splitlines()[0])
        if looked.returncode == NOT_FOUND:
            return None
        if looked.returncode in NO_SHELL:
            text = (
                f"The image {self.image.name} has no shell `sh`, which looking for programs in it requires: "
                'give the program by its path in the image, such as binary = "/usr/sbin/nginx".'
            )
            raise ServerFailure("image_unavailable", text, said)
        text = f"The image {self.image.name} cannot be inspected: {self.engine.name} ended with status "
        raise ServerFailure("image_unavailable", f"{text}{looked.returncode}.", said)

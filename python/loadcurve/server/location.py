"""Where a server is looked for and run: this machine itself, or a container on it."""

import glob
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from loadcurve.server.direct import DirectProcesses
from loadcurve.server.environment import environment_of_servers
from loadcurve.server.privileges import ServerUser, confined
from loadcurve.server.reach import may_run
from loadcurve.server.start import ServerProcesses
from loadcurve.toml.expected import nearest

LOOPBACK = "127.0.0.1"
"""Where servers are reached that no other machine can reach."""

EXTRA_PROGRAM_FOLDERS = ("/usr/sbin", "/usr/local/sbin")
"""Where servers are installed although an ordinary user's PATH does not lead there."""


class Location(Protocol):
    """A place that holds a server's programs and runs them.

    Every method that looks for something may raise ServerFailure where a container cannot be looked into.
    """

    @property
    def address(self) -> str:
        """The numeric address under which a server there is reached."""

    @property
    def listen_address(self) -> str:
        """The address on which a server there listens, as it sees its own network."""

    @property
    def is_this_machine(self) -> bool:
        """Whether paths of this machine are those of the place."""

    @property
    def searched(self) -> str:
        """Where programs are searched, in words."""

    @property
    def fixed_port(self) -> int | None:
        """The port of a server there that cannot be given one; ``None`` for one that can."""

    def listen_port(self, port: int) -> int:
        """Return the port on which a server there listens that is reached on ``port`` here."""

    def free_port(self, free_here: int) -> int:
        """Return the port on which a server is reached, for which a free port of this machine is offered."""

    def own_command(self) -> list[str] | None:
        """Return the command that the place itself names, if it does."""

    def program_named(self, names: Sequence[str], user: ServerUser | None = None) -> Path | None:
        """Return the absolute path of the first of these programs, names or paths, that is there.

        One that the user cannot run comes after all that it can.
        """

    def given_program(self, program: Path) -> Path | str:
        """Return the absolute path of a program that was given by a path, or what is wrong with it."""

    def first_folder(self, folders: Sequence[Path]) -> Path | None:
        """Return the first of these folders that is there, without links in its path."""

    def last_file(self, pattern: str) -> Path | None:
        """Return the last match, by its name, of a pattern of the shell, without links in its path."""

    def output_of(
        self,
        command: Sequence[str],
        timeout_s: float,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        user: ServerUser | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command in a folder to its end, as another user or not; its output holds its standard error.

        Raises:
            OSError: it cannot be run.
            TimeoutExpired: it did not end in time.

        """

    def processes(self) -> ServerProcesses:
        """Return what makes the processes of a new start."""


@dataclass(frozen=True)
class ThisMachine:
    """The machine of this process itself, see :class:`Location`."""

    address: str = LOOPBACK

    is_this_machine: ClassVar[bool] = True
    fixed_port: ClassVar[None] = None
    searched: ClassVar[str] = f"on PATH, in {' or in '.join(EXTRA_PROGRAM_FOLDERS)}"

    @property
    def listen_address(self) -> str:
        """The same address."""
        return self.address

    def listen_port(self, port: int) -> int:
        """Return the same port."""
        return port

    def free_port(self, free_here: int) -> int:
        """Return the free port."""
        return free_here

    def own_command(self) -> list[str] | None:
        """Return none: a machine is no server."""
        return None

    def program_named(self, names: Sequence[str], user: ServerUser | None = None) -> Path | None:
        """Search on PATH and where servers are installed besides."""
        search_path = os.pathsep.join((os.environ.get("PATH", os.defpath), *EXTRA_PROGRAM_FOLDERS))
        programs = [shutil.which(name, path=search_path) for name in names]
        there = [Path(program).absolute() for program in programs if program]
        runnable = (program for program in there if user is None or may_run(user, program))
        return next(runnable, there[0] if there else None)

    def given_program(self, program: Path) -> Path | str:
        """Return its path, or that it is missing or not executable."""
        if not program.is_file():
            beside = sorted(one.name for one in program.parent.iterdir()) if program.parent.is_dir() else []
            return f"there is no program {program}{nearest(program.name, beside)}"
        if not os.access(program, os.X_OK):
            return f"{program} is not executable; if it is the program, run: chmod +x {program}"
        return program.absolute()

    def first_folder(self, folders: Sequence[Path]) -> Path | None:
        """Return the first folder that exists."""
        return next((folder.resolve() for folder in folders if folder.is_dir()), None)

    def last_file(self, pattern: str) -> Path | None:
        """Return the last file that exists."""
        files = glob.glob(pattern)  # noqa: PTH207 -- the pattern begins at the root
        return Path(max(files)).resolve() if files else None

    def output_of(
        self,
        command: Sequence[str],
        timeout_s: float,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        user: ServerUser | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the command as a child of this process."""
        return subprocess.run(  # noqa: S603 -- the command is the catalogue's
            command if user is None else [*confined(user), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment_of_servers(environment or {}),
            timeout=timeout_s,
            check=False,
        )

    def processes(self) -> ServerProcesses:
        """Return a session of this machine's processes."""
        return DirectProcesses()


THIS_MACHINE = ThisMachine()

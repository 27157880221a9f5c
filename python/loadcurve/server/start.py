"""What a start needs, and what is known of the processes that it makes, wherever they run."""

import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcurve.host.cgroups import Limits
from loadcurve.result.records import LimitUse
from loadcurve.server.group import group_of_its_own
from loadcurve.server.ledger import LedgerEntry
from loadcurve.server.privileges import ServerUser
from loadcurve.server.processes import ProcessIdentity


@dataclass(frozen=True)
class StartCommand:
    """The command of a server, and what it is to find and to be held to."""

    title: str
    """The server's name in sentences."""
    argv: Sequence[str]
    user: ServerUser | None
    """The user that the server becomes; ``None`` for the user who starts it."""
    folder: Path
    """The private folder, in which the command works."""
    log: Path
    """The file that takes what it prints."""
    content: Path | None
    """The folder that a web server serves."""
    port: int
    """Where the server is reached on 127.0.0.1."""
    environment: Mapping[str, str]
    """Variables besides those that every server there has."""
    secret_variables: Collection[str]
    """The names of those that are secret, besides those whose names say so."""
    cpus: Collection[int] | None
    limits: Limits
    certificates: Path | None = None
    """The folder with the certificate of a server that listens for TLS."""


class ServerProcesses(ABC):
    """The processes of one start: how they are made, limited, known and cleared away."""

    on_this_network: bool
    """Whether the server's own sockets listen on the network of this machine."""

    _leader: ProcessIdentity | None = None

    @abstractmethod
    def start(
        self, command: StartCommand, ledger_entry: LedgerEntry, interrupted: Callable[[], bool], /
    ) -> subprocess.Popen[bytes]:
        """Start the server, held to its limits; what is made is in the ledger before it exists.

        Returns the process of this machine that ends when the server does, with the server's status.

        Raises:
            BadInput: the CPUs cannot be had.
            LimitsUnavailable: the server cannot be held to its limits.
            OSError: the process cannot be started.
            ServerFailure: the server was not started ("not_started", "port_taken").

        """

    @property
    def leader(self) -> ProcessIdentity:
        """The server's main process, whose id is that of its session."""
        if self._leader is None:
            raise RuntimeError("the server is not started")
        return self._leader

    @property
    def group(self) -> Path | None:
        """The folder of the control group of version 2 that holds the server and nothing else, if any."""
        return group_of_its_own(self.leader.pid)

    @abstractmethod
    def limit_use(self) -> LimitUse | None:
        """Return what limits of memory and credits have done to it since its start; ``None`` without any."""

    @abstractmethod
    def hears(self, signal_number: signal.Signals, /) -> bool:
        """Say whether this signal can end the main process."""

    def look_after_orphans(self, *, with_strays: bool = False) -> None:  # noqa: B027 -- a container keeps its processes to itself
        """Record those of the server that have lost their parents since the last look; reap the dead.

        ``with_strays`` records those, too, that have their parents and have left the session.
        """

    @abstractmethod
    def clear(self) -> None:
        """Clear away what is left besides processes.

        Raises ``ServerFailure``: that fails ("left_behind").
        """

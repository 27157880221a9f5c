"""The seams between a run and a server that lives, started here or attached, and what it offers."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from loadcurve.loads.table import LoadTable
from loadcurve.result.load import LoadResult
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import LimitUse
from loadcurve.server.settings import SettingValue
from loadcurve.server.transport import Transport


class LiveProbe(Protocol):
    """What watches a server; that it cannot is said in its records and is no reason not to measure."""

    def observed(self, load: LoadResult, /) -> ProbeRecord:
        """Return what was seen during the measured window of a load that is over."""


class LiveServer(Protocol):
    """A server to put under load, as a context manager: ready inside the block, stopped or left after it."""

    settings: Mapping[str, SettingValue]
    """The settings as they are used, with nothing left open."""

    def __enter__(self) -> Self:
        """Make the server ready; raises ServerFailure where it does not become so."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self.stop()

    @property
    def address(self) -> str:
        """Where the server listens: the numeric ``host:port`` of a web server; of a database its hosts."""

    @property
    def authority(self) -> str:
        """What a web server's ``Host`` names: where it listens, unless it goes by another name."""
        return self.address

    @property
    def transport(self) -> Transport:
        """How a web server is spoken to; of a database the URL says it."""

    @property
    def url(self) -> str:
        """Where the server is reached by its protocol; that of a database may hold a password."""

    @property
    def own_cpus(self) -> Collection[int] | None:
        """The CPUs that a server may use, where the run has not bound it and can know them."""
        return None

    @property
    def configuration(self) -> Mapping[str, str]:
        """The configuration files by name, to be recorded; empty where they are not known."""

    def verify(self, paths: Sequence[str] = (), load: LoadTable | None = None, /) -> None:
        """Check what it answers for these paths, asked as a load asks; of a database, what it gives back.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong, or the server has ended instead.

        """

    def raise_if_exited(self) -> None:
        """Raise ServerFailure if the server is known to have exited."""

    def probe(self, cpus: Collection[int], interval_s: float, /) -> AbstractContextManager[LiveProbe]:
        """Return what watches the server while it is entered; on these CPUs, where it is on this machine."""

    def limit_use(self) -> LimitUse | None:
        """Return what limits of memory and credits have done to it since its start; ``None`` without any."""

    def log_tail(self, line_count: int = ..., /) -> str:
        """Return the last lines of what the server wrote; empty where not known, and after the stop."""

    def why_not_ready(self) -> str | None:
        """Return what was last answered instead of what a ready server answers; ``None`` where not known."""
        return None

    def stop(self) -> None:
        """Stop the server, or leave it as it is where it was not started for the run; again does nothing."""


class Service(Protocol):
    """What is reached under a server's address: whether it is there, and whether it is what it should be."""

    @property
    def url(self) -> str:
        """Where it is reached, with user and password where it asks for them."""

    @property
    def sign_of_life(self) -> str:
        """What a ready server does, in words that complete "it did not …"."""

    def refusal(self, timeout_s: float) -> str | None:
        """Ask once whether the server is ready; ``None`` if it is, otherwise what it answered, in words."""

    def verify(self, paths: Sequence[str], load: LoadTable | None, /) -> None:
        """Compare what it does with what it should do; ``paths`` and ``load`` are a web server's.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer").

        """

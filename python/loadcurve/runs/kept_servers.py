"""Servers that live from their first trial to the end of a run, as in a soak."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from loadcurve.runs.prepare import serve
from loadcurve.runs.running_servers import utc_now
from loadcurve.runs.servers_of_start import Member
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveServer


@dataclass(frozen=True)
class KeptServer:
    """A server that outlives its trial, and when it was started."""

    server: LiveServer
    started_at: str
    stack: ExitStack
    """Stops it."""


@dataclass
class KeptServers:
    """The servers that live, by their arms; leaving it stops them.

    One that fails is stopped, and its next trial starts it anew.
    """

    _by_arm: dict[str, KeptServer] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Begin the run."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all servers; one that cannot be stopped does not keep the others."""
        with ExitStack() as all_of_them:
            for kept in self._by_arm.values():
                all_of_them.push(kept.stack)
            self._by_arm.clear()

    def of(self, member: Member) -> KeptServer:
        """Return the server of a trial, started if it does not live yet; raises as a start does."""
        arm = member.trial.server
        if (kept := self._by_arm.get(arm)) is not None:
            kept.server.raise_if_exited()
            return kept
        with ExitStack() as stack:
            server = stack.enter_context(serve(member.found, member.served, member.cpus))
            kept = KeptServer(server, utc_now(), stack.pop_all())
        self._by_arm[arm] = kept
        return kept

    def drop(self, members: Sequence[Member]) -> None:
        """Stop the servers of a trial that failed; why it failed is known already."""
        for member in members:
            if (kept := self._by_arm.pop(member.trial.server, None)) is not None:
                try:
                    kept.stack.close()
                except ServerFailure:
                    continue

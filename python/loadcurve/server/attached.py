"""A server that runs already, somewhere: verified and measured, but neither started nor stopped."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Self

from loadcurve.loads.table import LoadTable
from loadcurve.probe.window import nothing_observed
from loadcurve.redaction import without_password
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import ANSWER_TIMEOUT_S
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveProbe, LiveServer
from loadcurve.server.running import RunningServer
from loadcurve.server.transport import Transport
from loadcurve.server.verify import verify_from_here

PROCESSES_UNKNOWN = Caveat.of(
    "processes_unknown",
    "the server was not started by this run, so its processes are unknown and not measured",
)


class AttachedServer(LiveServer):
    """A server that runs already, and continues after it was measured; its processes are not known."""

    def __init__(
        self,
        found: RunningServer,
        content: Mapping[str, ContentRecord] | None,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        """Take a server as it is, which has ``timeout_s`` for each answer that is verified.

        Without ``content`` any answer of status 200 counts as the right one.
        """
        self.settings = {**found.settings, "url": without_password(found.url)}
        self._found = found
        self._content = content
        self._timeout_s = timeout_s

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    @property
    def address(self) -> str:
        """Where the server listens: the numeric ``host:port`` of a web server, the hosts of a database."""
        return self._found.address

    @property
    def authority(self) -> str:
        """What ``Host`` names."""
        return self._found.authority

    @property
    def transport(self) -> Transport:
        """How a web server is spoken to, as its URL says."""
        return self._found.transport

    @property
    def url(self) -> str:
        """Where the server is reached by its protocol; that of a database may hold a password."""
        return self._found.url

    @property
    def configuration(self) -> Mapping[str, str]:
        """Unknown: the server was configured elsewhere."""
        return {}

    def verify(self, paths: Sequence[str] = (), load: LoadTable | None = None, /) -> None:
        """Ask for each path once, as a load does; without content, at least the status is checked.

        A database is given something to keep, which is read back and removed.

        Raises:
            BadInput: a path leads to no file of the content.
            ServerFailure: an answer is missing or wrong ("wrong_answer").

        """
        url = self._found.url
        try:
            verify_from_here(
                self, self._found.kind, paths, load, content=self._content, timeout_s=self._timeout_s
            )
        except ServerFailure as failure:
            raise ServerFailure(failure.code, f"{without_password(url)}: {failure.text}") from None

    def raise_if_exited(self) -> None:
        """Do nothing: nobody here knows whether it lives, and what goes wrong shows in the load."""

    def probe(self, _cpus: Collection[int], _interval_s: float, /) -> AbstractContextManager[LiveProbe]:
        """Return what sees nothing: the server's processes are not known, wherever they are."""
        return nullcontext(_Unseen())

    def limit_use(self) -> None:
        """Return nothing: it is held to no limits from here."""

    def log_tail(self, _line_count: int = 0, /) -> str:
        """Return nothing: its logs are not known."""
        return ""

    def stop(self) -> None:
        """Do nothing: it was there before the run."""


class _Unseen:
    """Watches a server about which nothing is known, and says so."""

    def observed(self, _load: LoadResult, /) -> ProbeRecord:
        """Return a record without figures."""
        return nothing_observed([PROCESSES_UNKNOWN])

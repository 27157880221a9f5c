"""Whether a server answers as it should, asked from here over the network, by the kind of load it is for."""

from collections.abc import Mapping, Sequence

from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.table import LoadTable
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import verify_answers
from loadcurve.server.asked import Site
from loadcurve.server.database import RunningDatabase
from loadcurve.server.live import LiveServer


def verify_from_here(
    server: LiveServer,
    kind: LoadKind,
    paths: Sequence[str],
    load: LoadTable | None,
    *,
    content: Mapping[str, ContentRecord] | None,
    timeout_s: float,
) -> None:
    """Ask for each path once, as a load does; of what has no content, check that it stores what it is sent.

    Without ``content`` any answer of status 200 counts as the right one. Each has ``timeout_s``.

    Raises:
        BadInput: a path leads to no file of the content.
        ServerFailure: an answer is missing or wrong ("wrong_answer").

    """
    if kind.serves_content:
        site = Site(server.address, server.authority, server.transport, timeout_s)
        verify_answers(site, paths, content, load)
    else:
        RunningDatabase(server.url).verify(paths, load)

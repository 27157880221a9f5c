"""The plan of a study's load on a web server."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from loadcurve.loads.http import HttpLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.requests import LongList
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import content_name
from loadcurve.server.transport import CLEAR_TEXT, Transport


def plan_at_point(
    load: HttpLoad,
    address: str,
    content: Mapping[str, ContentRecord],
    cpus: Sequence[int],
    seed: int,
    *,
    authority: str | None = None,
    transport: Transport = CLEAR_TEXT,
) -> HttpPlan:
    """Return the plan of a study's load against a server that serves ``content``.

    The lengths of the answers to paths of the content are checked during the load, except those to a long
    list, to another method than GET, to requests with headers, and where the study verifies something else
    than the content. ``Host`` names the ``authority``, or else the address, and its host is what a
    certificate must be for. Without a number of threads in the study there is one for each CPU of the load,
    as far as there are connections for them. ``seed`` repeats what is drawn at random.
    """
    paths = [] if isinstance(load.requests, LongList) or load.verify != "content" else load.requests
    served = {path: content.get(content_name(path)) for path in paths}
    return HttpPlan(
        load=load,
        address=address,
        authority=authority or address,
        scheme=transport.scheme,
        host=urlsplit(f"//{authority or address}").hostname or "",
        verify=transport.tls.verify,
        body_bytes={path: record.bytes for path, record in served.items() if record is not None},
        threads=load.threads or min(len(cpus), load.connections_at_once),
        cpus=tuple(cpus),
        seed=seed,
    )

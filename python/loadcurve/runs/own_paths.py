"""Which path an own application can be asked for: it is started once, and asked."""

import http
import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from loadcurve.errors import sentence
from loadcurve.loads.way import is_socket
from loadcurve.runs.prepare import chosen_cpus, find_servers, serve
from loadcurve.runs.slow_start import slow_start_said
from loadcurve.runs.source_paths import source_paths
from loadcurve.runs.study_servers import with_own_programs
from loadcurve.server.answers import ANSWER_TIMEOUT_S
from loadcurve.server.asked import Answer, Site, answers_to, plain_load
from loadcurve.server.catalog import Catalog
from loadcurve.server.exchange import Asked, answer_within
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveServer
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument

ROOT: Final = "/"
OPENAPI: Final = "/openapi.json"
"""Where FastAPI and others describe their paths, see https://spec.openapis.org/oas/latest.html."""
ASKED_MAX: Final = 12
"""At most this many of the paths in it are asked for, and of those in the source."""


@dataclass(frozen=True)
class AnsweredPaths:
    """What an application answers."""

    status: int
    """Of its root."""
    leads_to: str | None = None
    """Where its root redirects to, on itself."""
    named: Sequence[str] = ()
    """Paths of its own description that are answered with 200, in its order; without one, of its source."""
    named_by: str = f"{OPENAPI} of the application"
    """What names them."""

    @property
    def path(self) -> str | None:
        """A path that can be loaded; ``None`` where none is known."""
        return ROOT if self.status == http.HTTPStatus.OK else next(iter(self.named), None)


def answered_paths(document: TomlDocument, catalog: Catalog, say: Callable[[str], None]) -> AnsweredPaths:
    """Start the first server of a study, whose own program it is, and ask what it answers.

    Raises:
        BadInput: the study cannot be run.
        NothingMeasured: the program cannot be started, or does not get ready.

    """
    study = with_own_programs(document.to_model(Study), catalog)
    _, cpus = chosen_cpus(study, document, dict.fromkeys(study.servers))
    found = find_servers(study, document, catalog, say)
    name = next(iter(study.servers))
    server = serve(found[name], None, cpus[name])
    with slow_start_said(name, found[name], server, say):
        server.__enter__()
    try:
        return _asked(server, document.path.absolute().parent)
    finally:
        server.stop()


def _asked(server: LiveServer, folder: Path) -> AnsweredPaths:
    status, location = _status_of_root(server)
    if status == http.HTTPStatus.OK:
        return AnsweredPaths(status)
    leads_to = None if location is None else _on_itself(location, server.authority)
    description = _answer(server, OPENAPI)
    described = [] if description is None else list(paths_described(description.text))[:ASKED_MAX]
    if named := [path for path in described if _is_answered(server, path)]:
        return AnsweredPaths(status, leads_to, named)
    routes = [one for one in islice(source_paths(folder), ASKED_MAX) if _is_answered(server, one.path)]
    if not routes:
        return AnsweredPaths(status, leads_to)
    return AnsweredPaths(status, leads_to, [one.path for one in routes], str(routes[0].file))


def _is_answered(server: LiveServer, path: str) -> bool:
    answer = _answer(server, path)
    return answer is not None and answer.status == http.HTTPStatus.OK


def _status_of_root(server: LiveServer) -> tuple[int, str | None]:
    host, _, port = server.authority.partition(":")
    socket = server.address if is_socket(server.address) else None
    try:
        with answer_within(
            ANSWER_TIMEOUT_S, host, int(port or 0), Asked(ROOT), server.transport, address=socket
        ) as answer:
            return answer.status, answer.headers["Location"]
    except (OSError, http.client.HTTPException) as error:
        text = sentence(f"GET {ROOT} was not answered: {error}")
        raise ServerFailure("wrong_answer", text, server.log_tail()) from None


def _answer(server: LiveServer, path: str) -> Answer | None:
    """Return the answer to a path as a load asks for it; ``None`` without one."""
    load = plain_load(server.transport)
    site = Site(server.address, server.authority, server.transport, ANSWER_TIMEOUT_S)
    try:
        return answers_to(load, load.requests_for([path]), site, {})[0]
    except ServerFailure:
        return None


def _on_itself(location: str, authority: str) -> str | None:
    """Return the path of a redirect that stays on the same server."""
    target = urlsplit(urljoin(f"http://{authority}{ROOT}", location))
    return (
        (target.path or ROOT) + (f"?{target.query}" if target.query else "")
        if target.netloc == authority
        else None
    )


def paths_described(text: str) -> Iterator[str]:
    """Yield the paths of a description in OpenAPI's JSON that GET asks for without any parameter in them."""
    try:
        described = json.loads(text)
        paths = described["paths"]
        begins = _begins(described)
        for path, operations in paths.items():
            if "get" in operations and path.startswith("/") and "{" not in path:
                yield begins + path
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # It is somebody else's text, and no description after all.
        return


def _begins(described: dict[str, object]) -> str:
    """Return what paths begin with, by the first of the described servers; a host's name is no part of it."""
    servers = described.get("servers")
    if not isinstance(servers, list) or not servers:
        return ""
    return urlsplit(str(servers[0]["url"])).path.rstrip("/")

"""What real servers do by default, as it was measured: a row for each server and version.

``benches/behaviour.py`` measures it and writes ``behaviours.json``. A field that is missing there was not
measured, or did not show within what was tried.
"""

import functools
import json
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

BEHAVIOURS_FILE = Path(__file__).parent / "behaviours.json"


class Behaviour(BaseModel):
    """What one server does with its default settings, one worker, and those ``settings`` that are named."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str
    """Its entry of the catalogue."""
    name: str
    """What it is called in sentences."""
    product: str | None = None
    """What the header ``Server`` calls it, where that names nothing else."""
    version: str
    settings: dict[str, str] = Field(default_factory=dict)
    measured: str
    """The day."""
    keepalive: bool
    """Whether a connection carries a second request of HTTP/1.1."""
    requests_per_connection: int | None = None
    """After how many requests a connection is closed."""
    requests_tried: int | None = None
    """After how many it was not."""
    end_of_connection: Literal["announced", "silently"] | None = None
    """Whether the last answer says so (``Connection: close``)."""
    http_1_0_keepalive: bool
    """Whether a client of HTTP/1.0 that asks for it keeps its connection."""
    pipelined_of_5: int | None = None
    """How many of five requests that arrive together are answered."""
    segments_per_answer: float | None = None
    """In how many segments an answer of 1 KiB came over loopback: its writes."""
    listen_backlog: int
    """The length of the queue of connections not yet accepted, as the kernel has it."""
    idle_timeout_s: float | None = None
    """After which time an idle connection is ended that has carried a request."""
    idle_end: str | None = None
    """How: ``closed``, or the status of an answer that nobody asked for."""
    idle_tried_s: int | None = None
    """After which time it was not ended."""
    fresh_timeout_s: float | None = None
    """After which time a connection is ended that has carried none."""
    fresh_end: str | None = None
    fresh_tried_s: int | None = None
    connections: int | None = None
    """How many kept connections there can be, each with a request answered."""
    connections_tried: int | None = None
    """How many there were without a limit."""
    beyond: str | None = None
    """What happens to a request on one more connection."""
    tickets_tls_1_3: int | None = None
    """Session tickets after a handshake of TLS 1.3."""
    resumes_tls: list[str] | None = None
    """The versions of TLS in which a second connection resumes the session of the first."""
    http2: bool | None = None
    http2_streams: int | None = None
    """The streams at once that it announces; ``None`` where it announces no limit."""
    http2_requests_per_connection: int | None = None
    """After how many requests it ends a connection (GOAWAY)."""
    http2_requests_tried: int | None = None
    goaway_code: int | None = None


@functools.cache
def behaviours() -> tuple[Behaviour, ...]:
    """Return every row."""
    return tuple(Behaviour(**row) for row in json.loads(BEHAVIOURS_FILE.read_text(encoding="utf-8")))


def behaviour_of(server: str, version: str | None) -> Behaviour | None:
    """Return what was measured of a server with its default settings, in the same minor version.

    ``server`` is its entry of the catalogue; of a server that runs already, the version is what its header
    ``Server`` says, such as ``nginx/1.22.1``.
    """
    product, _, number = (version or "").rpartition("/")
    wanted = _minor(number)
    for one in behaviours():
        is_named = one.server == server or (product != "" and one.product == product)
        if is_named and not one.settings and wanted is not None and wanted == _minor(one.version):
            return one
    return None


def closes_by_default_after(answers: int, server: str, version: str | None) -> str | None:
    """Name a server, such as ``Tomcat 10.1``, that by default closes a connection after this many answers.

    ``None`` where nothing is known of it, or its default is another number. Some count the request that is
    under way, so one more or less is the same.
    """
    known = behaviour_of(server, version)
    if known is None or known.requests_per_connection is None:
        return None
    if abs(answers - known.requests_per_connection) > 1:
        return None
    # How it divides its work among processes has no part in this.
    name = known.name.partition(" (")[0]
    return f"{name} {'.'.join(map(str, _minor(known.version) or ()))}"


def _minor(version: str) -> tuple[int, ...] | None:
    found = re.match(r"v?(\d+)(?:\.(\d+))?", version)
    return tuple(int(part) for part in found.groups() if part is not None) if found else None

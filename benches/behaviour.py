"""What real servers do by default: ``python -m benches.behaviour [NAME …]`` measures, and writes what it saw.

It starts servers of the catalogue that are installed here, with one worker and otherwise their defaults,
looks at them by bare sockets, and replaces their rows in ``python/loadcurve/explain/behaviours.json``, from
which the page docs/reference/behaviour.md is made. What is not seen within the bounds below is left out of
the row, or said as what was tried. Everything together takes some minutes, most of it waiting for idle
connections. It needs ``ss`` and ``openssl``.
"""

import json
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.behaviour_encrypted import http2_behaviour, ticket_behaviour
from benches.behaviour_http1 import (
    Endpoint,
    IdleConnections,
    connection_limit,
    first_answers,
    listen_backlog,
)
from loadcurve.explain.behaviour import BEHAVIOURS_FILE
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.settings import UnusableSetting

NAMES = {
    "nginx": "nginx",
    "apache-event": "Apache (event)",
    "apache-worker": "Apache (worker)",
    "apache-prefork": "Apache (prefork)",
    "lighttpd": "lighttpd",
    "h2o": "H2O",
    "caddy": "Caddy",
    "node": "Node.js",
    "python-http": "Python's http.server",
    "mini-httpd": "mini_httpd",
    "gunicorn": "Gunicorn",
    "uvicorn": "Uvicorn",
    "puma": "Puma",
    "tomcat": "Tomcat",
    "jetty": "Jetty",
    "haproxy": "HAProxy",
    "varnish": "Varnish",
}
"""What the servers of these entries are called in sentences."""
VARIANTS: dict[str, list[dict[str, Any]]] = {"gunicorn": [{}, {"worker_class": "gthread"}]}
"""Settings with which an entry has a row besides, because its behaviour follows from them."""
PRODUCT = {
    "nginx": "nginx",
    "lighttpd": "lighttpd",
    "h2o": "h2o",
    "apache-event": "Apache",
    "gunicorn": "gunicorn",
    "jetty": "Jetty",
}
"""What the header ``Server`` calls it, where that names nothing else."""
PATIENCE_S = 80
"""How long idle connections are watched."""


@dataclass
class Row:
    """One server with settings: what is running, and what was seen."""

    name: str
    given: dict[str, Any]
    found: FoundServer
    seen: dict[str, Any] = field(default_factory=dict)
    port: int = 0
    idle: IdleConnections | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what the file says of it."""
        version = re.match(r"\d+(\.\d+)*", self.found.version)
        return {
            "server": self.name,
            "name": NAMES[self.name],
            **({"product": PRODUCT[self.name]} if self.name in PRODUCT and not self.given else {}),
            "version": version[0] if version else self.found.version,
            **({"settings": self.given} if self.given else {}),
            "measured": time.strftime("%Y-%m-%d", time.gmtime()),
            **self.seen,
        }


def main(asked: list[str]) -> int:
    """Measure the servers that are named, or all; return how the process ends."""
    rows = [row for name in asked or NAMES for row in rows_of(name)]
    with tempfile.TemporaryDirectory(prefix="loadcurve-behaviour-") as place, ExitStack() as running:
        folder = Path(place)
        folder.chmod(0o755)
        content = make_content(folder / "content", {"1k.txt": 1024}, seed=1)
        for row in rows:
            say(row, "starting")
            row.port = running.enter_context(Server(fitting(row), folder / "content", content)).port
            endpoint = Endpoint(row.port)
            row.seen |= first_answers(endpoint) | {"listen_backlog": listen_backlog(endpoint)}
        for row in rows:
            row.idle = IdleConnections(Endpoint(row.port), is_kept=row.seen["keepalive"])
        watch(rows)
        for row in rows:
            say(row, "counting connections")
            if row.seen["keepalive"]:
                # So that none is closed for being idle while the others are opened.
                patient = (
                    {"keepalive_timeout": PATIENCE_S} if "keepalive_timeout" in row.found.settings else {}
                )
                with Server(fitting(row, **patient), folder / "content", content) as server:
                    row.seen |= connection_limit(Endpoint(server.port))
        for row in rows:
            known = transport_of(row)
            if known and not row.given:
                say(row, "encrypting")
                with Server(fitting(row, **known), folder / "content", content) as server:
                    if "tls" in known:
                        row.seen |= ticket_behaviour(server.port)
                    if "http2" in known:
                        row.seen |= http2_behaviour(server.port, is_encrypted="tls" in known)
    write([row.as_json() for row in rows], {*(asked or NAMES)})
    return 0


def rows_of(name: str) -> list[Row]:
    """Return a row for each variant of an entry; none where it is not installed."""
    entry = load_catalog()[name]
    rows = []
    for given in VARIANTS.get(name, [{}]):
        found = find_server(entry, given)
        if not isinstance(found, FoundServer):
            print(f"{name}: {found.reason}", file=sys.stderr)
            return []
        rows.append(Row(name, given, found))
    return rows


def fitting(row: Row, **more: bool | int) -> FoundServer:
    """Return the server of a row, with one worker."""
    workers = {"workers": 1} if "workers" in row.found.settings else {}
    found = find_server(row.found.entry, {**workers, **row.given, **more})
    assert isinstance(found, FoundServer)
    return found


def transport_of(row: Row) -> dict[str, bool]:
    """Return the settings by which a server speaks TLS and HTTP/2, as far as it does."""
    known = {name: True for name in ("tls", "http2") if name in row.found.settings}
    try:
        fitting(row, **known)
    except UnusableSetting as refused:
        known.pop(refused.setting, None)
    return known


def watch(rows: list[Row]) -> None:
    """Wait until all idle connections are closed, or nobody has more patience; note when each was."""
    begin_s = time.monotonic()
    while time.monotonic() - begin_s < PATIENCE_S:
        watched = [row.idle.look() for row in rows if row.idle is not None]
        if not any(watched):
            break
        time.sleep(0.05)
    for row in rows:
        if row.idle is not None:
            row.seen |= row.idle.seen(PATIENCE_S)


def say(row: Row, what: str) -> None:
    """Print how far the measurement is."""
    print(f"{row.name} {row.given or ''}: {what}", file=sys.stderr)


def write(rows: list[dict[str, Any]], measured: set[str]) -> None:
    """Put rows into the file, in place of those of the same servers."""
    old = json.loads(BEHAVIOURS_FILE.read_text()) if BEHAVIOURS_FILE.exists() else []
    kept = [row for row in old if row["server"] not in measured or not rows]
    order = [*NAMES]
    merged = sorted([*kept, *rows], key=lambda row: order.index(row["server"]))
    lines = ",\n".join(json.dumps(row) for row in merged)
    BEHAVIOURS_FILE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

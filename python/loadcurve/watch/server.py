"""The HTTP server of the page: the page, its stream of events, and the finished report."""

import contextlib
import json
import os
import select
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcurve.files import is_regular, read_regular
from loadcurve.report.page import figure_scripts, rendered
from loadcurve.result.run_files import REPORT_FILE
from loadcurve.watch.address import Listener, is_meant_for
from loadcurve.watch.feed import Drawn, Feed, FileState, until_next_look_s
from loadcurve.watch.process import FAREWELL_S
from loadcurve.watch.status import Seen, status

if TYPE_CHECKING:
    from collections.abc import Callable

SECTIONS = {
    "throughput": "Throughput",
    "latency": "Latency",
    "errors": "Errors",
    "resources": "CPU and memory of the server",
}
"""The places of the figures, and their headings."""


def page(status: dict[str, Any]) -> str:
    """Return the page with what it says at this moment."""
    values = {"status": status, "sections": SECTIONS}
    return rendered("watch.html.jinja", ["report.css", "watch.css"], figure_scripts("watch.js"), values)


REPORT_BYTES_MAX = 64 * 2**20
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
"""For a report that came with a folder and may be anybody's: it talks to nobody. Ours says as much itself."""
ALIVE_INTERVAL_S = 15.0
"""After so long without news a comment is sent, so that a connection that was cut silently is noticed."""
NO_WAKING_S = 3600.0
CONNECTIONS_MAX = 64
"""Each has a thread of the process beside the run; a browser has up to six."""
TOO_MANY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
POLL_S = 0.05


class WatchServer(ThreadingHTTPServer):
    """Serves the page of one run folder on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listener: Listener, folder: Path) -> None:
        """Prepare to serve; no request is answered before :meth:`serve`."""
        super().__init__(("", 0), _Reader, bind_and_activate=False)
        self.socket.close()
        self.socket = listener.socket
        self.names = listener.names()
        self.feed = Feed(folder)
        self.leaving = os.eventfd(0, os.EFD_CLOEXEC)
        """Can be read from when this process is about to end."""
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._streams = 0
        self._reports = 0

    def prepare(self) -> None:
        """Make the page once, so that what is made only at the first time is not made during a load."""
        self.page()

    def page(self) -> bytes:
        """Return the page as it is now."""
        return page(status(self.feed.look().seen, time.monotonic())).encode()

    def serve(self) -> None:
        """Answer requests until an exception ends it; without a request nothing wakes up."""
        self.serve_forever(poll_interval=NO_WAKING_S)

    def leave(self) -> None:
        """Tell the readers the last state, give them time to fetch the report, and return."""
        deadline_s = time.monotonic() + FAREWELL_S
        readers, reports = self._streams, self._reports
        has_report = is_regular(self.feed.folder / REPORT_FILE)
        os.eventfd_write(self.leaving, 1)
        while time.monotonic() < deadline_s:
            if not self._streams and (not has_report or self._reports - reports >= readers):
                return
            time.sleep(POLL_S)

    @property
    def readers(self) -> int:
        """How many streams of events there are."""
        return self._streams

    def counted(self, *, streams: int = 0, reports: int = 0) -> None:
        """Count a stream that begins or ends, and a report that was fetched."""
        with self._lock:
            self._streams += streams
            self._reports += reports

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base class has it
        """Answer a connection from a thread of its own, or refuse it where there are too many."""
        if self._places.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:
                self._places.release()
                raise
            return
        with contextlib.suppress(OSError):
            request.settimeout(0)
            request.send(TOO_MANY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base class has it
        """Answer a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base class has it
        """Stay silent about browsers that go away; report the rest."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Reader(BaseHTTPRequestHandler):
    """One request of a browser."""

    server: WatchServer
    server_version = "loadcurve"
    sys_version = ""
    timeout = 10
    """A browser that neither asks nor takes what it is sent for this many seconds is given up."""

    def do_GET(self) -> None:
        """Answer with the page, its events or the report; nothing else is served."""
        if not is_meant_for(self.headers.get("Host"), self.server.names):
            self._refuse(HTTPStatus.FORBIDDEN, "this page is not served under that host name")
            return
        path = self.path.partition("?")[0]
        serve: dict[str, Callable[[], None]] = {
            "/": self._send_page,
            "/events": self._send_events,
            f"/{REPORT_FILE}": self._send_report,
        }
        if path in serve:
            serve[path]()
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the base class has it
        """Say nothing: the terminal belongs to the run."""

    def _send_page(self) -> None:
        self._send(HTTPStatus.OK, "text/html", self.server.page())

    def _send_report(self) -> None:
        try:
            report = read_regular(self.server.feed.folder / REPORT_FILE, REPORT_BYTES_MAX)
        except OSError:
            self._refuse(HTTPStatus.NOT_FOUND, "the report has not been written yet")
            return
        self._send(HTTPStatus.OK, "text/html", report, ("Content-Security-Policy", REPORT_POLICY))
        self.server.counted(reports=1)

    def _send_events(self) -> None:
        """Send what is new until the browser goes away or this process ends."""
        self.server.counted(streams=1)
        try:
            self._head(HTTPStatus.OK, "text/event-stream")
            self._follow()
        finally:
            self.server.counted(streams=-1)

    def _follow(self) -> None:
        number = 0
        drawn: Drawn | None = None
        seconds_state: FileState = None
        sent_s = time.monotonic()
        leaves = False
        events = select.poll()
        events.register(self.connection, select.POLLIN | select.POLLRDHUP)
        events.register(self.server.leaving, select.POLLIN)
        while True:
            latest = self.server.feed.look(run_has_ended=leaves)
            is_first = number == 0
            if latest.number != number and not leaves:
                number = latest.number
                self._tell(latest.seen)
                sent_s = time.monotonic()
            # The report that a page leads to has the last figures.
            if not (leaves and latest.seen.has_report):
                newest = self.server.feed.draw(is_first=is_first)
                if newest is not None and newest is not drawn:
                    drawn = newest
                    self._event("figures", drawn.data)
            if (seconds := self.server.feed.seconds(seconds_state)) is not None:
                seconds_state, data = seconds
                self._event("seconds", data)
                sent_s = time.monotonic()
            if leaves:
                self._tell(latest.seen, leaves=True)
                return
            if time.monotonic() - sent_s > ALIVE_INTERVAL_S:
                self._write(b":\n\n")
                sent_s = time.monotonic()
            pause_s = until_next_look_s(latest.seen.progress, time.monotonic())
            happened = [descriptor for descriptor, _ in events.poll(pause_s * 1000)]
            leaves = self.server.leaving in happened
            # A browser has nothing more to say on this connection than that it closes it.
            if happened and not leaves:
                return

    def _tell(self, seen: Seen, *, leaves: bool = False) -> None:
        """Say how far the run is, and whether this process ends behind it."""
        self._event("status", json.dumps(status(seen, time.monotonic()) | {"leaves": leaves}))

    def _event(self, name: str, data: str) -> None:
        self._write(f"event: {name}\ndata: {data}\n\n".encode())

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _refuse(self, code: HTTPStatus, reason: str) -> None:
        self._send(code, "text/plain", f"loadcurve: {reason}\n".encode())

    def _send(self, code: HTTPStatus, kind: str, body: bytes, *more: tuple[str, str]) -> None:
        self._head(code, kind, ("Content-Length", str(len(body))), *more)
        self._write(body)

    def _head(self, code: HTTPStatus, kind: str, *more: tuple[str, str]) -> None:
        self.send_response(code)
        headers = (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", "frame-ancestors 'none'"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
        )
        for name, value in (*headers, *more):
            self.send_header(name, value)
        self.end_headers()

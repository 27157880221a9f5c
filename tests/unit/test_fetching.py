"""Fetching what others have published: within bounds, and over HTTP alone."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.host.fetching import fetch, may_follow


class _Answers(BaseHTTPRequestHandler):
    """A server with one file, one that is too large, and redirects."""

    def do_GET(self) -> None:
        places = {"/to-file": "file:///etc/hostname", "/to-path": "/file"}
        if self.path in places:
            self.send_response(302)
            self.send_header("Location", places[self.path])
            self.end_headers()
            return
        body = {"/file": b"content", "/large": b"x" * 1000}.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["/file", "/to-path"])
def test_what_a_url_answers_is_in_the_file(path: str, url: str, tmp_path: Path):
    fetch(url + path, tmp_path / "file", bytes_max=100)
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/none", "it answers with the status 404"),
        ("/large", "is larger than 100 bytes"),
        ("/to-file", "it answers with the status 302"),
    ],
)
def test_what_cannot_be_fetched_is_said_in_a_sentence(path: str, said: str, url: str, tmp_path: Path):
    with pytest.raises(BadInput, match=said):
        fetch(url + path, tmp_path / "file", bytes_max=100)


def test_a_server_that_is_not_there_is_named_with_the_reason(tmp_path: Path):
    with socket.socket() as unheard:
        # Bound, and never listening.
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}/file"
        with pytest.raises(BadInput, match="cannot be fetched: Connection refused"):
            fetch(url, tmp_path / "file", bytes_max=100)


def test_what_began_encrypted_stays_so():
    found = [may_follow(f"{a}://one", f"{b}://other") for a in ("http", "https") for b in ("http", "https")]
    assert found == [True, True, False, True]

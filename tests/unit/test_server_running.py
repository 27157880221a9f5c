"""A server that runs already: what it must say and serve before it is measured."""

import http.server
import socket
import threading
from contextlib import contextmanager

import pytest

from loadcurve.server.asked import plain_load
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import Overrides
from loadcurve.server.running import find_running_server, names_its_version
from loadcurve.server.transport import CLEAR_TEXT
from support.limit_server import limit_server


@pytest.fixture
def content(tmp_path):
    """A folder with the file that is asked for."""
    (tmp_path / "1k.txt").write_bytes(b"x" * 1024)
    return tmp_path


@contextmanager
def answering(server):
    """Let a server of Python answer meanwhile; its header names a product and a version."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def found_at(address, version):
    return find_running_server(load_catalog()["url"], {}, Overrides(url=f"http://{address}", version=version))


def test_one_that_serves_other_content_answers_wrong(content):
    records = content_of_folder(content)
    (content / "1k.txt").write_bytes(b"y" * 1024)
    with limit_server(content) as address:
        server = AttachedServer(found_at(address, "1"), records)
        with pytest.raises(
            ServerFailure, match=f"^http://{address}: GET /1k.txt was answered with"
        ) as caught:
            server.verify(["/1k.txt"], plain_load(CLEAR_TEXT))
    assert caught.value.code == "wrong_answer"


def test_it_is_known_before_whether_a_server_names_its_version(content):
    with limit_server(content) as address:
        assert not names_its_version(f"http://{address}/1k.txt")
    named = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    with named, answering(named):
        assert names_its_version(f"http://127.0.0.1:{named.server_port}/search")
    with socket.socket() as nobody:
        # Nobody else can take the port, and nobody listens at it.
        nobody.bind(("127.0.0.1", 0))
        assert names_its_version(f"http://127.0.0.1:{nobody.getsockname()[1]}/")


def test_one_that_names_no_version_is_not_measured_without_one(content):
    with limit_server(content) as address, pytest.raises(ServerFailure) as caught:
        found_at(address, None)
    assert caught.value.code == "version_unknown"
    assert f"The version of the server at http://{address} is unknown" in caught.value.text
    assert 'Give it in the study, such as version = "1.2"' in caught.value.text

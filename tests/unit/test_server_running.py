"""A server that runs already: what it must say and serve before it is measured."""

import http.server
import socket
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from loadcurve.loads.way import Way
from loadcurve.server import running, target
from loadcurve.server.asked import plain_load
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import content_of_folder
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import Overrides
from loadcurve.server.listeners import Place
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


@pytest.fixture
def quic_alone(monkeypatch):
    """The address of a server that speaks QUIC, and has no TCP port."""
    with socket.socket(type=socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        monkeypatch.setattr(target, "speaks_quic", lambda *_: True)
        yield f"127.0.0.1:{opened.getsockname()[1]}"


def found_over_quic(address, **overrides):
    overrides = Overrides(url=f"https://{address}", **overrides)
    return find_running_server(load_catalog()["url"], {}, overrides)


def test_a_load_over_quic_goes_to_a_port_of_udp(quic_alone):
    found = found_over_quic(quic_alone, version="1", way=Way(is_over_quic=True))
    assert found.place == Place.of_web_server(quic_alone, is_over_quic=True)


def test_a_server_that_speaks_quic_alone_is_given_its_version(quic_alone):
    with pytest.raises(ServerFailure) as caught:
        found_over_quic(quic_alone, way=Way(is_over_quic=True))
    assert caught.value.code == "version_unknown"
    assert caught.value.text.endswith('. Give it in the study, such as version = "1.2".')
    assert "Connection refused. That was asked over TCP, for its version" in caught.value.text


def test_a_load_by_alt_svc_goes_to_the_port_that_the_server_announces(monkeypatch):
    asked = []

    def announced(plan):
        asked.append(plan.load.paths_to_verify(0))
        return replace(plan, address="127.0.0.1:9")

    monkeypatch.setattr(running, "following", announced)
    with socket.create_server(("127.0.0.1", 0)) as opened:
        address = f"127.0.0.1:{opened.getsockname()[1]}"
        found = found_over_quic(address, version="1", announced_at="/1k.txt")
    assert found.place == Place.of_web_server("127.0.0.1:9", is_over_quic=True)
    assert asked == [["/1k.txt"]]


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

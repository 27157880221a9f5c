"""The servers that the catalogue holds as source, through a whole life; run by `make check-servers`."""

import contextlib
import http.client
import re
import socket
import ssl
import time
import tomllib
from collections.abc import Iterator

import pytest
from encrypted_support import SETTINGS_FRAME, connected_to, context_for, first_frame_type
from server_support import members_of_session, server_of

from loadcurve.server.build import build_of
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import check_server
from loadcurve.server.here import Server

FRAMEWORKS = {"actix": "actix-web", "hyper": "hyper"}
IN_JAVA = {"jetty": r"<jetty.version>(.+?)<", "tomcat": r"<version>(.+?)</version>\s*</dependency>"}
"""Where the file of the project has the version."""
pytestmark = pytest.mark.builds


@pytest.fixture(params=[*FRAMEWORKS, *IN_JAVA])
def entry(request):
    entry = load_catalog()[request.param]
    build = build_of(entry)
    assert build is not None
    build.run(print)
    return entry


@contextlib.contextmanager
def connected(server: Server) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.connect()
    yield connection
    connection.close()


def answer(server, path, method="GET"):
    with connected(server) as connection:
        connection.request(method, path)
        response = connection.getresponse()
        return response, response.read()


def test_the_version_is_the_frameworks_as_the_lock_file_has_it(entry):
    if entry.name in IN_JAVA:
        version = re.search(IN_JAVA[entry.name], (entry.folder / "pom.xml").read_text())[1]
        assert check_server(entry).found.version.startswith(f"{version} Java ")
        return
    locked = tomllib.loads((entry.folder / "Cargo.lock").read_text())["package"]
    (version,) = [package["version"] for package in locked if package["name"] == FRAMEWORKS[entry.name]]
    assert check_server(entry).found.version == version


def test_a_server_is_started_verified_and_gone_after_the_block(entry, content_folder):
    with server_of(entry, content_folder) as server:
        server.verify(["/1k.txt", "/deep/64k.txt?again=1"])
        pid = server.pid
    assert members_of_session(pid) == set()


def test_an_open_connection_does_not_delay_the_stop_until_the_server_is_killed(entry, content_folder):
    with server_of(entry, content_folder) as server, connected(server) as connection:
        connection.request("GET", "/1k.txt")
        connection.getresponse().read()
        before = time.monotonic()
        server.stop()
        assert time.monotonic() - before < entry.description.stop.timeout_s


def test_a_file_comes_with_its_length_and_its_type(entry, content_folder):
    with server_of(entry, content_folder) as server:
        response, body = answer(server, "/1k.txt")
        assert (response.status, response.getheader("Content-Length"), len(body)) == (200, "1024", 1024)
        assert response.getheader("Content-Type").split(";")[0] == "text/plain"


def test_the_answer_to_head_has_the_length_and_no_body(entry, content_folder):
    with server_of(entry, content_folder) as server, connected(server) as connection:
        for _ in range(2):
            connection.request("HEAD", "/1k.txt")
            response = connection.getresponse()
            assert (response.status, response.getheader("Content-Length")) == (200, "1024")
            assert response.read() == b""


@pytest.mark.parametrize("path", ["/none.txt", "/deep", "/1k.txt/more"])
def test_what_is_no_file_is_not_found(path, entry, content_folder):
    with server_of(entry, content_folder) as server:
        # The servers in Java lead from a folder's name to the folder.
        moved = {http.HTTPStatus.FOUND} if entry.name in IN_JAVA and path == "/deep" else set()
        assert answer(server, path)[0].status in {http.HTTPStatus.NOT_FOUND} | moved


def test_what_is_not_served_is_not_allowed(entry, content_folder):
    with server_of(entry, content_folder) as server:
        status = answer(server, "/1k.txt", "DELETE")[0].status
        # Jetty's handler of files leaves other methods to further handlers, of which there are none.
        refused = http.HTTPStatus.NOT_FOUND if entry.name == "jetty" else http.HTTPStatus.METHOD_NOT_ALLOWED
        assert status == refused


@pytest.mark.parametrize("path", ["/../secret", "/deep/../../secret", "/%2e%2e/secret", "/..%2fsecret"])
def test_no_path_leads_out_of_the_content(path, entry, content_folder):
    (content_folder.parent / "secret").write_bytes(b"hidden")
    with server_of(entry, content_folder) as server:
        response, body = answer(server, path)
    assert 400 <= response.status < 500
    assert b"hidden" not in body


def test_a_folder_and_a_file_whose_names_hold_spaces_and_quotes_are_served(entry, state):
    folder = state / 'some "odd" folder'
    folder.mkdir()
    (folder / "a b.txt").write_bytes(b"hello")
    (folder / "empty.txt").touch()
    with server_of(entry, folder) as server:
        server.verify(["/a%20b.txt", "/empty.txt"])


@pytest.mark.parametrize("keepalive", [True, False])
def test_a_connection_is_kept_unless_the_setting_forbids_it(keepalive, entry, content_folder):
    with server_of(entry, content_folder, keepalive=keepalive) as server, connected(server) as connection:
        connection.request("GET", "/1k.txt")
        response = connection.getresponse()
        response.read()
        assert response.will_close is not keepalive


def test_an_idle_connection_is_closed_after_the_timeout_of_the_setting(entry, content_folder):
    with (
        server_of(entry, content_folder, keepalive_timeout=1) as server,
        connected(server) as connection,
    ):
        connection.request("GET", "/1k.txt")
        connection.getresponse().read()
        # The shortest default of these servers is 5 s.
        connection.sock.settimeout(4)
        assert connection.sock.recv(1) == b""


def test_tls_and_http2_are_negotiated(entry, content_folder):
    with server_of(entry, content_folder, tls=True, http2=True, certificate="rsa") as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with connected_to(server, context_for(server, "h2", "http/1.1", version=version)) as connection:
                assert connection.selected_alpn_protocol() == "h2"
                assert first_frame_type(connection) == SETTINGS_FRAME
    with server_of(entry, content_folder, tls=True) as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        # actix-web offers HTTP/2 wherever it speaks TLS, and those in Java agree to nothing without it.
        agreed = {"actix": "h2", "hyper": "http/1.1"}.get(entry.name)
        with connected_to(server, context_for(server, "h2", "http/1.1")) as connection:
            assert connection.selected_alpn_protocol() == agreed


def test_http2_is_spoken_in_clear_text_beside_http_1(entry, content_folder):
    with server_of(entry, content_folder, http2=True) as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            assert first_frame_type(connection) == SETTINGS_FRAME

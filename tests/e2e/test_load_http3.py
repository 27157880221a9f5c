"""`loadcurve load --http 3` where nothing answers QUIC: which port, why, and what TCP answers there."""

import socket

import pytest

from support.certificates import NAME, make_authority
from support.limit_server import limit_server


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def server(tmp_path_factory, authority):
    """Give where `limit` answers HTTP/2 over TLS, and nothing over UDP, with the options that trust it."""
    content = tmp_path_factory.mktemp("content")
    (content / "1k.txt").write_bytes(b"x" * 1024)
    issued = authority.issue(NAME)
    with limit_server(content, issued.certificate, issued.key, http2=True) as address:
        trusted = ("--cacert", authority.certificate, "--server-name", NAME)
        yield address, ("load", f"https://{address}/1k.txt", *trusted, "--http", "3", "-n", 10)


def test_a_closed_udp_port_is_named_with_what_tcp_answers_there(sandbox, server):
    address, load = server
    port = address.rpartition(":")[2]
    finished = sandbox.run(*load)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"UDP port {port} is closed" in finished.stderr
    assert f"TCP port {port} answers HTTP/2 over TLS" in finished.stderr


def test_a_udp_port_that_stays_silent_is_named_when_the_timeout_has_passed(sandbox, server):
    address, load = server
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        # What arrives stays in its buffer, as it is lost behind a firewall.
        silent.bind((host, int(port)))
        finished = sandbox.run(*load, "--timeout", "0.5s")
    assert (finished.returncode, finished.stdout) == (4, "")
    said = " ".join(finished.stderr.split())
    assert f"nothing answers on UDP port {port} within the timeout" in said
    assert f"TCP port {port} answers HTTP/2 over TLS" in said

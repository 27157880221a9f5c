"""`loadcurve load --http 3` where nothing answers QUIC: which port, why, and what TCP answers there."""

import shlex
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from loadcurve.server.found import NATIVE_FOLDER
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


def shake_hands_with_all(listener, context):
    """Shake hands on each connection until the listener is shut down."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
            encrypted.recv(1)


def test_a_server_of_tls_that_chooses_no_protocol_is_said_to_speak_it(sandbox, authority):
    issued = authority.issue(NAME)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        thread.submit(shake_hands_with_all, listener, context)
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        finished = sandbox.run("load", url, "--insecure", "--http", "3", "-n", 10)
        listener.shutdown(socket.SHUT_RDWR)
    assert finished.returncode == 4
    assert "answers HTTP/1.1 over TLS" in " ".join(finished.stderr.split())


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


PORT = 4433
"""Of a server that is alone in its network."""


@pytest.fixture
def hindered_load(sandbox, authority, new_network):
    """Give what loads a server of HTTP/3 in a prepared network of both, and returns what was said."""
    sandbox.write("content/1k.txt", "x" * 1024)
    issued = authority.issue(NAME)
    serve = [
        NATIVE_FOLDER / "loadcurve-server",
        "limit",
        "--listen",
        f"127.0.0.1:{PORT}",
        "--root",
        "content",
    ]
    serve += ["--certificate", issued.certificate, "--certificate-key", issued.key]
    server = shlex.join(map(str, [*serve, "--http2", "true", "--http3", "true"]))

    def load(prepare):
        # It says where it listens, once it does.
        waits = "until [ -s listening ] || ! kill -0 $server; do sleep 0.01; done"
        script = f"ip link set lo up && {prepare} || exit 99; {server} >listening & server=$!; {waits}; "
        script += '"$@"; code=$?; kill $server; wait $server; exit $code'
        trusted = ("--cacert", authority.certificate, "--server-name", NAME)
        finished = sandbox.run(
            *("load", f"https://127.0.0.1:{PORT}/1k.txt", *trusted, "--http", "3", "-n", 10),
            *("--timeout", "0.5s", "--json"),
            within=[*new_network, "sh", "-c", script, "sh"],
        )
        if finished.returncode == 99:
            pytest.skip(f"the network cannot be prepared: {finished.stderr}")
        return finished.returncode, " ".join(finished.stderr.split())

    return load


def test_a_firewall_that_drops_udp_is_told_by_the_silence_and_what_tcp_answers(hindered_load):
    code, said = hindered_load("iptables -A INPUT -p udp -j DROP")
    assert code == 4
    assert f"nothing answers on UDP port {PORT} within the timeout" in said
    assert f"TCP port {PORT} answers HTTP/2 over TLS" in said


def test_a_path_that_takes_no_datagrams_of_1200_bytes_is_named_with_what_it_takes(hindered_load):
    code, said = hindered_load("ip link set lo mtu 1100")
    assert code == 4
    # QUIC's 1,200 bytes with the headers of UDP and IPv4 (RFC 9000 §14).
    assert "packets of at most 1100 bytes pass the link to it, and QUIC requires 1228" in said

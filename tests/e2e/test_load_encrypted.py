"""`loadcurve load https://…`: a server of TLS under load, and one whose certificate nobody trusts."""

import json
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from itertools import cycle

import pytest

from support.certificates import NAME, make_authority
from support.limit_server import limit_server


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def address(tmp_path_factory, authority):
    """Where `limit` answers over TLS, with a certificate that the authority has issued."""
    content = tmp_path_factory.mktemp("content")
    (content / "1k.txt").write_bytes(b"x" * 1024)
    issued = authority.issue(NAME)
    with limit_server(content, issued.certificate, issued.key, http2=True) as address:
        yield address


@pytest.mark.parametrize(("http", "streams"), [("1.1", 1), ("2", 10)])
def test_a_server_of_tls_is_put_under_load_and_what_was_agreed_on_is_in_the_result(
    http, streams, sandbox, address, authority
):
    trusted = ("--cacert", authority.certificate, "--server-name", NAME)
    wide = ("--http", "2", "--streams", streams) if http == "2" else ()
    finished = sandbox.run("load", f"https://{address}/1k.txt", *trusted, *wide, "-n", 200, "--json")
    result = json.loads(finished.stdout)
    assert (result["requests"]["answered"], result["status"]["2xx"]) == (200, 200), finished.stderr
    assert result["bytes"]["body"] == 200 * 1024
    assert (result["load"]["scheme"], result["load"]["http"]) == ("https", http)
    assert result["tls"]["agreed"][0]["version"] == "1.3"
    assert result["tls"]["certificate"]["subject"] == f"CN={NAME}"


def test_a_certificate_that_nobody_trusts_is_named_with_what_accepts_it_and_nothing_is_measured(
    sandbox, address
):
    finished = sandbox.run("load", f"https://{address}/1k.txt", "--server-name", NAME)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "was issued by an authority that is not trusted" in finished.stderr
    assert all(option in finished.stderr for option in ("--cacert FILE", "--insecure"))
    said = " ".join(finished.stderr.split())
    assert f'a certificate of "CN={NAME}", issued by "CN=authority", valid from' in said


@contextmanager
def forgetful_server(issued):
    """Yield the address of a server that keeps sessions in two places, which take connections in turn."""
    contexts = [ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for _ in range(2)]
    for context in contexts:
        context.load_cert_chain(issued.certificate, issued.key)

    def serve(listener):
        with suppress(OSError):
            for context in cycle(contexts):
                connection, _ = listener.accept()
                with suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
                    while encrypted.recv(4096):
                        encrypted.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_sessions_that_a_server_was_offered_and_did_not_resume_are_counted_and_said(sandbox, authority):
    with forgetful_server(authority.issue(NAME)) as address:
        one_each = ("-c", 1, "--calls", 1, "-n", 40, "--full-handshakes", 0, "--insecure")
        finished = sandbox.run("load", f"https://{address}/", *one_each, "--json")
    result = json.loads(finished.stdout)
    measured = result["tls"]["measured"]
    # The newest ticket is that of the connection before, which the other place knows. The first has none.
    assert measured["resumed_ms"]["count"] == 0, finished.stderr
    assert measured["refused"] >= measured["full_ms"]["count"] - 1 >= 38
    [reason] = [one for one in result["verdict"]["reasons"] if one["code"] == "resumption_not_reached"]
    assert f"did not resume {measured['refused']} sessions that it was offered" in reason["text"]

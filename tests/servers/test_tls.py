"""Loads over TLS against another implementation: what is asked for is agreed on, or refused by its name."""

import http.server
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

import psutil
import pytest

from loadcurve._engine import Load
from support.limit_server import limit_server

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

CA_CONFIGURATION = """
[ca]
default_ca = own
[own]
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""
PAST, SOON, FUTURE, LATER = "20000101000000Z", "20010101000000Z", "20900101000000Z", "20910101000000Z"


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def key_and_request(folder, name, host):
    openssl(
        *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}"),
        *("-addext", f"subjectAltName={host}"),
        *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr"),
    )


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A folder with an authority and certificates that it has signed: good ones, and one of each bad kind."""
    folder = tmp_path_factory.mktemp("certificates")
    (folder / "index.txt").touch()
    (folder / "serial").write_text("01\n")
    (folder / "ca.cnf").write_text(CA_CONFIGURATION.format(folder=folder))
    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2),
        *("-subj", "/CN=authority", "-keyout", folder / "ca.key", "-out", folder / "ca.pem"),
    )
    here = "IP:127.0.0.1"
    for name, host, dates in [
        ("good", here, ("-days", 2)),
        ("client", "DNS:client", ("-days", 2)),
        ("wrong-name", "DNS:example.org", ("-days", 2)),
        ("expired", here, ("-startdate", PAST, "-enddate", SOON)),
        ("not-yet", here, ("-startdate", FUTURE, "-enddate", LATER)),
    ]:
        key_and_request(folder, name, host)
        openssl(
            *("ca", "-batch", "-notext", "-config", folder / "ca.cnf", "-cert", folder / "ca.pem"),
            *("-keyfile", folder / "ca.key", *dates),
            *("-in", folder / f"{name}.csr", "-out", folder / f"{name}.pem"),
        )
    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2),
        *("-subj", "/CN=self-signed", "-addext", f"subjectAltName={here}"),
        *("-keyout", folder / "self-signed.key", "-out", folder / "self-signed.pem"),
    )
    (folder / "page.txt").write_bytes(b"x" * 1024)
    return folder


@contextmanager
def serving(folder, certificate, *options):
    """A server of OpenSSL for the files of a folder, on a port of its choice."""
    command = ["openssl", "s_server", "-4", "-accept", "127.0.0.1:0", "-WWW", *map(str, options)]
    command += ["-cert", str(folder / f"{certificate}.pem"), "-key", str(folder / f"{certificate}.key")]
    server = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for line in server.stdout:
            if found := re.match(r"ACCEPT .*:(\d+)$", line):
                break
        else:
            pytest.fail("the server has not started")
        yield int(found[1])
    finally:
        server.kill()
        server.communicate()


def load(port, requests=8, stop=None, timeout_s=5, http="1.1", **tls):
    """Put a load on a server and return the result; raises RuntimeError where nothing was measured."""
    request = {"method": "GET", "target": "/page.txt", "headers": [], "body": "empty", "weight": 1.0}
    request |= {"expected_body_bytes": 1024, "body_varies": False}
    plan = {
        # OpenSSL's server has one connection at a time.
        "model": {"closed": {"connections": 1}},
        "stop": stop or {"requests_total": requests},
        "warmup_s": 0,
        "timeout_s": timeout_s,
        "threads": 1,
        "work": {
            "address": f"127.0.0.1:{port}",
            "authority": f"127.0.0.1:{port}",
            "http": http,
            "tls": {"server_name": "127.0.0.1", **tls},
            "requests": {"given": [request]},
        },
    }
    return json.loads(Load.start(json.dumps({"http": plan})).finish())


def test_a_load_agrees_on_what_it_asks_for(certificates):
    trusted = {"verify": {"file": str(certificates / "ca.pem")}}
    suites = {
        "1.2": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "1.3": "TLS_AES_128_GCM_SHA256",
    }
    with serving(certificates, "good") as port:
        for version, suite in suites.items():
            for group in ("x25519", "secp384r1"):
                # In version 1.2 the certificate's own curve must be among the groups, too.
                asked = {"versions": [version], "suites": [suite], "groups": [group, "secp256r1"]}
                tls = load(port, **asked, **trusted)["tls"]
                # The server ends each connection with its answer, so that every request has a handshake.
                assert tls["handshakes"] == {"full": 8, "resumed": 0}
                [agreed] = tls["agreed"]
                assert (agreed["version"], agreed["suite"], agreed["group"]) == (version, suite, group)
                assert (tls["certificate"]["subject"], tls["certificate"]["key"]) == ("CN=good", "ECDSA 256")


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_sessions_are_resumed_where_that_is_asked_for_and_the_server_agrees(certificates, version):
    asked = {"verify": "none", "versions": [version], "full_handshakes": 0.0}
    with serving(certificates, "good") as port:
        handshakes = load(port, 40, **asked)["tls"]["handshakes"]
    # The first connection alone finds no session to go on with.
    assert handshakes == {"full": 1, "resumed": 39}
    with serving(certificates, "good", "-no_ticket", "-no_cache", "-num_tickets", 0) as port:
        assert load(port, 10, **asked)["tls"]["handshakes"] == {"full": 10, "resumed": 0}


def test_a_thousand_tickets_for_each_connection_are_read_past(certificates):
    asked = {"verify": "none", "full_handshakes": 0.0}
    with serving(certificates, "good", "-num_tickets", 1_000) as port:
        result = load(port, 8, **asked)
    assert (result["requests"]["answered"], result["tls"]["handshakes"]) == (8, {"full": 1, "resumed": 7})


def test_a_server_that_sends_tickets_without_end_costs_its_own_time_and_no_memory(certificates):
    asked = {"verify": "none", "full_handshakes": 0.0, "stop": {"duration_s": 1.0}, "timeout_s": 1}
    with serving(certificates, "good", "-num_tickets", 100_000_000) as port:
        before, begun_s = memory_bytes(), time.monotonic()
        result = load(port, **asked)
        taken_s = time.monotonic() - begun_s
    # It never gets to answer, and the load ends in its time, with some for a slow machine.
    assert result["requests"]["answered"] == 0
    assert (
        result["requests"]["failed"] == result["errors"]["timeout"] + result["errors"]["connect_timeout"] > 0
    )
    assert taken_s < 20
    assert memory_bytes() - before < 64 * 2**20


def memory_bytes():
    """The memory of this process that is in use."""
    return psutil.Process().memory_info().rss


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_client_shows_its_certificate_where_the_server_requires_one(certificates, version):
    own = {"certificate": str(certificates / "client.pem"), "key": str(certificates / "client.key")}
    asked = {"verify": "none", "versions": [version]}
    options = ("-Verify", 1, "-verify_return_error", "-CAfile", certificates / "ca.pem")
    with serving(certificates, "good", *options) as port:
        assert load(port, **asked, client_certificate=own)["requests"]["answered"] == 8
        # In version 1.3 the server says only after the client's last message that it requires one.
        refusal = refused(lambda: load(port, **asked)) if version == "1.2" else failed(load(port, **asked))
    assert re.search("requires a client certificate.*--cert FILE", refusal)


def refused(start):
    with pytest.raises(RuntimeError) as caught:
        start()
    return str(caught.value)


def failed(result):
    """Return the one explanation of a load whose every request has failed for TLS."""
    assert result["errors"]["tls_failed"] == result["requests"]["due"]
    [message] = result["error_messages"]
    return message["text"]


BAD_CERTIFICATES = pytest.mark.parametrize(
    ("certificate", "parts"),
    [
        ("expired", ['"CN=expired"', '"CN=authority"', "has expired", "2001"]),
        ("not-yet", ['"CN=not-yet"', "is not valid yet", "--insecure", "valid from Jan  1 00:00:00 2090"]),
        ("wrong-name", ["is not for 127.0.0.1, but for example.org", "--server-name"]),
        ("self-signed", ["itself (self-signed)", "--cacert", "--insecure"]),
        ("good", ['"CN=good"', "issued by an authority that is not trusted"]),
    ],
)


def trusted_by(certificates, certificate):
    """Return the trust of a load that is to refuse the certificate."""
    trusted = "ca" if certificate != "good" else "self-signed"
    return {"file": str(certificates / f"{trusted}.pem")}


@BAD_CERTIFICATES
def test_a_bad_certificate_is_refused_by_what_is_wrong_with_it_and_whose_it_is(
    certificates, certificate, parts
):
    with serving(certificates, certificate) as port:
        refusal = refused(lambda: load(port, verify=trusted_by(certificates, certificate)))
        assert all(part in refusal for part in parts), refusal
        assert load(port, verify="none")["requests"]["answered"] == 8


@BAD_CERTIFICATES
def test_a_bad_certificate_is_refused_over_http3_in_the_same_words(certificates, certificate, parts):
    files = certificates / f"{certificate}.pem", certificates / f"{certificate}.key"
    with limit_server(certificates, *files, http2=True, http3=True) as address:
        port = int(address.rpartition(":")[2])
        verify = trusted_by(certificates, certificate)
        refusal = refused(lambda: load(port, http="3", verify=verify))
        assert all(part in refusal for part in parts), refusal
        assert load(port, http="3", verify="none")["requests"]["answered"] == 8


def test_a_certificate_that_is_trusted_itself_is_accepted(certificates):
    with serving(certificates, "self-signed") as port:
        result = load(port, verify={"file": str(certificates / "self-signed.pem")})
        assert result["requests"]["answered"] == 8


@pytest.mark.parametrize(
    ("options", "asked", "part"),
    [
        (("-tls1_2",), {"versions": ["1.3"]}, "none of the offered TLS versions"),
        (("-tls1_3",), {"versions": ["1.2"]}, "none of the offered TLS versions"),
        (
            ("-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"),
            {"suites": ["TLS_AES_128_GCM_SHA256"]},
            "none of the offered cipher suites or groups",
        ),
        (
            ("-tls1_3", "-groups", "secp384r1"),
            {"groups": ["x25519"]},
            "none of the offered cipher suites or groups",
        ),
    ],
)
def test_what_the_server_does_not_offer_is_named_before_anything_is_measured(
    certificates, options, asked, part
):
    with serving(certificates, "good", *options) as port:
        assert part in refused(lambda: load(port, verify="none", **asked))


def test_a_server_without_tls_is_named_as_one(content_server):
    assert "it may not support TLS on this port" in refused(lambda: load(content_server, verify="none"))


@pytest.fixture
def content_server(tmp_path):
    """The port of a server of clear text."""
    server = subprocess.Popen(
        ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield int(re.search(r"port (\d+)", server.stdout.readline())[1])
    finally:
        server.kill()
        server.communicate()


def test_the_key_log_holds_the_secrets_of_each_connection_for_its_owner_alone(certificates, tmp_path):
    log = tmp_path / "keys.log"
    with serving(certificates, "good", "-tls1_3") as port:
        load(port, verify="none", key_log=str(log))
    labels = [line.split()[0] for line in log.read_text().splitlines()]
    # One look, and a connection for each of the eight requests.
    assert labels.count("CLIENT_TRAFFIC_SECRET_0") == labels.count("SERVER_TRAFFIC_SECRET_0") == 9
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_servers_own_count_of_requests_is_that_of_the_load(certificates):
    """Python's TLS is a third implementation, whose requests are each counted where it arrives."""
    arrived = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            arrived.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "1024")
            self.end_headers()
            self.wfile.write(b"x" * 1024)

        def log_message(self, *_):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "good.pem", certificates / "good.key")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            result = load(server.server_address[1], 50, verify={"file": str(certificates / "ca.pem")})
        finally:
            server.shutdown()
            thread.join()
    assert result["requests"]["answered"] == len(arrived) == 50
    assert result["connections"]["opened"] == result["tls"]["handshakes"]["full"] == 1


def test_a_server_that_asks_for_renegotiation_ends_the_connection_and_is_named(certificates):
    """This client never renegotiates, as TLS 1.3 does away with it; OpenSSL then gives the connection up."""
    with interactive(certificates, "-tls1_2") as (port, server):
        results = []
        thread = threading.Thread(target=lambda: results.append(load(port, 1, verify="none")))
        thread.start()
        for line in server.stdout:
            if line.startswith("GET /page.txt"):
                break
        server.stdin.write("r\n")
        server.stdin.flush()
        thread.join()
    [result] = results
    assert re.search(r"requested a renegotiation, .*\); configure the server", failed(result))


@contextmanager
def interactive(folder, *options):
    """A server of OpenSSL that prints what it reads and obeys its standard input, on a port of its choice."""
    command = ["openssl", "s_server", "-4", "-accept", "127.0.0.1:0", *options]
    command += ["-cert", str(folder / "good.pem"), "-key", str(folder / "good.key")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True) as server:
        try:
            for line in server.stdout:
                if found := re.match(r"ACCEPT .*:(\d+)$", line):
                    yield int(found[1]), server
                    break
        finally:
            server.kill()


WITHOUT_LENGTH = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1024
OF_KNOWN_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + b"x" * 1024


@pytest.mark.parametrize(
    ("answer", "says_that_it_ends", "cut_bytes", "counted"),
    [
        (WITHOUT_LENGTH, True, 0, "answered"),
        (WITHOUT_LENGTH, False, 0, "closed_early"),
        (OF_KNOWN_LENGTH, False, 0, "answered"),
        (OF_KNOWN_LENGTH, False, 5, "closed_early"),
    ],
    ids=["close_notify", "no close_notify", "no close_notify behind a length", "truncated record"],
)
def test_an_answer_counts_only_where_nobody_can_have_cut_it_off(
    certificates, answer, says_that_it_ends, cut_bytes, counted
):
    with answering_once(certificates, answer, says_that_it_ends, cut_bytes) as port:
        result = load(port, 1, verify="none")
    assert result["requests"]["answered"] == (counted == "answered")
    assert result["errors"]["closed_early"] == (counted == "closed_early")


@contextmanager
def answering_once(folder, answer, says_that_it_ends, cut_bytes):
    """Answer each request once and close the connection, without the last bytes of the last record."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "good.pem", folder / "good.key")

    def serve(connection):
        arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(arrived, leaving, server_side=True)

        def done(step):
            """Take a step as soon as what it needs has arrived."""
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    connection.sendall(leaving.read())
                    if not (received := connection.recv(65536)):
                        raise ConnectionError from None
                    arrived.write(received)

        done(tls.do_handshake)
        if not done(lambda: tls.read(65536)):
            return
        tls.write(answer)
        if says_that_it_ends:
            with suppress(ssl.SSLError):
                tls.unwrap()
        records = leaving.read()
        connection.sendall(records[: len(records) - cut_bytes])

    def accept(listener):
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                # The look before the load says that it ends, and asks for nothing.
                with connection, suppress(OSError):
                    serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()

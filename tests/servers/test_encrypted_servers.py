"""Real servers with TLS and HTTP/2, as OpenSSL sees them, and by bytes as RFC 9113 has them."""

import os
import re
import socket
import ssl
import stat
from pathlib import Path

import pytest
from encrypted_support import (
    P256_KEY,
    RSA_KEY,
    SETTINGS_FRAME,
    connected_to,
    context_for,
    first_frame_type,
)
from server_support import CATALOG, is_root, server_of, servers, user_of, wait_until

from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.tls import TlsTable
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.answers import verify_answers
from loadcurve.server.asked import Site, plain_load
from loadcurve.server.failure import ServerFailure
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.transport import CLEAR_TEXT, Transport

TLS_SERVERS = [
    "nginx",
    "apache-event",
    "lighttpd",
    "h2o",
    "caddy",
    "node",
    "haproxy",
    "envoy",
    "hypercorn",
    "limit",
]
TLS_WITHOUT_HTTP2 = ["gunicorn", "uvicorn", "puma"]
CLEAR_HTTP2 = [
    "apache-event",
    "lighttpd",
    "h2o",
    "caddy",
    "haproxy",
    "varnish",
    "envoy",
    "hypercorn",
    "limit",
]
PATHS = ["/1k.txt", "/deep/64k.txt"]
PATIENCE_S = 2
"""For answers to what a server does not understand, which some of them wait for to go on."""


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated")
@servers(*TLS_SERVERS)
def test_a_server_with_tls_and_http2_negotiates_both_and_has_a_certificate_of_rsa(name, content_folder):
    settings = {"tls": True, "http2": True, "certificate": "rsa"}
    with server_of(CATALOG[name], content_folder, **settings) as server:
        assert server.url == f"https://127.0.0.1:{server.port}"
        assert "2" in server.transport.http_versions
        server.verify(PATHS)
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with connected_to(server, context_for(server, "h2", "http/1.1", version=version)) as connection:
                assert connection.version() == version.name.replace("_", ".")
                assert connection.selected_alpn_protocol() == "h2"
                assert RSA_KEY in connection.getpeercert(binary_form=True)
                assert first_frame_type(connection) == SETTINGS_FRAME
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connected_to(server, context_for(server, version=ssl.TLSVersion.TLSv1_1))
        with connected_to(server, context_for(server, "http/1.1"), "localhost") as connection:
            assert connection.selected_alpn_protocol() == "http/1.1"


@servers(*TLS_SERVERS, *TLS_WITHOUT_HTTP2)
def test_a_server_with_tls_alone_speaks_http_1_and_is_trusted_by_its_own_authority_only(name, content_folder):
    with server_of(CATALOG[name], content_folder, tls=True) as server:
        server.verify(PATHS)
        # H2O has no way not to speak HTTP/2.
        agreed = "h2" if name == "h2o" else "http/1.1"
        with connected_to(server, context_for(server, "h2", "http/1.1")) as connection:
            assert connection.selected_alpn_protocol() in {agreed, None if agreed == "http/1.1" else agreed}
            assert P256_KEY in connection.getpeercert(binary_form=True)
        with pytest.raises(ssl.SSLCertVerificationError):
            connected_to(server, ssl.create_default_context())
        # Puma does not answer to clear text at all.
        if name != "puma":
            sentence = refusal(server, CLEAR_TEXT)
            assert "requires TLS on this port, but the URL asks for clear text: use https://" in sentence
        if name != "h2o":
            sentence = refusal(server, server.transport, "2")
            assert re.search('does not support (the requested version of HTTP|"h2") over TLS', sentence)


def refusal(server, transport, http="1.1"):
    """Return why a load in this version of HTTP over this transport is refused before it begins."""
    with pytest.raises(ServerFailure) as refused:
        verify_answers(
            Site(server.address, server.address, transport, PATIENCE_S),
            PATHS,
            None,
            plain_load(transport, http),
        )
    assert refused.value.code == "wrong_answer"
    return refused.value.text


@servers(*TLS_SERVERS)
def test_clear_text_is_not_taken_for_tls_and_not_for_http2(name, content_folder):
    with server_of(CATALOG[name], content_folder) as server:
        encrypted = Transport("https", TlsTable(verify="none"))
        assert "it may not support TLS on this port" in refusal(server, encrypted)
        # H2O and Hypercorn have no way not to speak HTTP/2.
        if name not in {"h2o", "hypercorn"}:
            sentence = refusal(server, CLEAR_TEXT, "2")
            assert sentence.startswith(f"HTTP/2 in clear text failed with {server.address}: the server")


@servers(*CLEAR_HTTP2)
def test_a_server_with_http2_alone_speaks_it_in_clear_text_with_prior_knowledge(name, content_folder):
    with server_of(CATALOG[name], content_folder, http2=True) as server:
        assert server.url.startswith("http://")
        # In HTTP/1.1 and in HTTP/2: a server may be loaded in both.
        server.verify(PATHS)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            assert first_frame_type(connection) == SETTINGS_FRAME


@servers("nginx", "h2o", "caddy")
def test_a_servers_own_log_has_each_request_of_a_load_over_http2_and_tls_once(name, content_folder, state):
    settings = {"tls": True, "http2": True, "access_log": True}
    if "keepalive_requests" in CATALOG[name].description.settings:
        # It then ends each connection behind this number of requests, which go on elsewhere.
        settings["keepalive_requests"] = 100
    load = ClosedLoad(
        model="closed",
        http="2",
        requests=["/1k.txt?counted"],
        connections=4,
        streams=10,
        requests_total=2000,
        warmup=0,
    )
    with server_of(CATALOG[name], content_folder, **settings) as server:
        plan = plan_at_point(load, server.address, {}, (0,), seed=0, transport=server.transport)
        result = ENGINE.run(plan, lambda _: None)
        assert (result.requests.answered, result.requests.ok, result.tls.protocol) == (2000, 2000, "h2")
        wait_until(lambda: requests_in_logs(state) >= 2000)
        assert requests_in_logs(state) == 2000
    ended = settings.get("keepalive_requests", 2000)
    assert result.connections.opened >= 2000 / ended


def requests_in_logs(place: Path) -> int:
    """Return how many requests of the load are in the logs of the servers that run there."""
    return sum(file.read_text().count("?counted") for file in place.rglob("access.log"))


@servers("apache-prefork", "node")
def test_what_a_server_cannot_do_is_refused_with_what_it_can(name, content_folder):
    with pytest.raises(UnusableSetting, match=r"http2 = true.*(Use apache-event|Add tls = true)"):
        server_of(CATALOG[name], content_folder, http2=True)


@is_root
@servers("nginx")
def test_the_key_can_be_read_by_the_servers_user_and_replaced_by_nobody_but_us(name, content_folder):
    with server_of(CATALOG[name], content_folder, tls=True) as server:
        authority = Path(server.transport.tls.verify)
        folder = authority.parent
        key = folder / "certificate-key.pem"
        assert key.stat().st_uid == user_of(server.pid) != os.geteuid()
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        for ours in (folder, authority, folder / "certificate.pem"):
            assert (ours.stat().st_uid, ours.stat().st_mode & 0o022) == (os.geteuid(), 0)
        configuration = server.configuration["nginx.conf"]
        assert '"{certificate_key_file}"' in configuration
        assert str(folder) not in configuration
        left = Path(folder)
    assert not left.exists()

"""Real servers with TLS and HTTP/2, as OpenSSL sees them, and by bytes as RFC 9113 has them."""

import os
import socket
import ssl
import stat
from pathlib import Path

import pytest
from server_support import CATALOG, is_root, server_of, servers, user_of

from loadcurve.server.answers import verify_answers
from loadcurve.server.failure import ServerFailure
from loadcurve.server.settings import UnusableSetting

TLS_SERVERS = ["nginx", "apache-event", "lighttpd", "h2o", "caddy", "node"]
CLEAR_HTTP2 = ["apache-event", "lighttpd", "h2o", "caddy"]
PATHS = ["/1k.txt", "/deep/64k.txt"]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""A frame without payload of the type 4 on the stream 0."""
FRAME_HEADER_BYTES = 9
SETTINGS_FRAME = 4

RSA_KEY = bytes.fromhex("06092a864886f70d010101")
"""The object identifier rsaEncryption (RFC 8017) as certificates have it."""
P256_KEY = bytes.fromhex("06082a8648ce3d030107")
"""That of the curve P-256, prime256v1 (RFC 5480)."""


def context_for(server, *alpn: str, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """Return a client that trusts the server's authority alone and offers these protocols, this version."""
    context = ssl.create_default_context(cafile=server.transport.authority)
    if alpn:
        context.set_alpn_protocols(alpn)
    if version is not None:
        # As OpenSSL has it: before 1.2 only where every strength of keys is accepted.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
    return context


def connected(server, context: ssl.SSLContext, name: str = "127.0.0.1") -> ssl.SSLSocket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    return context.wrap_socket(connection, server_hostname=name)


def first_frame_type(connection: socket.socket) -> int:
    """Begin HTTP/2 as a client does; return the type of the server's first frame."""
    connection.sendall(PREFACE + EMPTY_SETTINGS)
    header = b""
    while len(header) < FRAME_HEADER_BYTES:
        received = connection.recv(FRAME_HEADER_BYTES - len(header))
        assert received, f"closed behind {header!r}"
        header += received
    return header[3]


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated")
@servers(*TLS_SERVERS)
def test_a_server_with_tls_and_http2_negotiates_both_and_has_a_certificate_of_rsa(name, content_folder):
    settings = {"tls": True, "http2": True, "certificate": "rsa"}
    with server_of(CATALOG[name], content_folder, **settings) as server:
        assert server.url == f"https://127.0.0.1:{server.port}"
        assert server.transport.has_http2
        server.verify(PATHS)
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with connected(server, context_for(server, "h2", "http/1.1", version=version)) as connection:
                assert connection.version() == version.name.replace("_", ".")
                assert connection.selected_alpn_protocol() == "h2"
                assert RSA_KEY in connection.getpeercert(binary_form=True)
                assert first_frame_type(connection) == SETTINGS_FRAME
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connected(server, context_for(server, version=ssl.TLSVersion.TLSv1_1))
        with connected(server, context_for(server, "http/1.1"), "localhost") as connection:
            assert connection.selected_alpn_protocol() == "http/1.1"


@servers(*TLS_SERVERS)
def test_a_server_with_tls_alone_speaks_http_1_and_is_trusted_by_its_own_authority_only(name, content_folder):
    with server_of(CATALOG[name], content_folder, tls=True) as server:
        server.verify(PATHS)
        # H2O has no way not to speak HTTP/2.
        agreed = "h2" if name == "h2o" else "http/1.1"
        with connected(server, context_for(server, "h2", "http/1.1")) as connection:
            assert connection.selected_alpn_protocol() in {agreed, None if agreed == "http/1.1" else agreed}
            assert P256_KEY in connection.getpeercert(binary_form=True)
        with pytest.raises(ssl.SSLCertVerificationError):
            connected(server, ssl.create_default_context())
        with pytest.raises(ServerFailure) as refused:
            verify_answers("127.0.0.1", server.port, PATHS, None)
        assert "wrong_answer" in refused.value.code


@servers(*CLEAR_HTTP2)
def test_a_server_with_http2_alone_speaks_it_in_clear_text_with_prior_knowledge(name, content_folder):
    with server_of(CATALOG[name], content_folder, http2=True) as server:
        assert server.url.startswith("http://")
        server.verify(PATHS)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            assert first_frame_type(connection) == SETTINGS_FRAME


@servers("apache-prefork", "node")
def test_what_a_server_cannot_do_is_refused_with_what_it_can(name, content_folder):
    with pytest.raises(UnusableSetting, match=r"http2 = true.*(Use apache-event|Add tls = true)"):
        server_of(CATALOG[name], content_folder, http2=True)


@is_root
@servers("nginx")
def test_the_key_can_be_read_by_the_servers_user_and_replaced_by_nobody_but_us(name, content_folder):
    with server_of(CATALOG[name], content_folder, tls=True) as server:
        folder = server.transport.authority.parent
        key = folder / "certificate-key.pem"
        assert key.stat().st_uid == user_of(server.pid) != os.geteuid()
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        for ours in (folder, server.transport.authority, folder / "certificate.pem"):
            assert (ours.stat().st_uid, ours.stat().st_mode & 0o022) == (os.geteuid(), 0)
        configuration = server.configuration["nginx.conf"]
        assert '"{certificate_key_file}"' in configuration
        assert str(folder) not in configuration
        left = Path(folder)
    assert not left.exists()

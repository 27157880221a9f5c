"""Clients of servers with TLS and HTTP/2: OpenSSL, and bytes as RFC 9113 has them."""

import socket
import ssl

from loadcurve.server.here import Server

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""A frame without payload of the type 4 on the stream 0."""
FRAME_HEADER_BYTES = 9
SETTINGS_FRAME = 4

RSA_KEY = bytes.fromhex("06092a864886f70d010101")
"""The object identifier rsaEncryption (RFC 8017) as certificates have it."""
P256_KEY = bytes.fromhex("06082a8648ce3d030107")
"""That of the curve P-256, prime256v1 (RFC 5480)."""


def context_for(server: Server, *alpn: str, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """Return a client that trusts the server's authority alone and offers these protocols, this version."""
    context = ssl.create_default_context(cafile=server.transport.tls.verify)
    if alpn:
        context.set_alpn_protocols(alpn)
    if version is not None:
        # As OpenSSL has it: before 1.2 only where every strength of keys is accepted.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
    return context


def connected_to(server: Server, context: ssl.SSLContext, name: str = "127.0.0.1") -> ssl.SSLSocket:
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

"""What the system and OpenSSL refuse in words, and what another says as a sentence or a part of ours."""

import errno
import socket
import ssl
from contextlib import suppress

import pytest

from loadcurve.errors import clause, in_words, refusal, sentence
from support.certificates import NAME, expired, make_authority


def refused(client: ssl.SSLContext, server: ssl.SSLContext | None, name: str = NAME) -> str:
    """Shake hands in memory with a server of TLS, or one of clear text, and return what the client says."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=name)
    answering = None if server is None else server.wrap_bio(to_server, to_client, server_side=True)
    if answering is None:
        to_client.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    for _ in range(4):
        try:
            with suppress(ssl.SSLWantReadError):
                asking.do_handshake()
                asking.read()
        except ssl.SSLError as error:
            return refusal(error)
        if answering is not None:
            with suppress(ssl.SSLError):
                answering.do_handshake()
    raise AssertionError("nothing was refused")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("certificates"), "trusted")


@pytest.fixture(scope="module")
def server(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued = authority.issue(NAME)
    context.load_cert_chain(issued.certificate, issued.key)
    return context


@pytest.fixture(scope="module")
def trusting(authority):
    return ssl.create_default_context(cafile=authority.certificate)


def test_a_certificate_that_nobody_trusts_is_one_with_what_trusts_it(server):
    said = refused(ssl.create_default_context(), server)
    assert said.startswith("the server's certificate is not accepted: ")
    assert said.endswith(
        "; --cacert FILE (tls.verify in a study) names the authority to trust, "
        "--insecure accepts any certificate"
    )


def test_a_certificate_that_has_expired_is_not_mended_by_an_authority(authority):
    old = expired(authority.issued)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(old.certificate, old.key)
    trusting_it = ssl.create_default_context(cafile=old.certificate)
    # That of an authority names no host.
    trusting_it.check_hostname = False
    assert refused(trusting_it, context) == (
        "the server's certificate is not accepted: certificate has expired; --insecure accepts it"
    )


def test_a_certificate_for_another_name_names_it(server, trusting):
    assert refused(trusting, server, "example.org") == (
        "the server's certificate is not accepted: hostname mismatch, certificate is not valid for "
        "'example.org'; --server-name NAME expects another one"
    )


def test_clear_text_and_a_client_without_a_certificate_are_told_apart(authority, server, trusting):
    assert refused(trusting, None) == "the server did not answer in TLS; it may not support TLS on this port"
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued = authority.issue(NAME)
    asking.load_cert_chain(issued.certificate, issued.key)
    asking.load_verify_locations(authority.certificate)
    asking.verify_mode = ssl.CERT_REQUIRED
    assert refused(trusting, asking) == (
        "the server requires a client certificate: --cert FILE and --key FILE (tls.certificate and tls.key "
        "in a study)"
    )


def test_a_name_that_is_not_found_is_no_number_of_the_system():
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert refusal(error) == "Name or service not known"


def test_what_the_system_refuses_names_the_file():
    assert refusal(OSError(errno.EACCES, "any text", "/private")) == "/private: Permission denied"
    assert refusal(TimeoutError("no complete answer within 2 s")) == "no complete answer within 2 s"


def test_an_error_that_says_nothing_is_named():
    assert in_words(ValueError("no port")) == "no port"
    assert in_words(ConnectionRefusedError(errno.ECONNREFUSED, "any text")) == "Connection refused"
    assert in_words(EOFError()) == "EOFError"


@pytest.mark.parametrize("said", ["Too many open files", "Too many open files.", "Too many open files. \n"])
def test_a_sentence_has_one_full_stop_whoever_wrote_it(said: str):
    assert sentence(said) == "Too many open files."


@pytest.mark.parametrize("said", ["Is it there?", "It is not!", "It ended early \N{HORIZONTAL ELLIPSIS}"])
def test_a_sentence_that_ends_in_another_way_keeps_its_end(said: str):
    assert sentence(said) == said


@pytest.mark.parametrize("said", ["the server ended", "the server ended."])
def test_a_part_of_a_sentence_has_no_full_stop(said: str):
    assert clause(said) == "the server ended"


def test_dots_that_say_that_something_goes_on_are_kept():
    assert clause("first, second, ...") == "first, second, ..."

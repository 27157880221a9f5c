"""Where URLs lead: what is looked up, what is sent as `Host`, and where connections go."""

import socket
import threading
from contextlib import contextmanager

import pytest

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.loads.way import Way
from loadcurve.server import target
from loadcurve.server.lookup import Endpoint, endpoints_of
from loadcurve.server.target import Reached, reachable_address, reached, read_url


@pytest.mark.parametrize(
    ("url", "scheme", "host", "zone", "authority"),
    [
        ("HTTP://Example.ORG/", "http", "example.org", None, "example.org"),
        ("Https://127.0.0.1:8443", "https", "127.0.0.1", None, "127.0.0.1:8443"),
        # In every description of the encoding (RFC 3492).
        ("http://bücher.example:8080/", "http", "xn--bcher-kva.example", None, "xn--bcher-kva.example:8080"),
        ("http://BÜCHER.example/", "http", "xn--bcher-kva.example", None, "xn--bcher-kva.example"),
        ("http://bu\u0308cher.example/", "http", "xn--bcher-kva.example", None, "xn--bcher-kva.example"),
        # One of the names that IANA reserved to try it.
        ("http://例え.テスト/", "http", "xn--r8jz45g.xn--zckzah", None, "xn--r8jz45g.xn--zckzah"),
        # RFC 6874: the zone is written behind "%25", and is never sent.
        ("http://[fe80::a%25eth0]:8080/", "http", "fe80::a", "eth0", "[fe80::a]:8080"),
        ("http://[fe80::a%eth0]/", "http", "fe80::a", "eth0", "[fe80::a]"),
        ("http://[fe80::a%253]/", "http", "fe80::a", "3", "[fe80::a]"),
        ("http://[fe80::a%25]/", "http", "fe80::a", "25", "[fe80::a]"),
        ("http://[::1]:80/", "http", "::1", None, "[::1]:80"),
    ],
)
def test_a_url_has_a_host_in_ascii_and_a_zone_that_no_server_sees(url, scheme, host, zone, authority):
    found = read_url(url)
    assert (found.scheme, found.host, found.zone, found.authority) == (scheme, host, zone, authority)


@pytest.mark.parametrize(
    "host", ["straße.example", "λόγος.example", "a\u200cb.example", f"{'ü' * 64}.example"]
)
def test_a_host_whose_ascii_form_depends_on_the_rule_is_to_be_written_in_ascii(host):
    with pytest.raises(BadInput) as refusal:
        read_url(f"http://{host}/")
    assert "write its ASCII form, xn--…" in str(refusal.value)


@pytest.mark.parametrize("host", ["localhost", "shop.localhost", "a.b.LOCALHOST", "a.localhost."])
@pytest.mark.parametrize("known", [[], ["192.0.2.7"], ["192.0.2.7", "127.0.0.9"]])
def test_names_below_localhost_are_of_this_machine_whatever_the_resolver_knows(monkeypatch, host, known):
    ask = socket.getaddrinfo

    def resolver(name, port, **kind):
        if name != host:
            return ask(name, port, **kind)
        if not known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [one for address in known for one in ask(address, port, **kind)]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    found = [one.address[0] for one in endpoints_of(host, 80, 1)]
    assert found == (["127.0.0.9"] if "127.0.0.9" in known else ["127.0.0.1", "::1"])


def test_a_name_that_only_ends_alike_is_looked_up(monkeypatch):
    found = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 80))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [found])
    assert endpoints_of("notlocalhost", 80, 1) == [Endpoint(*found)]


@pytest.fixture
def several(monkeypatch):
    """Give a port at which a host with two addresses, 127.0.0.1 and 127.0.0.2, accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        with socket.create_server(("127.0.0.2", port)) as other:
            found = [Endpoint(2, 1, 6, "", (address, port)) for address in ("127.0.0.1", "127.0.0.2")]
            monkeypatch.setattr(target, "endpoints_of", lambda *_: found)
            yield port, other


@pytest.mark.parametrize("way", [Way(), Way(takes_all_addresses=True)])
def test_all_addresses_of_a_host_are_known_whether_one_is_loaded_or_all(several, way):
    port, _ = several
    found = reached(read_url(f"http://shop.test:{port}"), way, 5)
    assert found == Reached(f"127.0.0.1:{port}", (f"127.0.0.2:{port}",))


def test_where_all_addresses_are_to_be_loaded_each_must_accept_connections(several):
    port, other = several
    other.close()
    with pytest.raises(NothingMeasured, match=r"127\.0\.0\.2:\d+: no connection .*an address of shop\.test"):
        reached(read_url(f"http://shop.test:{port}"), Way(takes_all_addresses=True), 5)
    assert reached(read_url(f"http://shop.test:{port}"), Way(), 5).address == f"127.0.0.1:{port}"


@pytest.mark.parametrize("key", ["connect_to", "proxy"])
def test_another_place_is_looked_up_instead_of_the_urls_host(several, key):
    port, _ = several
    named = {"connect_to": f"127.0.0.1:{port}", "proxy": f"http://127.0.0.1:{port}"}[key]
    found = reached(read_url("http://nobody.invalid:1/"), Way(**{key: named}), 5)
    assert found.address == f"127.0.0.1:{port}"


def test_connections_to_a_link_local_address_go_through_its_zone(monkeypatch):
    asked, tried = [], []

    class Connected:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def endpoints(host, port, _timeout_s):
        asked.append(host)
        return [Endpoint(10, 1, 6, "", ("fe80::a", port, 0, 3))]

    def connect(address, **_):
        tried.append(address)
        return Connected()

    monkeypatch.setattr(target, "endpoints_of", endpoints)
    monkeypatch.setattr(target.socket, "create_connection", connect)
    assert reachable_address(read_url("http://[fe80::a%25eth0]:8080/"), 1) == "[fe80::a%3]:8080"
    assert (asked, tried) == (["fe80::a%eth0"], [("fe80::a%3", 8080)])


@contextmanager
def udp_alone(answer):
    """Give a port that is closed for TCP; each datagram to it is answered by ``answer``, if it is."""
    with (
        socket.socket(type=socket.SOCK_STREAM) as closed,
        socket.socket(type=socket.SOCK_DGRAM) as server,
    ):
        closed.bind(("127.0.0.1", 0))
        server.bind(closed.getsockname())

        def serve():
            while received := server.recvfrom(65536):
                datagram, client = received
                if not datagram:
                    return
                if (said := answer(datagram)) is not None:
                    server.sendto(said, client)

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield closed.getsockname()[1]
        finally:
            with socket.socket(type=socket.SOCK_DGRAM) as last:
                last.sendto(b"", server.getsockname())
            serving.join()


def version_negotiation(first):
    """Answer as RFC 9000 (17.2.1) has it: no version, both ids the other way round, and the versions."""
    assert (first[0] & 0x80, len(first)) == (0x80, 1200)
    length = first[5]
    destination = first[5 : 6 + length]
    source = first[6 + length : 7 + length + first[6 + length]]
    return b"\x80" + bytes(4) + source + destination + b"\0\0\0\1"


def test_a_server_that_speaks_quic_alone_is_found_where_that_is_asked_for():
    with udp_alone(version_negotiation) as port:
        found = read_url(f"https://127.0.0.1:{port}/")
        assert reached(found, Way(is_over_quic=True), 5).address == f"127.0.0.1:{port}"
        with pytest.raises(NothingMeasured, match="no connection"):
            reached(found, Way(), 5)


def test_an_answer_on_a_long_way_counts_although_it_was_asked_again_meanwhile():
    asked = []

    def late(question):
        asked.append(question)
        return version_negotiation(asked[0]) if len(asked) == 2 else None

    with udp_alone(late) as port:
        found = read_url(f"https://127.0.0.1:{port}/")
        assert reached(found, Way(is_over_quic=True), 5).address == f"127.0.0.1:{port}"


@pytest.mark.parametrize("answer", [lambda _: None, lambda _: b"hello", lambda first: first])
def test_a_udp_port_that_does_not_speak_quic_is_named_where_nothing_answers(answer):
    with udp_alone(answer) as port, pytest.raises(NothingMeasured) as refusal:
        reached(read_url(f"https://127.0.0.1:{port}/"), Way(is_over_quic=True), 0.2)
    assert f"Connection refused, and no QUIC on UDP port {port}" in str(refusal.value)

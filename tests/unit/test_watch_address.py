"""Where the page of a run listens, and which clients it answers."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.watch.address import ANY_LOOPBACK_PORT, Address, Listener, announcement, is_meant_for


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("localhost:8080", "localhost", 8080),
        ("[::1]:65535", "::1", 65535),
        ("rig.example:80", "rig.example", 80),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int):
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "::1:80", "a:-1", "a:65536", "a:http", "a:²"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str):
    with pytest.raises(BadInput, match=r"expected HOST:PORT, such as 127\.0\.0\.1:0"):
        Address.parse(text)


def test_where_nothing_is_said_only_this_machine_can_reach_the_page():
    listener = Listener.at(Address.parse(ANY_LOOPBACK_PORT))
    with listener.socket:
        port = listener.socket.getsockname()[1]
        assert listener.is_loopback
        assert announcement(listener) == f"The page of this run: http://127.0.0.1:{port}/"


def test_an_address_that_others_can_reach_is_said_aloud():
    listener = Listener.at(Address.parse("0.0.0.0:0"))
    with listener.socket:
        assert not listener.is_loopback
        assert "Warning: 0.0.0.0 can be reached from other machines" in announcement(listener)
        # Nobody can open http://0.0.0.0/, so the machine is named, and answers to that name.
        name, _, _ = listener.url.removeprefix("http://").rpartition(":")
        assert name != "0.0.0.0"
        assert is_meant_for(name, listener.names())


def test_a_port_that_another_program_has_is_reported_with_what_to_do():
    first = Listener.at(Address.parse(ANY_LOOPBACK_PORT))
    with first.socket:
        taken = Address("127.0.0.1", first.socket.getsockname()[1])
        with pytest.raises(BadInput, match=r"Address already in use\. Choose another with --watch-address"):
            Listener.at(taken)


def test_a_host_that_is_not_known_is_reported():
    with pytest.raises(BadInput, match=r"no-such-host\.invalid:0"):
        Listener.at(Address("no-such-host.invalid", 0))


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "localhost:1", "LOCALHOST", "[::1]:80", "192.0.2.7", "rig.example:80"]
)
def test_a_number_and_our_own_names_are_answered_on_any_port(host: str):
    assert is_meant_for(host, frozenset({"localhost", "rig.example"}))


@pytest.mark.parametrize(
    "host",
    [None, "", "attacker.example", "127.0.0.1.attacker.example:80", "localhost.attacker.example", "[x]"],
)
def test_the_name_of_another_site_is_not_answered_even_where_it_leads_here(host: str | None):
    assert not is_meant_for(host, frozenset({"localhost", "rig.example"}))

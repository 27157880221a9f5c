"""What a URL says of a server: the protocol that is spoken with it."""

import pytest

from loadcurve.protocol import protocol_of_url


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("http://localhost", "http"),
        ("mongodb://localhost", "mongodb"),
        ("mongodb+srv://cluster.example.org", "mongodb"),
        ("postgres://localhost/app", "postgresql"),
        ("postgresql://localhost/app", "postgresql"),
        ("redis://localhost", None),
        ("localhost:27017", None),
    ],
)
def test_the_scheme_of_a_url_says_what_is_spoken(url, protocol):
    assert protocol_of_url(url) == protocol

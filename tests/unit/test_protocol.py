"""What a URL says of a server: the protocol that is spoken with it."""

import pytest

from loadcurve.protocol import protocol_of_url, with_lower_case_scheme


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("http://localhost", "http"),
        ("mongodb://localhost", "mongodb"),
        ("mongodb+srv://cluster.example.org", "mongodb"),
        ("postgres://localhost/app", "postgresql"),
        ("HTTP://localhost", "http"),
        ("MongoDB+SRV://cluster.example.org", "mongodb"),
        ("postgresql://localhost/app", "postgresql"),
        ("redis://localhost", None),
        ("localhost:27017", None),
    ],
)
def test_the_scheme_of_a_url_says_what_is_spoken(url, protocol):
    assert protocol_of_url(url) == protocol


def test_what_drivers_are_given_has_its_scheme_in_lower_case_and_nothing_else_changed():
    urls = ["PostgreSQL://Me:Pass@Host/App", "http://Host/A", "HTTP"]
    lower = ["postgresql://Me:Pass@Host/App", "http://Host/A", "HTTP"]
    assert [with_lower_case_scheme(url) for url in urls] == lower

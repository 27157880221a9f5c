"""What a URL says of a server: the protocol that is spoken with it."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.protocol import (
    HTTP_FAMILIES,
    HTTP_VERSIONS,
    database_protocol_of_url,
    has_streams,
    http_family,
    protocol_of_url,
    with_lower_case_scheme,
)


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
        ("wss://localhost/chat", "http"),
        ("GRPC://localhost/a.B/C", "http"),
        ("cassandra://localhost", None),
        ("localhost:27017", None),
    ],
)
def test_the_scheme_of_a_url_says_what_is_spoken(url, protocol):
    assert protocol_of_url(url) == protocol


def test_what_drivers_are_given_has_its_scheme_in_lower_case_and_nothing_else_changed():
    urls = ["PostgreSQL://Me:Pass@Host/App", "http://Host/A", "HTTP"]
    lower = ["postgresql://Me:Pass@Host/App", "http://Host/A", "HTTP"]
    assert [with_lower_case_scheme(url) for url in urls] == lower


def test_every_version_of_http_belongs_to_a_family_and_the_newer_ones_have_streams():
    assert {http_family(version) for version in HTTP_VERSIONS} == {*HTTP_FAMILIES}
    assert [version for version in HTTP_VERSIONS if has_streams(version)] == ["2", "3"]
    assert not has_streams(None)


@pytest.mark.parametrize("url", ["http://me:secret@localhost", "cassandra://me:secret@localhost", "secret"])
def test_what_is_no_database_is_refused_without_repeating_its_url(url):
    assert database_protocol_of_url("mongodb+srv://example.org") == "mongodb"
    with pytest.raises(BadInput, match=r"mongodb://, .*postgresql://") as refused:
        database_protocol_of_url(url)
    assert "secret" not in str(refused.value)

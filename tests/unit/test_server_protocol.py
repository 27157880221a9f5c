"""What a URL says of a server: its protocol and its hosts, and nothing of a password in records."""

import pytest

from loadcurve.server.protocol import address_of, protocol_of_url, without_password, without_passwords


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


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mongodb://ann:s%40cret@one:27017/?w=1", "mongodb://one:27017/?w=1"),
        ("mongodb://ann@one:1,two:2/app", "mongodb://one:1,two:2/app"),
        ("postgresql://[::1]:5432/app", "postgresql://[::1]:5432/app"),
        ("postgresql://one/app?user=ann&password=secret", "postgresql://one/app"),
        ("postgresql://one/app?sslmode=require&sslkey=/ann.key", "postgresql://one/app?sslmode=require"),
        ("mongodb://one/?tlsCertificateKeyFile=/ann.pem&w=1", "mongodb://one/?w=1"),
    ],
)
def test_records_hold_a_url_without_user_and_password(url, shown):
    assert without_password(url) == shown


def test_several_hosts_stay_together():
    assert address_of("mongodb://ann:secret@one:1,two:2/app") == "one:1,two:2"


def test_a_study_that_is_kept_has_no_password_in_its_urls():
    study = """url = "mongodb://me:se%40cret@127.0.0.1:27017,h2/test?replicaSet=a" # mail me@example.org
    other = 'postgresql://me@127.0.0.1/test'
    third = "postgresql://127.0.0.1/test?password=secret&sslmode=require"
    page = "http://127.0.0.1:8080/user@home?user=home"
    """
    assert (
        without_passwords(study)
        == """url = "mongodb://127.0.0.1:27017,h2/test?replicaSet=a" # mail me@example.org
    other = 'postgresql://127.0.0.1/test'
    third = "postgresql://127.0.0.1/test?sslmode=require"
    page = "http://127.0.0.1:8080/user@home?user=home"
    """
    )

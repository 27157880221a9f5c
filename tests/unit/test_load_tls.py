"""`loadcurve load https://…` and `[load] tls`: what handshakes ask for, and what is refused before."""

import json

import pytest

from loadcurve.cli import load as load_module
from loadcurve.cli import watched_load
from loadcurve.server.target import Reached
from support.command import Command
from support.scripted_run import answered


class Recording:
    """A generator that keeps the plan it was given."""

    plan = None

    def run(self, plan, _):
        """Keep the plan and return a result of it."""
        self.plan = plan
        return answered(plan)


EARLY = ("https://localhost/", "--http", "3", "--full-handshakes", "0", "--early-data", "1")


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return what the engine reads of the load that some arguments ask for."""
    monkeypatch.setattr(load_module, "reached", lambda *_: Reached("127.0.0.1:9"))
    generator = Recording()
    monkeypatch.setattr(watched_load, "CHOSEN", generator)

    def run(*arguments):
        result = Command(tmp_path).run("load", *arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(generator.plan.to_json())["http"]["work"]

    return run


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Return why the command refuses some arguments."""
    monkeypatch.setattr(watched_load, "CHOSEN", None)

    def run(*arguments):
        result = Command(tmp_path).run("load", *arguments)
        assert result.returncode == 2
        return result.stderr

    return run


def test_the_connections_of_an_http_url_carry_clear_text(asked):
    assert asked("http://localhost/")["tls"] is None


def test_without_options_the_machines_authorities_are_trusted_and_the_urls_host_is_expected(asked):
    assert asked("https://localhost:8443/")["tls"] == {
        "server_name": "localhost",
        "versions": [],
        "suites": [],
        "groups": [],
        "verify": "system",
        "client_certificate": None,
        "full_handshakes": 1.0,
        "early_data": 0.0,
        "key_log": None,
    }


def test_every_option_of_tls_reaches_the_engine(asked, tmp_path):
    files = {"cacert": "ca.pem", "cert": "own.pem", "key": "own.key", "key-log": "keys.log"}
    tls = asked(
        "https://127.0.0.1/",
        *("--tls-version", "1.3", "--ciphers", "TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384"),
        *("--groups", "X25519MLKEM768,x25519", "--server-name", "example.org", "--full-handshakes", "0.25"),
        *("--http", "3", "--early-data", "0.5"),
        *(word for option, name in files.items() for word in (f"--{option}", str(tmp_path / name))),
    )["tls"]
    assert tls == {
        "server_name": "example.org",
        "versions": ["1.3"],
        "suites": ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"],
        "groups": ["X25519MLKEM768", "x25519"],
        "verify": {"file": str(tmp_path / "ca.pem")},
        "client_certificate": {
            "certificate": str(tmp_path / "own.pem"),
            "key": str(tmp_path / "own.key"),
        },
        "full_handshakes": 0.25,
        "early_data": 0.5,
        "key_log": str(tmp_path / "keys.log"),
    }


def test_any_certificate_is_accepted_where_that_is_asked_for(asked):
    assert asked("https://localhost/", "--insecure")["tls"]["verify"] == "none"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("http://localhost/", "--insecure"),
            "--insecure: the connections of an http:// URL carry clear text",
        ),
        # Not that an option is to be left out, as the next error would be that it is missing.
        (
            ("http://localhost/", "--http", "3", "--cacert", "ca.pem"),
            "--http 3: HTTP/3 has no clear text; give a URL of https://",
        ),
        (
            ("http://localhost/", "--http", "3-by-alt-svc"),
            "--http 3-by-alt-svc: HTTP/3 has no clear text; give a URL of https://",
        ),
        (("https://localhost/", "--cert", "own.pem"), "--key: missing; required with the certificate"),
        (("https://localhost/", "--full-handshakes", "2"), "--full-handshakes"),
        ((*EARLY[:3], *EARLY[5:]), "--early-data: sent by connections that resume a session; set "),
        ((*EARLY[:1], *EARLY[3:]), "--early-data: only sent over HTTP/3; set http to 3 as well"),
        ((*EARLY, "--method", "PUT"), "--early-data: PUT requests cannot be sent as early data, "),
        ((*EARLY, "--body", "x"), "--early-data: requests with a body are not sent as early data"),
        ((*EARLY[:3], "--tls-version", "1.2"), "--tls-version: HTTP/3 has TLS 1.3 alone"),
        (("postgresql://localhost/", "--cacert", "ca.pem"), "--cacert: this option is for web servers"),
    ],
)
def test_an_option_of_tls_that_says_nothing_or_not_enough_is_named(refused, arguments, text):
    assert text in refused(*arguments)

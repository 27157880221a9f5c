"""`loadcurve load` along other ways than to one address: what the engine is asked, and what is printed."""

import json

import pytest

from loadcurve.cli import load as load_module
from loadcurve.cli import watched_load
from loadcurve.server.target import Reached
from support.command import Command
from support.scripted_run import answered

OTHERS = ("127.0.0.2:9", "127.0.0.3:9")


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return the part of the engine's plan that some arguments ask for, and what is printed."""
    plans = []

    class Recording:
        def run(self, plan, _):
            plans.append(plan)
            return answered(plan)

    monkeypatch.setattr(load_module, "reached", lambda *_: Reached("127.0.0.1:9", OTHERS))
    monkeypatch.setattr(watched_load, "CHOSEN", Recording())

    def run(*arguments):
        result = Command(tmp_path).run("load", *arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(plans[-1].to_json())["http"]["work"], result.stdout

    return run


def test_of_a_host_with_several_addresses_the_one_that_is_loaded_is_named(asked):
    work, printed = asked("http://shop.test/")
    assert (work["address"], work["way"]) == ("127.0.0.1:9", {})
    assert "GET /1k.txt at 127.0.0.1:9, one of 3 addresses\n" in printed


def test_all_addresses_are_loaded_and_named_where_that_is_asked_for(asked):
    work, printed = asked("http://shop.test/", "--addresses", "all")
    assert work["way"] == {"other_addresses": [*OTHERS]}
    assert "GET /1k.txt at 3 addresses in turn: 127.0.0.1:9, 127.0.0.2:9, 127.0.0.3:9\n" in printed


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://shop.test/", "shop.test:80"),
        ("https://shop.test/", "shop.test:443"),
        ("https://shop.test:8443/", "shop.test:8443"),
        ("https://[::1]/", "[::1]:443"),
    ],
)
def test_a_proxy_is_asked_for_the_host_of_the_url_with_its_port(asked, url, target):
    work, printed = asked(url, "--proxy", "http://127.0.0.1:9")
    assert work["way"] == {"proxied": target}
    assert "at 127.0.0.1:9, an HTTP proxy\n" in printed


@pytest.mark.parametrize("url", ["http://shop.test/", "https://shop.test/"])
def test_a_proxy_learns_who_asks_and_no_record_or_process_list_does(asked, url, tmp_path, monkeypatch):
    monkeypatch.setenv("PROXY_LOGIN", "Aladdin:open sesame")
    # The example of RFC 7617, section 2.
    basic = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    options = ["--proxy", "http://127.0.0.1:9", "--proxy-credentials-env", "PROXY_LOGIN", "--out", "kept"]
    work, printed = asked(url, *options, "--json")
    assert work["way"]["proxy_authorization"] == basic
    assert work["requests"]["given"][0]["headers"] == []
    records = "".join(file.read_text() for file in (tmp_path / "kept").iterdir() if file.is_file())
    for secret in ("sesame", basic.removeprefix("Basic ")):
        assert secret not in printed
        assert secret not in records
    assert 'proxy_credentials = { "env" = "PROXY_LOGIN" }' in records.replace("{ env =", '{ "env" =')


@pytest.mark.parametrize("text", ["nobody", ":x", "a:b\r\nInjected: 1", "a:\x7f"])
def test_what_is_no_user_and_password_is_refused_without_being_repeated(tmp_path, monkeypatch, text):
    monkeypatch.setenv("PROXY_LOGIN", text)
    words = [
        "load",
        "http://shop.test/",
        "--proxy",
        "http://127.0.0.1:9",
        "--proxy-credentials-env",
        "PROXY_LOGIN",
    ]
    finished = Command(tmp_path).run(*words)
    assert finished.returncode == 2
    assert finished.stderr == (
        "loadcurve: --proxy-credentials-env: what it holds is no USER:PASSWORD on one line\n"
    )


def test_credentials_without_a_proxy_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PROXY_LOGIN", "me:x")
    finished = Command(tmp_path).run("load", "http://shop.test/", "--proxy-credentials-env", "PROXY_LOGIN")
    assert finished.returncode == 2
    assert "only used with a proxy" in finished.stderr


def test_the_version_of_the_proxy_protocol_is_a_number_to_the_engine(asked):
    assert asked("http://shop.test/", "--proxy-protocol", "2")[0]["way"] == {"proxy_protocol": 2}

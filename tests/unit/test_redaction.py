"""What records, messages and pages hold of a URL: where a server is, and nothing of who uses it."""

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as some

import loadcurve
from loadcurve.errors import BadInput
from loadcurve.redaction import (
    hidden,
    hosts_of,
    remember,
    remember_url,
    study_without_secrets,
    without_password,
    without_passwords,
    without_passwords_in,
)
from loadcurve.server.target import read_url
from loadcurve.study.tables import StudyServer

PARTS = ("Xq7Vt", "Zw9Kp", "Jf4Hm")
"""What a secret is made of: nothing of it stands in any other part of a URL."""
PACKAGE = Path(loadcurve.__file__).parent
RAW = "/?#@:%[]=+ \"'\\$!"
"""What a person may have left as it is."""


@some.composite
def secrets(draw: some.DrawFn, between: str = RAW) -> str:
    """A user or a password with any characters between its parts."""
    ends = some.text(between, max_size=2)
    inside = some.text(between, min_size=1, max_size=2)
    first, *others = draw(some.permutations(PARTS))
    secret = draw(ends) + first + "".join(draw(inside) + part for part in others) + draw(ends)
    return quote(secret, safe="") if draw(some.booleans()) else secret


HOSTS = some.sampled_from(["one", "127.0.0.1:5432", "[::1]:5432", "one:1,two:2", "db-1.example.org"])
PATHS = some.sampled_from(["", "/", "/app"])


@some.composite
def urls(draw: some.DrawFn, between: str = RAW) -> str:
    """The URL of a database, with secrets as its user and among its options."""
    secret = secrets(between)
    scheme = draw(some.sampled_from(["mongodb", "mongodb+srv", "postgresql", "postgres"]))
    user = draw(some.sampled_from(["", "me:{}@", "{}:{}@", "{}@"]))
    options = draw(
        some.lists(
            some.sampled_from(
                ["w=1", "sslmode=require", "appName=me@home", "password={}", "user={}", "SSLKey={}"]
            ),
            max_size=3,
        )
    )
    url = f"{scheme}://{user}{draw(HOSTS)}{draw(PATHS)}{'?' if options else ''}{'&'.join(options)}"
    return "".join(part + (draw(secret) if place else "") for place, part in _split(url))


def _split(url: str) -> list[tuple[bool, str]]:
    """The pieces between the places of secrets; behind each but the last stands one."""
    *before, last = url.split("{}")
    return [*((True, part) for part in before), (False, last)]


def has_no_secret(text: str) -> bool:
    return not any(part in text for part in PARTS)


@given(urls())
def test_no_part_of_a_secret_stands_in_a_url_that_is_shown(url: str):
    assert has_no_secret(without_password(url))
    assert has_no_secret(hosts_of(url))
    assert has_no_secret(without_passwords(url))


@given(urls(), some.sampled_from(['"', "'", '"""']))
def test_no_part_of_a_secret_stands_in_a_study_that_is_kept(url: str, quotes: str):
    written = {'"': json.dumps(url), "'": f"'{url}'", '"""': f'"""\n{json.dumps(url)[1:-1]}"""'}[quotes]
    if quotes == "'" and "'" in url:
        written = json.dumps(url)
    study = (
        f'title = "it\'s # one"\n[servers.x]\nurl = {written} # me@example.org\nstart = ["a", {written}]\n'
    )
    kept = study_without_secrets(study)
    assert has_no_secret(kept)
    read = tomllib.loads(kept)
    assert read["title"] == "it's # one"
    assert read["servers"]["x"]["url"] == without_password(url)
    assert "# me@example.org" in kept


@given(urls())
def test_no_part_of_a_secret_stands_in_a_record(url: str):
    record = {"servers": {"x": {"url": url, "start": ["app", url], "limits": None, "workers": 1}}}
    shown = without_passwords_in(record)
    assert has_no_secret(json.dumps(shown))
    assert shown["servers"]["x"]["workers"] == 1


@given(urls(between="/?#@:%[]=+$!"))
def test_no_part_of_a_secret_stands_in_a_message_or_a_comment(url: str):
    assert has_no_secret(without_passwords(f'"{url}": no connection'))
    assert has_no_secret(study_without_secrets(f"[servers.x] # was '{url}'.\n"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mongodb://ann:s%40cret@one:27017/?w=1", "mongodb://one:27017/?w=1"),
        ("mongodb://ann@one:1,two:2/app", "mongodb://one:1,two:2/app"),
        ("postgresql://[::1]:5432/app", "postgresql://[::1]:5432/app"),
        ("postgresql://one/app?user=ann&password=secret", "postgresql://one/app"),
        ("postgresql://one/app?sslmode=require&sslkey=/ann.key", "postgresql://one/app?sslmode=require"),
        ("mongodb://one/?tlsCertificateKeyFile=/ann.pem&w=1", "mongodb://one/?w=1"),
        ("postgresql:///app?host=/run&user=ann", "postgresql:///app?host=/run"),
        ("postgresql://ann:sec/ret@one/app", "postgresql://one/app"),
        ("postgresql://ann:sec/r?e#t@e:d@one:1,two:2/app?w=1", "postgresql://one:1,two:2/app?w=1"),
        ("postgresql://one/app?password=sec@ret&w=1", "postgresql://(hidden)"),
        ("postgresql://ann:secret/", "postgresql://(hidden)"),
        ("postgresql://one/app?password=sec&ret&w=1", "postgresql://one/app?w=1"),
        ("mongodb://one/?w=1;password=secret", "mongodb://one/?w=1"),
        ("postgresql://one/app?pass%77ord=secret", "postgresql://one/app"),
    ],
)
def test_a_url_is_shown_without_user_and_password(url: str, shown: str):
    assert without_password(url) == shown


def test_several_hosts_stay_together():
    assert hosts_of("mongodb://ann:secret@one:1,two:2/app") == "one:1,two:2"


def test_a_study_that_is_kept_is_otherwise_as_it_was():
    study = """url = "mongodb://me:se%40cret@127.0.0.1:27017,h2/test?replicaSet=a" # mail me@example.org
    other = 'postgresql://me@127.0.0.1/test'
    third = "postgresql://127.0.0.1/test?password=secret&sslmode=require"
    page = "http://127.0.0.1:8080/user@home?user=home"
    cache = "redis://me:secret@127.0.0.1/0"
    """
    assert (
        study_without_secrets(study)
        == """url = "mongodb://127.0.0.1:27017,h2/test?replicaSet=a" # mail me@example.org
    other = 'postgresql://127.0.0.1/test'
    third = "postgresql://127.0.0.1/test?sslmode=require"
    page = "http://127.0.0.1:8080/user@home?user=home"
    cache = "redis://127.0.0.1/0"
    """
    )


@pytest.mark.parametrize("user", ["me:secret", "me:sec/ret", "me:secret:1", "secret"])
def test_a_user_in_the_url_of_a_web_server_is_refused_without_repeating_the_password(user: str):
    with pytest.raises(BadInput) as refusal:
        read_url(f"http://{user}@127.0.0.1:8080/")
    assert "sec" not in str(refusal.value)


STUDY = """\
title = "One" # Authorization: Bearer Xq7VtZw9Kp
[load]
method = "POST"
body = '''
password=Zw9Kp'''
headers = { Authorization = "Bearer Xq7Vt", "X-Api" = 'Jf4Hm', Accept = "*/*", Cookie = { env = "COOKIE" } }
# old: headers.Authorization = "Xq7Vt"
[servers.limit]
environment = { API_TOKEN = "Xq7Vt", MODE = "fast", STORE = "mysql://me:Zw9Kp@db/x", KEY = { file = "key" } }
load.headers.X-Own = "Jf4Hm"
"""


def test_headers_bodies_and_variables_that_may_be_secret_are_hidden_in_a_study_that_is_kept():
    kept = study_without_secrets(STUDY)
    assert has_no_secret(kept)
    read = tomllib.loads(kept)
    assert read["load"] == {
        "method": "POST",
        "body": "(hidden)",
        "headers": {
            "Authorization": "(hidden)",
            "X-Api": "(hidden)",
            "Accept": "*/*",
            "Cookie": {"env": "COOKIE"},
        },
    }
    assert read["servers"]["limit"] == {
        "environment": {
            "API_TOKEN": "(hidden)",
            "MODE": "fast",
            "STORE": "mysql://db/x",
            "KEY": {"file": "key"},
        },
        "load": {"headers": {"X-Own": "(hidden)"}},
    }


@given(secrets(), some.sampled_from(["{}", "token={}&x", 'user "ann", "{}"', "Bearer {}"]))
def test_what_others_write_loses_the_secrets_that_this_process_was_given(secret: str, text: str):
    remember(f"Bearer {secret}")
    remember(secret)
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
        assert has_no_secret(hidden(text.format(form)))


@given(secrets(), some.sampled_from(["mongodb://me:{}@one/app", "postgresql://one/app?w=1&password={}"]))
def test_what_others_write_loses_the_password_of_a_url_that_was_given(secret: str, url: str):
    remember_url(url.format(quote(secret, safe="")))
    assert has_no_secret(hidden(f"no entry for user me with {secret}"))


@given(secrets())
def test_what_others_write_loses_a_password_that_was_not_encoded(secret: str):
    remember_url(f"mongodb://me:{secret}@one/app")
    assert has_no_secret(hidden(f"no entry for user me with {secret}"))


def test_what_others_write_loses_the_password_in_the_url_of_a_studys_server():
    StudyServer.model_validate({"use": "url", "url": "postgresql://ann:sesame%2F4714@one/app"})
    assert hidden('no entry for "ann" with sesame/4714') == 'no entry for "ann" with (hidden)'


def test_a_password_that_was_given_in_a_url_is_hidden_where_a_driver_repeats_it_alone():
    remember_url("postgresql://ann:sesame-4711@one/app?password=sesame%2F4712")
    said = hidden('no entry for "ann" with "sesame-4711", "sesame%2F4712" or "sesame/4712" at one:5432')
    assert said == 'no entry for "ann" with "(hidden)", "(hidden)" or "(hidden)" at one:5432'


def string_literals(file: Path) -> Iterator[str]:
    """The texts of a module, but for what documents it."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    statements = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in statements:
            yield node.value


def test_the_examples_in_our_own_messages_are_taken_for_no_passwords():
    texts = [text for file in PACKAGE.rglob("*.py") for text in string_literals(file) if "://" in text]
    assert any("postgresql://127.0.0.1:5432" in text for text in texts)
    assert [text for text in texts if hidden(text) != text] == []


@pytest.mark.parametrize(
    "text",
    [
        "mongodb://one:27017: no connection",
        "expected http://host:port/path, or postgresql://one:5432.",
        "the scheme is 'ftp'; expected http://[::1]:8080/1k.txt",
    ],
)
def test_a_text_without_secrets_stays_as_it_was(text: str):
    assert hidden(text) == text

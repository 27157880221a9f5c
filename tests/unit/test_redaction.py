"""What records, messages and pages hold of a URL: where a server is, and nothing of who uses it."""

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import BaseModel, TypeAdapter, ValidationError

import loadcurve
from loadcurve.errors import BadInput
from loadcurve.redaction import (
    hidden,
    hidden_start,
    hosts_of,
    own_words,
    remember,
    remember_url,
    study_without_secrets,
    without_password,
    without_passwords,
    without_passwords_in,
)
from loadcurve.server.target import read_url
from loadcurve.study.model import Study
from loadcurve.study.several import LoadPart, parts_of
from loadcurve.study.tables import StudyServer
from loadcurve.toml.document import TomlDocument, TomlTable
from loadcurve.toml.problems import KeyPath

PARTS = ("Xq7Vt", "Zw9Kp", "Jf4Hm")
"""What a secret is made of: nothing of it is in any other part of a URL."""
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
    """The pieces between the places of secrets; behind each but the last is one."""
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
    cache = "cassandra://me:secret@127.0.0.1/0"
    """
    assert (
        study_without_secrets(study)
        == """url = "mongodb://127.0.0.1:27017,h2/test?replicaSet=a" # mail me@example.org
    other = 'postgresql://127.0.0.1/test'
    third = "postgresql://127.0.0.1/test?sslmode=require"
    page = "http://127.0.0.1:8080/user@home?user=home"
    cache = "cassandra://127.0.0.1/0"
    """
    )


@pytest.mark.parametrize("user", ["me:secret", "me:sec/ret", "me:secret:1", "secret"])
def test_a_user_in_the_url_of_a_web_server_is_refused_without_repeating_the_password(user: str):
    with pytest.raises(BadInput) as refusal:
        read_url(f"http://{user}@127.0.0.1:8080/")
    assert "sec" not in str(refusal.value)


def test_the_user_of_an_ssh_destination_is_part_of_it_and_a_password_is_none():
    kept = ["tried: ssh ssh://bench@h1:22", "(ssh://a.b@h1)"]
    assert [without_passwords(text) for text in kept] == kept
    others = ["ssh://bench:Zw9Kp@h1", "ssh://a@b:Zw9Kp@h1", "http://me@h1"]
    assert [without_passwords(text) for text in others] == ["ssh://h1", "ssh://h1", "http://h1"]


@pytest.mark.parametrize("scheme", ["MONGODB", "PostgreSQL"])
def test_the_case_of_a_scheme_keeps_no_password(scheme):
    url = f"{scheme}://me:Zw9Kp@h1/app?password=Zw9Kp"
    shown = f"{scheme}://h1/app"
    assert [without_passwords(url), without_passwords(f"at {url}")] == [shown, f"at {shown}"]


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
load.headers.X-Two = ["Xq7Vt", "Jf4Hm"]
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
        "load": {"headers": {"X-Own": "(hidden)", "X-Two": ["(hidden)", "(hidden)"]}},
    }


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def keys_of(model: type[BaseModel], path: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """The place of every key that a study may have, with its type; "one" is a name that people choose."""
    for name, field in model.model_fields.items():
        place = (*path, field.alias or name)
        tables = list(models_in(field.annotation))
        if not tables:
            yield place, Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        # Arms and machines have names; a union of tables, as a load is, has not.
        named = any(get_origin(part) is dict for part in parts_in(field.annotation))
        for table in tables:
            yield from keys_of(table, (*place, "one") if named else place)


def parts_in(annotation: object) -> Iterator[object]:
    yield annotation
    for part in get_args(annotation):
        yield from parts_in(part)


GIVEN: tuple[Any, ...] = (PARTS[0], {"Authorization": PARTS[0]}, {"API_TOKEN": PARTS[0]})
"""A secret in each form in which a key may have one."""


def secret_in_records(annotation: object) -> Any:
    """A value of a key, with a secret that records leave out; ``None`` where they leave out none."""
    for given_value in GIVEN:
        try:
            adapter = TypeAdapter(annotation, config=TomlTable.model_config)
            recorded = adapter.dump_json(adapter.validate_python(given_value)).decode()
        except ValidationError:
            continue
        if has_no_secret(recorded):
            return given_value
    return None


PLACES_OF_SECRETS = {
    place: value for place, kind in keys_of(Study) if (value := secret_in_records(kind)) is not None
}
"""Every key of a study whose value a run's record leaves out, with such a value."""

TWO_LOADS = """\
title = "Two at once"
[content]
"1k.txt" = "1KiB"
[loads.body]
model = "closed"
requests = ["/1k.txt"]
duration = "5s"
load_cpus = [0]
[loads.headers]
model = "closed"
requests = ["/1k.txt"]
connections = 1
duration = "5s"
[sweep]
body.connections = [1, 10]
[servers.one]
use = "limit"
load = "body"
[servers.headers]
use = "limit"
load = "headers"
"""


def with_key(place: KeyPath, value: object) -> str:
    """A text of TOML with one key."""
    members = value if isinstance(value, dict) else {}
    written = ", ".join(f"{json.dumps(key)} = {json.dumps(one)}" for key, one in members.items())
    return f"{'.'.join(map(json.dumps, place))} = {f'{{ {written} }}' if members else json.dumps(value)}\n"


def test_a_study_that_is_kept_lacks_what_records_lack_wherever_a_study_may_have_it():
    loads = {("load",), ("servers", "one", "load")}
    assert {(*load, key) for load in loads for key in ("headers", "body")} < PLACES_OF_SECRETS.keys()
    assert {("servers", "one", key) for key in ("password", "environment")} < PLACES_OF_SECRETS.keys()
    for place, value in PLACES_OF_SECRETS.items():
        assert has_no_secret(study_without_secrets(with_key(place, value))), place


def place_in_the_file(part: LoadPart, place: KeyPath) -> KeyPath:
    """Where the file of several loads has what the study of one of them has at a place."""
    for length in range(len(place), 0, -1):
        if place[:length] in part.document.origins:
            return (*part.document.origins[place[:length]], *place[length:])
    return place


def test_a_study_of_several_loads_that_is_kept_lacks_the_secrets_of_each(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(TWO_LOADS)
    assert study_without_secrets(TWO_LOADS) == TWO_LOADS
    places = {
        place_in_the_file(part, tuple(part.server if name == "one" else name for name in place))
        for part, _ in parts_of(TomlDocument.read(file))
        for place in PLACES_OF_SECRETS
    }
    assert {("loads", load, key) for load in ("body", "headers") for key in ("headers", "body")} < places
    for place in places:
        value = next(one for known, one in PLACES_OF_SECRETS.items() if known[-1] == place[-1])
        assert has_no_secret(study_without_secrets(with_key(place, value))), place


@pytest.mark.parametrize("name", ["body", "headers", "environment", "password"])
def test_names_that_people_choose_are_not_taken_for_keys(name: str):
    study = f"""\
[content]
{name} = "1KiB"
[machines.{name}]
ssh = "web.example"
[servers.{name}]
use = "nginx"
"""
    assert study_without_secrets(study) == study


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


def test_the_start_of_a_long_text_has_lost_what_the_whole_loses():
    text = "see as://u:pw@h/d for more, " * 1_000
    assert hidden_start(text, 60) == f"{hidden(text)[:60]}…"
    assert hidden_start("as://it:is@here", 60) == hidden("as://it:is@here")


def test_no_part_of_a_secret_is_at_the_start_of_a_long_text():
    # However long they are, they are cut behind them.
    password = "Q" * 10_000
    assert "Q" not in hidden_start(f"as://u:{password}@h and more", 60)
    remembered = "Z " * 10_000
    remember(remembered)
    assert "Z" not in hidden_start(f"{remembered}and more", 60)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"detail":\n  "name is missing"}', '{"detail": "name is missing"}'),
        ("<!doctype html>\n<h1>Unsupported</h1>\n<p>Send JSON</p>", "Unsupported Send JSON"),
        ("this text is red: \x1b[31m", "this text is red: \N{REPLACEMENT CHARACTER}[31m"),
        ("x" * 200, f"{'x' * 120}…"),
        ("\x1f\x8b\x08\x00\x00\x01 gzip", "(compressed, or no text)"),
        ("no entry at postgresql://ann:pw@db/app", "no entry at postgresql://db/app"),
        ('{"debug": {"user": "ann", "password": "x"}}', '{"debug": {"user": "ann", "password": (hidden)'),
    ],
)
def test_an_errors_own_words_are_one_line_without_tags_controls_and_secrets(body: str, said: str):
    assert own_words(body) == said


def test_of_secrets_that_overlap_no_part_is_left():
    for secret in ("first-and-second", "second-and-third", "third-and-fourth"):
        remember(secret)
    assert hidden("[first-and-second-and-third]") == "[(hidden)]"
    # The end of one secret is the beginning of another one, of which the body has no more.
    assert own_words("[first-and-second", is_cut=True) == "[(hidden)"


@pytest.mark.parametrize("kept", [4, 10, 19, 20])
def test_an_errors_own_words_have_no_part_of_a_secret_at_which_the_body_was_cut(kept: int):
    secret = "open-sesame-number-9"
    remember("sesame")
    remember(secret)
    assert own_words(f"bad: {secret[:kept]}", is_cut=True) == "bad: (hidden)"

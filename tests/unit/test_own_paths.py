"""What an own application answers: the paths of its description, and which of them can be loaded."""

import json

import pytest

from loadcurve.result.records import ContentRecord
from loadcurve.runs import own_paths
from loadcurve.runs.own_paths import AnsweredPaths, paths_described
from loadcurve.server.asked import Answer


def described(**document: object) -> list[str]:
    return list(paths_described(json.dumps(document)))


def test_the_paths_are_those_that_get_asks_for_without_a_parameter():
    # Of the example of OpenAPI 3.1, https://spec.openapis.org/oas/v3.1.0#paths-object, and others.
    paths = {"/pets": {"get": {}}, "/pets/{id}": {"get": {}}, "/orders": {"post": {}}, "/users": {"get": {}}}
    assert described(openapi="3.1.0", paths=paths) == ["/pets", "/users"]


@pytest.mark.parametrize(
    ("url", "path"),
    [("/", "/pets"), ("/v2/", "/v2/pets"), ("https://shop.example/v2", "/v2/pets"), ("", "/pets")],
)
def test_paths_begin_with_that_of_the_server_which_is_described(url: str, path: str):
    assert described(servers=[{"url": url}], paths={"/pets": {"get": {}}}) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        "[1]",
        "{}",
        '{"paths": 1}',
        '{"paths": {"/a": null}}',
        '{"paths": {}, "servers": [1]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_description_names_no_path(text: str):
    assert list(paths_described(text)) == []


def test_a_root_that_is_answered_comes_before_what_is_described():
    assert AnsweredPaths(200, named=["/items"]).path == "/"
    assert AnsweredPaths(404, named=["/items", "/users"]).path == "/items"
    assert AnsweredPaths(302, leads_to="/there").path is None


@pytest.mark.parametrize(
    ("answered", "named", "by"),
    [
        ({"/openapi.json", "/items", "/cart"}, ["/items"], "/openapi.json of the application"),
        ({"/openapi.json", "/cart"}, ["/cart"], "shop.py"),
        ({"/cart"}, ["/cart"], "shop.py"),
        (set(), [], AnsweredPaths(404).named_by),
    ],
)
def test_the_source_is_asked_where_the_description_names_nothing_that_is_answered(
    tmp_path, monkeypatch, answered, named, by
):
    (tmp_path / "shop.py").write_text("@app.get('/gone')\n@app.get('/cart')\n")
    text = json.dumps({"paths": {"/items": {"get": {}}}})
    answer = {path: Answer(200, ContentRecord(bytes=0, sha256="0" * 64), text) for path in answered}
    monkeypatch.setattr(own_paths, "_status_of_root", lambda _: (404, None))
    monkeypatch.setattr(own_paths, "_answer", lambda _, path: answer.get(path))
    found = own_paths._asked(None, tmp_path)
    assert (list(found.named), found.named_by) == (named, by)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/there", "/there"),
        ("there?a=1", "/there?a=1"),
        ("http://127.0.0.1:80/x", "/x"),
        ("//elsewhere.example/x", None),
        ("https://elsewhere.example/", None),
    ],
)
def test_a_redirect_is_followed_on_the_same_server_alone(location: str, path: str | None):
    assert own_paths._on_itself(location, "127.0.0.1:80") == path

"""What an own application answers: the paths of its description, and which of them can be loaded."""

import json

import pytest

from loadcurve.runs import own_paths
from loadcurve.runs.own_paths import AnsweredPaths, paths_described


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

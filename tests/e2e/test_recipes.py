"""The recipes of the documentation, as a person copies them: each study has figures of each server."""

import re
from pathlib import Path

import pytest

from loadcurve.result.folder import read_run
from support.sandbox import Sandbox

RECIPES = Path(__file__).parents[2] / "docs" / "guides" / "recipes.md"
FILE = re.compile(r"^<!-- (?P<name>[\w./-]+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LONG_S = "8h"


def recipe(sandbox: Sandbox, name: str) -> None:
    """Put the files of a recipe into the sandbox's folder."""
    files = {found["name"]: found["text"] for found in FILE.finditer(RECIPES.read_text())}
    own = {file.removeprefix(f"{name}/"): text for file, text in files.items() if file.startswith(f"{name}/")}
    assert own
    for file, text in own.items():
        sandbox.write(file, text.replace(LONG_S, "1s").replace("1m", "200ms"))


@pytest.mark.parametrize(
    ("name", "servers"),
    [
        pytest.param("wsgi", {"app"}, marks=pytest.mark.needs("gunicorn")),
        pytest.param(
            "workers",
            {"app-workers-1", "app-workers-2", "app-workers-4"},
            marks=pytest.mark.needs("gunicorn"),
        ),
        pytest.param("asgi", {"app"}, marks=pytest.mark.needs("uvicorn")),
        pytest.param("node", {"app"}, marks=pytest.mark.needs("node")),
        pytest.param(
            "proxy",
            {"alone", "behind-nginx"},
            marks=[pytest.mark.needs("gunicorn"), pytest.mark.needs("nginx")],
        ),
        pytest.param(
            "postgresql",
            {"postgresql-shared_buffers-16MiB", "postgresql-shared_buffers-128MiB"},
            marks=pytest.mark.needs("initdb"),
        ),
        pytest.param("versions", {"before", "after"}, marks=pytest.mark.needs("gunicorn")),
        pytest.param("soak", {"nginx"}, marks=pytest.mark.needs("nginx")),
    ],
)
def test_a_recipe_measures_what_it_says(sandbox: Sandbox, name: str, servers: set[str]):
    recipe(sandbox, name)
    finished = sandbox.run("run", "study.toml", "--quick", "--trials", 1, "--out", "run")
    # A load of a tenth of a second on a busy machine may be judged invalid, which is a result.
    assert finished.returncode in {0, 3}, finished.stderr
    run = read_run(sandbox.work / "run")
    assert run.failures == []
    assert {point.server for point in run.points} == servers
    assert all(point.load.requests.answered for point in run.points)


def test_every_recipe_is_tried():
    names = {found["name"].partition("/")[0] for found in FILE.finditer(RECIPES.read_text())}
    tried = test_a_recipe_measures_what_it_says.pytestmark[0].args[1]
    assert names == {one.values[0] for one in tried}

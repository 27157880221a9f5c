"""The recipes of the documentation, as a person copies them: each study has figures of each server."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from loadcurve.result.folder import read_run
from support.sandbox import Sandbox

RECIPES = Path(__file__).parents[2] / "docs" / "guides" / "recipes.md"
FILE = re.compile(r"^<!-- (?P<name>[\w./-]+) -->\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LONG_S = "8h"
MAVEN = Path.home() / ".m2"
BUILDS = {
    "spring": f"mvn --offline --quiet -Dmaven.repo.local={MAVEN}/repository package",
    "go": "go build -o shop main.go",
}
"""What a person runs before the study, without a network."""


FRAMEWORKS = {"flask": "gunicorn", "django": "gunicorn", "fastapi": "uvicorn"}
"""Those of Python, with the program whose interpreter has them."""
IN_ENVIRONMENT = ".venv/bin/"
"""A framework of the system has no environment beside the application."""


def recipe(sandbox: Sandbox, name: str) -> None:
    """Put the files of a recipe into the sandbox's folder."""
    files = {found["name"]: found["text"] for found in FILE.finditer(RECIPES.read_text())}
    own = {file.removeprefix(f"{name}/"): text for file, text in files.items() if file.startswith(f"{name}/")}
    assert own
    for file, text in own.items():
        shorter = text.replace(LONG_S, "1s").replace("1m", "200ms")
        sandbox.write(file, shorter.replace(IN_ENVIRONMENT, ""))


def ends_well(command: list[str]) -> bool:
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def require_library(name: str) -> None:
    """Skip a recipe whose framework is not installed: no test installs one."""
    program = shutil.which(FRAMEWORKS.get(name, ""))
    if program is not None:
        python = Path(program).read_text().splitlines()[0].removeprefix("#!")
        if not ends_well([*shlex.split(python), "-c", f"import {name}"]):
            pytest.skip(f"needs {name} beside {program}; on Debian: apt-get install python3-{name}")
    # A server gets few variables of the environment, so that this one has no part in it.
    if name == "express" and not ends_well(["env", "-u", "NODE_PATH", "node", "-e", 'require("express")']):
        pytest.skip("needs Express where Node.js looks for it; on Debian: apt-get install node-express")
    if name == "rails" and not ends_well(["ruby", "-e", 'require "action_controller/railtie"']):
        pytest.skip("needs Rails; on Debian: apt-get install ruby-railties")
    parent = MAVEN / "repository/org/springframework/boot/spring-boot-starter-parent"
    if name == "spring" and not parent.exists():
        pytest.skip("needs Spring Boot in Maven's own folder: build the recipe once, with a network")


def build(sandbox: Sandbox, name: str) -> None:
    """Build what the recipe says is built before the study is run."""
    if name in BUILDS:
        subprocess.run(shlex.split(BUILDS[name]), cwd=sandbox.work, check=True)


@pytest.mark.parametrize(
    ("name", "servers"),
    [
        pytest.param("wsgi", {"app"}, marks=pytest.mark.needs("gunicorn")),
        pytest.param(
            "workers",
            {"app-workers-1", "app-workers-2", "app-workers-4"},
            marks=pytest.mark.needs("gunicorn"),
        ),
        pytest.param(
            "django",
            {"app-threads-1", "app-threads-4"},
            marks=[pytest.mark.needs("gunicorn"), pytest.mark.long],
        ),
        *(
            pytest.param(name, {"app"}, marks=[pytest.mark.needs(program), pytest.mark.long])
            for name, program in {"flask": "gunicorn", "fastapi": "uvicorn", "express": "node"}.items()
        ),
        pytest.param("asgi", {"app"}, marks=pytest.mark.needs("uvicorn")),
        pytest.param("node", {"app"}, marks=pytest.mark.needs("node")),
        pytest.param("spring", {"app"}, marks=[pytest.mark.needs("mvn"), pytest.mark.long]),
        pytest.param(
            "rails",
            {"app-threads-1", "app-threads-5"},
            marks=[pytest.mark.needs("puma"), pytest.mark.needs("ruby"), pytest.mark.long],
        ),
        pytest.param("go", {"app"}, marks=[pytest.mark.needs("go"), pytest.mark.long]),
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
    require_library(name)
    recipe(sandbox, name)
    build(sandbox, name)
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

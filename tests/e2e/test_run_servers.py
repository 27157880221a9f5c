"""`loadcurve run`: which servers a study measures, and what each of them is."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadcurve import __version__
from loadcurve.result.folder import Run, read_run
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.location import EXTRA_PROGRAM_FOLDERS
from support.sandbox import Sandbox
from support.tiny_study import study_text

OTHER_VERSION = f"""\
#!/bin/sh
[ "$1" = --version ] && echo loadcurve-server 9.9.9 || exec '{NATIVE_FOLDER}/loadcurve-server' "$@"
"""


SEARCH_PATH = os.pathsep.join((os.environ["PATH"], *EXTRA_PROGRAM_FOLDERS))
ENDS = "requests_total = 40"
"""A load that ends when its requests are answered, however busy the machine is."""
LIMIT_ARGUMENTS = '"limit", "--listen", "{address}:{port}", "--root", "{content}"'


SERVERS = f"""
[servers.limit]
[servers.limit-new]
use = "limit"
binary = "bin/server"
[servers.wrapped]
use = "limit"
start = ["env", "WRAPPED=1", "{{binary}}", {LIMIT_ARGUMENTS}]
version = "in another way"
[servers.beside-the-study]
use = "command"
start = ["bin/server", {LIMIT_ARGUMENTS}]
version_command = ["{{binary}}", "--version"]
[servers.on-path]
use = "command"
start = ["sh", "{{study}}/bin/server", {LIMIT_ARGUMENTS}]
version = "from 2026"
[servers.by-environment]
use = "command"
start = ["sh", "-c", 'exec "$0" limit --listen "$LISTEN" --root "$ROOT"', "{{study}}/bin/server"]
version = "1"
environment = {{ LISTEN = "{{address}}:{{port}}", ROOT = "{{content}}", JSON = '{{"a": 1}}' }}
[servers.closing]
use = "limit"
load = {{ calls = 1 }}
"""


@dataclass(frozen=True)
class Measured:
    """One run of servers that are each in the study in another way."""

    study: Path
    run: Run
    stdout: str


def measured(sandbox: Sandbox, servers: str) -> Measured:
    """Run a study of these servers, in its own folder."""
    sandbox.write("study/bin/server", OTHER_VERSION).chmod(0o755)
    study = sandbox.write("study/tiny.toml", study_text(servers, load=ENDS, connections="[2]", trials=1))
    finished = sandbox.run("run", "study/tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    run = read_run(sandbox.work / "run")
    assert all(point.load.requests.answered > 0 for point in run.points)
    return Measured(study.parent, run, finished.stdout)


def versions(run: Run) -> dict[str, tuple[str | None, str | None]]:
    return {name: (server.version, server.binary) for name, server in run.run.servers.items()}


@pytest.fixture(scope="module")
def one(shared_sandbox: Sandbox) -> Measured:
    return measured(shared_sandbox, SERVERS)


def test_two_versions_of_one_server_stand_side_by_side(one: Measured):
    found = versions(one.run)
    assert found["limit"] == (__version__, str(NATIVE_FOLDER / "loadcurve-server"))
    assert found["limit-new"] == ("9.9.9", str(one.study / "bin/server"))
    assert {point.server for point in one.run.points} >= {"limit", "limit-new"}


def test_any_program_is_measured_that_a_study_names_with_its_version(one: Measured):
    found = versions(one.run)
    assert found["beside-the-study"] == ("9.9.9", str(one.study / "bin/server"))
    assert found["on-path"] == ("from 2026", shutil.which("sh"))
    assert {point.server for point in one.run.points} >= {"beside-the-study", "on-path"}


def test_a_study_may_start_a_server_of_the_catalogue_in_another_way(one: Measured):
    assert versions(one.run)["wrapped"] == ("in another way", str(NATIVE_FOLDER / "loadcurve-server"))
    assert "wrapped" in {point.server for point in one.run.points}


def test_a_server_under_a_load_of_its_own_is_a_curve_of_its_own(one: Measured):
    assert "The load on closing differs: calls = 1." in one.stdout
    loads = {point.server: point.load for point in one.run.points}
    assert (loads["limit"].load.calls, loads["closing"].load.calls) == (None, 1)
    assert loads["limit"].connections.opened == 2
    assert loads["closing"].connections.opened >= loads["closing"].requests.answered > 2
    servers = json.loads((one.run.folder / "numbers.json").read_text())["analysis"]["run"]["servers"]
    assert (servers["limit"]["load"], servers["closing"]["load"]) == ({}, {"calls": 1})


@pytest.mark.long
@pytest.mark.needs("nginx")
def test_two_versions_of_nginx_stand_side_by_side_each_with_its_own_program(sandbox):
    installed = Path(shutil.which("nginx", path=SEARCH_PATH))
    said = subprocess.run([installed, "-v"], capture_output=True, text=True, check=True).stderr
    version = said.split("nginx/")[1].split()[0]
    other = "9" * len(version)
    program = sandbox.write("study/bin/nginx", "")
    program.write_bytes(
        installed.read_bytes().replace(f"nginx/{version}".encode(), f"nginx/{other}".encode())
    )
    program.chmod(0o755)
    servers = '[servers.nginx]\n[servers.nginx-other]\nuse = "nginx"\nbinary = "bin/nginx"'
    run = measured(sandbox, servers).run
    assert {name: said for name, (said, _) in versions(run).items()} == {
        "nginx": version,
        "nginx-other": other,
    }
    assert {point.server for point in run.points} == {"nginx", "nginx-other"}

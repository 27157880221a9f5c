"""`loadcurve run`: which servers a study measures, and what each of them is."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from loadcurve import __version__
from loadcurve.server.found import NATIVE_FOLDER
from loadcurve.server.location import EXTRA_PROGRAM_FOLDERS
from support.tiny_study import study_text

OTHER_VERSION = f"""\
#!/bin/sh
[ "$1" = --version ] && echo loadcurve-server 9.9.9 || exec '{NATIVE_FOLDER}/loadcurve-server' "$@"
"""


SEARCH_PATH = os.pathsep.join((os.environ["PATH"], *EXTRA_PROGRAM_FOLDERS))
ENDS = "requests_total = 40"
"""A load that ends when its requests are answered, however busy the machine is."""
LIMIT_ARGUMENTS = '"limit", "--listen", "{address}:{port}", "--root", "{content}"'


def run_servers(sandbox, servers):
    """Run a study of these servers, in a folder of its own, and return its record."""
    sandbox.write("study/bin/server", OTHER_VERSION).chmod(0o755)
    sandbox.write("study/tiny.toml", study_text(servers, load=ENDS, connections="[1]", trials=1))
    finished = sandbox.run("run", "study/tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    lines = (sandbox.work / "run" / "trials.jsonl").read_text().splitlines()
    assert all(json.loads(line)["measurements"]["load"]["requests"]["answered"] > 0 for line in lines)
    return json.loads((sandbox.work / "run" / "run.json").read_text())


def test_two_versions_of_one_server_stand_side_by_side(sandbox):
    servers = '[servers.limit]\n[servers.limit-new]\nuse = "limit"\nbinary = "bin/server"'
    record = run_servers(sandbox, servers)
    found = {name: (server["version"], server["binary"]) for name, server in record["servers"].items()}
    assert found == {
        "limit": (__version__, str(NATIVE_FOLDER / "loadcurve-server")),
        "limit-new": ("9.9.9", str(sandbox.work / "study/bin/server")),
    }


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
    record = run_servers(sandbox, servers)
    assert {name: server["version"] for name, server in record["servers"].items()} == {
        "nginx": version,
        "nginx-other": other,
    }
    points = map(json.loads, (sandbox.work / "run" / "trials.jsonl").read_text().splitlines())
    assert {point["server"] for point in points} == {"nginx", "nginx-other"}


def test_any_program_is_measured_that_a_study_names_with_its_version(sandbox):
    servers = f"""
    [servers.beside-the-study]
    use = "command"
    start = ["bin/server", {LIMIT_ARGUMENTS}]
    version_command = ["{{binary}}", "--version"]
    [servers.on-path]
    use = "command"
    start = ["sh", "{{study}}/bin/server", {LIMIT_ARGUMENTS}]
    version = "from 2026"
    """
    record = run_servers(sandbox, servers)
    found = {name: (server["version"], server["binary"]) for name, server in record["servers"].items()}
    assert found == {
        "beside-the-study": ("9.9.9", str(sandbox.work / "study/bin/server")),
        "on-path": ("from 2026", shutil.which("sh")),
    }


def test_a_study_may_start_a_server_of_the_catalogue_in_another_way(sandbox):
    servers = f"""
    [servers.limit]
    start = ["env", "WRAPPED=1", "{{binary}}", {LIMIT_ARGUMENTS}]
    version = "wrapped"
    """
    record = run_servers(sandbox, servers)["servers"]["limit"]
    assert (record["version"], record["binary"]) == ("wrapped", str(NATIVE_FOLDER / "loadcurve-server"))


def test_a_program_that_is_missing_or_of_unknown_version_is_not_measured(sandbox):
    programs = {
        "nameless": ('start = ["sh", "{port}"]', 'such as version = "1.2", or version_command = ['),
        "speechless": (
            'start = ["sh", "{port}"]\nversion_command = ["echo", "none"]',
            "printed nothing that matches the pattern",
        ),
        "gone": ('start = ["bin/none", "{port}"]\nversion = "1"', "there is no program "),
        "unknown": (
            'start = ["no-such-program", "{port}"]\nversion = "1"',
            "no program no-such-program was found on PATH",
        ),
    }
    tables = (f'[servers.{name}]\nuse = "command"\n{keys}' for name, (keys, _) in programs.items())
    sandbox.write("tiny.toml", study_text("\n".join(tables)))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert (finished.returncode, finished.stdout) == (4, "")
    for name, (_, said) in programs.items():
        [line] = [line for line in finished.stderr.splitlines() if f"{name} is not measured" in line]
        assert said in line


def test_a_server_under_a_load_of_its_own_is_a_curve_of_its_own(sandbox):
    servers = '[servers.limit]\n[servers.closing]\nuse = "limit"\nload = { calls = 1 }'
    study = study_text(servers, load=ENDS, connections="[2]", trials=1)
    sandbox.write("tiny.toml", study)
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    assert "The load on closing differs: calls = 1." in finished.stdout
    lines = (sandbox.work / "run" / "trials.jsonl").read_text().splitlines()
    loads = {record["server"]: record["measurements"]["load"] for record in map(json.loads, lines)}
    assert {name: load["load"]["calls"] for name, load in loads.items()} == {"limit": None, "closing": 1}
    assert loads["limit"]["connections"]["opened"] == 2
    assert loads["closing"]["connections"]["opened"] >= loads["closing"]["requests"]["answered"] > 2
    servers = json.loads((sandbox.work / "run" / "numbers.json").read_text())["analysis"]["run"]["servers"]
    assert {name: server["load"] for name, server in servers.items()} == {
        "limit": {},
        "closing": {"calls": 1},
    }

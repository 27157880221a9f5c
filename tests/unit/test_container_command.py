"""The words by which an engine runs a container, as the manual podman-run(1) and docker's have them."""

import itertools
import os
import resource
import subprocess
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from loadcurve.host.cgroups import Limits
from loadcurve.server.container import command as command_module
from loadcurve.server.container.command import ContainerCommand, Mount, PublishedPort
from loadcurve.server.container.engine import Engine
from loadcurve.server.container.image import Image
from loadcurve.server.container.location import InContainer
from loadcurve.server.privileges import ServerUser
from loadcurve.server.start import StartCommand
from loadcurve.toml.secret import Secret

PODMAN = Engine("podman", ("--root", "/store"))
IMAGE = Image("localhost/demo", "4f" * 32, None, ())


@pytest.fixture(autouse=True)
def _known_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be root's with known limits, which it may raise."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(command_module, "_may_raise_limits", lambda: True)
    limits = {resource.RLIMIT_NOFILE: (1024, 4096), resource.RLIMIT_NPROC: (resource.RLIM_INFINITY,) * 2}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)


@pytest.fixture
def _a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_OF_TEST", "open sesame of this test")


def option(words: list[str], name: str) -> list[str]:
    """Return the values of an option."""
    return [value for key, value in itertools.pairwise(words) if key == name]


LIMITS = Limits(cpus=0.5, memory_bytes=1 << 30)


def started(
    network: str = "host",
    engine: Engine = PODMAN,
    user: ServerUser | None = None,
    limits: Limits = LIMITS,
    **more: object,
) -> list[str]:
    start = StartCommand(
        title="Demo",
        argv=["/usr/sbin/demo", "-p", "8081"],
        user=user,
        folder=Path("/tmp/private"),
        log=Path("/tmp/private/console.log"),
        content=Path("/srv/content"),
        port=8081,
        environment={"LC_ALL": "C", "STORE": "sesame", "API_TOKEN": "sesame"},
        secret_variables={"STORE"},
        cpus={2, 0},
        limits=limits,
    )
    container = InContainer(engine, "4.3.1", IMAGE, network=network, **more)
    return container.started(start, "loadcurve-demo-1").words(engine)


def test_the_servers_own_command_runs_in_its_private_folder_inside():
    words = started()
    assert words[0] == "run"
    assert option(words, "--name") == ["loadcurve-demo-1"]
    assert option(words, "--workdir") == ["/tmp/private"]
    assert option(words, "--user") == ["0:0"]
    assert option(words, "--env") == ["LC_ALL=C", "STORE", "API_TOKEN"]
    assert "sesame" not in " ".join(words)
    assert words[words.index("--entrypoint") :] == ["--entrypoint", "/usr/sbin/demo", "4f" * 32, "-p", "8081"]


@pytest.mark.usefixtures("_a_secret")
def test_a_version_look_shows_no_secret_that_came_from_elsewhere(tmp_path, monkeypatch):
    given = TypeAdapter(Secret).validate_python({"env": "STORE_OF_TEST"})
    container = InContainer(PODMAN, "4.3.1", IMAGE, network="host")
    asked: list[tuple[list[str], dict[str, str]]] = []

    def finished(engine, words, timeout_s, variables):
        asked.append((words, variables))
        return subprocess.CompletedProcess(words, 0, b"1.0", b"")

    monkeypatch.setattr(Engine, "finished", finished)
    container.output_of(["demo", "--version"], 10, environment={"STORE": given.text, "LC_ALL": "C"})
    [(words, variables)] = asked
    assert option(words, "--env") == ["STORE", "LC_ALL=C"]
    assert variables == {"STORE": "open sesame of this test"}


def test_a_server_of_roots_is_another_user_inside_and_gains_no_privileges():
    words = started(user=ServerUser("nobody", "nogroup", (65534, 65533)))
    assert option(words, "--user") == ["65534:65533"]
    assert "no-new-privileges" in option(words, "--security-opt")


def test_the_folders_of_a_start_are_found_under_the_same_paths_and_only_the_private_one_is_written():
    assert option(started(), "--mount") == [
        "type=bind,source=/srv/content,target=/srv/content,readonly",
        "type=bind,source=/tmp/private,target=/tmp/private",
    ]


def test_a_container_is_held_to_its_cpus_and_limits_and_swaps_nothing():
    words = started()
    assert option(words, "--cpuset-cpus") == ["0,2"]
    assert option(words, "--cpus") == ["0.5"]
    assert option(words, "--memory") == option(words, "--memory-swap") == ["1073741824b"]


def test_the_period_of_a_machine_type_holds_in_a_container_too():
    words = started(limits=Limits(cpus=0.025, period_us=10_000))
    # 2.5 % of 10 ms would be less than the kernel's least quota of a millisecond.
    assert (option(words, "--cpu-period"), option(words, "--cpu-quota")) == (["40000"], ["1000"])
    assert "--cpus" not in words


def test_a_container_has_the_limits_of_this_process():
    words = started()
    assert option(words, "--ulimit") == ["nofile=1024:4096", "nproc=-1:-1"]
    assert option(words, "--pids-limit") == ["-1"]


def test_a_process_that_cannot_raise_limits_asks_for_no_more_processes_than_podman_keeps(monkeypatch):
    monkeypatch.setattr(command_module, "_may_raise_limits", lambda: False)
    assert option(started(), "--ulimit") == ["nofile=1024:4096", "nproc=32768:32768"]


def test_the_network_of_this_machine_needs_no_published_port():
    words = started()
    assert option(words, "--network") == ["host"]
    assert "--publish" not in words


def test_a_private_network_publishes_one_port_to_this_machine_alone():
    words = started("private")
    assert option(words, "--network") == ["private"]
    assert option(started("private", Engine("docker")), "--network") == ["bridge"]
    assert option(words, "--publish") == ["127.0.0.1:8081:8081/tcp"]


def test_a_server_that_cannot_be_configured_keeps_its_port_folder_and_user():
    words = started("private", fixed_port=80, content_folder="/site", runs_own_command=True)
    assert option(words, "--publish") == ["127.0.0.1:8081:80/tcp"]
    assert "type=bind,source=/srv/content,target=/site,readonly" in option(words, "--mount")
    assert "--user" not in words
    assert "--workdir" not in words


def test_what_the_person_says_stands_among_the_options():
    words = started(run_arguments=("--runtime", "runc"))
    assert option(words, "--runtime") == ["runc"]
    assert words.index("--runtime") < words.index("--entrypoint")


@pytest.mark.parametrize(
    ("engine", "words"), [("podman", ["--userns", "keep-id"]), ("docker", ["--user", "1000:100"])]
)
def test_an_ordinary_user_is_the_same_user_inside(engine, words, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    command = ContainerCommand("image", ["server"], folder=Path("/private"))
    found = command.words(Engine(engine))
    start = found.index("--userns" if engine == "podman" else "--user")
    assert found[start : start + 2] == words


def test_a_comma_in_a_path_does_not_end_it():
    mount = Mount(Path("/srv/a,b"), Path("/srv/a,b"), writable=True)
    assert mount.words == ("--mount", 'type=bind,"source=/srv/a,b","target=/srv/a,b"')


def test_a_published_port_is_one_of_this_machine_and_one_inside():
    command = ContainerCommand("image", ["server"], published=PublishedPort(here=8081, inside=80))
    assert option(command.words(PODMAN), "--publish") == ["127.0.0.1:8081:80/tcp"]


HALF_REMOVED = """#!/bin/sh
case "$1" in
ps) cat "$0.names" ;;
rm) : > "$0.names" ;;
*) echo "Error: container not known" >&2; exit 125 ;;
esac
"""
"""In place of podman: it lists a container, and knows nothing else of it until it is removed."""


def test_a_container_that_the_engine_has_half_removed_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "podman"
    program.write_text(HALF_REMOVED)
    program.chmod(0o755)
    names = tmp_path / "podman.names"
    names.write_text("loadcurve-other\nloadcurve-demo\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert Engine("podman").remove_container("loadcurve-demo")
    assert names.read_text() == ""
    assert not Engine("podman").remove_container("loadcurve-demo")

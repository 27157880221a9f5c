"""Studies whose settings are too new for a server of the system, where another one is installed."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.machines.channel import Channel
from loadcurve.runs.prepare import find_servers
from loadcurve.server.catalog import load_catalog
from loadcurve.server.elsewhere import ServerMachine, ServerOnMachine
from loadcurve.server.found import FoundServer
from loadcurve.server.location import LOOPBACK
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument


def program(file: Path, version: str) -> Path:
    """Make a program that says, as nginx does, which version it is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho asked >> $0.asked\necho 'nginx version: nginx/{version}' >&2\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have nginx 1.22.1 on PATH, and 1.26.3 as an installed server; return the latter's program."""
    monkeypatch.setenv("PATH", str(program(tmp_path / "system" / "nginx", "1.22.1").parent), prepend=":")
    monkeypatch.setenv("LOADCURVE_SERVERS", str(tmp_path / "servers"))
    newer = program(tmp_path / "servers" / "nginx" / "bin" / "nginx", "1.26.3")
    said = {"program": "nginx", "packages": ["nginx 1.26.3"], "recipe": "0"}
    (tmp_path / "servers" / "nginx" / "installed.json").write_text(json.dumps(said))
    return newer


@pytest.fixture
def machine(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerMachine]:
    """Return a machine that has the same, behind an agent, here a process of this machine."""
    # The agent cleans up what killed runs have left: but not what other runs of this machine have.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    agent = [sys.executable, "-P", "-m", "loadcurve.machines.agent"]
    machine = ServerMachine("web", LOOPBACK, lambda: Channel("web", agent))
    yield machine
    machine.close()


def found_in(folder: Path, servers: str, **machines: ServerMachine) -> tuple[dict[str, Path], list[str]]:
    """Look for the servers of a study; return their programs and what was said."""
    file = folder / "study.toml"
    file.write_text(
        'title = "x"\n[content]\n"1k.txt" = "1KiB"\n[load]\nmodel = "closed"\nrequests = ["/1k.txt"]\n'
        f"requests_total = 5\n[sweep]\nconnections = [1]\n{servers}"
    )
    document, said = TomlDocument.read(file), list[str]()
    found = find_servers(document.to_model(Study), document, load_catalog(), said.append, machines)
    there = (FoundServer, ServerOnMachine)
    return {name: Path(one.binary) for name, one in found.items() if isinstance(one, there)}, said


HTTP3 = "[servers.nginx]\ntls = true\nhttp3 = true\n"


def test_the_installed_one_is_measured_where_that_of_the_system_is_too_old_and_it_is_said(
    installed, tmp_path
):
    found, [said] = found_in(tmp_path, HTTP3)
    assert found == {"nginx": installed}
    assert "nginx 1.22.1 cannot be started with http3 = true; the installed one is measured instead" in said
    assert str(installed) in said


def test_all_servers_of_its_entry_are_then_the_installed_one(installed, tmp_path):
    found, _ = found_in(tmp_path, HTTP3 + '[servers.plain]\nuse = "nginx"\n')
    assert found == {"nginx": installed, "plain": installed}


def test_that_of_the_system_is_measured_where_it_can_be_and_one_that_a_study_names(installed, tmp_path):
    system = tmp_path / "system" / "nginx"
    assert found_in(tmp_path, "[servers.nginx]\n") == ({"nginx": system}, [])
    named = f'[servers.named]\nuse = "nginx"\nbinary = "{system}"\n'
    found, _ = found_in(tmp_path, HTTP3 + named)
    assert found == {"nginx": installed, "named": system}


def test_a_server_that_can_be_measured_is_asked_for_its_version_once(installed, tmp_path):
    found_in(tmp_path, "[servers.nginx]\n")
    assert (tmp_path / "system" / "nginx.asked").read_text() == "asked\n"


def test_without_an_installed_one_the_study_is_refused_with_the_command_that_installs_it(installed, tmp_path):
    installed.unlink()
    with pytest.raises(BadInput, match="Install a newer one with loadcurve servers install nginx"):
        found_in(tmp_path, HTTP3)


def test_on_another_machine_the_one_installed_there_is_measured_and_others_as_they_were(
    installed, machine, tmp_path
):
    found, [said] = found_in(tmp_path, HTTP3, nginx=machine)
    assert found == {"nginx": installed}
    assert "with http3 = true on machine web; the installed one is measured instead" in said
    here = '[servers.here]\nuse = "nginx"\n'
    found, _ = found_in(tmp_path, HTTP3 + here, nginx=machine)
    assert found == {"nginx": installed, "here": tmp_path / "system" / "nginx"}


def test_an_optional_one_that_is_too_old_on_another_machine_is_left_out(installed, machine, tmp_path):
    installed.unlink()
    optional = HTTP3 + "optional = true\n"
    here = '[servers.here]\nuse = "nginx"\n'
    found, _ = found_in(tmp_path, optional + here, nginx=machine)
    assert found == {"here": tmp_path / "system" / "nginx"}

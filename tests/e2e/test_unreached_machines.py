"""Machines that a real ssh does not reach: which one, what was tried, ssh's own words, and what to do."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.far_machine import FAR_ADDRESS, FarMachine, far_machine
from support.sandbox import Sandbox

DESTINATIONS = """
Host refused
  IdentityFile {folder}/other-key
Host changed
  HostKeyAlias changed
Host unknown
  HostKeyAlias unknown
Host deaf
  Port 1
Host nowhere
  HostName nowhere.invalid
Host * !refused
  IdentityFile {folder}/key
Host *
  HostName {address}
  User root
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known
  GlobalKnownHostsFile /dev/null
"""
"""Ways to the machine that each lack one thing; what a host has first holds."""


@pytest.fixture(scope="module")
def machine() -> Iterator[FarMachine]:
    with tempfile.TemporaryDirectory(prefix="loadcurve-far-") as name, far_machine(Path(name)) as machine:
        folder = machine.folder
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / "other-key"]
        subprocess.run(key, check=True)
        other_key = (folder / "other-key.pub").read_text()
        with (folder / "known").open("a") as known:
            known.write(f"changed {other_key}")
        with (folder / "ssh.conf").open("a") as configuration:
            configuration.write(DESTINATIONS.format(folder=folder, address=FAR_ADDRESS))
        yield machine


@pytest.mark.parametrize(
    ("destination", "of_ssh", "advice"),
    [
        ("refused", "root@10.203.0.2: Permission denied (publickey", "install one with ssh-copy-id refused"),
        (
            "changed",
            "REMOTE HOST IDENTIFICATION HAS CHANGED!",
            "make sure that it is the same machine, then remove the old key",
        ),
        ("unknown", "Host key verification failed.", "connect once by hand and compare it, with ssh unknown"),
        ("deaf", "connect to host 10.203.0.2 port 1: Connection refused", "sshd does not listen there"),
        ("nowhere", "Could not resolve hostname nowhere.invalid", "check the name"),
    ],
)
def test_it_is_named_with_what_was_tried_and_what_to_do(
    destination, of_ssh, advice, sandbox: Sandbox, machine: FarMachine
):
    words = ["machines", "check", destination]
    checked = sandbox.run(*words, within=machine.near_words, **machine.environment)
    assert (checked.returncode, checked.stdout) == (4, "")
    assert checked.stderr.startswith(f"loadcurve: machine {destination}: ")
    assert f"(tried: ssh {destination}); " in checked.stderr
    assert advice in checked.stderr
    assert of_ssh in checked.stderr
    assert machine.processes() == {}


def test_a_study_with_such_a_machine_measures_nothing(sandbox: Sandbox, machine: FarMachine):
    text = """
        title = "x"
        content."1k.txt" = "1KiB"
        load = { model = "closed", requests = ["/1k.txt"], duration = "1s" }
        sweep.connections = [1]
        host.server_machine = "web"
        machines.web.ssh = "refused"
        servers.limit = {}
    """
    arguments = ["run", sandbox.write("study.toml", text), "--out", sandbox.work / "out"]
    run = sandbox.run(*arguments, within=machine.near_words, **machine.environment)
    assert run.returncode == 4
    assert "machine web: " in run.stderr
    assert "(tried: ssh refused); " in run.stderr
    assert not (sandbox.work / "out").exists()

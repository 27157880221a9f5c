"""A server behind the agent, here a process of this machine: all but the way there is as elsewhere."""

import base64
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest
from server_support import own_place

from loadcurve.errors import NothingMeasured
from loadcurve.machines.channel import Channel
from loadcurve.server.agent_role import ReceivedFiles
from loadcurve.server.catalog import CatalogEntry, load_catalog, read_entry
from loadcurve.server.content import content_of_folder
from loadcurve.server.elsewhere import ServerElsewhere, ServerMachine, require_reached
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NATIVE_FOLDER, NOTHING_ELSE, MissingServer, Overrides, ReadyQuestion
from loadcurve.server.location import LOOPBACK
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.container import ContainerTable
from loadcurve.toml.secret import SecretText
from support.probed_load import load_of

AGENT = [sys.executable, "-P", "-m", "loadcurve.machines.agent"]
PATIENCE_S = 20.0
CATALOG = load_catalog()


def connected() -> Channel:
    return Channel("web", AGENT)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_place(tmp_path_factory) as folder:
        yield folder


@pytest.fixture(scope="module")
def machine(place: Path) -> Iterator[ServerMachine]:
    machine = ServerMachine("web", LOOPBACK, connected)
    yield machine
    machine.close()


def found(machine: ServerMachine, name: str, overrides: Overrides = NOTHING_ELSE, **settings):
    return machine.find(CATALOG[name], settings, overrides, ContainerTable(), print)


def server_there(machine: ServerMachine, content_folder: Path, **settings) -> ServerElsewhere:
    content = content_of_folder(content_folder)
    return ServerElsewhere(found(machine, "limit", **settings), content_folder, content)


def worker_of(machine: ServerMachine) -> int:
    return int(machine.channel().greeting.pid)


def test_it_serves_is_watched_and_is_gone(machine, content_folder):
    with server_there(machine, content_folder) as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])
        assert server.settings["keepalive_requests"] == 0
        with server.probe({0}, 0.01) as probe:
            seen = probe.observed(load_of(0.05))
        assert seen.caveats == []
        assert seen.server is not None
        # Both clocks are one.
        assert abs(seen.clock.after.offset_s) <= seen.clock.after.error_s
        address = server.address
    with pytest.raises(NothingMeasured, match=f"listened on port .* of {LOOPBACK}.*firewall"):
        require_reached("web", LOOPBACK, int(address.rpartition(":")[2]))


def test_an_encrypted_one_is_verified_by_the_authority_of_its_start(machine, content_folder):
    with server_there(machine, content_folder, tls=True) as server:
        server.verify(["/1k.txt"])
        assert server.transport.is_encrypted


def test_a_program_without_content_is_verified_by_its_status_alone(machine, content_folder):
    program = [str(NATIVE_FOLDER / "loadcurve-server"), "limit", "--listen", "{address}:{port}"]
    start = [*program, "--root", str(content_folder)]
    overrides = Overrides(start=start, version="1", ready=ReadyQuestion("/1k.txt", 500))
    with ServerElsewhere(found(machine, "command", overrides), None, {}) as server:
        server.verify(["/1k.txt"])
        with pytest.raises(ServerFailure, match=r"GET /gone was answered with status 404"):
            server.verify(["/gone"])


def test_its_fitness_is_looked_at_there(machine):
    found = {check.topic: check.fitness for check in machine.fitness()}
    # What only a machine that sends load needs is not asked.
    assert found.keys() >= {"steal", "other load", "swap", "clock", "open files"}
    assert not found.keys() & {"CPUs", "ports", "io_uring"}


def test_its_content_travels_once(machine, place, content_folder):
    (content_folder / "other.txt").write_text("other")
    times_ns = set()
    for _ in range(2):
        with server_there(machine, content_folder) as server:
            server.verify(["/other.txt"])
        (file,) = (place / "tmp").glob("loadcurve-content-*/*/other.txt")
        times_ns.add(file.stat().st_ctime_ns)
    assert len(times_ns) == 1


def test_a_file_that_came_in_part_is_whole_once_it_was_sent_again(state):
    there, digest, whole = ReceivedFiles(), "0" * 64, b"whole"
    for part, begins in ((b"who", True), (b"who", True), (b"le", False)):
        data = base64.b64encode(part).decode()
        there.put(digest=digest, name="a.txt", data=data, mode=0o644, begins=begins)
    there.seal(digest, {"a.txt": {"bytes": 5, "sha256": hashlib.sha256(whole).hexdigest()}})
    assert (there.folder(digest) / "a.txt").read_bytes() == whole
    there.remove()


def test_one_that_ends_fails_the_trial(machine, content_folder):
    with server_there(machine, content_folder) as server, server.probe({0}, 0.01) as probe:
        (pid,) = pids_of(f"limit --listen {server.address}")
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ServerFailure, match=r"^machine web: .*SIGKILL") as caught:
            probe.observed(load_of(0.01))
        assert caught.value.code == "died"
        # Its machine looks after it, too, and says so by itself.
        wait([server._ended], PATIENCE_S)
        with pytest.raises(ServerFailure, match="SIGKILL"):
            server.raise_if_exited()


def pids_of(words: str) -> list[int]:
    listed = subprocess.run(["pgrep", "-f", words], capture_output=True, text=True, check=True)
    return [int(word) for word in listed.stdout.split()]


def test_a_machine_that_is_lost_fails_the_trial_and_is_reached_anew(state, content_folder):
    machine = ServerMachine("web", LOOPBACK, connected)
    server = server_there(machine, content_folder)
    with server:
        os.kill(worker_of(machine), signal.SIGKILL)
        with pytest.raises(ServerFailure, match=r"^machine web: ") as caught:
            server.limit_use()
        assert caught.value.code == "machine_lost"
        assert server.log_tail() == ""
    with server_there(machine, content_folder) as server, server.probe({0}, 0.01) as probe:
        began_s = time.monotonic()
        server.verify(["/1k.txt"])
        seen = probe.observed(load_of(time.monotonic() - began_s))
        # The new agent looks at the same interface as the lost one; both ends are one here.
        assert machine.link.here == machine.link.there
        for use in (seen.link.here, seen.link.there):
            assert use.received_bytes_per_s > 0
    machine.close()


def test_one_that_is_missing_is_reported_with_its_machine(machine):
    missing = found(machine, "nginx", Overrides(binary=Path("/nowhere/nginx")))
    assert isinstance(missing, MissingServer)
    assert "/nowhere/nginx" in missing.reason
    assert missing.reason.endswith("on machine web")
    assert missing.fault.code == "not_started"


def test_a_setting_that_does_not_fit_is_named(machine):
    with pytest.raises(UnusableSetting) as caught:
        found(machine, "limit", listen_backlog=-1)
    assert caught.value.setting == "listen_backlog"
    with pytest.raises(UnusableSetting) as caught:
        found(machine, "limit", Overrides(url="http://127.0.0.1"))
    assert caught.value.setting == "url"


def entry_of_ones_own(folder: Path) -> CatalogEntry:
    """Make a catalogue with one server, whose version a script beside its description knows."""
    entry = folder / "own" / "mine"
    entry.mkdir(parents=True)
    (entry / "server.toml").write_text(
        """
        title = "Mine"
        binary = ["{native}/loadcurve-server"]
        version = { command = ["{entry}/version.sh"], pattern = "v(.+)" }
        start = ["{binary}", "limit", "--listen", "{address}:{port}", "--root", "{content}"]
        """
    )
    (entry / "version.sh").write_text('#!/bin/sh\necho "v$MINE"\n')
    (entry / "version.sh").chmod(0o755)
    return read_entry(entry)


def test_an_entry_of_a_catalogue_of_ones_own_travels_with_its_files(machine, content_folder, tmp_path):
    overrides = Overrides(environment={"MINE": SecretText("7")})
    there = machine.find(entry_of_ones_own(tmp_path), {}, overrides, ContainerTable(), print)
    assert there.version == "7"
    with ServerElsewhere(there, content_folder, content_of_folder(content_folder)) as server:
        server.verify(["/1k.txt"])


def test_a_catalogue_of_ones_own_travels_again_to_a_machine_that_is_reached_anew(
    state, content_folder, tmp_path
):
    machine = ServerMachine("web", LOOPBACK, connected)
    overrides = Overrides(environment={"MINE": SecretText("7")})
    there = machine.find(entry_of_ones_own(tmp_path), {}, overrides, ContainerTable(), print)
    content = content_of_folder(content_folder)
    with ServerElsewhere(there, content_folder, content) as server:
        os.kill(worker_of(machine), signal.SIGKILL)
        with pytest.raises(ServerFailure, match=r"^machine web: "):
            server.limit_use()
    with ServerElsewhere(there, content_folder, content) as server:
        server.verify(["/1k.txt"])
    machine.close()


def test_an_address_that_is_not_the_machines_is_refused_with_those_that_are(state):
    with pytest.raises(NothingMeasured, match=r"^machine web: servers cannot listen on 203\.0\.113\.9"):
        ServerMachine("web", "203.0.113.9", connected)

"""Processes that hide from the run that started their server, where no control group holds them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from server_support import server_of

import loadcurve.server.launch as launch_module
from loadcurve.server.ledger import clean_up_after_killed_runs, ledger_folder
from loadcurve.server.processes import ProcessIdentity, is_running, running_processes

OWNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import loadcurve.server.launch as launch_module
from server_support import server_of
from loadcurve.server.catalog import read_entry
launch_module.group_parent = lambda: None
with server_of(read_entry(Path(sys.argv[2])), Path(sys.argv[3])):
    print("ready", flush=True)
    time.sleep(3600)
"""


@pytest.fixture(autouse=True)
def no_group(monkeypatch):
    monkeypatch.setattr(launch_module, "group_parent", lambda: None)


def recorded_as_adopted() -> ProcessIdentity:
    (file,) = ledger_folder().glob("*.json")
    (adopted,) = json.loads(file.read_text())["adopted"]
    hidden = ProcessIdentity(adopted["pid"], adopted["start_ticks"])
    assert Path(f"/proc/{hidden.pid}/cmdline").read_bytes() == b"sleep\0003600\0"
    return hidden


@pytest.mark.parametrize("hiding", ["hides", "hides-below"])
def test_a_daemon_that_hides_from_its_server_ends_with_it(hiding, scripted, content_folder):
    with server_of(scripted(hiding), content_folder):
        hidden = recorded_as_adopted()
        assert is_running(hidden)
    assert not is_running(hidden)
    # Nothing of it waits to be reaped either.
    assert not Path(f"/proc/{hidden.pid}").exists()


@pytest.mark.parametrize("hiding", ["hides", "hides-below"])
def test_a_daemon_that_hid_from_a_killed_run_is_ended_by_the_next_one(hiding, scripted, content_folder):
    script = [sys.executable, "-c", OWNER, str(Path(__file__).parent)]
    with subprocess.Popen(
        [*script, str(scripted(hiding).folder), str(content_folder)], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout.readline() == "ready\n"
        hidden = recorded_as_adopted()
        owner.kill()
    assert is_running(hidden)
    (cleaned,) = clean_up_after_killed_runs()
    assert hidden.pid in cleaned.killed_pids
    assert not is_running(hidden)


def test_a_child_that_is_no_servers_is_left_alone(scripted, content_folder):
    with subprocess.Popen(["sleep", "3600"], start_new_session=True) as older:
        with server_of(scripted("hides"), content_folder):
            younger = subprocess.Popen(["sleep", "3600"])
        assert (older.poll(), younger.poll()) == (None, None)
        for process in (older, younger):
            process.kill()
        younger.wait()
    assert [
        one for one in running_processes() if one.parent == os.getpid() and one.session != os.getsid(0)
    ] == []
    assert signal.SIGKILL == -older.returncode == -younger.returncode

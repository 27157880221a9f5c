"""Servers that die, lie, hang or fork; and owners that are interrupted or killed."""

import _thread
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from server_support import (
    found,
    give_port_first,
    kill_owner,
    marked_processes,
    members_of_session,
    server_of,
    start_owner,
    wait_until,
)

import loadcurve.server.here as instance_module
from loadcurve.errors import BadInput
from loadcurve.server.catalog import load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.group import group_parent
from loadcurve.server.launch import Launch
from loadcurve.server.ledger import LedgerEntry, clean_up_after_killed_runs
from loadcurve.server.processes import ProcessIdentity, identify, is_running

FORGETFUL_OWNER_SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from server_support import server_of
from loadcurve.server.catalog import read_entry
print(server_of(read_entry(Path(sys.argv[2])), Path(sys.argv[3])).__enter__().pid)
"""


def failure_of(entry, content_folder):
    with pytest.raises(ServerFailure) as caught, server_of(entry, content_folder):
        pass
    return caught.value


def test_a_good_server_serves_what_it_should(scripted, content_folder):
    with server_of(scripted(), content_folder) as server:
        server.verify(["/1k.txt", "/deep/64k.txt"])


def test_a_server_has_the_environment_that_its_description_gives_it(scripted, content_folder):
    with server_of(scripted(), content_folder) as server:
        variables = Path(f"/proc/{server.pid}/environ").read_bytes().split(b"\0")
        assert f"SCRIPTED_PORT={server.port}".encode() in variables
        assert f"PATH={os.environ['PATH']}".encode() in variables


def test_a_large_answer_is_verified_without_being_held_in_memory(scripted, content_folder):
    with (content_folder / "large").open("wb") as large:
        large.truncate(64 << 20)
    with server_of(scripted(), content_folder) as server:
        tracemalloc.start()
        try:
            server.verify(["/large"])
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < 8 << 20


def test_a_server_that_dies_at_once_fails_with_its_last_words(scripted, content_folder):
    failure = failure_of(scripted("dies"), content_folder)
    assert (failure.code, failure.log_tail) == ("died", "cannot go on")
    assert "ended with status 1" in failure.text


def test_a_server_that_dies_of_the_first_request_fails_with_its_last_words(scripted, content_folder):
    failure = failure_of(scripted("dies-when-asked"), content_folder)
    assert failure.code == "died"
    assert "this is the end" in failure.log_tail


def test_a_server_that_goes_into_the_background_is_stopped_and_said_to_belong_in_the_foreground(
    scripted, content_folder
):
    failure = failure_of(scripted("daemon", "never-listens"), content_folder)
    assert failure.code == "died"
    assert "ended with status 0 before it was ready" in failure.text
    assert "must keep it in the foreground" in failure.text


def test_a_failure_shows_what_the_server_said(scripted, content_folder):
    assert str(failure_of(scripted("dies"), content_folder)).endswith("Its output:\n    cannot go on")


def test_a_server_that_never_listens_is_not_ready(scripted, content_folder):
    failure = failure_of(scripted("never-listens", ready_s=0.3), content_folder)
    assert failure.code == "not_ready"
    assert "within 0.3 s" in failure.text
    assert "Connection refused" in failure.text


def test_a_server_that_answers_with_an_error_is_not_ready(scripted, content_folder):
    failure = failure_of(scripted("unavailable", ready_s=2), content_folder)
    assert failure.code == "not_ready"
    assert "503" in failure.text


def test_of_a_server_that_takes_a_question_and_is_silent_it_is_known_while_it_is_waited_for(
    scripted, content_folder
):
    server = server_of(scripted("silent", ready_s=2), content_folder)
    said = set()

    def is_said() -> bool:
        said.add(server.why_not_ready())
        return any(one is not None and "does not" in one for one in said)

    looking = threading.Thread(target=wait_until, args=[is_said])
    looking.start()
    with pytest.raises(ServerFailure) as caught, server:
        pass
    looking.join()
    assert "it was asked, and does not answer GET /1k.txt with status 200 yet" in said
    assert caught.value.code == "not_ready"
    assert "no complete answer within" in caught.value.text


@pytest.mark.parametrize(
    ("behaviour", "difference"), [("shorter", "5 bytes instead of 1024"), ("same-length", "other content")]
)
def test_wrong_content_is_found_before_measuring(behaviour, difference, scripted, content_folder):
    with server_of(scripted(behaviour), content_folder) as server:
        with pytest.raises(ServerFailure, match=difference) as caught:
            server.verify(["/1k.txt"])
        assert caught.value.code == "wrong_answer"


def test_a_path_outside_the_content_is_bad_input(scripted, content_folder):
    with server_of(scripted(), content_folder) as server, pytest.raises(BadInput, match=r"/2k\.txt"):
        server.verify(["/2k.txt"])


def test_a_server_that_ends_after_it_was_ready_fails_with_how_it_ended(scripted, content_folder):
    with server_of(scripted(), content_folder) as server:
        server.raise_if_exited()
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(ServerFailure, match="scripted was ended by SIGKILL during the trial") as caught:
            wait_until(server.raise_if_exited)
    assert caught.value.code == "died"
    assert "GET /1k.txt" in caught.value.log_tail


def test_a_server_that_dies_of_what_it_is_verified_by_has_died_and_not_answered_wrongly(
    scripted, content_folder
):
    with (
        server_of(scripted("dies-of-64k"), content_folder) as server,
        pytest.raises(ServerFailure, match="ended with status 3 during the trial") as caught,
    ):
        server.verify(["/deep/64k.txt"])
    assert caught.value.code == "died"


@pytest.mark.parametrize("behaviour", ["forks", "forks-away"])
def test_children_that_outlive_their_server_are_killed(behaviour, scripted, content_folder):
    with server_of(scripted(behaviour), content_folder) as server:
        pid = server.pid
    assert members_of_session(pid) == set()


def test_a_person_who_looks_at_the_logs_in_a_terminal_is_left_alone(scripted, content_folder):
    with server_of(scripted(), content_folder) as server:
        shell, terminal = pty.fork()
        if shell == 0:
            os.chdir(server.marks.folder)
            # What the shell starts is, as the server in the background, no child of this process.
            os.execvp("sh", ["sh", "-c", "sleep 3600 & echo $!; wait"])
        reader = identify(int(os.read(terminal, 100)))
    try:
        assert is_running(reader)
    finally:
        for pid in (reader.pid, shell):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(shell, 0)
        os.close(terminal)


def test_a_server_that_ignores_the_stop_signal_is_killed_after_its_timeout(scripted, content_folder):
    with server_of(scripted("ignores-sigterm", stop_s=0.3), content_folder) as server:
        started = time.monotonic()
        server.stop()
        assert 0.3 <= time.monotonic() - started < 5


def test_a_taken_port_is_given_up_for_another(scripted, content_folder, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        give_port_first(monkeypatch, taken)
        # The other program accepts and says nothing.
        with server_of(scripted(), content_folder) as server:
            assert server.port != taken


def test_the_answer_of_another_program_on_the_port_is_not_taken_for_the_servers(
    scripted, content_folder, monkeypatch
):
    with server_of(scripted(), content_folder) as other:
        give_port_first(monkeypatch, other.port)
        with server_of(scripted(), content_folder) as server:
            assert server.port != other.port
            server.verify(["/1k.txt"])


def test_a_port_that_stays_taken_ends_in_a_failure(scripted, content_folder, monkeypatch):
    with server_of(scripted(), content_folder) as other:
        monkeypatch.setattr(instance_module, "free_port", lambda address: other.port)
        failure = failure_of(scripted("never-listens"), content_folder)
    assert failure.code == "port_taken"


def test_an_exception_in_the_block_stops_the_server(scripted, content_folder):
    with pytest.raises(ZeroDivisionError), server_of(scripted(), content_folder):
        raise ZeroDivisionError


def test_a_server_whose_block_is_never_left_ends_with_its_owner(scripted, content_folder):
    here = str(Path(__file__).parent)
    command = [
        sys.executable,
        "-c",
        FORGETFUL_OWNER_SCRIPT,
        here,
        str(scripted().folder),
        str(content_folder),
    ]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert members_of_session(int(finished.stdout)) == set()


def test_an_interrupt_while_waiting_for_the_server_stops_it(scripted, content_folder, state):
    def interrupt() -> None:
        wait_until(lambda: marked_processes(state) != set())
        _thread.interrupt_main()

    server = server_of(scripted("never-listens", ready_s=60), content_folder)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt), server:
        pass


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_interrupt_around_the_spawn_leaves_nothing(moment, scripted, content_folder, monkeypatch):
    import loadcurve.server.direct as direct_module

    spawn = direct_module.spawn

    def interrupted_spawn(*arguments):
        if moment == "before":
            signal.raise_signal(signal.SIGINT)
        process = spawn(*arguments)
        if moment == "after":
            signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(direct_module, "spawn", interrupted_spawn)
    with pytest.raises(KeyboardInterrupt), server_of(scripted(), content_folder):
        pass


def test_an_interrupt_during_the_stop_hurries_it_and_leaves_nothing(scripted, content_folder):
    with server_of(scripted("ignores-sigterm", "forks", stop_s=60), content_folder) as server:
        pid = server.pid
        usual = signal.getsignal(signal.SIGINT)

        def interrupt() -> None:
            # The stop has begun once it puts off interrupts.
            wait_until(lambda: signal.getsignal(signal.SIGINT) is not usual)
            os.kill(os.getpid(), signal.SIGINT)

        started = time.monotonic()
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            server.stop()
    assert time.monotonic() - started < 30
    assert members_of_session(pid) == set()


def test_a_launch_that_never_started_ends_without_a_trace(scripted):
    Launch(found(scripted()), 1).end()


def test_a_state_folder_that_cannot_be_written_is_named_before_anything_starts(
    scripted, content_folder, monkeypatch, tmp_path
):
    file = tmp_path / "a-file"
    file.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    with pytest.raises(BadInput, match="XDG_STATE_HOME"), server_of(scripted(), content_folder):
        pass


@pytest.mark.parametrize("behaviours", [[], ["ignores-sigterm"], ["forks"], ["forks-away"]])
def test_what_a_killed_run_left_is_ended_and_reported(behaviours, scripted, content_folder, state):
    entry = scripted(*behaviours)
    owner, pid = start_owner(entry.folder, content_folder)
    kill_owner(owner)
    (cleaned,) = clean_up_after_killed_runs()
    assert (cleaned.server, cleaned.owner_pid) == ("scripted", owner.pid)
    assert f"process {owner.pid}" in cleaned.text
    assert cleaned.removed_folder is not None
    assert not cleaned.removed_folder.exists()
    assert members_of_session(pid) == set()
    assert cleaned.remaining_pids == ()
    assert clean_up_after_killed_runs() == []


@pytest.mark.needs("nginx")
def test_orphaned_workers_of_a_killed_nginx_are_ended(content_folder):
    owner, pid = start_owner(load_catalog()["nginx"].folder, content_folder)
    # nginx writes over its environment, so that its workers are known by their session and their files only.
    kill_owner(owner, also=pid)
    workers = members_of_session(pid) - {pid}
    (cleaned,) = clean_up_after_killed_runs()
    assert workers <= set(cleaned.killed_pids)
    assert members_of_session(pid) == set()


def test_a_running_owners_server_is_left_alone(scripted, content_folder):
    with server_of(scripted(), content_folder) as server:
        assert clean_up_after_killed_runs() == []
        server.verify(["/1k.txt"])


def test_a_process_that_only_has_the_recorded_id_is_not_touched(state, tmp_path):
    stranger = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    try:
        entry = LedgerEntry("scripted", state / "tmp")
        entry.record_session(ProcessIdentity(stranger.pid, identify(stranger.pid).start_ticks - 1))
        disown(entry)
        (cleaned,) = clean_up_after_killed_runs()
        assert cleaned.killed_pids == ()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_folder_that_is_not_named_by_the_ledger_is_not_removed(state):
    precious = state / "precious"
    precious.mkdir()
    entry = LedgerEntry("scripted", state / "tmp")
    entry.start = entry.start.model_copy(update={"private_folder": precious})
    disown(entry)
    (cleaned,) = clean_up_after_killed_runs()
    assert cleaned.removed_folder is None
    assert precious.is_dir()


@pytest.mark.skipif(group_parent() is None, reason="needs to make a control group of version 2, as root may")
def test_the_group_of_a_killed_run_is_removed_with_the_rest(state):
    entry = LedgerEntry("scripted", state / "tmp", group_parent())
    entry.start.counting_group.mkdir()
    disown(entry)
    assert len(clean_up_after_killed_runs()) == 1
    assert not entry.start.counting_group.exists()


def disown(entry):
    """Make a ledger entry look as if its owner had been killed: no process started before time began."""
    owner = entry.start.owner.model_copy(update={"start_ticks": -1})
    entry.start = entry.start.model_copy(update={"owner": owner})
    entry._write()

"""Servers that something goes before: a command that must come to its end, or nothing is started."""

import os
import sys
import textwrap

import pytest
from server_support import kill_owner, processes_using, server_of, spawn_owner, wait_until

from loadcurve.server.catalog import read_entry
from loadcurve.server.failure import ServerFailure
from loadcurve.server.ledger import clean_up_after_killed_runs


@pytest.fixture
def prepared(tmp_path):
    """Make an entry whose start is preceded by a script, and whose server says that it was started."""

    def make(script):
        (tmp_path / "server.toml").write_text(
            textwrap.dedent(f"""
            title = "prepared"
            documentation = "https://example.org/"
            binary = ["{sys.executable}"]
            user = ["root"]
            prepare = ["/bin/sh", "-c", '''{script}''']
            start = ["/bin/sh", "-c", ": > {tmp_path}/started; exec sleep 600"]
            ready = {{ timeout = "1s" }}
            [version]
            command = ["/bin/sh", "-c", "echo prepared 1.0"]
            pattern = 'prepared (\\S+)'
            """)
        )
        return read_entry(tmp_path)

    return make


def failure_of(entry, content_folder):
    with pytest.raises(ServerFailure) as caught, server_of(entry, content_folder):
        pass
    return caught.value


def test_what_goes_wrong_before_the_start_is_reported_in_its_own_words_and_nothing_is_started(
    prepared, content_folder, tmp_path
):
    failure = failure_of(prepared("echo no space left >&2; exit 3"), content_folder)
    assert (failure.code, failure.log_tail) == ("not_prepared", "no space left")
    assert "ended with status 3" in failure.text
    assert not (tmp_path / "started").exists()


def test_what_never_ends_before_the_start_is_killed(prepared, content_folder, monkeypatch, tmp_path):
    monkeypatch.setattr("loadcurve.server.preparation.PREPARE_TIMEOUT_S", 0.2)
    failure = failure_of(prepared("sleep 600 & sleep 600"), content_folder)
    assert failure.code == "not_prepared"
    assert "did not end within 0.2 s" in failure.text
    assert not (tmp_path / "started").exists()


def test_what_a_failed_preparation_leaves_in_the_background_is_ended(prepared, content_folder, state):
    in_background = 'setsid sh -c "touch up; sleep 600" & until [ -e up ]; do sleep 0.01; done; exit 3'
    failure = failure_of(prepared(in_background), content_folder)
    assert failure.code == "not_prepared"
    assert processes_using(state / "tmp") == set()


def test_an_interrupt_before_the_start_ends_what_is_prepared(prepared, content_folder, tmp_path):
    entry = prepared(f"kill -INT {os.getpid()}; sleep 600")
    with pytest.raises(KeyboardInterrupt), server_of(entry, content_folder):
        pass
    assert not (tmp_path / "started").exists()


def test_a_killed_run_takes_along_what_is_prepared(prepared, content_folder, state):
    entry = prepared("pwd > here; exec sleep 600")
    owner = spawn_owner(entry.folder, content_folder)
    wait_until(lambda: any((state / "tmp").glob("loadcurve-*/private/here")))
    kill_owner(owner)
    wait_until(lambda: processes_using(state / "tmp") == set())
    (cleaned,) = clean_up_after_killed_runs()
    assert cleaned.removed_folder is not None


def test_what_was_prepared_is_there_at_the_start(prepared, content_folder, tmp_path):
    failure_of(prepared(f"pwd > {tmp_path}/where"), content_folder)
    assert (tmp_path / "started").exists()
    assert "loadcurve-" in (tmp_path / "where").read_text()

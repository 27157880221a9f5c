"""Reading ``/proc``, putting off interrupts, and ending with the parent."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.processes import (
    Listener,
    ProcessIdentity,
    addresses_instead,
    carries_variable,
    held_sockets,
    identify,
    is_running,
    keeps_its_id,
    listening_sockets,
    read_status,
    send_signal,
    uses_folder,
)
from loadcurve.server.spawn import ends_with_parent, spawn
from support.sandbox import wait_until


@contextmanager
def ended_afterwards(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def sleeping(program="sleep", **how):
    return ended_afterwards(subprocess.Popen([program, "3600"], **how))


@pytest.fixture
def sleeper():
    with sleeping(start_new_session=True) as process:
        yield process


def test_the_session_of_a_process_is_what_the_kernel_says(sleeper):
    status = read_status(sleeper.pid)
    assert status.session == os.getsid(sleeper.pid) == sleeper.pid
    assert not status.ended


def test_the_start_of_a_process_agrees_with_psutil(sleeper):
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    age_ticks = identify(sleeper.pid).start_ticks - identify(os.getpid()).start_ticks
    expected_s = psutil.Process(sleeper.pid).create_time() - psutil.Process().create_time()
    assert age_ticks / ticks_per_s == pytest.approx(expected_s, abs=0.05)


def test_a_name_with_parentheses_and_spaces_does_not_confuse(tmp_path):
    program = tmp_path / "a) S 1 (b"
    shutil.copy2(shutil.which("sleep"), program)
    with sleeping(program) as process:
        assert read_status(process.pid).session == os.getsid(process.pid)


def test_a_process_that_waits_to_be_reaped_keeps_its_id_but_does_not_run(sleeper):
    process = identify(sleeper.pid)
    assert is_running(process)
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert keeps_its_id(process)
    assert not is_running(process)
    sleeper.wait()
    assert not keeps_its_id(process)
    assert read_status(sleeper.pid) is None


def test_a_signal_for_an_earlier_process_of_the_same_id_is_not_sent(sleeper):
    earlier = ProcessIdentity(sleeper.pid, identify(sleeper.pid).start_ticks - 1)
    send_signal(earlier, signal.SIGKILL)
    send_signal(identify(sleeper.pid), signal.SIGTERM)
    assert sleeper.wait(timeout=10) == -signal.SIGTERM


def test_the_environment_tells_whose_a_process_is():
    with sleeping(env={**os.environ, "MARK": "abc"}) as process:
        # The kernel shows the environment a moment after the program has begun.
        wait_until(lambda: carries_variable(identify(process.pid), "MARK=abc"), "the environment is shown")
        assert not carries_variable(identify(process.pid), "MARK=ab")


def test_a_process_uses_the_folder_it_works_in_and_that_of_its_files(tmp_path):
    folder, other = tmp_path / "a", tmp_path / "ab"
    folder.mkdir()
    other.mkdir()
    with (folder / "log").open("wb") as log, sleeping(stdout=log) as by_file, sleeping(cwd=folder) as by_cwd:
        for process in (by_file, by_cwd):
            assert uses_folder(identify(process.pid), folder)
            assert not uses_folder(identify(process.pid), other)


@pytest.mark.parametrize(
    ("listens", "instead"),
    [
        (["::1"], {"::1"}),
        (["192.0.2.1"], {"192.0.2.1"}),
        (["::1", "127.0.0.1"], set()),
        (["0.0.0.0"], set()),
        (["::"], set()),  # Both protocols, unless the program forbids it (RFC 3493, 5.3).
        ([], set()),
    ],
)
def test_a_program_listens_elsewhere_where_no_socket_of_its_port_is_reached_at_the_address(listens, instead):
    sockets = [Listener(1, ip_address(one), 80, 0) for one in listens]
    assert (
        addresses_instead([*sockets, Listener(2, ip_address("192.0.2.9"), 81, 0)], 80, "127.0.0.1") == instead
    )


def test_a_listening_socket_is_found_and_known_as_our_own():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        inode = os.fstat(listener.fileno()).st_ino
        with socket.create_connection(("127.0.0.1", port)):
            assert listening_sockets(port) == {inode}
        assert inode in held_sockets(identify(os.getpid()))
    assert listening_sockets(port) == set()


def test_an_interrupt_waits_for_the_end_of_the_block():
    done = []

    def work():
        with interrupts_deferred() as interrupted:
            assert not interrupted()
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert interrupted()
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blocks_that_put_off_interrupts_may_be_nested():
    def work():
        with interrupts_deferred() as outer:
            with interrupts_deferred():
                signal.raise_signal(signal.SIGINT)
            assert outer()

    with pytest.raises(KeyboardInterrupt):
        work()


def test_outside_the_main_thread_there_is_nothing_to_put_off():
    answers = []

    def work():
        with interrupts_deferred() as interrupted:
            answers.append(interrupted())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers == [False]


@pytest.mark.needs("setpriv")
def test_a_process_ends_when_the_one_that_started_it_is_killed(tmp_path):
    script = (
        "import os, sys, time; from pathlib import Path; from loadcurve.server.spawn import spawn;"
        "p = spawn(['sleep', '3600'], Path(sys.argv[1]), Path(sys.argv[1], 'log'), None, os.environ);"
        "print(p.pid, flush=True); time.sleep(3600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True)
    pid = int(owner.stdout.readline())
    process = identify(pid)
    wait_until(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep\0"), "it has begun")
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until(lambda: not is_running(process), "it has ended with its owner")


def test_a_spawned_process_leads_its_own_session_in_its_folder(tmp_path):
    spawned = spawn(["sleep", "3600"], tmp_path, tmp_path / "log", None, os.environ)
    with ended_afterwards(spawned) as process:
        assert os.getsid(process.pid) == process.pid
        assert os.readlink(f"/proc/{process.pid}/cwd") == str(tmp_path.resolve())  # noqa: PTH115


def test_a_command_whose_parent_ended_before_it_could_ask_the_kernel_does_not_begin(tmp_path):
    begun = tmp_path / "begun"
    words = ends_with_parent()
    if not words:
        pytest.skip("this machine has no setpriv")
    # Some process that is not this one, as it is after the parent's end.
    finished = subprocess.run([*words[:-1], str(os.getppid()), "touch", begun], check=False)
    assert (finished.returncode, begun.exists()) == (1, False)
    subprocess.run([*words, "touch", begun], check=True)
    assert begun.exists()

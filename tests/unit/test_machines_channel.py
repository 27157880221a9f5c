"""Calls to the agent on another machine, which here is a process of this one."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.machines import channel as near
from loadcurve.machines import messages
from loadcurve.machines.channel import Channel, FarError, MachineLost
from loadcurve.machines.messages import BadMessage, Lines
from support import scripted_agent
from support.scripted_agent import known

PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def short_lines(monkeypatch):
    monkeypatch.setattr(messages, "LINE_BYTES_MAX", scripted_agent.LINE_BYTES_MAX)


@pytest.fixture
def far(monkeypatch, tmp_path):
    """A channel to an agent of this machine, and the file in which the agent notes what it left behind."""
    monkeypatch.setattr(near, "BEAT_S", scripted_agent.BEAT_S)
    monkeypatch.setenv(scripted_agent.LEFT_BEHIND, str(tmp_path / "left"))
    with Channel("far", scripted_agent.COMMAND) as channel:
        yield channel


def speaking(*lines: bytes, then: str = "cat > /dev/null") -> list[str]:
    """The command of a far side that writes these lines, and then runs a command of the shell."""
    written = b"".join(lines).decode()
    return ["sh", "-c", f'printf %s "$1"; {then}', "sh", written]


def wait_until_gone(*pids: int):
    deadline = time.monotonic() + PATIENCE_S
    while left := [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_call_returns_what_its_handler_returns(far: Channel):
    given = {"number": 1, "text": "ü\n", "nothing": None, "list": [{"a": 1.5}]}
    assert far.call(known("test.return"), **given) == given


def test_the_greeting_says_what_is_there(far: Channel):
    assert far.greeting.format == messages.FORMAT
    assert far.greeting.python.startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert far.greeting.user_id == os.geteuid()


def test_calls_are_answered_in_any_order(far: Channel, tmp_path: Path):
    first, second = (
        far.start(known("test.wait"), **{"for": str(tmp_path / name)}) for name in ("first", "second")
    )
    (tmp_path / "second").touch()
    assert second.result(PATIENCE_S) == str(tmp_path / "second")
    assert not first.done()
    (tmp_path / "first").touch()
    assert first.result(PATIENCE_S) == str(tmp_path / "first")


def test_events_come_in_their_order_and_before_the_answer(far: Channel):
    seen: list[int] = []
    answer = far.start(known("test.count"), seen.append, to=100)
    assert answer.result(PATIENCE_S) == "counted"
    assert seen == list(range(100))


def test_an_error_is_raised_as_what_it_was_with_the_name_of_the_machine(far: Channel):
    with pytest.raises(BadInput, match=r"^machine far: what was given is wrong$"):
        far.call(known("test.fail"), how="bad_input")
    with pytest.raises(FarError, match=r"^machine far: it is as it is$") as caught:
        far.call(known("test.fail"), how="own")
    assert (caught.value.kind, caught.value.details) == ("own", {"code": 7})
    with pytest.raises(FarError, match="/nowhere: No such file or directory"):
        far.call(known("test.fail"), how="system")
    with pytest.raises(FarError, match="ValueError: not foreseen"):
        far.call(known("test.fail"), how="otherwise")


def test_an_unknown_call_is_named(far: Channel):
    with pytest.raises(FarError, match=r'knows no call "test\.nothing"'):
        far.call(known("test.nothing"))
    with pytest.raises(FarError, match=r'knows no call "other\.thing"'):
        far.call(known("other.thing"))


def test_what_handlers_print_is_no_message(far: Channel):
    far.call(known("test.print"), text='{"id": 1, "result": "false"}')
    assert far.call(known("test.return"), after=1) == {"after": 1}


def test_an_answer_that_is_too_long_is_an_error_and_the_agent_goes_on(far: Channel):
    with pytest.raises(FarError, match="expected at most"):
        far.call(known("test.long"))
    assert far.call(known("test.return"), after=1) == {"after": 1}


def test_arguments_that_are_too_long_or_not_in_json_are_an_error_and_nothing_is_sent(far: Channel):
    with pytest.raises(BadMessage, match="expected at most"):
        far.call(known("test.return"), text="x" * messages.LINE_BYTES_MAX)
    with pytest.raises(BadMessage, match="cannot be written as JSON"):
        far.call(known("test.return"), number=float("nan"))
    assert far.call(known("test.return"), after=1) == {"after": 1}


def test_an_echo_lies_between_the_call_and_its_answer(far: Channel):
    before_ns = time.monotonic_ns()
    echo = far.call(known("echo"))
    assert before_ns <= echo["arrived_ns"] <= echo["sent_ns"] <= time.monotonic_ns()


def test_nothing_is_left_once_the_channel_is_closed(far: Channel):
    ids = far.call(known("test.start"))
    far.close()
    assert not any(map(is_alive, ids.values()))
    with pytest.raises(MachineLost, match=r"^machine far: the connection was closed on this side$"):
        far.call(known("echo"))


@pytest.mark.parametrize("stopped", [(), ("guard", "worker")], ids=["running", "stopped"])
def test_nothing_is_left_once_the_near_side_is_killed(stopped, monkeypatch, tmp_path: Path):
    monkeypatch.setenv(scripted_agent.LEFT_BEHIND, str(tmp_path / "left"))
    script = f"""
        import json, time
        from loadcurve.machines.channel import Channel
        from loadcurve.machines.far_call import ANYTHING, FarCall
        channel = Channel("far", {scripted_agent.COMMAND})
        print(json.dumps(channel.call(FarCall("test.start", ANYTHING))), flush=True)
        time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        ids = json.loads(run.stdout.readline())
        assert all(map(is_alive, ids.values()))
        for name in stopped:
            os.kill(ids[name], signal.SIGSTOP)
        run.kill()
    wait_until_gone(*ids.values())


def test_a_silent_near_side_ends_the_agent(far: Channel):
    ids = far.call(known("test.start"))
    far._ends.set()
    wait_until_gone(*ids.values())


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_nothing_is_left_of_a_worker_that_is(end: signal.Signals, far: Channel):
    ids = far.call(known("test.start"))
    answer = far.start(known("test.wait"), **{"for": "/nowhere"})
    os.kill(ids["worker"], end)
    with pytest.raises(MachineLost, match=r"^machine far: "):
        answer.result(PATIENCE_S)
    wait_until_gone(*ids.values())


def test_nothing_is_left_of_an_agent_whose_processes_are_both_stopped(far: Channel):
    ids = far.call(known("test.start"))
    for name in ("guard", "worker"):
        os.kill(ids[name], signal.SIGSTOP)
    wait_until_gone(*ids.values())


def test_a_guard_that_was_stopped_is_continued_and_its_worker_is_none_the_worse(far: Channel):
    ids = far.call(known("test.start"))
    os.kill(ids["guard"], signal.SIGSTOP)
    # It is a child of this process, and its kernel reports both.
    for event in (os.WSTOPPED, os.WCONTINUED):
        deadline = time.monotonic() + PATIENCE_S
        while os.waitid(os.P_PID, ids["guard"], event | os.WNOHANG) is None:
            assert time.monotonic() < deadline, "it is not stopped, or not continued"
            time.sleep(0.01)
    # For as long as it waits for a silent worker, and once more.
    until = time.monotonic() + 2 * messages.SILENT_BEATS_MAX * scripted_agent.BEAT_S
    while time.monotonic() < until:
        assert far.call(known("test.return"), after=1) == {"after": 1}
        time.sleep(scripted_agent.BEAT_S)


def test_a_killed_guard_ends_a_worker_that_is_stopped(far: Channel):
    ids = far.call(known("test.start"))
    os.kill(ids["worker"], signal.SIGSTOP)
    os.kill(ids["guard"], signal.SIGKILL)
    wait_until_gone(*ids.values())


def test_a_stopped_guard_is_gone_with_the_worker(far: Channel):
    ids = far.call(known("test.start"))
    os.kill(ids["guard"], signal.SIGSTOP)
    far.close()
    wait_until_gone(*ids.values())


def test_a_worker_that_does_not_end_is_killed(far: Channel):
    ids = far.call(known("test.start"))
    far.call(known("test.close_slowly"))
    far.close()
    assert not any(map(is_alive, ids.values()))


def test_a_killed_guard_ends_the_worker(far: Channel):
    ids = far.call(known("test.start"))
    os.kill(ids["guard"], signal.SIGKILL)
    wait_until_gone(*ids.values())


def test_a_far_side_that_falls_silent_is_lost(monkeypatch):
    monkeypatch.setattr(near, "BEAT_S", 0.02)
    greeting = messages.encoded(messages.greeting())
    with Channel("far", speaking(greeting)) as channel:
        answer = channel.start(known("echo"))
        with pytest.raises(MachineLost, match=r"it was silent for 0\.1 s"):
            answer.result(PATIENCE_S)


def test_a_lost_far_side_is_sent_no_more_beats(monkeypatch):
    monkeypatch.setattr(near, "BEAT_S", 0.02)
    with Channel("far", speaking(messages.encoded(messages.greeting()), b"[1]\n")) as channel:
        channel._beats.join(PATIENCE_S)
        assert channel.lost is not None
        assert not channel._beats.is_alive()


def test_what_the_process_wrote_is_in_the_error():
    command = ["sh", "-c", "echo 'ssh: Could not resolve hostname far' >&2; exit 255"]
    with pytest.raises(
        MachineLost, match="ended with status 255; it wrote: ssh: Could not resolve"
    ) as caught:
        Channel("far", command)
    assert caught.value.exit_code == 4


def test_a_program_that_is_missing_is_named():
    with pytest.raises(MachineLost, match="machine far: /nowhere/ssh cannot be started"):
        Channel("far", ["/nowhere/ssh", "far"])


def test_a_host_that_says_nothing_is_given_up_in_time():
    with pytest.raises(MachineLost, match=r"no agent answered within 0\.1 s"):
        Channel("far", ["sleep", "600"], greeting_timeout_s=0.1)


def test_lines_of_a_login_shell_before_the_greeting_are_skipped():
    greeting = messages.encoded(messages.greeting())
    with Channel("far", speaking(b"Welcome!\n{}\n\n", greeting)) as channel:
        assert channel.greeting.format == messages.FORMAT


def test_an_agent_of_another_version_is_refused_with_both_versions():
    greeting = messages.encoded({**messages.greeting(), "version": "0.0.1"})
    with pytest.raises(NothingMeasured, match=r"its agent is of Loadcurve 0\.0\.1 .* use the same version"):
        Channel("far", speaking(greeting))


def test_an_agent_of_another_format_is_refused():
    greeting = messages.encoded({**messages.greeting(), "format": "loadcurve-agent/0"})
    with pytest.raises(NothingMeasured, match="loadcurve-agent/0"):
        Channel("far", speaking(greeting))


def test_a_far_side_that_sends_no_messages_is_lost():
    greeting = messages.encoded(messages.greeting())
    with (
        Channel("far", speaking(greeting, b"[1]\n")) as channel,
        pytest.raises(MachineLost, match="'\\[1\\]'"),
    ):
        channel.start(known("echo")).result(PATIENCE_S)


def test_a_far_side_that_sends_a_line_without_end_is_lost(monkeypatch):
    monkeypatch.setattr(near, "END_TIMEOUT_S", 0.1)
    greeting = messages.encoded(messages.greeting())
    with (
        Channel("far", speaking(greeting, then="yes | tr -d '\\n'")) as channel,
        pytest.raises(MachineLost, match="a line has"),
    ):
        channel.start(known("echo")).result(PATIENCE_S)


def test_lines_are_the_same_however_they_were_split():
    text = b"one\n\ntwo\nthree"
    for size in range(1, len(text) + 1):
        lines = Lines()
        found = [line for at in range(0, len(text), size) for line in lines.of(text[at : at + size])]
        assert found == [b"one", b"", b"two"]


def test_a_line_of_the_longest_length_is_taken_and_a_longer_one_refused():
    assert list(Lines(4).of(b"abc\n")) == [b"abc"]
    with pytest.raises(BadMessage, match="4 bytes"):
        list(Lines(4).of(b"abcd\n"))
    with pytest.raises(BadMessage, match="4 bytes"):
        list(Lines(4).of(b"abcd"))

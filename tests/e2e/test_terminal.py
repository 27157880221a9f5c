"""What a person sees while the command runs in a terminal of 80 columns."""

import os
import pty
import re
import select
import subprocess
import termios
import time
from dataclasses import dataclass, field

import pytest

from support import synthetic_run as synthetic
from support.sandbox import COMMAND_TIMEOUT_S, wait_until
from support.tiny_study import study_text

# It makes the pseudo-terminal the one whose Ctrl-C the command gets.
pytestmark = pytest.mark.needs("setsid")

COLUMNS = 80
VERDICT = re.compile("valid|suspect")
"""What a load that can be used is called; a busy machine may make it suspect."""
ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38;[0-9;]+)m")
LIVE_LINE = re.compile(r"trial \d+ of 50 · limit · connections [12]")
TIME_LEFT = re.compile(r"[1-9]\d* of 100 points, about \d+:\d\d left")


@dataclass
class Terminal:
    """A pseudo-terminal with a command in it, and everything that the command has drawn."""

    process: subprocess.Popen[bytes]
    master: int
    drawn: bytearray = field(default_factory=bytearray)

    def read(self) -> str:
        """Return everything drawn until now."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.drawn += os.read(self.master, 1 << 16)
            except OSError:
                # The command has closed the other side.
                break
        return self.drawn.decode(errors="replace")

    def plain_lines(self) -> list[str]:
        """Return every line ever drawn, without colours and movements of the cursor."""
        return re.split(r"[\r\n]+", ESCAPE_SEQUENCE.sub("", self.read()))

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait(self) -> int:
        deadline = time.monotonic() + COMMAND_TIMEOUT_S
        while self.process.poll() is None:
            # A command whose terminal nobody reads would wait forever.
            self.read()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.read()
        return self.process.returncode


@pytest.fixture
def open_terminal(sandbox):
    terminals = []

    def open_one(*arguments, **variables):
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, COLUMNS))
        process = subprocess.Popen(
            ["setsid", "--ctty", *sandbox.command(*arguments)],
            cwd=sandbox.work,
            env=sandbox.environment(**variables),
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        terminals.append(Terminal(process, master))
        return terminals[-1]

    yield open_one
    for terminal in terminals:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.master)


def test_a_run_shows_where_it_is_and_how_long_it_takes_until_ctrl_c(sandbox, open_terminal):
    sandbox.write("tiny.toml", study_text(trials=50))
    terminal = open_terminal("run", "tiny.toml", "--out", "run")
    wait_until(lambda: LIVE_LINE.search(terminal.read()) is not None, "trial, server and point are shown")
    wait_until(lambda: TIME_LEFT.search(terminal.read()) is not None, "points and time left are shown")
    wait_until(lambda: "requests/s" in terminal.read(), "the throughput is shown")
    terminal.type("\x03")
    assert terminal.wait() == 130
    lines = terminal.plain_lines()
    assert max(map(len, lines)) <= COLUMNS
    summary = terminal.read().partition("interrupted: what was measured is kept")[2]
    assert VERDICT.search(summary) is not None
    assert COLOUR.search(summary) is not None
    assert lines[-3:] == ["To resume it: loadcurve run --resume run", "run/report.html", ""]


def test_a_load_shows_its_progress(limit_url, open_terminal):
    terminal = open_terminal("load", limit_url, "-d", "1200ms")
    assert terminal.wait() == 0
    second = r"\d of 1\.2 s · [\d,]+ requests/s · p50 [\d.,]+, p90 [\d.,]+, p99 [\d.,]+ ms"
    assert re.search(second, terminal.read())
    assert max(map(len, terminal.plain_lines())) <= COLUMNS


def test_a_long_sentence_is_broken_between_words(limit_url, open_terminal):
    terminal = open_terminal("load", limit_url, "-R", "100-")
    assert terminal.wait() == 2
    lines = [line for line in terminal.plain_lines() if line]
    assert len(lines) > 1
    assert max(map(len, lines)) <= COLUMNS
    assert 'or a profile such as "100-1000:30s" (a ramp) or "500:10s, 1000:10s" (steps)' in " ".join(lines)


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colours_unless_the_person_wants_none(variables, coloured, limit_url, open_terminal):
    terminal = open_terminal("load", limit_url, "-n", 100, **variables)
    assert terminal.wait() == 0
    assert VERDICT.search(terminal.read()) is not None
    assert (COLOUR.search(terminal.read()) is not None) == coloured


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), pytest.param({"NO_COLOR": "1"}, False, marks=pytest.mark.long)],
)
def test_the_findings_and_verdicts_of_a_report_are_coloured_unless_the_person_wants_no_colours(
    variables, coloured, sandbox, open_terminal
):
    synthetic.write_run(sandbox.work / "synthetic")
    terminal = open_terminal("report", "synthetic", TERM="xterm", **variables)
    assert terminal.wait() == 0
    assert "Findings" in terminal.read()
    assert (COLOUR.search(terminal.read()) is not None) == coloured
    assert max(map(len, terminal.plain_lines())) <= COLUMNS


def test_a_text_of_a_run_does_not_steer_the_terminal(sandbox, open_terminal):
    steers = "\x1b[2J\x1b]0;taken\x07"
    synthetic.write_run(sandbox.work / "runs" / "one", texts=synthetic.Texts(title=f"title{steers}"))
    terminal = open_terminal("runs", "runs")
    assert terminal.wait() == 0
    assert "title[2J]0;taken" in "".join(terminal.plain_lines())
    assert steers not in terminal.read()
    assert "\x07" not in terminal.read()

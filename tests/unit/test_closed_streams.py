"""A command whose stdin and stderr are closed: their numbers never belong to another file."""

import subprocess
import sys

CHILD = "import os; print(*[os.readlink(f'/proc/self/fd/{number}') for number in (0, 2)])"
COMMAND = f"""
import subprocess, sys
from loadcurve.cli.output import occupy_closed_streams
occupy_closed_streams()
with open("/etc/hostname") as other:
    print(other.fileno() > 2, flush=True)
    subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
"""


def test_closed_streams_lead_nowhere_in_the_command_and_in_what_it_starts():
    without_streams = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", sys.executable, "-c", COMMAND]
    ended = subprocess.run(without_streams, stdout=subprocess.PIPE, text=True, check=True)
    assert ended.stdout.split() == ["True", "/dev/null", "/dev/null"]


def test_a_stream_that_is_open_stays_what_it_is(tmp_path):
    said = tmp_path / "said"
    command = (
        "import os; from loadcurve.cli import output; output.occupy_closed_streams(); os.write(2, b'heard')"
    )
    with said.open("wb") as stderr:
        subprocess.run([sys.executable, "-c", command], stderr=stderr, check=True)
    assert said.read_bytes() == b"heard"

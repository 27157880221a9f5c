"""An agent with a role for tests, and beats that are shorter than real ones.

This file is the program of its process.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from loadcurve.errors import BadInput
from loadcurve.machines import agent, messages
from loadcurve.machines.agent import Call, CallFailed
from loadcurve.machines.far_call import ANYTHING, FarCall

BEAT_S = 0.1
LINE_BYTES_MAX = 1 << 20
COMMAND = [sys.executable, __file__]
LEFT_BEHIND = "SCRIPTED_AGENT_LEFT_BEHIND"
"""The variable that names the file with the ids of what is to be killed after a killed worker."""


def known(name: str) -> FarCall[Any]:
    """Return a call of which anything may come."""
    return FarCall(name, ANYTHING, ANYTHING)


class AgentRole:
    """Handlers whose effects can be seen from outside."""

    def __init__(self):
        self._started: list[subprocess.Popen] = []
        self._closes_slowly = False
        self.handlers = {
            "return": lambda call: call.arguments,
            "wait": self._wait,
            "count": self._count,
            "fail": self._fail,
            "long": lambda call: "x" * LINE_BYTES_MAX,
            "print": lambda call: print(call.arguments["text"]),
            "start": self._start,
            "close_slowly": self._close_slowly,
        }

    def close(self):
        if self._closes_slowly:
            time.sleep(600)
        for process in self._started:
            process.kill()
            process.wait()

    def _wait(self, call: Call):
        while not Path(call.arguments["for"]).exists():
            time.sleep(0.01)
        return call.arguments["for"]

    def _count(self, call: Call):
        for number in range(call.arguments["to"]):
            call.tell(number)
        return "counted"

    def _fail(self, call: Call):
        match call.arguments["how"]:
            case "bad_input":
                raise BadInput("what was given is wrong")
            case "own":
                raise CallFailed("own", "it is as it is", code=7)
            case "system":
                raise FileNotFoundError(2, "", "/nowhere")
        raise ValueError("not foreseen")

    def _start(self, call: Call):
        process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self._started.append(process)
        if LEFT_BEHIND in os.environ:
            Path(os.environ[LEFT_BEHIND]).write_text(str(process.pid))
        return {"started": process.pid, "worker": os.getpid(), "guard": os.getppid()}

    def _close_slowly(self, call: Call):
        self._closes_slowly = True


def clean_up_after_killed():
    os.kill(int(Path(os.environ[LEFT_BEHIND]).read_text()), signal.SIGKILL)


if __name__ == "__main__":
    agent.BEAT_S = BEAT_S
    agent.GRACE_S = 5 * BEAT_S
    messages.LINE_BYTES_MAX = LINE_BYTES_MAX
    agent.main({"test": "scripted_agent"})

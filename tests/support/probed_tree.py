"""A scripted tree of processes, and the probe that samples it."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from loadcurve.server.probing import PROGRAM
from support.sandbox import wait_until

PROCESS_TREE = Path(__file__).with_name("process_tree.py")
MOST_SAMPLES = 1000
MARK_NAME = "LOADCURVE_TEST_MARK"
_numbers = itertools.count()


class ProcessTree:
    """The tree of :mod:`process_tree`, in its own session and with a mark in its environment."""

    def __init__(self) -> None:
        # Processes of a tree that has ended may still be ending.
        value = f"{os.getpid()}-{next(_numbers)}"
        self.mark = f"{MARK_NAME}={value}"
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", PROCESS_TREE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, MARK_NAME: value},
            start_new_session=True,
        )
        self._answer()

    @property
    def pid(self) -> int:
        return self.process.pid

    def do(self, command: str) -> str:
        """Return what the tree says when the command is done."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer()

    def rest(self) -> None:
        """Return when all processes and threads sleep, and so nothing of them changes by itself."""

        def is_at_rest() -> bool:
            looks = [self._activity() for _ in range(2)]
            return looks[0] == looks[1] and all(state == "S" for state, *_ in looks[0].values())

        wait_until(is_at_rest, "the tree is at rest")

    def _activity(self) -> dict[str, list[str]]:
        """The state of each thread, and how often it has been switched: who slept twice alike never woke."""
        tasks = [task for member in self.members() for task in Path(f"/proc/{member.pid}/task").iterdir()]
        return {task.name: _values(task / "status", "State", "voluntary_ctxt_switches") for task in tasks}

    def members(self) -> list[psutil.Process]:
        """The processes as psutil finds them: by their ancestors, and by the mark where these have ended."""
        main = psutil.Process(self.pid)
        found = [main, *main.children(recursive=True)]
        for process in psutil.process_iter():
            try:
                environment = [f"{name}={value}" for name, value in process.environ().items()]
                if process not in found and self.mark in environment:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()

    def _answer(self) -> str:
        answer = self.process.stdout.readline().strip()
        assert answer, f"the tree has ended with status {self.process.wait()}"
        return answer


def _values(file: Path, *names: str) -> list[str]:
    """The first word behind each name in a file of lines."""
    lines = dict(line.split(":", 1) for line in file.read_text().splitlines())
    return [lines[name].split()[0] for name in names]


@contextmanager
def process_tree() -> Iterator[ProcessTree]:
    tree = ProcessTree()
    try:
        yield tree
    finally:
        tree.end()


class RunningProbe:
    """The program, whose samples are read one by one."""

    def __init__(self, arguments: Sequence[object]) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.header = json.loads(self.process.stdout.readline())

    def next(self) -> dict[str, Any]:
        """Return the next sample, which may have been taken already."""
        line = self.process.stdout.readline()
        assert line, f"the probe has ended with status {self.process.wait()}"
        return json.loads(line)

    def ask(self) -> dict[str, Any]:
        """Ask for a sample and return it: the next one, where none is due."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.next()

    def first(self, part: str) -> dict[str, Any]:
        """Return a part of the next sample that has it."""
        return next(found for _ in range(MOST_SAMPLES) if (found := self.next()[part]) is not None)

    def last(self) -> dict[str, Any]:
        """End the probe and return the sample that it takes at its end."""
        return self.rest()[-1]

    def rest(self) -> list[dict[str, Any]]:
        """End the probe and return all its samples that were not read."""
        self.process.stdin.close()
        samples = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait(timeout=20) == 0
        self.process.stdout.close()
        return samples


@contextmanager
def running_probe(*arguments: object) -> Iterator[RunningProbe]:
    probe = RunningProbe(arguments)
    try:
        yield probe
    finally:
        if probe.process.poll() is None:
            probe.process.kill()
            probe.process.wait()
        probe.process.stdin.close()
        probe.process.stdout.close()

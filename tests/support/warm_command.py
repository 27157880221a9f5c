"""The command in a process that is forked from one which has its modules loaded, so that it begins at once.

Loading them takes longer than most commands of the tests do by themselves. Run as a script, this file is the
process that is forked from. What begins with the interpreter, such as signals while modules are loaded, needs
the command itself: :meth:`support.sandbox.Sandbox.start`.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

MESSAGE_BYTES = 1 << 17
"""More than any command line and its environment together."""
ALSO_LOADED = ("loadcurve.report.html", "loadcurve.runs.study", "scipy.optimize", "scipy.special")
"""What most commands load later. Polars stays out: it starts threads, and threads do not outlive a fork."""
WITH_POLARS = frozenset({"loadcurve.cli.import_files"})
"""Commands that read files with it."""


class WarmCommand:
    """Runs commands, one at a time."""

    def __init__(self, byte_code: Path, timeout_s: float) -> None:
        """Start the process that is forked from; it ends with the process that asks it."""
        self._timeout_s = timeout_s
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._one_at_a_time = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env={**os.environ, "PYTHONPYCACHEPREFIX": str(byte_code), "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        out_and_err: tuple[int, int],
    ) -> int:
        """Run a command to its end and return its exit code, which is negative where a signal ended it."""
        asked = json.dumps([list(command), str(folder), dict(environment)]).encode()
        with self._one_at_a_time:
            socket.send_fds(self._connection, [asked], out_and_err)
            pid = self._answer()
            self._connection.settimeout(self._timeout_s)
            try:
                return self._answer()
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._answer()
                raise subprocess.TimeoutExpired(list(command), self._timeout_s) from None

    def _answer(self) -> int:
        answer = self._connection.recv(MESSAGE_BYTES)
        assert answer, f"the process with the modules has ended with status {self._process.wait()}"
        self._connection.settimeout(None)
        return int(answer)


def load_modules() -> None:
    """Import what the command needs.

    Raises:
        AssertionError: one of the modules has started a thread.

    """
    commands = importlib.import_module("loadcurve.cli")
    for name in [f"loadcurve.cli.{one.name}" for one in pkgutil.iter_modules(commands.__path__)]:
        if name not in WITH_POLARS:
            importlib.import_module(name)
    for name in ALSO_LOADED:
        importlib.import_module(name)
    templates = importlib.import_module("loadcurve.report.page").templates()
    for name in templates.list_templates(["jinja"]):
        templates.get_template(name)
    # The templates of the servers' configurations are parsed once in a process.
    importlib.import_module("loadcurve.server.catalog").load_catalog()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a thread would be lost in what is forked"


def fork_when_asked(connection: socket.socket) -> None:
    """Fork for each command and tell how it ended; return in what is forked, ready to be the command."""
    while True:
        asked, descriptors, *_ = socket.recv_fds(connection, MESSAGE_BYTES, 2)
        if not asked:
            sys.exit()
        pid = os.fork()
        if pid == 0:
            connection.close()
            become(*json.loads(asked), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(command: list[str], folder: str, environment: dict[str, str], descriptors: list[int]) -> None:
    """Take over what belongs to a command: its words, folder, environment, stdout and stderr."""
    for number, descriptor in enumerate(descriptors, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = command
    tempfile.tempdir = None


if __name__ == "__main__":
    load_modules()
    with contextlib.suppress(ConnectionError), socket.socket(fileno=int(sys.argv[1])) as asking:
        fork_when_asked(asking)
    from loadcurve.cli.main import main

    sys.exit(main())

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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

MESSAGE_BYTES = 1 << 17
"""More than any command line and its environment together."""
ALSO_LOADED = ("loadcurve.report.html", "loadcurve.runs.study", "scipy.optimize", "scipy.special")
"""What most commands load later. Polars stays out: it starts threads, and threads do not outlive a fork."""
WITH_POLARS = frozenset({"loadcurve.cli.import_files"})
"""Commands that read files with it."""


class WarmCommand:
    """Starts commands."""

    def __init__(self) -> None:
        """Start the process that is forked from; it ends with the process that asks it."""
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                # Modules are compiled once for all tests, whatever the person's own habit is.
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def start(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        out_and_err: tuple[int, int],
    ) -> "StartedCommand":
        """Start a command and return at once."""
        asked = json.dumps([list(command), str(folder), dict(environment)]).encode()
        receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with sender:
            socket.send_fds(self._connection, [asked], [*out_and_err, sender.fileno()])
        pid = receiver.recv(MESSAGE_BYTES)
        assert pid, f"the process with the modules has ended with status {self._process.wait()}"
        return StartedCommand(list(command), int(pid), receiver)


class StartedCommand:
    """A command under way, with what of :class:`subprocess.Popen` the tests use."""

    def __init__(self, args: list[str], pid: int, receiver: socket.socket) -> None:
        self.args, self.pid = args, pid
        self.returncode: int | None = None
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        self._receiver = receiver

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, which is negative where a signal ended the command."""
        if self.returncode is None:
            self._receiver.settimeout(timeout)
            try:
                self.returncode = int(self._receiver.recv(MESSAGE_BYTES))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
            self._receiver.close()
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; return what was written to the pipes, which nobody reads beside this."""
        pipes = [self.stdout, self.stderr]
        assert None not in pipes
        with ThreadPoolExecutor(len(pipes)) as readers:
            texts = [readers.submit(pipe.read) for pipe in pipes if pipe is not None]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            out, err = (text.result() for text in texts)
        for pipe in pipes:
            pipe.close()
        return out, err

    def __enter__(self) -> "StartedCommand":
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in filter(None, (self.stdout, self.stderr)):
            pipe.close()
        self.wait()


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
    """Fork for each command; return in what is forked, ready to be the command."""
    while True:
        asked, descriptors, *_ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
        if not asked:
            sys.exit()
        if os.fork() == 0:
            connection.close()
            *out_and_err, sender = descriptors
            if is_what_is_watched(socket.socket(fileno=sender), out_and_err):
                become(*json.loads(asked), out_and_err)
                return
        for descriptor in descriptors:
            os.close(descriptor)
        # Who watches commands that have ended, ends as well.
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def is_what_is_watched(sender: socket.socket, out_and_err: list[int]) -> bool:
    """Fork once more: one is the command, and the other says its id and how it ended, and ends."""
    pid = os.fork()
    if pid == 0:
        sender.close()
        return True
    for descriptor in out_and_err:
        os.close(descriptor)
    # Whoever has asked may be gone.
    with contextlib.suppress(OSError):
        sender.send(str(pid).encode())
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        sender.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


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

"""The real command as a subprocess, in a separate place where "nothing is left" can be asserted."""

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, get_args

import psutil

from loadcurve.host.own_files import OwnKind
from loadcurve.report.summary_cache import SUMMARIES
from loadcurve.runs.own_runs import BEGUN_RUNS
from support.warm_command import StartedCommand, WarmCommand

LOADCURVE = Path(sys.executable).with_name("loadcurve")
COMMAND_TIMEOUT_S = 180
"""Several times what any command of a test takes on a machine that has nothing else to do."""
READ_BY_THE_INTERPRETER = frozenset({"LC_ALL", "PYTHONIOENCODING", "PYTHONPATH"})
"""Variables that Python reads when it starts, so that a command with one starts as people start it."""
CHANGES_OUTPUT = frozenset({"COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONDONTWRITEBYTECODE"})
"""Variables of the person who runs the tests that must not reach the command."""
KNOWN_LATER = {BEGUN_RUNS, SUMMARIES, *get_args(OwnKind)}
"""The folders of what is known of runs behind their end."""
POLL_S = 0.01


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    """Look again and again until ``condition`` holds; fail with ``what`` was waited for."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain: {what}"
        time.sleep(POLL_S)


@functools.cache
def warm_command() -> WarmCommand:
    """Return what runs the commands of all sandboxes."""
    return WarmCommand()


@dataclass(frozen=True)
class Sandbox:
    """A folder with everything that the command writes: its state, its temporary files and its results."""

    folder: Path
    figures: Path
    """The script of the figures, shared by all sandboxes: making it takes longer than most commands."""

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def work(self) -> Path:
        """Where the command is started."""
        return self.folder / "work"

    def make(self) -> None:
        # A server that root starts reads the content as another user, so every folder is open.
        for folder in (self.folder, self.state, self.temporary, self.work):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        cache = self.folder / "cache" / "loadcurve"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "figures").symlink_to(self.figures, target_is_directory=True)

    def environment(self, **more: str) -> dict[str, str]:
        places = {
            "XDG_STATE_HOME": str(self.state),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "TMPDIR": str(self.temporary),
        }
        kept = {name: value for name, value in os.environ.items() if name not in CHANGES_OUTPUT}
        return {**kept, **places, "TERM": "xterm-256color", **more}

    def command(self, *arguments: object) -> list[str]:
        return [str(LOADCURVE), *map(str, arguments)]

    def run(
        self,
        *arguments: object,
        within: Sequence[str] = (),
        stdout: IO[bytes] | None = None,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run the command to its end; ``within`` is a program that runs it in other circumstances.

        ``variables`` change its environment.
        """
        command = [*within, *self.command(*arguments)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            environment = self.environment(**variables)
            run = self._run_anew if within or variables.keys() & READ_BY_THE_INTERPRETER else self._run_warm
            code = run(command, environment, stdout or out, err)
            texts = [self._text(file) for file in (out, err)]
        return subprocess.CompletedProcess(command, code, *texts)

    def _run_anew(
        self, command: list[str], environment: dict[str, str], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        finished = subprocess.run(
            command,
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        return finished.returncode

    def _run_warm(
        self, command: list[str], environment: dict[str, str], stdout: IO[bytes], stderr: IO[bytes]
    ) -> int:
        started = self._start_warm(command, environment, (stdout.fileno(), stderr.fileno()))
        try:
            return started.wait(COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            started.kill()
            raise

    def _start_warm(
        self, command: list[str], environment: dict[str, str], out_and_err: tuple[int, int]
    ) -> StartedCommand:
        return warm_command().start(command, self.work, environment, out_and_err)

    @staticmethod
    def _text(file: IO[bytes]) -> str:
        file.seek(0)
        return file.read().decode()

    def start(
        self, *arguments: object, within: Sequence[str] = (), anew: bool = False, **variables: str
    ) -> subprocess.Popen[str] | StartedCommand:
        """Start the command and return at once; :func:`finish` waits for its end.

        ``anew`` loads its modules as people's do, which a signal may interrupt.
        """
        command = [*within, *self.command(*arguments)]
        environment = self.environment(**variables)
        if not (within or anew or variables.keys() & READ_BY_THE_INTERPRETER):
            (out, its_out), (err, its_err) = os.pipe(), os.pipe()
            started = self._start_warm(command, environment, (its_out, its_err))
            for descriptor in (its_out, its_err):
                os.close(descriptor)
            started.stdout, started.stderr = (open(one, encoding="utf-8") for one in (out, err))  # noqa: PTH123, SIM115
            return started
        return subprocess.Popen(
            command,
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def write(self, name: str, text: str) -> Path:
        file = self.work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def processes(self, named: str = "") -> list[psutil.Process]:
        """Every running process that was started here or works here, a server's orphaned worker too.

        ``named`` is part of the names asked for. A process may end at any moment: take its name from its
        ``info``, as one that is asked for later may be that of nobody.
        """
        here = str(self.folder)
        found = []
        for process in psutil.process_iter(["name"]):
            if named not in (process.info["name"] or ""):
                continue
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                # Some servers write over their environment, but each works in its private folder.
                if process.cwd().startswith(here) or here in " ".join(process.environ().values()):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
                continue
        return found

    def end_processes(self) -> None:
        """Kill what runs here, and what it starts meanwhile, until nothing does."""

        def none_is_left() -> bool:
            running = self.processes()
            for process in running:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            return running == []

        wait_until(none_is_left, "the processes of the sandbox end")

    def leftovers(self) -> list[str]:
        """Return what the command left behind: processes, records of started servers, temporary files.

        That an interrupted run was begun is known until it is resumed and complete, and which pages and
        studies are of the command's own making for a year.
        """
        state = (file for file in self.state.rglob("*") if file.is_file())
        return [
            *(f"process {process.pid} {process.info['name']}" for process in self.processes()),
            *(str(file) for file in state if file.parent.name not in KNOWN_LATER),
            *(str(file) for file in self.temporary.iterdir()),
        ]


@contextmanager
def open_sandbox(figures: Path) -> Iterator[Sandbox]:
    """Yield a new sandbox, which is gone at the end; nothing of any command may be left in it by then."""
    # Not below the folders of pytest, through which the user that root's servers become cannot pass.
    with tempfile.TemporaryDirectory(prefix="loadcurve-e2e-") as name:
        sandbox = Sandbox(Path(name).resolve(), figures)
        sandbox.make()
        yield sandbox
        left = sandbox.leftovers()
        if left:
            # What one test leaves running would disturb all tests behind it.
            sandbox.end_processes()
        assert left == [], f"this was left behind: {', '.join(left)}"


def finish(process: subprocess.Popen[str] | StartedCommand) -> subprocess.CompletedProcess[str]:
    """Wait for the end of a started command."""
    out, err = process.communicate(timeout=COMMAND_TIMEOUT_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)

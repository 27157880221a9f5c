"""The process of a tool: on the load's CPUs, in its own session, with a time limit; gone whatever happens."""

import os
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from loadcurve.errors import NothingMeasured
from loadcurve.redaction import hidden, holds_secret
from loadcurve.server.adoption import start_own
from loadcurve.server.spawn import bound_to, ends_with_parent

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PATIENCE_S = 5.0
"""How long a tool that was asked to end may take to print what it has."""
_TEXT_SHOWN = 300
_READ_BYTES = 1 << 16
_KILLING = 'read -r group && { read -r _; kill -s KILL -- "-$group"; [ -z "$1" ] || rm -rf -- "$1"; }'
"""A script that reads the number of a process group, kills that when its input ends, and removes a folder."""
_DOTTED = re.compile(r"[\w.]+", re.ASCII)
_OF_EXCEPTIONS = ("Exception", "Error")
"""How the names of Java's classes of exceptions end."""
_VOLUNTARY_SWITCHES = re.compile(rb"^voluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)


def environment_of_tools(settings_prefix: str | None = None) -> dict[str, str]:
    """Return the variables of a tool: the plan says where requests go and how, and nothing else may.

    They are the person's without proxies, without what begins with the prefix, and without the secrets that a
    study takes from there.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy")
        and not (settings_prefix and name.startswith(settings_prefix))
        and not holds_secret(value)
    }
    return kept | {"LC_ALL": "C"}


def thrown_in(text: str) -> str | None:
    """Return the first exception of Java in a text, from its package on to the end of its message."""
    for dotted in _DOTTED.finditer(text):
        begin, place = None, dotted.start()
        for part in dotted[0].split("."):
            if begin is not None and part.endswith(_OF_EXCEPTIONS):
                return text[begin:].partition("\n")[0]
            if not part[:1].islower():
                begin = None
            elif begin is None:
                begin = place
            place += len(part) + 1
    return None


@dataclass(frozen=True)
class CpuTime:
    """Processor time of a tool, in s, and how often it has slept."""

    user_s: float
    system_s: float
    voluntary_switches: float = 0.0
    """Of all its threads; between two looks a part of them."""


class _Guard:
    """A process that kills a tool with all that it has started when this process is killed.

    The kernel's signal to a child whose parent ends goes to the child alone, which may be a script.
    """

    def __init__(self, private: Path | None) -> None:
        """Start it, before the tool, whose CPU this would take; raises ``OSError`` where that is refused.

        The folder ``private`` is removed, too.
        """
        its_end, self._held = os.pipe()
        try:
            self._process = start_own(
                lambda: subprocess.Popen(  # noqa: S603 -- a fixed script
                    ["/bin/sh", "-c", _KILLING, "sh", "" if private is None else str(private)],
                    stdin=its_end,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        except OSError:
            os.close(self._held)
            raise
        finally:
            os.close(its_end)

    def watch(self, group: int) -> None:
        """Let it kill this process group."""
        # Where somebody has killed it, the tool still ends with this process by the kernel's signal.
        with suppress(BrokenPipeError):
            os.write(self._held, b"%d\n" % group)

    def dismiss(self) -> None:
        """End it before it has anything to do."""
        self._process.kill()
        self._process.wait()
        os.close(self._held)


class ToolProcess:
    """One execution of a tool, as a context manager: behind the block nothing of it is left."""

    def __init__(
        self,
        argv: Sequence[str],
        folder: Path,
        cpus: Sequence[int],
        settings_prefix: str | None = None,
        *,
        private: Path | None = None,
    ) -> None:
        """Prepare it; it starts when it is entered, in this folder, to which its output goes.

        Its environment is that of :func:`environment_of_tools`. Where this process is killed, the folder
        ``private`` goes with the tool.
        """
        self._argv = argv
        self._environment = environment_of_tools(settings_prefix)
        self._folder = folder
        self._private = private
        self._cpus = cpus
        self._cpu = CpuTime(0.0, 0.0)
        self._is_interrupted = False
        self.status: int | None = None
        """Its exit status, negative where a signal ended it; ``None`` while it runs."""
        self.interrupted_unix_s: float | None = None
        """When it was interrupted, by the wall clock."""

    def __enter__(self) -> Self:
        """Start it; raises ``NothingMeasured`` where the system refuses that."""
        try:
            self._guard = _Guard(self._private)
        except OSError as error:
            raise self._not_started(error) from error
        try:
            self._process = self._start()
        except BaseException as error:
            self._guard.dismiss()
            if isinstance(error, OSError):
                raise self._not_started(error) from error
            raise
        self.started_s = time.monotonic()
        self._guard.watch(self._process.pid)
        return self

    def _start(self) -> subprocess.Popen[bytes]:
        with (
            bound_to(self._cpus or None),
            (self._folder / "stdout").open("wb") as out,
            (self._folder / "stderr").open("wb") as errors,
        ):
            return start_own(
                lambda: subprocess.Popen(  # noqa: S603 -- the command is the catalogue's
                    [*ends_with_parent(), *self._argv],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    cwd=self._folder,
                    env=self._environment,
                    start_new_session=True,
                )
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill it with all that it has started, unless it has ended."""
        self._end()
        self._guard.dismiss()

    def _end(self) -> None:
        if self.status is None:
            self._signal_group(signal.SIGKILL)
            self._reap(os.wait4(self._process.pid, 0))
        # What it has started may have outlived it.
        self._signal_group(signal.SIGKILL)

    def has_ended(self) -> bool:
        """Look whether it has ended by itself."""
        if self.status is None:
            waited = os.wait4(self._process.pid, os.WNOHANG)
            if waited[0]:
                self._reap(waited)
        return self.status is not None

    def interrupt(self) -> None:
        """Interrupt it once, as a person at a terminal would; a second time might cut off what it prints."""
        if self.status is None and not self._is_interrupted:
            self._is_interrupted = True
            self.interrupted_unix_s = time.time()
            # A tool may be a script that waits for the program that it has started.
            self._signal_group(signal.SIGINT)

    def ask_to_end(self) -> bool:
        """Interrupt it, and wait for what it prints then; say whether it has ended."""
        self.interrupt()
        until_s = time.monotonic() + _PATIENCE_S
        while not self.has_ended() and time.monotonic() < until_s:
            time.sleep(0.02)
        return self.status is not None

    def cpu_now(self) -> CpuTime:
        """Return what it has used with all that it has started: in ticks of mostly 10 ms while it runs."""
        if self.status is None:
            with suppress(OSError, ValueError, IndexError):
                used = [_used_by(pid) for pid in _with_children(self._process.pid)]
                self._cpu = CpuTime(
                    sum(one.user_s for one in used),
                    sum(one.system_s for one in used),
                    sum(one.voluntary_switches for one in used),
                )
        return self._cpu

    def last_words(self) -> str:
        """Return the first exception or the end of what it has printed, in one line and without secrets.

        What it says of errors comes first.
        """
        # A secret that was cut in two would not be known for one: what is hidden goes before.
        texts = [
            hidden((self._folder / name).read_text(encoding="utf-8", errors="replace"))
            for name in ("stderr", "stdout")
        ]
        for text in texts:
            # Behind it follow where it was raised and what failed for it.
            if thrown := thrown_in(text):
                return thrown[:_TEXT_SHOWN]
        printed = (" ".join(text.split()) for text in texts)
        return next((text[-_TEXT_SHOWN:] for text in printed if text), "nothing")

    def wait(self, limit_s: float, look: Callable[[], None], interval_s: float) -> None:
        """Wait for its end, and look about meanwhile; raises ``NothingMeasured`` where its time is over.

        Its end is noticed at once, however long it is from look to look.
        """
        if self.has_ended():
            return
        until_s = self.started_s + limit_s
        its_end = os.pidfd_open(self._process.pid)
        try:
            poll = select.poll()
            poll.register(its_end, select.POLLIN)
            while not self.has_ended():
                if time.monotonic() > until_s:
                    raise NothingMeasured(
                        f"{self._argv[0]} had not ended {limit_s:.0f} s after its start, and was killed; "
                        f"it has printed: {self.last_words()}"
                    )
                look()
                poll.poll(interval_s * 1e3)
        finally:
            os.close(its_end)

    def _not_started(self, error: OSError) -> NothingMeasured:
        return NothingMeasured(f"{self._argv[0]} could not be started: {error}")

    def _reap(self, waited: tuple[int, int, resource.struct_rusage]) -> None:
        _, status, usage = waited
        self.status = os.waitstatus_to_exitcode(status)
        self._process.returncode = self.status
        self._cpu = CpuTime(usage.ru_utime, usage.ru_stime, usage.ru_nvcsw)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _with_children(pid: int) -> list[int]:
    """Return a process and all that it has started which still run; raises ``OSError`` where it has ended."""
    found = [pid]
    for thread in _threads(pid):
        with suppress(OSError):
            for child in _read(f"{thread}/children").split():
                # One may end meanwhile: what it has used is then its parent's.
                with suppress(OSError):
                    found += _with_children(int(child))
    return found


def _used_by(pid: int) -> CpuTime:
    """Return what a process has used, with its children that have ended; raises where it has ended itself."""
    # The name of the program, in parentheses, may contain spaces.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    user, system, of_ended_user, of_ended_system = map(int, fields[11:15])
    return CpuTime(
        (user + of_ended_user) / _TICKS_PER_S,
        (system + of_ended_system) / _TICKS_PER_S,
        _voluntary_switches(pid),
    )


def _voluntary_switches(pid: int) -> int:
    """Return how often the threads of a process have slept; raises ``OSError`` where it has ended."""
    switches = 0
    for thread in _threads(pid):
        # A thread may have ended since it was listed.
        with suppress(OSError):
            found = _VOLUNTARY_SWITCHES.search(_read(f"{thread}/status"))
            switches += int(found[1]) if found else 0
    return switches


def _threads(pid: int) -> list[str]:
    """Return the folders of a process's threads; raises ``OSError`` where it has ended."""
    folder = f"/proc/{pid}/task"
    return [f"{folder}/{thread}" for thread in os.listdir(folder)]  # noqa: PTH208 -- see _read


def _read(path: str) -> bytes:
    """Return what a file of the kernel says, at a fifth of what ``Path`` costs: it is the load's CPU."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # A process may have more children than one reading returns.
        return b"".join(iter(lambda: os.read(file, _READ_BYTES), b""))
    finally:
        os.close(file)

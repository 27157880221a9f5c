"""The processes of one container: found by its first one, which the engine knows."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from loadcurve.errors import sentence
from loadcurve.host.cgroups import NO_LIMITS, ControlGroup, LimitsUnavailable
from loadcurve.result.records import LimitUse
from loadcurve.server.container.command import ContainerCommand
from loadcurve.server.container.engine import Engine, EngineError
from loadcurve.server.failure import ServerFailure
from loadcurve.server.ledger import LedgerEntry, RecordedContainer
from loadcurve.server.processes import PROC, ProcessIdentity, identify
from loadcurve.server.spawn import spawn
from loadcurve.server.start import ServerProcesses, StartCommand

POLL_S = 0.02
CLIENT_TIMEOUT_S = 10.0
ENGINE_STATUSES = frozenset({125, 126, 127})
"""By these the engine says that it could not start the container, or not its command."""

LOG_END_BYTES = 4096


class ContainerProcesses(ServerProcesses):
    """The processes of one container; its first one is the main process.

    The engine's `run` stays as long as the container does, and passes its output and its status on.
    """

    def __init__(
        self,
        engine: Engine,
        started: Callable[[StartCommand, str], ContainerCommand],
        *,
        on_this_network: bool,
    ) -> None:
        """Prepare a container that ``started`` describes; nothing exists yet."""
        self.on_this_network = on_this_network
        self._engine = engine
        self._started = started
        self._name: str | None = None
        self._client: subprocess.Popen[bytes] | None = None
        self._limiting_group = ControlGroup(NO_LIMITS, {})

    def start(
        self, command: StartCommand, ledger_entry: LedgerEntry, interrupted: Callable[[], bool], /
    ) -> subprocess.Popen[bytes]:
        """Start the container, and see that what it was to be held to holds."""
        self._name = ledger_entry.start.private_folder.name
        ledger_entry.record_container(
            RecordedContainer(
                engine=self._engine.name, engine_arguments=self._engine.arguments, name=self._name
            )
        )
        inside = self._started(command, self._name)
        words = [*self._engine.words, *inside.words(self._engine)]
        environment = {**os.environ, **inside.variables_of_engine}
        self._client = spawn(words, command.folder, command.log, command.cpus, environment)
        first = self._first_process(self._name, self._client, interrupted)
        if first is None:
            self._require_that_it_ran(command, self._client)
        self._leader = first or identify(self._client.pid)
        ledger_entry.record_session(self._leader)
        if first is not None:
            self._require_shares(first, command)
        return self._client

    def limit_use(self) -> LimitUse | None:
        """Return what the limit of memory has done to the container since its start; ``None`` without one."""
        return self._limiting_group.use()

    def hears(self, signal_number: signal.Signals, /) -> bool:
        """Say whether the first process handles a signal: by default it is deaf, see pid_namespaces(7)."""
        try:
            status = (PROC / str(self.leader.pid) / "status").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return False
        facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        is_first = facts.get("NSpid", "").split()[-1:] == ["1"]
        handled = int(facts.get("SigCgt", "0"), 16)
        return not is_first or bool(handled & (1 << (signal_number - 1)))

    def clear(self) -> None:
        """Remove the container, and wait for the engine to end."""
        if self._name is not None:
            try:
                self._engine.remove_container(self._name)
            except EngineError as failure:
                raise ServerFailure("left_behind", sentence(str(failure)), failure.said) from None
        if self._client is not None:
            try:
                self._client.wait(CLIENT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._client.kill()
                self._client.wait()

    def _first_process(
        self, name: str, client: subprocess.Popen[bytes], interrupted: Callable[[], bool]
    ) -> ProcessIdentity | None:
        """Wait for the container's first process; ``None`` where the engine ends before, or is given up."""
        # The client is not reaped here: its status is asked for again.
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, client.pid, ended) is None and not interrupted():
            try:
                facts = self._engine.container(name)
            except EngineError:
                facts = None
            pid = 0 if facts is None else int(facts["State"]["Pid"])
            if pid:
                try:
                    return identify(pid)
                except ProcessLookupError:
                    return None
            time.sleep(POLL_S)
        return None

    def _require_that_it_ran(self, command: StartCommand, client: subprocess.Popen[bytes]) -> None:
        """Raise ServerFailure where the engine could not start the container."""
        result = os.waitid(os.P_PID, client.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if result is None or result.si_status not in ENGINE_STATUSES:
            return
        said = _end_of(command.log)
        if "address already in use" in said:
            text = f"{command.title} could not use port {command.port}: another program uses it."
            raise ServerFailure("port_taken", text, said)
        text = (
            f"{command.title} could not be started in a container: {self._engine.name} ended with status "
            f"{result.si_status}."
        )
        raise ServerFailure("not_started", text, said)

    def _require_shares(self, first: ProcessIdentity, command: StartCommand) -> None:
        """Raise LimitsUnavailable where the kernel does not hold the container to its CPUs and limits."""
        asked = f"although {self._engine.name} was asked to set it. Remove it, or run as root."
        try:
            usable = os.sched_getaffinity(first.pid)
        except ProcessLookupError:
            # It has ended, which is noticed and reported elsewhere.
            return
        if command.cpus is not None and not usable <= set(command.cpus):
            raise LimitsUnavailable(f"it is not bound to the CPUs of the server's side, {asked}")
        try:
            self._limiting_group = ControlGroup.that_holds(PROC / str(first.pid), command.limits)
        except LimitsUnavailable as unavailable:
            raise LimitsUnavailable(f"{unavailable}, {asked}") from None


def _end_of(log: Path) -> str:
    return log.read_bytes()[-LOG_END_BYTES:].decode(errors="replace").strip()

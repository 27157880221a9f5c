"""The near side of the messages: calls to the agent that a process leads to, such as ssh."""

import contextlib
import os
import select
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import IO, Any, Protocol, Self

from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured, refusal
from loadcurve.machines import messages
from loadcurve.machines.far_call import (
    NOTHING,
    Answer,
    Bootstrapped,
    ErrorMessage,
    FarCall,
    Greeting,
    answer_of,
    bootstrapped_of,
    greeting_of,
    not_stored_of,
    read,
)
from loadcurve.machines.messages import (
    BEAT_S,
    FORMAT,
    SILENT_BEATS_MAX,
    BadMessage,
    Lines,
    Message,
    decoded,
    encoded,
    shown,
)
from loadcurve.version import VERSION

GREETING_TIMEOUT_S = 30.0
END_TIMEOUT_S = 8.0
"""So long the far side may take to end what it started, once it knows that it is to go."""
READ_BYTES = 1 << 16
SAID_BYTES_MAX = 1 << 14
"""How much of what the process writes on its standard error is kept: its end."""
BANNER_LINES_MAX = 1000
"""The most lines before the greeting: a login shell's own greeting, for instance."""
FIRST_LINE_BYTES_MAX = 1 << 18
"""How long they, and the greeting, may be."""

Event = Callable[[Any], None]
BeforeGreeting = Callable[[str, Bootstrapped, Callable[[bytes], None]], None]
"""Answers the first message of a machine where the agent is yet to be started, or raises why it cannot."""
BOOTSTRAP = "loadcurve-bootstrap/1"


class MachineLost(NothingMeasured):
    """A machine cannot be reached, or not any more: which, why, and what ssh or the agent wrote."""

    def __init__(self, machine: str, why: str, said: str = "") -> None:
        """Make an error of a machine's name, of why it is lost, and of what was written there last."""
        self.machine, self.why, self.said = machine, why, said
        words = f"\n{said}" if "\n" in said else f" {said}"
        super().__init__(f"machine {machine}: {why}" + (f"; it wrote:{words}" if said else ""))


class FarError(LoadcurveError):
    """A call came to nothing on another machine, for a reason of its role's own."""

    def __init__(self, machine: str, kind: str, text: str, details: Mapping[str, Any]) -> None:
        """Make an error of a kind, a text, and what else the role says of it."""
        self.machine, self.kind, self.text, self.details = machine, kind, text, details
        super().__init__(f"machine {machine}: {text}")


class FarProcess(Protocol):
    """What leads to an agent: a process as ``subprocess.Popen`` has it, or what is like one."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its status; raises ``subprocess.TimeoutExpired``."""

    def kill(self) -> None:
        """End it at once."""


@dataclass(frozen=True)
class _Pending:
    """A call that is yet to be answered."""

    asked: FarCall[Any]
    answer: Future[Any]
    on_event: Event | None


class Channel:
    """Calls to one agent, from any thread; a context manager that ends it, and all that it has started.

    The agent is what ``command`` leads to on its standard input and output: a process of this machine, ssh,
    or a process that was started in another way.
    When it is gone, silent for too long, or says what no agent says, each call that waits and each later one
    raises MachineLost.
    """

    def __init__(
        self,
        machine: str,
        command: Sequence[str] | FarProcess,
        *,
        greeting_timeout_s: float = GREETING_TIMEOUT_S,
        before_greeting: BeforeGreeting | None = None,
    ) -> None:
        """Start the process and wait for the greeting of its agent, which ``before_greeting`` may bring.

        Raises:
            MachineLost: the process cannot be started, ends, or does not lead to an agent in time.
            NothingMeasured: the agent is of another version, or cannot be brought.

        """
        self.machine = machine
        self._ids = count(1)
        self._pending: dict[int, _Pending] = {}
        self._lock = threading.Lock()
        """Guards what is pending, and why nothing can be any more."""
        self._writing = threading.Lock()
        self._lost: MachineLost | None = None
        self._ends = threading.Event()
        self._said = bytearray()
        self._bootstrapped: Future[Bootstrapped] = Future()
        self._greeted: Future[Greeting] = Future()
        self._banner_lines = 0
        self._process = _started(machine, command)
        self._threads = [
            threading.Thread(target=work, name=f"{machine}: {work.__name__}", daemon=True)
            for work in (self._keep_what_is_said, self._listen)
        ]
        self._beats = threading.Thread(target=self._beat, name=f"{machine}: beats", daemon=True)
        for thread in self._threads:
            thread.start()
        try:
            if before_greeting is not None:
                first = self._awaited(self._bootstrapped, greeting_timeout_s)
                before_greeting(machine, first, self._write)
            self.greeting = self._require_greeting(greeting_timeout_s)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Do nothing: the agent is there."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the agent."""
        self.close()

    @property
    def lost(self) -> MachineLost | None:
        """Why no call can be answered any more; ``None`` as long as calls can be."""
        return self._lost

    def call(
        self, asked: FarCall[Answer], /, *, timeout_s: float | None = None, **arguments: object
    ) -> Answer:
        """Return what a handler of the agent returns for these arguments.

        Raises:
            MachineLost: the agent is gone, or has not answered within the limit of the call.
            BadInput, NothingMeasured: as the handler raised it, with the machine's name before it.
            FarError: the handler failed in another way.
            TimeoutError: there was no answer within ``timeout_s``; one that comes later is forgotten.

        """
        return self.result_of(asked, self.start(asked, None, **arguments), timeout_s=timeout_s)

    def result_of(
        self, asked: FarCall[Answer], answer: Future[Answer], *, timeout_s: float | None = None
    ) -> Answer:
        """Wait for an answer to be, and return it, as :meth:`call` does."""
        try:
            return answer.result(asked.limit_s if timeout_s is None else timeout_s)
        except TimeoutError:
            if timeout_s is not None:
                raise
            self._lose(f"it has not answered {asked.name} within {asked.limit_s:g} s")
            return answer.result()

    def start(
        self, asked: FarCall[Answer], on_event: Event | None = None, /, **arguments: object
    ) -> Future[Answer]:
        """Begin a call and return its answer to be, which raises as :meth:`call` does.

        ``on_event`` is called with each event before the answer, in the thread that listens: it must not
        wait, and no answer comes before it has returned.
        """
        number = next(self._ids)
        answer: Future[Any] = Future()
        # From here on it cannot be cancelled: the other side would go on with it.
        answer.set_running_or_notify_cancel()
        with self._lock:
            if self._lost is not None:
                answer.set_exception(self._lost)
                return answer
            self._pending[number] = _Pending(asked, answer, on_event)
        try:
            self._send({"id": number, "call": asked.name, "arguments": arguments})
        except BadMessage as error:
            with self._lock:
                self._pending.pop(number, None)
            answer.set_exception(error)
        return answer

    def close(self) -> None:
        """End the agent and what it has started, and wait until it is gone; again does nothing."""
        self._lose("the connection was closed on this side")
        self._end_process()
        for thread in [*self._threads, *([self._beats] if self._beats.is_alive() else [])]:
            thread.join(END_TIMEOUT_S)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def said(self) -> str:
        """Return the end of what the process and the agent have written on their standard error."""
        return self._said.decode(errors="replace").strip()

    def _awaited(self, first: Future[Answer], timeout_s: float) -> Answer:
        try:
            return first.result(timeout_s)
        except TimeoutError:
            text = f"no agent answered within {timeout_s:g} s"
            self._process.kill()
            raise MachineLost(self.machine, text, self.said()) from None

    def _require_greeting(self, timeout_s: float) -> Greeting:
        found = self._awaited(self._greeted, timeout_s)
        self._beats.start()
        there = f"{found.version} ({found.format})"
        here = f"{VERSION} ({FORMAT})"
        if there != here:
            raise NothingMeasured(
                f"machine {self.machine}: its agent is of Loadcurve {there}, and this is {here}: use "
                "the same version on both machines"
            )
        return found

    def _send(self, message: Message) -> None:
        self._write(encoded(message))

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None, "asked for"  # noqa: S101
        # That the other side is gone is found out by the thread that listens, which knows why.
        with self._writing, contextlib.suppress(OSError):
            left = memoryview(line)
            while left and not self._process.stdin.closed:
                left = left[os.write(self._process.stdin.fileno(), left) :]

    def _end_process(self) -> None:
        """Close the input of the process, which ends the agent, and kill the process if it does not end."""
        # Where a write is stuck, the other side is not there to hear of its input's end.
        if self._writing.acquire(timeout=BEAT_S):
            assert self._process.stdin is not None, "asked for"  # noqa: S101
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._writing.release()
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _beat(self) -> None:
        while not self._ends.wait(BEAT_S):
            self._send({"beat": 1})

    def _keep_what_is_said(self) -> None:
        assert self._process.stderr is not None, "asked for"  # noqa: S101
        while said := os.read(self._process.stderr.fileno(), READ_BYTES):
            self._said += said
            del self._said[:-SAID_BYTES_MAX]

    def _listen(self) -> None:
        """Take every line that comes, until none can come any more."""
        assert self._process.stdout is not None, "asked for"  # noqa: S101
        output = self._process.stdout.fileno()
        poll = select.poll()
        poll.register(output, select.POLLIN)
        lines = Lines(min(FIRST_LINE_BYTES_MAX, messages.LINE_BYTES_MAX))
        silent = 0
        try:
            while silent < SILENT_BEATS_MAX or not self._greeted.done():
                # A machine that was suspended itself has waited for one beat only.
                if not poll.poll(BEAT_S * 1000):
                    silent += 1
                    continue
                silent = 0
                if not (data := os.read(output, READ_BYTES)):
                    self._lose(self._end_in_words())
                    return
                for line in lines.of(data):
                    self._take_line(line)
                    if self._greeted.done():
                        lines.bytes_max = messages.LINE_BYTES_MAX
        except BadMessage as error:
            self._lose(f"its output is not that of an agent: {error}")
        except Exception as error:  # noqa: BLE001 -- whoever waits is not to wait for a thread that has ended
            self._lose(f"what it said could not be taken: {type(error).__name__}: {error}")
        else:
            self._lose(f"it was silent for {SILENT_BEATS_MAX * BEAT_S:g} s")
        # Nobody may read any more, and whoever writes is to hear of it.
        self._end_process()

    def _take_line(self, line: bytes) -> None:
        if self._greeted.done():
            self._take(decoded(line))
            return
        self._banner_lines += 1
        if self._banner_lines > BANNER_LINES_MAX:
            raise BadMessage(f"found {shown(line)}; expected the greeting of an agent")
        self._look_for_greeting(line)

    def _look_for_greeting(self, line: bytes) -> None:
        try:
            message = decoded(line)
        except BadMessage:
            return
        form = message.get("format")
        if form == BOOTSTRAP and not self._bootstrapped.done():
            self._bootstrapped.set_result(bootstrapped_of(message))
        elif str(form or "").startswith(FORMAT.partition("/")[0]):
            self._greeted.set_result(greeting_of(message))
        elif "failed" in message:
            why = not_stored_of(message).failed
            text = f"machine {self.machine}: Loadcurve's files cannot be stored there: {why}"
            self._greeted.set_exception(NothingMeasured(text))

    def _end_in_words(self) -> str:
        """Say how the process ended; its output is closed, so it ends in a moment, if it has not yet."""
        try:
            status = self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "the connection was closed"
        # Now everything that it wrote can be read.
        self._threads[0].join(1.0)
        return f"the connecting process ended with status {status}"

    def _take(self, message: Message) -> None:
        said = answer_of(message)
        with self._lock:
            known = self._pending.get(said.id)
        if said.beat or known is None:
            return
        if "event" in message:
            event = read(f"an event of {known.asked.name}", known.asked.event or NOTHING, message["event"])
            if known.on_event is not None:
                known.on_event(event)
            return
        if said.error is None and "result" not in message:
            raise BadMessage("a message has the id of a call, and neither event, result nor error")
        # What is wrong with it is why the machine is lost, and so the answer of this call, too.
        result = None
        if said.error is None:
            result = read(f"the answer to {known.asked.name}", known.asked.answer, message["result"])
        with self._lock:
            if self._pending.pop(said.id, None) is None:
                return
        if said.error is None:
            known.answer.set_result(result)
        else:
            known.answer.set_exception(self._error(said.error))

    def _error(self, error: ErrorMessage) -> LoadcurveError:
        if error.kind == "bad_input":
            return BadInput(f"machine {self.machine}: {error.text}")
        if error.kind == "nothing_measured":
            return NothingMeasured(f"machine {self.machine}: {error.text}")
        return FarError(self.machine, error.kind, error.text, error.model_extra or {})

    def _lose(self, why: str) -> None:
        """Give up the machine: every call that waits fails."""
        with self._lock:
            if self._lost is None:
                self._lost = MachineLost(self.machine, why, self.said())
            pending = [one.answer for one in self._pending.values()]
            self._pending.clear()
        self._ends.set()
        for answer in [*pending, self._bootstrapped, self._greeted]:
            if not answer.done():
                answer.set_exception(self._lost)


def _started(machine: str, command: Sequence[str] | FarProcess) -> FarProcess:
    if not isinstance(command, Sequence):
        return command
    try:
        return subprocess.Popen(  # noqa: S603 -- a command of ours, or ssh
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C in the terminal is for the run, which ends the channel itself.
            start_new_session=True,
        )
    except OSError as error:
        raise MachineLost(machine, f"{command[0]} cannot be started: {refusal(error)}") from None

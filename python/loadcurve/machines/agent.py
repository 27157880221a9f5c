"""The far side of the messages: a process that does what a run asks for where it runs, and leaves nothing.

``python -m loadcurve.machines.agent`` reads calls on its standard input and answers on its standard output.
What it can do are the handlers of its roles, a table in each role's module. It is two processes: the worker
does all of that, and ends in good order when its input is closed or silent, whatever the reason; the guard,
which does nothing, kills a worker that does not, and clears away what a killed one has left. If both
are stopped by a signal, the kernel continues the guard.
"""

import contextlib
import importlib
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from loadcurve.errors import BadInput, NothingMeasured, refusal
from loadcurve.machines.continuing import ContinuingTimer, continue_when_parent_ends
from loadcurve.machines.messages import (
    BEAT_S,
    SILENT_BEATS_MAX,
    BadMessage,
    Lines,
    Message,
    decoded,
    encoded,
    greeting,
)

ROLES: Mapping[str, str] = {
    "load": "loadcurve.generate.far_load",
    "servers": "loadcurve.server.agent_role",
}
"""The module of each role, which has a class ``AgentRole``; imported when the role's first call comes."""
GRACE_S = 3.0
"""How long a worker may take to end in good order before the guard kills it."""
GRACE_BEATS_LATE = 3
"""How many beats it has if the guard itself was stopped and cannot know how old is what it reads."""
READ_BYTES = 1 << 16
INPUT, OUTPUT, ERRORS = 0, 1, 2
ALIVE, CLOSING = b"a", b"c"
"""What the worker writes to the guard; and the place of a role in the table, when its first call comes."""


@dataclass(frozen=True)
class Call:
    """A call, as its handler has it."""

    arguments: Mapping[str, Any]
    tell: Callable[[object], None]
    """Sends an event, which is any value that JSON has."""


Handler = Callable[[Call], object]


class CallFailed(Exception):  # noqa: N818 -- the name says what happened
    """A call came to nothing, for a reason that its role's near side understands."""

    def __init__(self, kind: str, text: str, **details: object) -> None:
        """Make it of a stable kind, a sentence, and what else is to be known."""
        super().__init__(text)
        self.error = {"kind": kind, "text": text, **details}


class Role(Protocol):
    """What an agent can do, and what is to be done when it goes."""

    handlers: Mapping[str, Handler]
    """By the part of a call's name behind the role's. Each call has a thread, which ends with it."""

    def close(self) -> None:
        """End everything that was started; called once, in the main thread, while calls may be under way."""


class Worker:
    """Reads calls and answers them, until its input is closed or silent."""

    def __init__(self, roles: Mapping[str, str], guard: int) -> None:
        """Prepare for roles, by their modules; ``guard`` is the pipe to the guard."""
        self._modules = roles
        self._guard = guard
        self._roles: dict[str, Role] = {}
        self._making = threading.Lock()
        self._writing = threading.Lock()
        # What handlers print must not come between the messages.
        self._output = os.dup(OUTPUT)
        os.dup2(ERRORS, OUTPUT)

    def serve(self) -> None:
        """Answer calls until the input ends; then end what was started."""
        self._send(greeting())
        try:
            self._read_calls()
        except BadMessage as error:
            print(f"the agent ends: {error}", file=sys.stderr)
        finally:
            self._tell_guard(CLOSING)
            for role in [*self._roles.values()]:
                try:
                    role.close()
                except Exception:  # noqa: BLE001 -- the others are to be closed, too
                    traceback.print_exc()
            # A guard that somebody has stopped is to go, too.
            with contextlib.suppress(OSError):
                os.kill(os.getppid(), signal.SIGCONT)

    def _read_calls(self) -> None:
        poll = select.poll()
        poll.register(INPUT, select.POLLIN)
        poll.register(self._guard, 0)
        lines = Lines()
        silent = 0
        while silent < SILENT_BEATS_MAX:
            found = dict(poll.poll(BEAT_S * 1000))
            if not self._tell_guard(ALIVE):
                return
            silent = 0 if INPUT in found else silent + 1
            if INPUT in found:
                data = os.read(INPUT, READ_BYTES)
                if not data:
                    return
                arrived_ns = time.monotonic_ns()
                for line in lines.of(data):
                    self._take(decoded(line), arrived_ns)

    def _take(self, message: Message, arrived_ns: int) -> None:
        if "beat" in message:
            self._send({"beat": 1})
            return
        number, name, arguments = message.get("id"), message.get("call"), message.get("arguments", {})
        if not (isinstance(number, int) and isinstance(name, str) and isinstance(arguments, dict)):
            raise BadMessage(f"a message has the keys {', '.join(message)}; expected id, call and arguments")
        if name == "echo":
            # Here and now, because clocks are compared by it.
            times = {"arrived_ns": arrived_ns, "sent_ns": time.monotonic_ns()}
            self._send({"id": number, "result": times})
            return
        thread = threading.Thread(target=self._answer, args=(number, name, arguments), name=name, daemon=True)
        thread.start()

    def _answer(self, number: int, name: str, arguments: Mapping[str, Any]) -> None:
        def tell(event: object) -> None:
            self._send({"id": number, "event": event})

        try:
            answer = {"result": self._handler(name)(Call(arguments, tell))}
            line = encoded({"id": number, **answer})
        except Exception as error:  # noqa: BLE001 -- whatever it is, the caller is to know
            line = encoded({"id": number, "error": _described(error)})
        self._write(line)

    def _handler(self, name: str) -> Handler:
        role_name, _, own_name = name.partition(".")
        with self._making:
            if role_name not in self._roles and role_name in self._modules:
                module = importlib.import_module(self._modules[role_name])
                self._roles[role_name] = module.AgentRole()
                self._tell_guard(str([*self._modules].index(role_name)).encode())
        role = self._roles.get(role_name)
        if role is None or own_name not in role.handlers:
            raise CallFailed("unknown_call", f'the agent knows no call "{name}"')
        return role.handlers[own_name]

    def _send(self, message: Message) -> None:
        self._write(encoded(message))

    def _write(self, line: bytes) -> None:
        # Where nobody reads any more, the input ends, too, and with it the worker.
        with self._writing, contextlib.suppress(OSError):
            left = memoryview(line)
            while left:
                left = left[os.write(self._output, left) :]

    def _tell_guard(self, byte: bytes) -> bool:
        """Say that the worker is there; returns whether the guard is, too."""
        try:
            os.write(self._guard, byte)
        except BlockingIOError:
            # A guard that does not read is stopped, which is no reason to end.
            return True
        except OSError:
            return False
        return True


def _described(error: Exception) -> Message:
    if isinstance(error, CallFailed):
        return dict(error.error)
    if isinstance(error, BadInput):
        return {"kind": "bad_input", "text": str(error)}
    if isinstance(error, NothingMeasured):
        return {"kind": "nothing_measured", "text": str(error)}
    if isinstance(error, OSError):
        return {"kind": "system_refused", "text": refusal(error)}
    text = "".join(traceback.format_exception(error)).strip()
    return {"kind": "fault", "text": f"{type(error).__name__}: {error}", "trace": text}


def guard_worker(worker: int, beats: int, roles: Mapping[str, str]) -> int:
    """Wait for the end of a worker, and kill one that is silent, or does not end when its input has.

    Returns the status for the end of the agent.
    """
    poll = select.poll()
    poll.register(beats, select.POLLIN)
    # The end of the input alone; its content is the worker's to read.
    poll.register(INPUT, select.POLLRDHUP)
    deadline = time.monotonic() + SILENT_BEATS_MAX * BEAT_S
    timer = ContinuingTimer(BEAT_S)
    closing = False
    cleaners: list[ModuleType] = []
    while True:
        left_s = max(deadline - time.monotonic(), 0.0)
        timer.set(left_s)
        # One that was interrupted beyond its time looks at nothing any more.
        if not (found := dict(poll.poll(left_s * 1000) or poll.poll(0))):
            os.kill(worker, signal.SIGKILL)
            break
        late_s = GRACE_BEATS_LATE * BEAT_S if time.monotonic() > deadline else None
        said = os.read(beats, READ_BYTES) if beats in found else None
        if said == b"":
            break
        if closing:
            continue
        if INPUT in found or (said and CLOSING in said):
            closing = True
            poll.unregister(INPUT)
            deadline = time.monotonic() + (late_s or GRACE_S)
        elif said:
            # What clears away is there before it is needed, when the machine may have other things to do.
            used = [module for place, module in enumerate(roles.values()) if str(place).encode() in said]
            cleaners += map(importlib.import_module, used)
            deadline = time.monotonic() + (late_s or SILENT_BEATS_MAX * BEAT_S)
    _, status = os.waitpid(worker, 0)
    if status != 0:
        clean_up(cleaners)
    return os.waitstatus_to_exitcode(status)


def clean_up(roles: Iterable[ModuleType]) -> None:
    """Clear away what a killed worker has left, as far as the roles that it had know of it."""
    for role in roles:
        try:
            role.clean_up_after_killed()
        except Exception:  # noqa: BLE001 -- the others are to be cleared away, too
            traceback.print_exc()


def main(roles: Mapping[str, str] = ROLES) -> None:
    """Serve calls on the standard input and output until the input ends."""
    # Ctrl-C is the near side's to answer. What is ignored here would be ignored by servers, too.
    signal.signal(signal.SIGINT, lambda *_: None)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    worker = os.fork()
    if worker == 0:
        os.close(reading)
        continue_when_parent_ends()
        status = 1
        try:
            Worker(roles, writing).serve()
            status = 0
        except BaseException:  # noqa: BLE001 -- the process ends here, whatever it was
            traceback.print_exc()
        finally:
            # Threads of calls may be under way; nothing of theirs is wanted any more.
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    os.close(OUTPUT)
    status = guard_worker(worker, reading, roles)
    os._exit(status if status >= 0 else 1)


if __name__ == "__main__":
    # By its own name, so that what roles raise is of the classes that are known here.
    importlib.import_module("loadcurve.machines.agent").main()

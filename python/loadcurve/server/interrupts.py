"""Putting off Ctrl-C, and what else ends a command, while something must not be torn in two."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command from outside: Ctrl-C, a supervisor, and the terminal that closes."""


@contextmanager
def interrupts_deferred() -> Iterator[Callable[[], bool]]:
    """Put off the signals that would raise an exception here until the end of the block.

    Yields a function that says whether such a signal has arrived, so that a long wait can hurry. Signals are
    caught and not blocked, because a process started inside the block would inherit that they are blocked.
    Outside the main thread nothing is put off: Python runs its handlers in the main thread only.
    """
    arrived: list[int] = []

    def remember(signal_number: int, _frame: FrameType | None) -> None:
        arrived.append(signal_number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    handlers = {number: signal.getsignal(number) for number in INTERRUPTS}
    replaced = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in replaced:
            signal.signal(number, remember)
        yield lambda: bool(arrived)
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)
        for signal_number in dict.fromkeys(arrived):
            signal.raise_signal(signal.Signals(signal_number))

"""What an interrupt does to the command."""

import os
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from loadcurve.exit_codes import EXIT_INTERRUPTED
from loadcurve.server.interrupts import INTERRUPTS


def end_on_interrupts() -> None:
    """From now on an interrupt ends the process at once: there is nothing to clean up."""
    _handle_interrupts(_end_at_once)


def raise_on_interrupts() -> None:
    """From now on an interrupt is an exception, so that what was started is stopped and results are kept."""
    _handle_interrupts(_interrupt)


def wait_for_an_interrupt() -> NoReturn:
    """Wait until an interrupt is raised, however long that takes.

    Python runs its handlers between two of its instructions. A signal that arrives just before a system
    call begins, or that the kernel gives to another thread, leaves the call waiting for as long as it would
    have waited without the signal. The descriptor that is written to when a signal arrives ends this wait.
    """
    woken, waking = socket.socketpair()
    with woken, waking:
        waking.settimeout(0)
        before = signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        try:
            while True:
                woken.recv(1)
        finally:
            signal.set_wakeup_fd(before)


def _handle_interrupts(handler: Callable[[int, FrameType | None], NoReturn]) -> None:
    for number in INTERRUPTS:
        # What nohup starts is to outlive its terminal.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _end_at_once(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(EXIT_INTERRUPTED)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt

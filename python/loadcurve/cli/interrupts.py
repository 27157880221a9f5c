"""What an interrupt does to the command."""

import os
import signal
from types import FrameType
from typing import NoReturn

from loadcurve.cli.exit_codes import EXIT_INTERRUPTED

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def end_on_interrupts() -> None:
    """From now on an interrupt ends the process at once: there is nothing to clean up."""
    for number in INTERRUPTS:
        signal.signal(number, _end_at_once)


def raise_on_interrupts() -> None:
    """From now on an interrupt is an exception, so that what was started is stopped and results are kept."""
    for number in INTERRUPTS:
        signal.signal(number, _interrupt)


def _end_at_once(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(EXIT_INTERRUPTED)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt

"""What ends the command."""

import signal

import pytest

from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.server.interrupts import INTERRUPTS


@pytest.fixture
def handlers():
    """Put the handlers of signals back at the end."""
    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupt_is_an_exception(number, handlers):
    raise_on_interrupts()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_command_behind_nohup_outlives_its_terminal(handlers):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise_on_interrupts()
    signal.raise_signal(signal.SIGHUP)

"""What ends the command."""

import signal

import pytest

from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.server.interrupts import INTERRUPTS


@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupt_is_an_exception(number):
    raise_on_interrupts()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_command_behind_nohup_outlives_its_terminal():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise_on_interrupts()
    signal.raise_signal(signal.SIGHUP)

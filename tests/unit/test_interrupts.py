"""What ends the command."""

import signal
import sys
import threading

import pytest

from loadcurve.cli.interrupts import raise_on_interrupts, wait_for_an_interrupt
from loadcurve.server.interrupts import INTERRUPTS
from support.sandbox import wait_until


@pytest.mark.parametrize("number", INTERRUPTS)
def test_an_interrupt_is_an_exception(number):
    raise_on_interrupts()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_command_behind_nohup_outlives_its_terminal():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise_on_interrupts()
    signal.raise_signal(signal.SIGHUP)


@pytest.mark.parametrize("number", INTERRUPTS)
def test_who_waits_for_an_interrupt_is_woken_by_one_that_another_thread_received(number):
    # The handler runs in the main thread, which the kernel does not wake for it.
    raise_on_interrupts()
    waiting = threading.main_thread().ident

    def is_waiting() -> bool:
        return sys._current_frames()[waiting].f_code is wait_for_an_interrupt.__code__

    def interrupt_this_thread() -> None:
        wait_until(is_waiting, "the main thread waits")
        signal.pthread_kill(threading.get_ident(), number)

    other = threading.Thread(target=interrupt_this_thread)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        wait_for_an_interrupt()
    other.join()

"""How the kernel continues a stopped process, which notices neither a deadline nor an end.

SIGCONT takes effect when it is sent, whatever the process does or can do (signal(7)), and the kernel sends it
at a moment that was set before, or when the parent ends.
"""

import contextlib
import ctypes
import signal
from typing import Final

CLOCK_MONOTONIC: Final = 1
PR_SET_PDEATHSIG: Final = 1
NS_PER_S: Final = 1_000_000_000


class _Event(ctypes.Structure):
    """``struct sigevent``, which is padded to 64 bytes."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("rest", ctypes.c_char * 48),
    )


class _Times(ctypes.Structure):
    """``struct itimerspec``: the interval after the first moment, and that moment, each in s and ns."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class ContinuingTimer:
    """A timer of the kernel's that continues this process at a moment, and then again and again.

    See timer_create(2). Where there can be none, setting it does nothing.
    """

    def __init__(self, interval_s: float) -> None:
        """Make one, which is not set yet; ``interval_s`` is how often it continues the process after that."""
        # A signal that is ignored, as this one is by default, would not come again.
        signal.signal(signal.SIGCONT, lambda *_: None)
        self._interval_s = interval_s
        self._timer: ctypes.c_void_p | None = None
        with contextlib.suppress(OSError, AttributeError):
            self._libc = ctypes.CDLL(None)
            event, timer = _Event(signal=signal.SIGCONT), ctypes.c_void_p()
            if self._libc.timer_create(CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)) == 0:
                self._timer = timer

    def set(self, after_s: float) -> None:
        """Set the first moment, in place of the one before."""
        if self._timer is None:
            return
        # A moment of 0 would mean never.
        value, interval = (
            divmod(max(round(one * NS_PER_S), 1), NS_PER_S) for one in (after_s, self._interval_s)
        )
        times = _Times(*interval, *value)
        self._libc.timer_settime(self._timer, 0, ctypes.byref(times), None)


def continue_when_parent_ends() -> None:
    """Have the kernel continue this process when its parent ends; see ``PR_SET_PDEATHSIG`` in prctl(2)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGCONT), 0, 0, 0)

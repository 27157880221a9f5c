"""The counters of a network interface: read as time passes, here or by the agent, and summed for a window."""

import os
import threading
import time
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from loadcurve.host.readings import Readings
from loadcurve.probe.figures import Track, Window
from loadcurve.result.link import InterfaceUse

SENT_COLUMN = 8
"""Of the columns of ``/proc/net/dev`` behind the name; the first one has what was received."""


class InterfaceSample(NamedTuple):
    """The bytes that an interface has received and sent so far."""

    t_s: float
    """When, on the monotonic clock."""
    received_bytes: int
    sent_bytes: int


def bytes_so_far(table: str, interface: str) -> tuple[int, int] | None:
    """Return what an interface has received and sent, from the text of ``/proc/net/dev``."""
    for line in table.splitlines():
        name, separator, columns = line.partition(":")
        words = columns.split()
        if separator and name.strip() == interface and len(words) > SENT_COLUMN:
            received, sent = words[0], words[SENT_COLUMN]
            return (int(received), int(sent)) if received.isdecimal() and sent.isdecimal() else None
    return None


def use_within(samples: Sequence[InterfaceSample], window: Window) -> InterfaceUse | None:
    """Return the rates of a window; ``None`` where samples do not lie on both of its sides."""
    received = Track(samples, lambda sample: sample.received_bytes).growth(window)
    sent = Track(samples, lambda sample: sample.sent_bytes).growth(window)
    # An interface that was made anew counts from zero.
    if received is None or sent is None or min(received, sent) < 0 or window.length_s <= 0:
        return None
    return InterfaceUse(
        received_bytes_per_s=received / window.length_s, sent_bytes_per_s=sent / window.length_s
    )


COUNTERS = "proc/net/dev"
"""Of this process's own network, which ``/sys`` need not show."""
INTERVAL_LEAST_S = 0.1
COST_SHARE = 0.001
"""Of a CPU. A reading takes 0.03 ms among a few interfaces, 0.4 ms among the 300 of a host of containers."""
SAMPLES_MAX = 4000
"""When there are more, every other one goes: a window's ends are then known to a 2,000th of the load."""


class LinkWatch:
    """Reads what goes through an interface, as a context manager.

    Where there is no such interface, or no counter, nothing is read and :meth:`use_within` returns ``None``.
    """

    def __init__(
        self,
        interface: str | None,
        interval_s: float,
        cpus: Collection[int] = (),
        readings: Readings | None = None,
    ) -> None:
        """Prepare for the interface of this name; the thread keeps to ``cpus``, if there are any."""
        self._interface = interface
        self._interval_s = max(interval_s, INTERVAL_LEAST_S)
        self._cpus = cpus
        self._readings = Readings() if readings is None else readings
        self._samples: list[InterfaceSample] = []
        self._cost_s = 0.0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name="link", daemon=True)

    def __enter__(self) -> Self:
        """Read once, and go on in a thread."""
        if self._read():
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def use_within(self, window: Window) -> InterfaceUse | None:
        """Return what went through in a window that is over, and forget what was before it."""
        self._read()
        with self._lock:
            use = use_within(self._samples, window)
            self._samples = [sample for sample in self._samples if sample.t_s >= window.start_s]
        return use

    def _read(self) -> bool:
        if self._interface is None:
            return False
        moment_s = time.monotonic()
        found = bytes_so_far(self._readings.text(COUNTERS) or "", self._interface)
        if found is None:
            return False
        with self._lock:
            self._samples.append(InterfaceSample(moment_s, *found))
            if len(self._samples) > SAMPLES_MAX:
                del self._samples[1:-1:2]
        return True

    def _read_on(self) -> None:
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)
        while not self._stopped.wait(pause_s(self._interval_s, self._cost_s)):
            began_s = time.thread_time()
            self._read()
            self._cost_s = time.thread_time() - began_s


def pause_s(interval_s: float, cost_s: float) -> float:
    """Return how long to wait after a reading that took this much of a CPU."""
    return max(interval_s, cost_s / COST_SHARE)

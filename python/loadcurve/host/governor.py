"""Holding a control group to the CPU credits of a burstable machine type, by its quota over time."""

import os
import threading
import time
from collections.abc import Callable, Collection

from loadcurve.host.credits import Burst
from loadcurve.result.records import CreditUse

INTERVAL_S = 0.1
"""How often the account is settled: within this time more may be used than there are credits for, which is
earned back before the quota rises again."""


class CreditGovernor:
    """A thread that lowers a group's CPUs to the baseline while its credits are used up.

    It ends by :meth:`close`, or with this process.
    """

    def __init__(
        self,
        burst: Burst,
        full_cpus: float,
        used_cpu_s: Callable[[], float],
        set_cpus: Callable[[float], None],
        *,
        cpus: Collection[int] = (),
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Govern by ``set_cpus`` what ``used_cpu_s`` reads: a share of CPUs, and processor seconds.

        The thread keeps to ``cpus``, if there are any.
        """
        self._burst = burst
        self._full_cpus = full_cpus
        self._used_cpu_s = used_cpu_s
        self._set_cpus = set_cpus
        self._cpus = cpus
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._error: OSError | ValueError | None = None
        self._account = burst.at_start()
        self._started_s = self._settled_s = 0.0
        self._settled_cpu_s = 0.0
        self._is_held = False
        self._ran_out_s: float | None = None
        self._at_baseline_s = 0.0
        self._thread = threading.Thread(target=self._govern, name="CPU credits", daemon=True)

    def start(self) -> None:
        """Start the thread, of a server that starts now; what its group had used before does not count.

        Raises ``OSError`` where the group cannot be read or its quota not be written.
        """
        self._started_s = self._settled_s = self._monotonic_s()
        self._settled_cpu_s = self._used_cpu_s()
        self._account = self._burst.at_start_of_server(self._started_s)
        self._hold_if_used_up()
        self._thread.start()

    def close(self) -> None:
        """End the thread and leave the account to the machine's next server; the quota stays as it is."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._burst.left.leave(self._account, self._settled_s)

    def use(self) -> CreditUse:
        """Return what became of the credits since the start.

        Raises ``OSError``: the account could not be settled any more.
        """
        with self._lock:
            if self._error is None:
                self._settle()
            if self._error is not None:
                raise OSError(f"the CPU credits cannot be accounted for: {self._error}") from self._error
            return CreditUse(
                remaining=self._account.credits,
                ran_out_s=self._ran_out_s,
                at_baseline_s=self._at_baseline_s,
            )

    def _govern(self) -> None:
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)
        while self._error is None and not self._closed.wait(INTERVAL_S):
            with self._lock:
                self._settle()

    def _settle(self) -> None:
        """Bring the account up to now, and the quota with it; an error is kept for who asks."""
        try:
            now_s, used_s = self._monotonic_s(), self._used_cpu_s()
            elapsed_s = now_s - self._settled_s
            self._account = self._account.after(elapsed_s, used_s - self._settled_cpu_s)
            self._settled_s, self._settled_cpu_s = now_s, used_s
            if self._is_held:
                self._at_baseline_s += elapsed_s
            self._hold_if_used_up()
        except (OSError, ValueError) as error:
            self._error = error

    def _hold_if_used_up(self) -> None:
        """Set the quota where it changes; each writing gives the group a new period, so no more often."""
        is_held = self._account.is_used_up
        if is_held == self._is_held:
            return
        self._set_cpus(self._burst.baseline_cpus if is_held else self._full_cpus)
        self._is_held = is_held
        if is_held and self._ran_out_s is None:
            self._ran_out_s = self._settled_s - self._started_s

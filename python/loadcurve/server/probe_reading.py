"""Reading the probe's samples while a load runs, seldom and in small steps, so that nothing piles up."""

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from loadcurve.probe.folding import SampleStore
from loadcurve.probe.samples import Sample, SampleReader

FOLD_INTERVAL_S = 30.0
"""A load that is over before is read when it is over."""
STEP_SAMPLES = 10
"""Few enough to take less than a millisecond."""
STEP_PAUSE_S = 0.02


class SteadyReader:
    """Reads samples when it is asked to, and in a thread on the probe's CPUs as time passes."""

    def __init__(self, reader: SampleReader, cpus: Collection[int]) -> None:
        """Read from ``reader``; the thread keeps to ``cpus``, if there are any."""
        self._store = SampleStore()
        self._reader = reader
        self._cpus = cpus
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._fold_now_and_then, name="probe samples", daemon=True)

    def start(self) -> None:
        """Start the thread; it sleeps first."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and close the file."""
        self._stopped.set()
        self._thread.join()
        self._reader.close()

    def read(self) -> Sequence[Sample]:
        """Read all that is written by now, and return the newest samples.

        Raises ``ValueError``: a line is not what this version of the probe writes.
        """
        with self._lock:
            while self._read_step():
                pass
            return list(self._store.newest)

    @contextmanager
    def kept(self) -> Iterator[SampleStore]:
        """Yield what was read; nothing is added inside the block."""
        with self._lock:
            yield self._store
            self._reader.release()

    def _read_step(self) -> bool:
        samples = self._reader.new_samples(STEP_SAMPLES)
        self._store.add(samples)
        return bool(samples)

    def _fold_now_and_then(self) -> None:
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)
        while not self._stopped.wait(FOLD_INTERVAL_S):
            try:
                self._fold()
            except ValueError:
                # Whoever asks for the samples meets the same line.
                return

    def _fold(self) -> None:
        """Read and fold, step by step, until nothing is left to do."""
        goes_on = True
        while goes_on and not self._stopped.wait(STEP_PAUSE_S):
            with self._lock:
                goes_on = self._read_step()
        steps = self._store.fold()
        goes_on = True
        while goes_on and not self._stopped.wait(STEP_PAUSE_S):
            with self._lock:
                goes_on = sum(1 for _ in islice(steps, STEP_SAMPLES)) == STEP_SAMPLES
        with self._lock:
            self._reader.release()

"""``live.jsonl``: figures of a long load that is under way, for whoever follows the folder of its run.

A short load among many is over before they would say anything, and is left alone. The figures are those of
the line in the terminal, which the engine shows of itself anyway: of one second, every so often.
"""

import contextlib
import os
from pathlib import Path

from pydantic import ValidationError

from loadcurve.files import open_regular
from loadcurve.record import Count, Record, Time
from loadcurve.watch.kept_file import KeptFile

LIVE_FILE = "live.jsonl"
LIVE_BYTES_MAX = 2**18
SHORTEST_LOAD_S = 10.0
"""A shorter load of a study has no such figures."""
LEAST_INTERVAL_S = 2.0
SHORT_INTERVAL_S = 1.0
"""Of a shorter load that is not one of many."""
MOST_SECONDS = 300
"""Of a longer load fewer seconds are kept, evenly."""


class LiveSecond(Record):
    """What was answered in one second of a load."""

    at_s: Time
    """The end of the second, from the start of the load, its warm-up included."""
    rate_rps: Time
    p50_ms: Time | None
    """``None`` where nothing was answered; the percentiles are within 1/32 of the true ones."""
    p90_ms: Time | None
    p99_ms: Time | None
    failed: Count
    """Requests that failed since the start of the load."""
    answered: Count | None = None
    """Those that were answered."""
    server_cpus: Time | None = None
    """CPUs that the server used since the second before; ``None`` where its processes are not seen here."""
    generator_cpus: Time | None = None
    """The same of what sends the load."""


def interval_s(warmup_s: float, duration_s: float | None) -> float | None:
    """Return how often a second of a load is kept; ``None`` for a load that is too short.

    One that ends by a number of requests may take long.
    """
    if duration_s is None:
        return LEAST_INTERVAL_S
    total_s = warmup_s + duration_s
    return None if total_s < SHORTEST_LOAD_S else max(LEAST_INTERVAL_S, total_s / MOST_SECONDS)


def interval_of_one_load_s(warmup_s: float, duration_s: float | None) -> float:
    """Return how often a second of a load is kept that somebody follows by itself, however short it is."""
    usual_s = interval_s(warmup_s, duration_s)
    return SHORT_INTERVAL_S if usual_s is None else usual_s


class LiveFile(KeptFile):
    """The seconds of the load under way."""

    def __init__(self, folder: Path) -> None:
        """Prepare the file in a run folder, which need not exist before the first load."""
        super().__init__(folder / LIVE_FILE)
        self._interval_s: float | None = None
        self._next_s = 0.0
        self._bytes = 0

    def begins(self, interval_s: float | None) -> None:
        """Forget the load before; of the one that begins a second is kept at such intervals, if at all."""
        self._interval_s, self._next_s, self._bytes = interval_s, 0.0, 0
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)

    def is_due(self, at_s: float) -> bool:
        """Say whether a second that ends then is kept."""
        return self._interval_s is not None and at_s >= self._next_s

    def add(self, second: LiveSecond) -> None:
        """Keep a second of the load that is due."""
        self._next_s = second.at_s + (self._interval_s or 0.0)
        line = f"{second.model_dump_json()}\n".encode()
        if self._bytes + len(line) > LIVE_BYTES_MAX:
            return
        self._bytes += len(line)
        with contextlib.suppress(OSError):
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
                self._descriptor = os.open(self._path, flags, 0o644)
            os.write(self._descriptor, line)


def read_live(folder: Path) -> list[LiveSecond]:
    """Return the seconds of the load under way, an empty list without such a load."""
    try:
        with open_regular(folder / LIVE_FILE) as file:
            text = file.read(LIVE_BYTES_MAX)
    except OSError:
        return []
    # What follows the last line end is still being written.
    lines = text.split(b"\n")[:-1]
    try:
        return [LiveSecond.model_validate_json(line) for line in lines]
    except ValidationError:
        return []

"""Many samples as few: what a long load needs of its past, in a bounded amount of memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Self

from loadcurve.probe.figures import figure
from loadcurve.probe.samples import Sample
from loadcurve.result.pauses import RawPause

SAMPLES_MAX = 3000
"""As soon as there are more, two neighbours become one."""
KEPT_WHOLE_S = 30.0
"""The newest samples are not folded: the end of a window lies between two of them."""

GAUGES: Final = (
    *("tree.memory_bytes", "tree.processes", "tree.threads"),
    *("footprint.proportional_memory_bytes", "footprint.open_files"),
    *("sockets.established", "sockets.time_wait", "sockets.orphaned"),
    *("listen_queue.waiting", "listen_queue.backlog", "page_cache.bytes"),
)
"""The figures of which not only the last reading counts, as it does of a counter."""
_TAKEN = {path: figure(path) for path in GAUGES}
_OF_PROGRAM = "programs."
"""Before the name of a program, whose memory is a gauge, too."""


def memory_of_program(name: str) -> str:
    """Return the path of the gauge of a program's memory."""
    return _OF_PROGRAM + name


@dataclass(frozen=True, slots=True)
class Gauge:
    """What a figure showed at several readings."""

    count: int
    total: float
    least: float
    most: float

    @property
    def mean(self) -> float:
        """The mean of the readings."""
        return self.total / self.count

    def with_more(self, other: Self) -> "Gauge":
        """Return the readings of both."""
        least, most = min(self.least, other.least), max(self.most, other.most)
        return Gauge(self.count + other.count, self.total + other.total, least, most)


class FoldedSample(Sample):
    """Neighbouring samples as one: of each figure the last reading, and what the gauges showed at all."""

    gauges: dict[str, Gauge]
    socket_states_most: dict[str, int] | None
    """The most sockets in each state at any look."""


def gauge(samples: Iterable[Sample], path: str) -> Gauge | None:
    """Return what a figure of :data:`GAUGES`, or a program's memory, showed at all samples.

    ``None`` where it was not read.
    """
    merged: Gauge | None = None
    for sample in samples:
        shown = _shown(sample, path)
        if shown is not None:
            merged = shown if merged is None else merged.with_more(shown)
    return merged


def pauses_in(samples: Iterable[Sample]) -> list[RawPause] | None:
    """Return the pauses that samples have together; ``None`` where none of them could look for any."""
    looked = [sample.pauses for sample in samples if sample.pauses is not None]
    return list(chain.from_iterable(looked)) if looked else None


def most_by_state(samples: Iterable[Sample]) -> dict[str, int] | None:
    """Return the most sockets in each state of TCP; ``None`` where no sample looked at all sockets."""
    most: dict[str, int] = {}
    for sample in samples:
        looked = sample.socket_states_most if isinstance(sample, FoldedSample) else sample.socket_states
        for state, count in (looked or {}).items():
            most[state] = max(count, most.get(state, 0))
    return most or None


def last_readings(samples: Sequence[Sample]) -> Sample:
    """Return the last of the samples, with the last reading of each figure that it does not have."""
    *earlier, last = samples
    for sample in reversed(earlier):
        unread = [name for name in Sample.model_fields if getattr(last, name) is None]
        last = last.model_copy(update={name: getattr(sample, name) for name in unread})
    return last


def folded(samples: Sequence[Sample]) -> Sample:
    """Return neighbouring samples as one; a single one stays as it is."""
    if len(samples) == 1:
        return samples[0]
    last = last_readings(samples)
    readings = {name: getattr(last, name) for name in Sample.model_fields}
    switches = last.context_switches
    if switches is not None and any(
        one.context_switches and one.context_switches.ignores_sigchld for one in samples
    ):
        readings["context_switches"] = switches.model_copy(update={"ignores_sigchld": True})
    readings["pauses"] = pauses_in(samples)
    programs = {memory_of_program(name) for sample in samples for name in sample.programs or ()}
    paths = (*GAUGES, *programs)
    shown = {path: found for path in paths if (found := gauge(samples, path)) is not None}
    return FoldedSample.model_construct(**readings, gauges=shown, socket_states_most=most_by_state(samples))


def _shown(sample: Sample, path: str) -> Gauge | None:
    if isinstance(sample, FoldedSample):
        return sample.gauges.get(path)
    if path.startswith(_OF_PROGRAM):
        program = (sample.programs or {}).get(path.removeprefix(_OF_PROGRAM))
        value: float | None = None if program is None else program.memory_bytes
    else:
        value = _TAKEN[path](sample)
    return None if value is None else Gauge(1, value, value, value)


class SampleStore:
    """The samples of a probe, folded by widths that double, so that they stay about equally wide."""

    def __init__(self) -> None:
        """Hold none yet."""
        self._folded: list[Sample] = []
        self._newest: list[Sample] = []
        self._width = 1

    @property
    def samples(self) -> Sequence[Sample]:
        """All of them, their moments ascending."""
        return [*self._folded, *self._newest]

    @property
    def newest(self) -> Sequence[Sample]:
        """Those that are not folded."""
        return self._newest

    def add(self, samples: Iterable[Sample]) -> None:
        """Take the next samples."""
        self._newest += samples

    def fold(self) -> Iterator[None]:
        """Fold all but the newest, as far as there are too many: a little before each ``yield``.

        Between two steps the store may be used as it is, and changed.
        """
        while self._has_old_ones():
            self._folded.append(folded(self._newest[: self._width]))
            del self._newest[: self._width]
            yield
        if len(self._folded) <= SAMPLES_MAX:
            return
        self._width *= 2
        place = 0
        while place + 1 < len(self._folded):
            self._folded[place : place + 2] = [folded(self._folded[place : place + 2])]
            place += 1
            yield

    def _has_old_ones(self) -> bool:
        """Say whether as many samples as become one are older than those that are kept whole."""
        if len(self._newest) < self._width:
            return False
        return self._newest[self._width - 1].t_s < self._newest[-1].t_s - KEPT_WHOLE_S

    def forget_before(self, moment_s: float) -> None:
        """Forget the samples before a moment; what comes is folded as after the start."""
        self._newest = [sample for sample in self.samples if sample.t_s > moment_s]
        self._folded, self._width = [], 1

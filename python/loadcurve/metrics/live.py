"""The load that is under way, and its figures by the names that other systems know them by.

They are those of the line that people see: what the engine shows of itself anyway, a few times a second.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from loadcurve.generate.generator import LatencyCounts, Progress

QUANTILES = ("0.5", "0.9", "0.99")
"""Of the latencies in the last second, in the order of :class:`~loadcurve.generate.generator.LastSecond`."""
MS_PER_S = 1e3
ENDED_MAX = 1000
"""The counters of at most this many loads are kept after their end."""
HISTOGRAMS_OF_ENDED_MAX = 50
"""The histograms of fewer, since each has dozens of lines."""


@dataclass(frozen=True)
class Metric:
    """A figure of the load."""

    name: str
    """In Prometheus, where a counter has ``_total`` behind it; OTLP has dots in place of underscores."""
    kind: Literal["counter", "gauge"]
    unit: str
    """As OpenTelemetry writes it."""
    meaning: str
    label: str | None = None
    """By what it is divided."""


ANSWERED = Metric(
    "loadcurve_answered", "counter", "{request}", "Answers since the load started, including its warm-up."
)
FAILED = Metric(
    "loadcurve_failed", "counter", "{request}", "Failures since the load started, by class.", label="class"
)
RATE = Metric("loadcurve_rate_per_second", "gauge", "{request}/s", "Answers per second in the last second.")
LATENCY = Metric(
    "loadcurve_latency_seconds", "gauge", "s", "Latencies of the last second.", label="quantile"
)  # fmt: skip
ELAPSED = Metric(
    "loadcurve_elapsed_seconds", "gauge", "s", "Time since the load started, including its warm-up."
)
OLDEST = Metric(
    "loadcurve_oldest_request_seconds",
    "gauge",
    "s",
    "Age of the oldest request under way, which grows where a connection is never served.",
)
METRICS = (ANSWERED, FAILED, RATE, LATENCY, ELAPSED, OLDEST)
HISTOGRAM_NAME = "loadcurve_request_duration_seconds"
HISTOGRAM_MEANING = "Latencies since the load started, including its warm-up, from when a request was due."


@dataclass(frozen=True)
class Sample:
    """One value of a metric."""

    metric: Metric
    value: float
    labels: Mapping[str, str]


@dataclass
class LiveLoad:
    """What is known of the load under way; read by other threads, which see one whole progress or another."""

    _shown: tuple[Mapping[str, str], Progress] | None = field(default=None)
    _ended: dict[tuple[tuple[str, str], ...], Progress] = field(default_factory=dict)
    """The last look at loads that have ended, by their labels, the latest last."""

    def show(self, labels: Mapping[str, str], progress: Progress) -> None:
        """Keep how far the load is; ``labels`` say which it is."""
        self._shown = (labels, progress)

    def is_over(self) -> None:
        """Keep what was counted of the load, which has ended, for who asks less often than loads end."""
        if self._shown is not None:
            labels, progress = self._shown
            ended = {**self._ended, tuple(labels.items()): progress}
            # Replaced as a whole, as another thread may be reading it.
            self._ended = dict([*ended.items()][-ENDED_MAX:])
        self._shown = None

    def samples(self) -> Iterator[Sample]:
        """Yield its figures; what is not known yet, or not reported by its generator, is left out."""
        shown, ended = self._shown, self._ended
        now = None if shown is None else tuple(shown[0].items())
        for of_ended, progress in ended.items():
            if of_ended != now:
                yield from _counted(dict(of_ended), progress)
        if shown is None:
            return
        labels, progress = shown
        if progress.elapsed_s is not None:
            yield Sample(ELAPSED, progress.elapsed_s, labels)
        yield from _counted(labels, progress)
        if progress.oldest_s is not None:
            yield Sample(OLDEST, progress.oldest_s, labels)
        last = progress.last_second
        if last is None:
            return
        yield Sample(RATE, last.answered / last.length_s, labels)
        for quantile, latency_ms in zip(QUANTILES, last.latency_ms or (), strict=False):
            yield Sample(LATENCY, latency_ms / MS_PER_S, {**labels, "quantile": quantile})

    def histograms(self) -> Iterator[tuple[Mapping[str, str], LatencyCounts]]:
        """Yield all latencies of the loads, with their labels, of the generators that tell."""
        loads = dict([*self._ended.items()][-HISTOGRAMS_OF_ENDED_MAX:])
        if (shown := self._shown) is not None:
            labels, progress = shown
            loads[tuple(labels.items())] = progress
        for of_load, progress in loads.items():
            if progress.latencies is not None:
                yield dict(of_load), progress.latencies


def _counted(labels: Mapping[str, str], progress: Progress) -> Iterator[Sample]:
    if progress.answered is not None:
        yield Sample(ANSWERED, progress.answered, labels)
    for name, count in progress.failures.items():
        yield Sample(FAILED, count, {**labels, "class": name})

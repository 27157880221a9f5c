"""A page of text that Prometheus reads, by its own client library."""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from loadcurve._engine import latency_bounds_s
from loadcurve.errors import BadInput
from loadcurve.metrics.live import HISTOGRAM_MEANING, HISTOGRAM_NAME, METRICS, LiveLoad
from loadcurve.server.spawn import bound_to

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

_FAMILIES = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}


class OfLoad:
    """The load's figures when they are asked for."""

    def __init__(self, live: LiveLoad) -> None:
        """Take what knows the load."""
        self._live = live

    def collect(self) -> Iterable[Metric]:
        """Return a family for each metric that has a value."""
        samples = list(self._live.samples())
        for metric in METRICS:
            family: Metric = _FAMILIES[metric.kind](metric.name, metric.meaning)
            name = f"{metric.name}_total" if metric.kind == "counter" else metric.name
            for sample in samples:
                if sample.metric is metric:
                    family.add_sample(name, dict(sample.labels), sample.value)
            if family.samples:
                yield family
        latencies: Metric = HistogramMetricFamily(HISTOGRAM_NAME, HISTOGRAM_MEANING)
        bounds = [*(f"{bound_s:.9f}".rstrip("0") for bound_s in latency_bounds_s()), "+Inf"]
        for labels, counted in self._live.histograms():
            total = 0
            for bound, count in zip(bounds, counted.counts, strict=True):
                total += count
                latencies.add_sample(f"{HISTOGRAM_NAME}_bucket", {**labels, "le": bound}, total)
            latencies.add_sample(f"{HISTOGRAM_NAME}_count", dict(labels), total)
            latencies.add_sample(f"{HISTOGRAM_NAME}_sum", dict(labels), counted.sum_s)
        if latencies.samples:
            yield latencies


@contextmanager
def served(live: LiveLoad, host: str, port: int, cpus: Collection[int] | None) -> Iterator[str]:
    """Serve the figures inside the block, by threads on these CPUs; yield the URL.

    Raises ``BadInput`` where it cannot listen there.
    """
    registry = CollectorRegistry()
    registry.register(cast("Collector", OfLoad(live)))
    try:
        with bound_to(cpus):
            server, thread = start_http_server(port, host, registry)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise BadInput(
            f"--metrics {host}:{port}: cannot listen there: {reason}; choose another, such as 127.0.0.1:0 "
            "for any free port of this machine"
        ) from error
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

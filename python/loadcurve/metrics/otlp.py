"""The load's figures sent by OTLP over HTTP, by OpenTelemetry's own library."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource

from loadcurve.errors import BadInput
from loadcurve.metrics.live import METRICS, LiveLoad, Metric
from loadcurve.server.spawn import bound_to

INTERVAL_MS = 1_000
_TIMEOUT_S = 2
_PATH = "/v1/metrics"
"""Where a collector takes metrics, unless the URL has a path."""


class _SaidOnce(logging.Handler):
    """Says the first thing that goes wrong, since the rest follows each second."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._is_said = False

    def emit(self, record: logging.LogRecord) -> None:
        """Say it; never raises."""
        if not self._is_said:
            self._is_said = True
            self._say(record.getMessage())


@contextmanager
def pushed(
    live: LiveLoad, url: str, cpus: Collection[int] | None, say: Callable[[str], None]
) -> Iterator[None]:
    """Send the figures each second inside the block, by a thread on these CPUs, and once at its end.

    A collector that cannot be reached is said once, and changes nothing else.

    Raises ``BadInput``: the URL is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadInput(f"--otlp {url}: expected the URL of a collector, such as http://127.0.0.1:4318")
    endpoint = url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}{_PATH}"
    logger = logging.getLogger("opentelemetry")
    handler = _SaidOnce(lambda text: say(f"--otlp {url}: {text}"))
    was_propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        with bound_to(cpus):
            reader = PeriodicExportingMetricReader(
                OTLPMetricExporter(endpoint=endpoint, timeout=_TIMEOUT_S), export_interval_millis=INTERVAL_MS
            )
            provider = MeterProvider([reader], Resource({SERVICE_NAME: "loadcurve"}), shutdown_on_exit=False)
        meter = provider.get_meter("loadcurve")
        for metric in METRICS:
            made = {"counter": meter.create_observable_counter, "gauge": meter.create_observable_gauge}
            name = metric.name.replace("_", ".", 1)
            made[metric.kind](name, [_reads(live, metric)], metric.unit, metric.meaning)
        try:
            yield
        finally:
            provider.shutdown(timeout_millis=_TIMEOUT_S * 1000)
    finally:
        logger.removeHandler(handler)
        logger.propagate = was_propagated


def _reads(live: LiveLoad, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(sample.value, dict(sample.labels))
            for sample in live.samples()
            if sample.metric is metric
        ]

    return read

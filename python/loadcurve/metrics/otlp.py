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

from loadcurve import units
from loadcurve.errors import BadInput
from loadcurve.metrics.collector import remember_secrets, session_with_bounds
from loadcurve.metrics.live import METRICS, LiveLoad, Metric
from loadcurve.redaction import hidden, without_password
from loadcurve.server.spawn import bound_to

INTERVAL_MS = 1_000
_TIMEOUT_S = 2
_END_TIMEOUT_S = 2 * _TIMEOUT_S + 1
"""At the end a request may be under way, and another one follows."""
_PATH = "/v1/metrics"
"""Where a collector takes metrics, unless the URL has a path."""
_SHOWN_CHARACTERS = 300


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
            # A secret that was cut in two would not be known for one.
            self._say(units.cut(hidden(record.getMessage()), _SHOWN_CHARACTERS))


@contextmanager
def pushed(
    live: LiveLoad, url: str, cpus: Collection[int] | None, say: Callable[[str], None]
) -> Iterator[None]:
    """Send the figures each second inside the block, by a thread on these CPUs, and once at its end.

    A collector that cannot be reached is said once, and changes nothing else.

    Raises ``BadInput``: the URL is none.
    """
    option = f"--otlp {without_password(url)}"
    endpoint = _endpoint(url, option)
    remember_secrets(url)
    logger = logging.getLogger("opentelemetry")
    handler = _SaidOnce(lambda text: say(f"{option}: {text}"))
    was_propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        with bound_to(cpus):
            reader = PeriodicExportingMetricReader(
                OTLPMetricExporter(endpoint=endpoint, timeout=_TIMEOUT_S, session=session_with_bounds()),
                export_interval_millis=INTERVAL_MS,
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
            provider.shutdown(timeout_millis=_END_TIMEOUT_S * 1000)
    finally:
        logger.removeHandler(handler)
        logger.propagate = was_propagated


def _endpoint(url: str, option: str) -> str:
    """Return where requests go; raises BadInput where the URL is none, in words of the option."""
    expected = BadInput(f"{option}: expected the URL of a collector, such as http://127.0.0.1:4318")
    try:
        parts = urlsplit(url)
        # A port that is none is found out when it is read.
        is_usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        raise expected from None
    if not is_usable:
        raise expected
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}{_PATH}"


def _reads(live: LiveLoad, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(sample.value, dict(sample.labels))
            for sample in live.samples()
            if sample.metric is metric
        ]

    return read

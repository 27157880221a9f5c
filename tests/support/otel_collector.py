"""OpenTelemetry's own collector, which writes what it receives into a file."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.sandbox import wait_until

PROGRAMS = ("otelcol", "otelcol-contrib")
CONFIGURATION = """\
receivers:
  otlp: {{ protocols: {{ http: {{ endpoint: "127.0.0.1:{port}" }} }} }}
exporters:
  file: {{ path: {file}, flush_interval: 100ms }}
service:
  telemetry: {{ metrics: {{ level: none }} }}
  pipelines:
    metrics: {{ receivers: [otlp], exporters: [file] }}
"""


@dataclass(frozen=True)
class Received:
    """One value of a metric that arrived."""

    name: str
    unit: str
    is_counter: bool
    """Whether it is a sum that only grows, from the start on."""
    value: float
    attributes: dict[str, str]
    service: str


@dataclass(frozen=True)
class Collector:
    """A collector that runs."""

    url: str
    file: Path

    def received(self) -> list[Received]:
        """Return what has arrived so far, the oldest first."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [one for line in lines for one in _values(json.loads(line))]


def _values(request: dict[str, Any]) -> Iterator[Received]:
    for resource in request["resourceMetrics"]:
        service = _texts(resource["resource"]["attributes"])["service.name"]
        for metric in (one for scope in resource["scopeMetrics"] for one in scope["metrics"]):
            found = metric.get("sum") or metric["gauge"]
            # 2 is cumulative, by the protocol's AggregationTemporality.
            is_counter = bool(found.get("isMonotonic")) and found["aggregationTemporality"] == 2
            for point in found["dataPoints"]:
                value = float(point["asInt"] if "asInt" in point else point["asDouble"])
                texts = _texts(point.get("attributes", []))
                yield Received(metric["name"], metric["unit"], is_counter, value, texts, service)


def _texts(attributes: list[dict[str, Any]]) -> dict[str, str]:
    return {one["key"]: one["value"]["stringValue"] for one in attributes if "stringValue" in one["value"]}


@contextmanager
def otel_collector(folder: Path) -> Iterator[Collector]:
    """Run the collector on a port of the loopback interface; skips where it is not installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"needs OpenTelemetry's collector ({' or '.join(PROGRAMS)})")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    file, configuration = folder / "received.jsonl", folder / "collector.yaml"
    configuration.write_text(CONFIGURATION.format(port=port, file=file))
    with (folder / "collector.log").open("w") as log:
        process = subprocess.Popen([program, "--config", configuration], stdout=log, stderr=log)
    try:
        wait_until(lambda: _answers(port) or process.poll() is not None, "the collector listens")
        assert process.poll() is None, (folder / "collector.log").read_text()
        yield Collector(f"http://127.0.0.1:{port}", file)
    finally:
        process.terminate()
        process.wait(30)


def _answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0

"""A load under way that another system scrapes, or is sent to."""

import json
import time
import urllib.request

import pytest

from support.limit_server import limit_server
from support.otel_collector import otel_collector
from support.sandbox import Sandbox, finish, wait_until

PATIENCE_S = 30.0
UNITS = {
    "loadcurve.answered": ("{request}", True),
    "loadcurve.rate_per_second": ("{request}/s", False),
    "loadcurve.latency_seconds": ("s", False),
    "loadcurve.elapsed_seconds": ("s", False),
    "loadcurve.oldest_request_seconds": ("s", False),
}
"""What arrives of a load without a failure: the unit of each metric, and whether it is a counter."""


def test_prometheus_scrapes_a_load_while_it_runs(sandbox: Sandbox, tmp_path):
    parser = pytest.importorskip("prometheus_client.parser")
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    with limit_server(tmp_path) as address:
        url = f"http://{address}/1k.txt"
        options = ("-c", 2, "-d", "1500ms", "--json", "--metrics", "127.0.0.1:0")
        load = sandbox.start("load", url, *options)
        assert load.stderr is not None
        # What a busy machine is said to be may come first.
        page = next(line for line in load.stderr if line.startswith("metrics: ")).split()[1]
        until_s = time.monotonic() + PATIENCE_S
        counted: list[float] = []
        while len(set(counted)) < 2 and time.monotonic() < until_s:
            with urllib.request.urlopen(page, timeout=PATIENCE_S) as answer:
                families = parser.text_string_to_metric_families(answer.read().decode())
            found = {family.name: family.samples for family in families}
            counted += [one.value for one in found.get("loadcurve_answered", [])]
        finished = finish(load)
    assert finished.returncode == 0
    assert counted == sorted(counted), "a counter grows"
    assert counted[-1] <= json.loads(finished.stdout)["requests"]["answered"]


def test_the_collector_of_opentelemetry_receives_a_load_while_it_runs(sandbox: Sandbox, tmp_path):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    with otel_collector(tmp_path) as collector, limit_server(tmp_path) as address:
        url = f"http://{address}/1k.txt"
        options = ("-c", 2, "-d", "2500ms", "--warmup", "0s", "--json", "--otlp", collector.url)
        finished = sandbox.run("load", url, *options)
        wait_until(lambda: len(collector.received()) > 2 * len(UNITS), "the collector writes what it has")
        received = collector.received()
    assert "--otlp" not in finished.stderr
    load = json.loads(finished.stdout)
    assert {one.name: (one.unit, one.is_counter) for one in received} == UNITS
    assert {one.service for one in received} == {"loadcurve"}

    def values(name: str) -> list[float]:
        return [one.value for one in received if one.name == f"loadcurve.{name}"]

    answered, elapsed_s = values("answered"), values("elapsed_seconds")
    assert len(answered) >= 2
    assert answered == sorted(answered)
    assert answered[-1] <= load["requests"]["answered"]
    assert elapsed_s == sorted(elapsed_s)
    # What is shown is a fraction of a second old, and the load does not change meanwhile.
    rate_rps = (answered[-1] - answered[0]) / (elapsed_s[-1] - elapsed_s[0])
    assert 0.2 < rate_rps / load["rate_rps"]["answered"] < 5
    latest = {
        one.attributes["quantile"]: one.value * 1e3
        for one in received
        if one.name == "loadcurve.latency_seconds"
    }
    assert set(latest) == {"0.5", "0.9", "0.99"}
    assert latest["0.5"] <= latest["0.9"] <= latest["0.99"] <= load["latency_ms"]["max"] * (1 + 1 / 32)

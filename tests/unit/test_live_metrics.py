"""A load under way as Prometheus and OpenTelemetry see it."""

import base64
import gzip
import os
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from loadcurve._engine import latency_bounds_s
from loadcurve.cli.live_metrics import cpus_beside, published
from loadcurve.errors import BadInput
from loadcurve.generate.generator import LastSecond, LatencyCounts, Progress
from loadcurve.metrics.live import HISTOGRAM_NAME, METRICS, LiveLoad
from support.command import Command
from support.dripping_server import dripping_server

PROGRESS = Progress(2.5, 500, {"timeout": 3}, LastSecond(1.0, 200, (1.5, 4.0, 9.0)), oldest_s=2.0)
GRACE_S = 4.0
LABELS = {"server": "nginx", "trial": "1", "point": "connections=10"}


def values(live: LiveLoad) -> dict[tuple[str, str], float]:
    return {
        (one.metric.name, one.labels.get(one.metric.label or "", "")): one.value for one in live.samples()
    }


def test_figures_are_those_of_the_live_line_in_base_units():
    live = LiveLoad()
    live.show(LABELS, PROGRESS)
    assert values(live) == {
        ("loadcurve_elapsed_seconds", ""): 2.5,
        ("loadcurve_answered", ""): 500,
        ("loadcurve_failed", "timeout"): 3,
        ("loadcurve_rate_per_second", ""): 200.0,
        ("loadcurve_latency_seconds", "0.5"): 0.0015,
        ("loadcurve_latency_seconds", "0.9"): 0.004,
        ("loadcurve_latency_seconds", "0.99"): 0.009,
        ("loadcurve_oldest_request_seconds", ""): 2.0,
    }


def test_what_a_generator_does_not_tell_is_left_out_and_not_0():
    live = LiveLoad()
    live.show({}, Progress(1.0, None))
    assert values(live) == {("loadcurve_elapsed_seconds", ""): 1.0}
    live.is_over()
    assert values(live) == {}


def test_counters_stay_after_their_load_for_who_asks_less_often():
    live = LiveLoad()
    other = LABELS | {"point": "connections=50"}
    live.show(LABELS, PROGRESS)
    live.is_over()
    live.show(other, Progress(0.5, 20))
    answered = {
        one.labels["point"]: one.value for one in live.samples() if one.metric.name.endswith("answered")
    }
    assert answered == {"connections=10": 500, "connections=50": 20}
    # The same point again, in another trial of the same labels, begins anew, as a counter may.
    live.is_over()
    live.show(LABELS, Progress(0.5, 7))
    answered = {
        one.labels["point"]: one.value for one in live.samples() if one.metric.name.endswith("answered")
    }
    assert answered == {"connections=10": 7, "connections=50": 20}


def test_a_scrape_has_every_figure_with_its_labels():
    parser = pytest.importorskip("prometheus_client.parser")
    lines: list[str] = []
    with published("127.0.0.1:0", None, None, lines.append) as live:
        assert live is not None
        url = lines[0].removeprefix("metrics: ")
        live.show(LABELS, PROGRESS)
        with urllib.request.urlopen(url, timeout=10) as answer:
            text = answer.read().decode()
        live.is_over()
        with urllib.request.urlopen(url, timeout=10) as answer:
            left = {line.partition("{")[0] for line in answer.read().decode().splitlines() if line[0] != "#"}
    assert left == {"loadcurve_answered_total", "loadcurve_failed_total"}, "what was counted stays"
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert set(families) == {metric.name for metric in METRICS}, "without counts there is no histogram"
    [answered] = families["loadcurve_answered"].samples
    assert (answered.name, answered.value, answered.labels) == ("loadcurve_answered_total", 500, LABELS)
    quantiles = {one.labels["quantile"]: one.value for one in families["loadcurve_latency_seconds"].samples}
    assert quantiles == {"0.5": 0.0015, "0.9": 0.004, "0.99": 0.009}
    assert families["loadcurve_failed"].samples[0].labels == LABELS | {"class": "timeout"}
    assert len(lines) == 1, "no warning on the loopback interface"
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=10)


def counted(**by_place: int) -> LatencyCounts:
    counts = [0] * (len(latency_bounds_s()) + 1)
    for place, count in by_place.items():
        counts[int(place[1:])] = count
    return LatencyCounts(tuple(counts), 0.25)


def test_a_histogram_has_all_latencies_by_bounds_that_no_answer_crosses():
    parser = pytest.importorskip("prometheus_client.parser")
    lines: list[str] = []
    with published("127.0.0.1:0", None, None, lines.append) as live:
        assert live is not None
        ended = LABELS | {"point": "connections=1"}
        live.show(ended, Progress(1.0, 7, latencies=counted(_2=7)))
        live.is_over()
        live.show(LABELS, Progress(1.0, 6, latencies=counted(_0=1, _1=3, _45=2)))
        with urllib.request.urlopen(lines[0].removeprefix("metrics: "), timeout=10) as answer:
            families = {
                family.name: family
                for family in parser.text_string_to_metric_families(answer.read().decode())
            }
    by_point: dict[str, dict[str, float]] = {}
    for one in families[HISTOGRAM_NAME].samples:
        name = one.labels.get("le", one.name.removeprefix(HISTOGRAM_NAME))
        by_point.setdefault(one.labels["point"], {})[name] = one.value
    now = by_point["connections=10"]
    # 2^14 ns, half as much again, and its double; 2^36 ns is the longest.
    shown = {
        name: now[name] for name in ("0.000016384", "0.000024576", "0.000032768", "68.719476736", "+Inf")
    }
    assert [*shown.values()] == [1, 4, 4, 4, 6]
    assert (now["_count"], now["_sum"], len(now)) == (6, 0.25, 46 + 2)
    assert by_point["connections=1"]["+Inf"] == 7, "the load before is kept"


def test_latencies_of_machines_add_up_and_those_of_levels_subtract():
    one, other = counted(_0=1, _3=2), counted(_3=5)
    assert one + other == LatencyCounts(counted(_0=1, _3=7).counts, 0.5)
    assert (one + other) - one == other


class Collector(BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    received: list[tuple[str, bytes]]
    logins: list[str | None]
    arrived: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.received.append((self.path, body))
        self.logins.append(self.headers["Authorization"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.arrived.set()

    def log_message(self, *_: object) -> None:
        pass


def test_a_collector_takes_every_figure_by_otlp():
    service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    handler = type("Kept", (Collector,), {"received": [], "logins": [], "arrived": threading.Event()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        lines: list[str] = []
        with published(None, f"http://127.0.0.1:{collector.server_port}", None, lines.append) as live:
            assert live is not None
            live.show(LABELS, PROGRESS)
        # What is known at the end is sent at the end.
        assert handler.arrived.wait(10)
        collector.shutdown()
    path, body = handler.received[-1]
    request = service.ExportMetricsServiceRequest.FromString(body)
    [resource] = request.resource_metrics
    found = {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}
    assert path == "/v1/metrics"
    assert set(found) == {metric.name.replace("_", ".", 1) for metric in METRICS}
    [answered] = found["loadcurve.answered"].sum.data_points
    assert (answered.as_int or answered.as_double, found["loadcurve.answered"].sum.is_monotonic) == (
        500,
        True,
    )
    assert {one.key: one.value.string_value for one in answered.attributes} == LABELS
    assert lines == []


def test_a_collector_that_is_not_there_is_said_once_and_ends_nothing():
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    lines: list[str] = []
    with published(None, "http://127.0.0.1:9", None, lines.append) as live:
        assert live is not None
        live.show({}, PROGRESS)
    assert len(lines) == 1
    assert lines[0].startswith("--otlp http://127.0.0.1:9: ")


def said_of(answer: tuple[bytes, bytes], login: str = "") -> str:
    """Return what is said of a collector that answers so, and require that nothing waits for its end."""
    lines: list[str] = []
    with dripping_server(*answer) as port:
        began_s = time.monotonic()
        with published(None, f"http://{login}127.0.0.1:{port}", None, lines.append) as live:
            assert live is not None
            live.show({}, PROGRESS)
        # Of at most two requests, each within its 2 s.
        assert time.monotonic() - began_s < 4 + GRACE_S
    [line] = lines
    return line


HEAD_401 = b"HTTP/1.1 401 Unauthorized\r\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((HEAD_401 + b"\r\n", b"x" * 100_000), "401"),
        ((HEAD_401, b"x: y\r\n"), "timeout"),
        ((HEAD_401, b"x: y\r\n" * 20_000), "100 headers"),
        ((HEAD_401 + b"x: " + b"y" * 60_000 + b"\r\n" + b"x: " + b"y" * 60_000, b"\r\n"), "more than 64 KiB"),
        ((b"HTTP/1.1 401 " + b"x" * 60_000 + b"\r\n\r\n", b""), "a reason of 60,000 characters"),
    ],
    ids=["endless body", "dripping head", "endless head", "large head", "long reason"],
)
def test_a_collector_that_never_ends_its_answer_is_said_in_time_and_in_short(answer, said):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    line = said_of(answer)
    assert said in line
    assert len(line) < 500


@pytest.mark.parametrize(
    "repeated", [b"se%cret/1", b"se%25cret%2F1", base64.b64encode(b"me:se%cret/1")], ids=["", "URL", "base64"]
)
def test_the_login_of_a_collector_is_in_no_message_even_where_it_repeats_it(repeated):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    line = said_of((b"HTTP/1.1 403 not " + repeated + b"\r\n\r\n", b""), "me:se%25cret%2F1@")
    assert line.startswith("--otlp http://127.0.0.1:")
    assert line.endswith("reason: not (hidden)")


def test_a_header_of_the_environment_is_in_no_message(monkeypatch):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=sesame-of-the-test")
    line = said_of((b"HTTP/1.1 403 not sesame-of-the-test\r\n\r\n", b""))
    assert line.endswith("reason: not (hidden)")


@pytest.mark.parametrize(
    "given", ["sesame-of-the-test", "sesame=of-the-test and more", "key=sesame of the test"]
)
def test_a_header_of_the_environment_that_is_a_mistake_is_in_no_warning(monkeypatch, given):
    """What is not a name and an encoded value the library shows as it is."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"first=1,{given}")
    lines: list[str] = []
    with published(None, "http://127.0.0.1:9", None, lines.append):
        pass
    assert "sesame" not in " ".join(lines)


@pytest.mark.parametrize(
    "url", ["http://me:cret@:4318", "me:cret@collector", "http://me:cret@collector:port"]
)
def test_a_collector_that_cannot_be_one_is_refused_without_its_login(url):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with (
        pytest.raises(BadInput, match="expected the URL of a collector") as refused,
        published(None, url, None, print),
    ):
        pass
    assert "cret" not in str(refused.value)


def test_a_collector_is_logged_in_at_as_its_url_says():
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    handler = type("Kept", (Collector,), {"received": [], "logins": [], "arrived": threading.Event()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        url = f"http://me:se%25cret@127.0.0.1:{collector.server_port}/somewhere/else"
        with published(None, url, None, print) as live:
            assert live is not None
            live.show(LABELS, PROGRESS)
        assert handler.arrived.wait(10)
        collector.shutdown()
    assert handler.logins[-1] == "Basic " + base64.b64encode(b"me:se%cret").decode()
    assert handler.received[-1][0] == "/somewhere/else"


@pytest.mark.parametrize("taken", [True, False])
def test_an_address_that_cannot_be_used_is_refused_before_anything(taken: bool, tmp_path: Path):
    pytest.importorskip("prometheus_client")
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as other:
        port = other.server_port
        address = f"127.0.0.1:{port}" if taken else "nowhere"
        refused = Command(tmp_path).run("load", f"http://127.0.0.1:{port}/", "--metrics", address)
    assert refused.returncode == 2
    expected = f"--metrics {address}: cannot listen there: Address already in use" if taken else "HOST:PORT"
    assert expected in " ".join(refused.stderr.split())


def test_the_url_of_a_collector_is_looked_at_before_anything():
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with pytest.raises(BadInput, match="expected the URL of a collector"), published(None, "x", None, print):
        pass


def test_a_client_library_that_is_missing_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "loadcurve.metrics.prometheus", None)
    with (
        pytest.raises(BadInput, match=r"prometheus-client is not installed.*loadcurve\[metrics\]"),
        published("127.0.0.1:0", None, None, print),
    ):
        pass


def test_nobody_who_asks_costs_nothing():
    with published(None, None, None, print) as live:
        assert live is None


def test_the_threads_have_the_cpus_that_the_load_leaves():
    assert cpus_beside(range(4096)) is None
    allowed = os.sched_getaffinity(0)
    assert set(cpus_beside([4095]) or ()) == allowed - {4095}

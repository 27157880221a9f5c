"""`loadcurve load`: what it sends, and the numbers that it prints."""

import json
import random
import re
import time

import pytest
from hdrh.histogram import HdrHistogram

from support.recording_server import recording_server, silent_listener
from support.schemas import validate

NS_PER_MS = 1e6
CONTROL_CHARACTER = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
PERCENTILES = {"p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p99_9": 99.9, "p99_99": 99.99}
ROUNDING = 0.002
"""The histograms keep three digits: neighbouring values differ by a thousandth, and either may be named."""


def measured(finished):
    """Return the JSON object of a load that was measured, whatever a busy machine did to its verdict."""
    result = json.loads(finished.stdout)
    exit_code = 3 if result["verdict"]["status"] == "invalid" else 0
    assert (finished.returncode, finished.stderr) == (exit_code, "")
    return result


def assert_every_request_is_accounted_for(result):
    requests = result["requests"]
    fates = ("answered", "failed", "unanswered", "never_sent")
    assert requests["due"] == sum(requests[fate] for fate in fates)
    assert sum(result["errors"].values()) == requests["failed"]


def test_the_json_follows_its_schema_and_its_parts_agree(sandbox, limit_url):
    result = measured(sandbox.run("load", limit_url, "-c", 4, "-d", "1200ms", "--json"))
    validate(result, "load")
    assert_every_request_is_accounted_for(result)
    answered = result["requests"]["answered"]
    assert result["bytes"]["body"] == 1024 * answered
    assert result["status"]["2xx"] == answered
    assert [(period["t_s"], period["width_s"]) for period in result["series"]] == [(0, 1), (1, 0.2)]
    within = sum(period["answered"] for period in result["series"])
    # The rate and the series count what was answered within the window. A request that was due just before
    # its end is answered just after it, at most one on each connection.
    assert answered - 4 <= within <= answered
    assert result["rate_rps"]["answered"] == pytest.approx(within / result["duration_s"])


def test_the_window_is_reported_by_the_clock_that_every_program_of_this_machine_reads(sandbox, limit_url):
    before_s = time.monotonic()
    result = measured(sandbox.run("load", limit_url, "-d", "200ms", "--warmup", "300ms", "--json"))
    start_s = result["window_start_monotonic_s"]
    assert before_s + 0.3 <= start_s <= time.monotonic() - result["duration_s"]


def test_a_number_of_requests_is_kept_exactly_and_the_series_adds_up_to_it(sandbox, limit_url):
    result = measured(sandbox.run("load", limit_url, "-c", 7, "-t", 2, "-n", 1000, "--json"))
    done = dict.fromkeys(("due", "sent", "answered", "ok"), 1000)
    assert result["requests"] == done | dict.fromkeys(("failed", "unanswered", "never_sent", "moved"), 0)
    series = result["series"]
    assert sum(period["answered"] for period in series) == 1000
    assert sum(period["body_bytes"] for period in series) == 1000 * 1024
    assert sum(period["latency_ms"]["count"] for period in series) == 1000
    assert max(period["latency_ms"]["max"] for period in series) == result["latency_ms"]["max"]
    assert sum(period["width_s"] for period in series) == pytest.approx(result["duration_s"])


def test_another_implementation_merges_the_series_to_the_latency_of_the_whole_load(sandbox, limit_url):
    total = 8800
    result = measured(sandbox.run("load", limit_url, "-R", 4000, "-n", total, "--json"))
    assert [period["t_s"] for period in result["series"]][:3] == [0, 1, 2]
    merged = HdrHistogram(1, 3_600_000_000_000, 2)
    for period in result["series"]:
        histogram = HdrHistogram.decode(period["latency_histogram"])
        assert histogram.get_total_count() == period["latency_ms"]["count"] == period["answered"]
        merged.add(histogram)
    assert merged.get_total_count() == total
    whole = HdrHistogram.decode(result["histograms"]["latency"])
    for percentile in PERCENTILES.values():
        expected = whole.get_value_at_percentile(percentile)
        # The series keeps two digits: its buckets are a hundredth of their times wide.
        assert merged.get_value_at_percentile(percentile) == pytest.approx(expected, rel=0.01)


def test_an_open_loop_is_due_at_its_rate_exactly(sandbox, limit_url):
    result = measured(sandbox.run("load", limit_url, "-R", 500, "-d", "1s", "--json"))
    assert result["requests"]["due"] == 500
    assert_every_request_is_accounted_for(result)


def test_another_implementation_reads_the_histograms_to_the_same_percentiles(sandbox, limit_url):
    total = 110_000
    result = measured(sandbox.run("load", limit_url, "-c", 4, "-n", total, "--json"))
    for name in ("latency", "service_time", "first_byte"):
        histogram = HdrHistogram.decode(result["histograms"][name])
        reported = result[f"{name}_ms"]
        assert histogram.get_total_count() == reported["count"] == total
        for key, percentile in PERCENTILES.items():
            # A rank that is not quite a whole number may be rounded either way.
            low, high = (
                histogram.get_value_at_percentile(100 * rank / total) / NS_PER_MS
                for rank in (percentile / 100 * total - 1, percentile / 100 * total + 1)
            )
            assert low * (1 - ROUNDING) <= reported[key] <= high * (1 + ROUNDING)
        assert reported["mean"] == pytest.approx(histogram.get_mean_value() / NS_PER_MS, rel=ROUNDING)


def test_method_headers_body_and_query_reach_the_server(sandbox):
    with recording_server() as server:
        options = ["-X", "POST", "--body", "grün", "-H", "X-Token: a:b", "-H", "x-token:c", "-c", 1, "-n", 3]
        result = measured(sandbox.run("load", f"http://{server.authority}/p?q=%20", *options, "--json"))
    assert result["requests"]["answered"] == 3
    assert len(server.seen) == 3
    for request in server.seen:
        assert (request.method, request.target, request.body) == ("POST", "/p?q=%20", "grün".encode())
        assert request.header("X-Token") == ["a:b", "c"]
        assert request.header("Content-Length") == ["5"]
        assert request.header("Host") == [server.authority]


def test_a_body_is_read_from_a_file_while_it_is_sent(sandbox):
    body = random.Random(1).randbytes(1_000_003)
    (sandbox.work / "body.bin").write_bytes(body)
    with recording_server() as server:
        options = ["-X", "POST", "--body", "@body.bin", "-c", 2, "-n", 4]
        result = measured(sandbox.run("load", f"http://{server.authority}/", *options, "--json"))
    assert result["requests"]["ok"] == 4
    assert [request.body == body for request in server.seen] == [True] * 4
    assert result["bytes"]["sent"] > 4 * len(body)


def test_a_long_list_is_taken_line_by_line(sandbox):
    paths = [f"/{line}" for line in range(150)]
    sandbox.write("urls.txt", "\n".join(["# all paths", *paths]))
    with recording_server() as server:
        options = ["--urls", "urls.txt", "-c", 1, "-n", 200]
        result = measured(sandbox.run("load", f"http://{server.authority}/", *options, "--json"))
    assert [request.target for request in server.seen] == [*paths, *paths[:50]]
    assert result["load"]["requests"] == ["urls.txt"]
    assert [operation["answered"] for operation in result["operations"]] == [200]


def test_each_request_of_a_short_list_has_its_own_figures_and_rows(sandbox, limit_url):
    path = "/" + limit_url.rpartition("/")[2]
    # The first path is there twice: its requests have one label, and so one row.
    sandbox.write("urls.txt", f"{path}\n/absent\n{path}\n")
    command = ["load", limit_url, "--urls", "urls.txt", "-c", 2, "-n", 300]
    result = measured(sandbox.run(*command, "--json"))
    counts = {one["operation"]: (one["answered"], one["ok"]) for one in result["operations"]}
    assert counts == {f"GET {path}": (200, 200), "GET /absent": (100, 0)}
    assert sum(one["latency_ms"]["count"] for one in result["operations"]) == 300
    rows = [line.split() for line in sandbox.run(*command).stdout.splitlines() if "%" in line]
    shares = {" ".join(row[:2]): row[3:6] for row in rows if row[0] == "GET"}
    assert shares == {f"GET {path}": ["67", "%", "0"], "GET /absent": ["33", "%", "100"]}


def test_what_was_due_and_never_answered_is_counted(sandbox):
    with silent_listener() as address:
        finished = sandbox.run(
            "load", f"http://{address}/", "-R", 100, "-d", "500ms", "-c", 2, "--timeout", "800ms", "--json"
        )
    result = json.loads(finished.stdout)
    assert_every_request_is_accounted_for(result)
    # Each of the two connections waits for its first answer; the other 48 requests find none free.
    requests = result["requests"]
    assert (requests["due"], requests["sent"], requests["never_sent"]) == (50, 2, 48)
    assert (requests["answered"], result["errors"]["timeout"]) == (0, 2)
    assert result["latency_ms"]["p50"] is None


def test_the_table_is_plain_text_of_80_columns(sandbox, limit_url):
    finished = sandbox.run("load", limit_url, "-R", 2000, "-d", "300ms", "-H", "X-Long: " + "x" * 100)
    assert finished.stderr == ""
    assert CONTROL_CHARACTER.search(finished.stdout) is None
    assert max(map(len, finished.stdout.splitlines())) <= 80
    assert "600 due: " in finished.stdout
    assert re.search(r"^(valid|suspect|invalid)$", finished.stdout, re.MULTILINE)

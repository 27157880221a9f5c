"""What other load generators wrote (tests/data/tools) is read as they, or plain arithmetic, say it."""

import json
import math
import re
import statistics
from pathlib import Path

import numpy
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as some

from loadcurve._engine import percentile_curve
from loadcurve.errors import BadInput
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.formats import FORMATS, format_of, read_figures
from loadcurve.tools.samples import distribution_of
from loadcurve.tools.source import Source
from support.tool_files import DATA, figures, rows, text_of, written


def order_statistic(times: list[float], share: float) -> float:
    """The time of rank ⌈q·n⌉."""
    return sorted(times)[math.ceil(share * len(times)) - 1]


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("wrk.txt", "wrk-text"), ("wrk-not-found.txt", "wrk-text"), ("wrk2.txt", "wrk2-text"),
        ("ab.txt", "ab-text"),
        ("ab-requests.tsv", "ab-requests"), ("httperf.txt", "httperf-text"), ("h2load.txt", "h2load-text"),
        ("h2load-log.tsv", "h2load-log"), ("h2load.json", "h2load-json"), ("h2load-json.txt", "h2load-text"),
        ("hey.csv", "hey-csv"), ("hey.txt", "hey-text"), ("hey-refused.txt", "hey-text"),
        ("vegeta.csv", "vegeta-csv"), ("vegeta.jsonl", "vegeta-json"),
        ("vegeta-report.json", "vegeta-report"), ("k6.csv", "k6-csv"), ("k6.jsonl", "k6-json"),
        ("k6-export.json", "k6-summary"),
        ("k6-csv-summary.json", "k6-summary"), ("ycsb.txt", "ycsb-text"), ("ycsb-read.hdr", "ycsb-hdr"),
        ("go-ycsb.txt", "go-ycsb-summary"), ("go-ycsb.json", "go-ycsb-summary"),
        ("go-ycsb.csv", "go-ycsb-csv"), ("locust_stats.csv", "locust-csv"), ("zrk.json", "zrk-json"),
    ],
)  # fmt: skip
def test_a_file_is_recognised_by_its_content(name: str, format_name: str):
    assert format_of(Source(DATA / name), None).name == format_name


def test_no_tool_contradicts_itself_in_what_it_wrote():
    read = {}
    for path in sorted(DATA.rglob("*")):
        try:
            read[path] = read_figures(Source(path), None)[0].contradictions
        except BadInput:
            continue
    assert len(read) > 80
    assert {path.name: said for path, said in read.items() if said} == {}


def test_no_two_formats_have_one_name():
    assert len({one.name for one in FORMATS}) == len(FORMATS)


def test_percentiles_of_single_requests_are_order_statistics_where_the_samples_bound_them():
    times = [float(row[0]) * 1e3 for row in rows("hey.csv")[1:]]
    found = figures("hey.csv")
    latency = found.latency.distribution
    assert (latency.count, found.answered, found.failed) == (500, 500, None)
    assert latency.p50 == pytest.approx(order_statistic(times, 0.5), abs=1e-9)
    assert latency.p99 == pytest.approx(order_statistic(times, 0.99), abs=1e-9)
    assert latency.p99_9 is None, "500 samples do not bound it"
    assert latency.mean == pytest.approx(statistics.mean(times))
    assert latency.stddev == pytest.approx(statistics.stdev(times))


def test_of_times_that_all_differ_a_percentile_is_that_of_its_rank():
    # Of 1, 2 … 2,000 ms the one of rank r is r ms: p50 has 1,000, p90 1,800, p99 1,980.
    latency = distribution_of(numpy.arange(1, 2_001) * 1_000_000)
    assert (latency.p50, latency.p90, latency.p99, latency.p99_9) == (1_000, 1_800, 1_980, None)


def test_the_window_of_single_requests_lasts_from_the_first_begin_to_the_last_end():
    ends = [float(row[7]) + float(row[0]) for row in rows("hey.csv")[1:]]
    begins = [float(row[7]) for row in rows("hey.csv")[1:]]
    assert figures("hey.csv").duration_s == pytest.approx(max(ends) - min(begins))


def test_the_histogram_of_single_requests_is_that_of_another_implementation():
    oracle = HdrHistogram(1, 3600 * 10**9, 3)
    for row in rows("vegeta.csv"):
        oracle.record_value(int(row[2]))
    curve = percentile_curve([figures("vegeta.csv").latency.histogram])
    for share in (50.0, 90.0, 99.0):
        ours = next(time for percentile, time in curve if percentile >= share)
        assert ours * 1e6 == pytest.approx(oracle.get_value_at_percentile(share), rel=1e-9)


def test_a_series_counts_each_answer_in_the_second_of_its_end():
    moments = [int(row[0]) + int(row[2]) for row in rows("vegeta.csv")]
    begin = min(int(row[0]) for row in rows("vegeta.csv"))
    by_second = [sum(1 for one in moments if (one - begin) // 10**9 == second) for second in range(2)]
    series = figures("vegeta.csv").series
    assert [period.answered for period in series] == by_second
    assert sum(period.width_s for period in series) == pytest.approx(figures("vegeta.csv").duration_s)


def test_the_latencies_of_vegetas_report_are_of_failures_too_and_then_not_those_of_answers(tmp_path):
    report = json.loads(text_of("vegeta-report.json"))
    report["status_codes"] = {"200": 390, "0": 10}
    found, _ = read_figures(written(tmp_path, json.dumps(report, separators=(",", ":"))), None)
    assert (found.answered, found.failed, found.latency) == (390, 10, None)


def test_vegeta_says_the_same_in_all_of_its_forms():
    report = json.loads(text_of("vegeta-report.json"))
    for name in ("vegeta.csv", "vegeta.jsonl", "vegeta-report.json"):
        found = figures(name)
        assert found.answered == report["requests"] == 400
        assert found.status["2xx"] == report["status_codes"]["200"]
        assert found.status["4xx"] == report["status_codes"]["404"]
        assert found.duration_s == pytest.approx((report["duration"] + report["wait"]) / 1e9)
        assert found.latency.distribution.mean == pytest.approx(report["latencies"]["mean"] / 1e6, rel=1e-5)
        assert found.latency.distribution.max == report["latencies"]["max"] / 1e6
        assert found.latency.distribution.min == report["latencies"]["min"] / 1e6
        assert found.bytes_body == report["bytes_in"]["total"]
        # Vegeta estimates percentiles by a t-digest.
        assert found.latency.distribution.p50 == pytest.approx(report["latencies"]["50th"] / 1e6, rel=0.05)


def test_refused_connections_are_failures_of_their_class():
    assert (figures("vegeta-refused.csv").failed, figures("vegeta-refused.csv").answered) == (50, 0)
    assert figures("vegeta-refused.csv").errors["connect_refused"] == 50
    assert figures("hey-refused.txt").errors["connect_refused"] == 40
    # Every failure has its text, so there were no others.
    assert (figures("hey-refused.txt").errors["timeout"], figures("hey.txt").errors["reset"]) == (0, 0)
    assert figures("hey-refused.txt").latency.distribution.mean is None, "hey writes NaN"


def test_the_figures_of_heys_text_are_those_that_stand_there():
    text, found = text_of("hey.txt"), figures("hey.txt")
    assert found.answered == int(re.search(r"\[200\]\s+(\d+) responses", text)[1])
    assert found.duration_s == pytest.approx(float(re.search(r"Total:\s+(\S+) secs", text)[1]), abs=5e-5)
    latency = found.latency.distribution
    for name, figure in (("Slowest", latency.max), ("Fastest", latency.min), ("Average", latency.mean)):
        assert figure == pytest.approx(1e3 * float(re.search(rf"{name}:\s+(\S+) secs", text)[1]))
    for share, figure in (("50", latency.p50), ("90", latency.p90), ("99", latency.p99)):
        assert figure == pytest.approx(1e3 * float(re.search(rf"{share}%+ in (\S+) secs", text)[1]))
    assert (found.latency.histogram, found.latency.completeness) == (None, "percentiles")


@pytest.mark.parametrize("name", ["k6.csv", "k6.jsonl"])
def test_samples_of_k6_give_what_its_own_summary_says_of_the_same_run(name: str):
    summary = json.loads(text_of(f"{name.replace('.', '-')}-summary.json"))["metrics"]
    theirs, ours = summary["http_req_duration"]["values"], figures(name).latency.distribution
    assert figures(name).answered == summary["http_reqs"]["values"]["count"]
    # The CSV has six decimals of a millisecond.
    assert ours.mean == pytest.approx(theirs["avg"], abs=1e-6)
    assert (ours.min, ours.max) == (pytest.approx(theirs["min"]), pytest.approx(theirs["max"]))
    assert ours.p50 == pytest.approx(theirs["med"], rel=0.2), "k6 interpolates between neighbours"


def test_a_summary_of_k6_is_read_as_it_stands():
    metrics = json.loads(text_of("k6-export.json"))["metrics"]
    found = figures("k6-export.json")
    assert found.answered == metrics["http_reqs"]["count"]
    assert found.answered / found.duration_s == pytest.approx(metrics["http_reqs"]["rate"])
    assert found.latency.distribution.p99 == metrics["http_req_duration"]["p(99)"]


@pytest.mark.parametrize("name", ["zrk.json", "zrk-deadline.json"])
def test_the_histogram_of_zrk_is_read_as_another_implementation_reads_it(name: str):
    document, found = json.loads(text_of(name)), figures(name)
    theirs, ours = document["latency_us"], found.latency.distribution
    assert ours.count == found.answered == document["requests"]
    assert ours.mean * 1e3 == pytest.approx(theirs["mean"], rel=1e-3)
    # Each counter is a thousandth as wide as its times are long.
    assert [ours.min * 1e3, ours.max * 1e3] == pytest.approx([theirs["min"], theirs["max"]], rel=1e-3)
    assert ours.p50 * 1e3 == pytest.approx(theirs["p50"], rel=1e-3)
    oracle = HdrHistogram.decode(document["latency_histogram"])
    counted = [
        (one.value_iterated_to, one.count_added_in_this_iter_step) for one in oracle.get_recorded_iterator()
    ]
    times = [value / 1e3 for value, count in counted for _ in range(count)]
    for share, value in ((0.5, ours.p50), (0.9, ours.p90), (0.99, ours.p99)):
        if value is not None:
            assert value == pytest.approx(order_statistic(times, share), rel=1e-3)
    assert (found.basis, found.asked.rate_rps) == ("due", document["target_rate"])
    assert found.bytes_received == document["bytes"]


def test_requests_that_zrk_did_not_send_by_their_deadline_have_not_failed(tmp_path: Path):
    found = figures("zrk-deadline.json")
    assert (found.answered, found.failed, found.never_sent) == (20, 0, 44)
    # Where it gives up those under way, too, it does not tell the two apart.
    aborts = text_of("zrk-deadline.json").replace('"deadline_abort": false', '"deadline_abort": true')
    found, _ = read_figures(written(tmp_path, aborts), None)
    assert (found.failed, found.never_sent) == (44, None)


def test_latencies_of_zrk_with_times_of_timeouts_are_not_those_of_answers():
    found = figures("zrk-timeouts.json")
    assert (found.answered, found.ok, found.failed) == (73, None, 25)
    assert (found.status["5xx"], found.errors["timeout"], found.latency) == (70, 25, None)
    refused, attempts = (
        figures("zrk-refused.json"),
        json.loads(text_of("zrk-refused.json"))["errors"]["connect"],
    )
    assert (refused.answered, refused.failed, refused.latency.distribution.count) == (0, attempts, 0)


def test_a_short_window_in_whole_seconds_is_refused():
    with pytest.raises(Unreadable, match="moments in whole seconds"):
        figures("k6-seconds.csv")


def test_a_log_of_ycsb_gives_what_its_text_says_of_the_same_run():
    text, latency = text_of("ycsb-read.txt"), figures("ycsb-read.hdr").latency.distribution

    def said(name: str) -> float:
        return float(re.search(rf"\[READ\], {name}, (\S+)", text)[1])

    assert latency.count == said("Operations")
    assert latency.mean == pytest.approx(said(r"AverageLatency\(us\)") / 1e3, rel=1e-3)
    assert latency.max == said(r"MaxLatency\(us\)") / 1e3
    assert latency.p95 == said(r"95thPercentileLatency\(us\)") / 1e3
    assert latency.p99 == said(r"99thPercentileLatency\(us\)") / 1e3


def test_percentiles_of_several_operations_are_not_made_to_one():
    found = figures("ycsb.txt")
    assert found.latency is None
    assert [(one.operation, one.answered) for one in found.operations] == [("read", 19030), ("update", 970)]
    assert (found.answered, found.failed, found.duration_s) == (20_000, 0, 0.061)


def test_intended_times_of_ycsb_count_from_when_operations_were_due():
    found = figures("ycsb-both.txt")
    read = next(one for one in found.operations if one.operation == "read").latency_ms
    assert (found.basis, read.p99, read.max) == ("due", 5.707, 24.367)


def test_statistics_of_locust_are_those_of_its_last_line():
    names, *_, last = rows("locust_stats.csv")
    line, found = dict(zip(names, last, strict=True)), figures("locust_stats.csv")
    assert found.answered == int(line["Request Count"])
    assert found.answered / found.duration_s == pytest.approx(float(line["Requests/s"]))
    assert found.latency.distribution.p99 == float(line["99%"])
    assert found.latency.distribution.mean == float(line["Average Response Time"])


JTL = (DATA / "jmeter-documented.csv").read_text()


def test_samples_of_jmeter_are_answers_failures_and_sums_that_do_not_count(tmp_path: Path):
    found, form = read_figures(written(tmp_path, JTL), None)
    assert form.name == "jmeter-csv"
    assert (found.answered, found.failed, found.duration_s) == (2, 1, 1.0)
    assert (found.status["2xx"], found.status["4xx"], found.asked.threads) == (1, 1, 2)
    assert (found.latency.distribution.min, found.latency.distribution.max) == (12.0, 20.0)


@pytest.mark.parametrize("version", ["5.5", "5.6.3"])
def test_samples_of_jmeter_are_those_of_its_summary(version: str):
    summary = text_of(f"jmeter-{version}.txt")
    said = {
        name: int(number) for name, number in re.findall(r"(summary|Avg|Min|Max|Err)\W+?(\d+)\b", summary)
    }
    found = figures(f"jmeter-{version}.csv")
    assert found.answered + found.failed == said["summary"]
    # JMeter calls an answer of 404 an error, too.
    assert found.failed + found.status["4xx"] == said["Err"]
    assert found.errors["connect_refused"] == found.failed
    assert found.latency.distribution.max == said["Max"]
    times_ms = [int(row[1]) for row in rows(f"jmeter-{version}.csv")[1:]]
    assert math.floor(statistics.fmean(times_ms)) == said["Avg"], "its mean is of failures, too"
    assert {one.operation for one in found.operations} == {
        row[2] for row in rows(f"jmeter-{version}.csv")[1:]
    }


GATLING = {
    "2.3": "RUN\tSim\t\tsim\t1481907959927\t \t2.3\nREQUEST\tScenario\t1\t\thome\t{0}\t{1}\t{2}\t{3}\n",
    "3.2": "RUN\tSim\tsim\t1481907959927\t \t3.2.1\nREQUEST\t1\t\thome\t{0}\t{1}\t{2}\t{3}\n",
    "3.9": "RUN\tSim\tsim\t1481907959927\t \t3.9.5\nUSER\ts\tSTART\t1\nREQUEST\t\thome\t{0}\t{1}\t{2}\t{3}\n",
}


@pytest.mark.parametrize("version", GATLING)
def test_the_columns_of_gatlings_log_follow_from_its_version(version: str, tmp_path: Path):
    head, _, line = GATLING[version].rpartition("REQUEST")
    requests = "".join(
        "REQUEST" + line.format(1000 + at, 1010 + 2 * at, *outcome)
        for at, outcome in ((0, ("OK", " ")), (500, ("KO", "j.n.ConnectException: connection timed out")))
    )
    found, _ = read_figures(written(tmp_path, head + requests), None)
    assert (found.answered, found.failed, found.errors["connect_timeout"]) == (1, 1, 1)
    assert (found.latency.distribution.max, found.duration_s) == (10.0, 1.01)


def test_a_request_of_gatling_without_its_moments_is_left_out(tmp_path: Path):
    found, _ = read_figures(written(tmp_path, GATLING["3.9"].format(1, 2, "OK", " ") + "REQUEST\n"), None)
    assert found.answered == 1
    assert re.match(
        "1 of 3 lines cannot be read and were left out: line 4 has 'REQUEST'", found.notes[0].text
    )


def test_a_moment_of_gatling_that_no_clock_shows_is_refused(tmp_path: Path):
    line = GATLING["3.9"].format(1, 999_999_999_999_999, "OK", " ")
    with pytest.raises(Unreadable, match="line 3: found 'REQUEST"):
        read_figures(written(tmp_path, line), None)


def test_a_log_of_gatling_that_is_younger_than_its_text_is_refused(tmp_path: Path):
    with pytest.raises(Unreadable, match=r"line 1: found version 3\.13"):
        read_figures(written(tmp_path, GATLING["3.9"].replace("3.9.5", "3.13.1")), None)


FORTIO = {
    "RunType": "HTTP", "StartTime": "2026-01-02T03:04:05.5Z", "RequestedQPS": "100", "ActualQPS": 50.0,
    "ActualDuration": 8_000_000_000, "NumThreads": 4, "Version": "1.63.0", "URL": "http://127.0.0.1/",
    "DurationHistogram": {
        "Count": 400, "Min": 0.001, "Max": 0.5, "Sum": 4.0, "Avg": 0.01, "StdDev": 0.02, "Data": [],
        "Percentiles": [{"Percentile": 50, "Value": 0.008}, {"Percentile": 99.9, "Value": 0.4}],
    },
    "RetCodes": {"200": 390, "503": 10},
}  # fmt: skip


def test_the_percentiles_of_fortio_are_those_that_its_calls_bound(tmp_path: Path):
    found, form = read_figures(written(tmp_path, json.dumps(FORTIO)), None)
    assert (form.name, found.version, found.asked.rate_rps) == ("fortio-json", "1.63.0", 100.0)
    assert (found.answered, found.status, found.duration_s) == (400, {"2xx": 390, "5xx": 10}, 8.0)
    assert (found.latency.distribution.p50, found.latency.distribution.p99_9) == (8.0, None)
    with_failures = FORTIO | {"RetCodes": {"200": 390, "-1": 10}}
    assert read_figures(written(tmp_path, json.dumps(with_failures)), None)[0].latency is None


OHA_CSV = """request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status
0.001,0.0001,0.0004,0.002,0.0025,1024,200
1.25,0,0,0.0005,0.00075,1024,500
"""
OHA = {
    "summary": {
        "successRate": 0.8, "total": 2.0, "slowest": 0.5, "fastest": 0.001, "average": 0.01,
        "requestsPerSec": 250.0, "totalData": 400_000, "sizePerRequest": 1000, "sizePerSec": 200_000.0,
    },
    "latencyPercentiles": {"p50": 0.008, "p75": 0.01, "p90": 0.02, "p95": 0.03, "p99": 0.3, "p99.9": 0.4},
    "statusCodeDistribution": {"200": 390, "404": 10},
    "errorDistribution": {"aborted due to deadline": 50, "connection error: Connection refused": 2},
}  # fmt: skip


def test_oha_says_how_many_failed_only_in_json(tmp_path: Path):
    found, _ = read_figures(written(tmp_path, json.dumps(OHA)), None)
    assert (found.answered, found.failed, found.errors["connect_refused"]) == (400, 2, 2)
    assert (found.latency.distribution.p99, found.latency.distribution.p99_9) == (300.0, None)
    of_csv, _ = read_figures(written(tmp_path, OHA_CSV), None)
    assert (of_csv.answered, of_csv.failed, of_csv.bytes_body) == (2, None, 2048)
    assert of_csv.connect.distribution.count == 1
    assert of_csv.duration_s == pytest.approx(1.24975)


def test_a_log_that_does_not_say_its_unit_is_not_guessed_at(tmp_path: Path):
    log = text_of("ycsb-read.hdr").replace("#[Logging for: READ]\n", "")
    source = written(tmp_path, log)
    with pytest.raises(BadInput, match=r"does not record the unit.*hlog-us"):
        read_figures(source, None)
    in_us, in_ms = (read_figures(source, named)[0].latency.distribution for named in ("hlog-us", "hlog-ms"))
    assert in_us == figures("ycsb-read.hdr").latency.distribution
    assert in_ms.p99 == pytest.approx(1000 * in_us.p99)


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("hey.csv", lambda text: text.replace("0.", "0,"), "line 2: found 15 columns"),
        ("hey.csv", lambda text: text.splitlines()[0] + "\n", "found no request"),
        ("vegeta.csv", lambda text: text.replace(",200,", ",abc,"), "line 1: found code 'abc'"),
        ("vegeta.jsonl", lambda text: text.replace("code", "cod"), "line 1: found an object without"),
        ("k6-export.json", lambda text: text[:200], "incomplete or invalid JSON"),
        ("zrk.json", lambda text: text.replace('"2xx": 998', '"2xx": 99'), "99 statuses of 998 requests"),
        ("zrk.json", lambda text: text.replace("HIST", "TSIH"), "a latency_histogram that cannot be read"),
        ("zrk.json", lambda text: text.replace('_end": 1000', '_end": 2000'), "a rate from 1000 to 2000"),
        ("hey.txt", lambda text: text.split("Status code")[0], "found the end of the file"),
        ("hey.txt", lambda text: text.replace("Total:\t0.", "Total:\t0,"), "Total, with a decimal"),
        ("ycsb.txt", lambda text: text.replace("Throughput", "Thru"), "expected YCSB's line"),
        ("ycsb-read.hdr", lambda text: text[:-10], "found a histogram that cannot be read"),
        ("ycsb-read.hdr", lambda text: text.replace("version 1.1", "version 7"), "line 2: found version 7"),
        ("locust_stats.csv", lambda text: text.split(",Aggregated")[0], "a last line named Aggregated"),
        ("go-ycsb.txt", lambda text: text.split("Run finished")[0], "expected go-ycsb's line Run finished"),
        (
            "artillery/2.0.21-half.json",
            lambda text: text.replace('"count": 105', '"count": -105'),
            "found count = '-105'; expected the figures of a load",
        ),
        (
            "bombardier/1.2.6-closed.txt",
            lambda text: text.replace("using 4 conn", "using 0 conn"),
            "found a load over 0 connections",
        ),
        (
            "bombardier/1.2.6-rate.json",
            lambda text: text.replace('DurationSeconds":1', 'DurationSeconds":-1'),
            "found a duration of -1 s that was asked for",
        ),
        (
            "h2load/1.52.0-half.txt",
            lambda text: text.replace("  mean", " \"mean"),
            "the head of h2load's table of times",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_place(name, change, found, tmp_path: Path):
    format_name = format_of(Source(DATA / name), None).name
    with pytest.raises(Unreadable, match=re.escape(found)):
        read_figures(written(tmp_path, change(text_of(name))), format_name)


@pytest.mark.parametrize("name", ["k6-csv", "jmeter-csv", "locust-csv"])
def test_a_line_end_within_the_names_of_columns_is_refused(name: str, tmp_path: Path):
    with pytest.raises(Unreadable, match="line 1"):
        read_figures(written(tmp_path, b"\r\x00\n"), name)


def test_an_unknown_file_names_what_is_known(tmp_path: Path):
    with pytest.raises(BadInput, match=r"not recognised.*(?s:.*)hey-csv(?s:.*)--as FORMAT"):
        read_figures(written(tmp_path, "some text\n"), None)
    with pytest.raises(BadInput, match=r"no such tool or format.*hey"):
        read_figures(written(tmp_path, "some text\n"), "heyy")


def test_links_and_empty_files_are_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="empty"):
        read_figures(written(tmp_path, ""), None)
    link = tmp_path / "link"
    link.symlink_to(DATA / "hey.csv")
    with pytest.raises(BadInput, match="link"):
        read_figures(Source(link), None)


SMALL_FILES = {
    "k6-text": "k6/2.2.0-half.txt", "bombardier-json": "bombardier/1.2.6-half.json",
    "bombardier-text": "bombardier/1.2.6-closed.txt", "autocannon-json": "autocannon/9.0.0-half.json",
    "vegeta-text": "vegeta/12.12.0-half-report.txt", "siege-text": "siege/4.0.7-half.txt",
    "siege-json": "siege/4.0.7-half.json", "artillery-json": "artillery/2.0.21-half.json",
    "hey-csv": "hey.csv", "hey-text": "hey.txt", "vegeta-csv": "vegeta.csv", "vegeta-json": "vegeta.jsonl",
    "vegeta-report": "vegeta-report.json", "k6-csv": "k6.csv", "k6-json": "k6.jsonl",
    "k6-summary": "k6-export.json", "hlog": "ycsb-read.hdr", "ycsb-hdr": "ycsb-read.hdr",
    "ycsb-text": "ycsb-both.txt", "go-ycsb-summary": "go-ycsb.json", "go-ycsb-csv": "go-ycsb.csv",
    "locust-csv": "locust_stats.csv", "wrk-text": "wrk.txt", "wrk2-text": "wrk2.txt", "ab-text": "ab.txt",
    "ab-requests": "ab-requests.tsv", "httperf-text": "httperf.txt", "h2load-text": "h2load.txt",
    "h2load-log": "h2load-log.tsv", "h2load-json": "h2load.json", "zrk-json": "zrk.json",
    "locust-history": "locust/0.14.6_stats_history.csv", "gatling-binary": "gatling/3.15.1.log",
    "gatling-stats": "gatling/3.11.5-stats.json", "jmeter-xml": "jmeter/xml.jtl",
    "jmeter-report": "made/jmeter-report.csv", "ghz-json": "made/ghz.json",
    "jmeter-statistics": "jmeter/5.6.3-statistics.json", "oha-text": "made/oha-text.txt",
}  # fmt: skip
MADE = {
    "jmeter-csv": JTL, "gatling-log": GATLING["3.9"].format(1, 2, "OK", " "),
    "fortio-json": json.dumps(FORTIO), "oha-json": json.dumps(OHA), "oha-csv": OHA_CSV,
}  # fmt: skip


def example(format_name: str) -> bytes:
    """The start of a good file, whole lines where it is a long one."""
    if format_name in MADE:
        return MADE[format_name].encode()
    data = (DATA / SMALL_FILES.get(format_name, "ycsb-read.hdr")).read_bytes()
    return data if len(data) < 10_000 else data[: data.index(b"\n", 4_000) + 1]


@pytest.mark.parametrize("form", FORMATS, ids=lambda one: one.name)
@settings(max_examples=10)
@given(
    changes=some.lists(
        some.tuples(
            some.floats(0, 1),
            some.integers(0, 12),
            some.sampled_from(
                [
                    b"",
                    b",",
                    b"\n",
                    b"\x00",
                    b"-",
                    b"e99",
                    b"9" * 30,
                    b'"',
                    b"\xff",
                    b"NaN",
                    b"{",
                    b"null",
                    b"1.5",
                ]
            )
            | some.binary(max_size=8),
        ),
        max_size=4,
    )
)
def test_whatever_the_bytes_are_they_are_figures_or_unreadable(form, changes, tmp_path_factory):
    data = example(form.name)
    for place, length, other in changes:
        at = int(place * len(data))
        data = data[:at] + other + data[at + length :]
    source = written(tmp_path_factory.getbasetemp(), data, f"wild-{form.name}")
    try:
        found = form.read(source)
    except Unreadable:
        return
    assert found.duration_s > 0
    assert found.answered >= 0
    assert math.isfinite(found.duration_s)


@pytest.mark.parametrize("form", FORMATS, ids=lambda one: one.name)
@settings(max_examples=10)
@given(data=some.binary(max_size=200))
def test_bytes_that_nobody_wrote_are_unreadable(form, data, tmp_path_factory):
    with pytest.raises(Unreadable):
        form.read(written(tmp_path_factory.getbasetemp(), data, f"bytes-{form.name}"))

"""One point in the layouts of ab, httperf and wrk2: the figures of a load that is known."""

import dataclasses
import math
import re
from statistics import NormalDist

import pytest

from loadcurve.cli.report_layout import LAYOUTS, layout_command
from loadcurve.errors import BadInput
from loadcurve.report.layouts import wrk2
from loadcurve.report.layouts.figures import web_point
from loadcurve.result.folder import read_run
from support import synthetic_database_run as database
from support import synthetic_run as synthetic

CONNECTIONS = 50
RATE = synthetic.SERVERS["nginx"].throughput_rps(CONNECTIONS)


def said(tool: str, **load: object) -> str:
    return "\n".join(
        LAYOUTS[tool](web_point(synthetic.point_record("nginx", CONNECTIONS, **load), "nginx 1.22"))
    )


def figure(text: str, before: str) -> float:
    return float(re.search(rf"^\s*{re.escape(before)}\s*([0-9.]+)", text, re.MULTILINE)[1])


def latency_ms(share: float) -> float:
    """By the synthetic run's log-normal distribution, whose mean obeys Little's law."""
    return synthetic.SERVERS["nginx"].latency_ms(CONNECTIONS, share)


def test_ab_has_the_rate_and_the_time_per_request_of_littles_law():
    text = said("ab")
    rate = figure(text, "Requests per second:")
    assert rate == pytest.approx(RATE, rel=0.01)
    assert figure(text, "Concurrency Level:") == CONNECTIONS
    # Requests under way = rate * time, so the mean time per request is 50 / rate.
    assert figure(text, "Time per request:") == pytest.approx(1000 * CONNECTIONS / rate, rel=1e-3)


def test_ab_counts_kept_connections_by_the_replies_of_the_window():
    # With its warm-up the load had 1,500 replies on 10 connections, 1,200 of them on one that was open.
    point = web_point(synthetic.point_record("nginx", CONNECTIONS), "nginx 1.22")
    connections = point.load.connections.model_copy(
        update={"opened": 10, "replies_per_connection": 150.0, "reused": 1200}
    )
    requests = point.load.requests.model_copy(update={"answered": 1000, "ok": 1000})
    load = point.load.model_copy(update={"connections": connections, "requests": requests})
    text = "\n".join(LAYOUTS["ab"](dataclasses.replace(point, load=load)))
    assert figure(text, "Complete requests:") == 1000
    assert figure(text, "Keep-Alive requests:") == 800


def test_ab_has_percentiles_of_the_histogram_in_whole_milliseconds():
    slow = said(
        "ab",
        latency_ms=synthetic.distribution([10.0, 20.0, 30.0, 40.0]),
        histograms=histograms(10, 20, 30, 40),
    )
    shown = dict(re.findall(r"^ +(\d+)% +(\d+)", slow, re.MULTILINE))
    # The nearest rank: 66 % of four is the third, 80 % and more the fourth.
    assert shown == {
        "50": "20",
        "66": "30",
        "75": "30",
        **dict.fromkeys(("80", "90", "95", "98", "99", "100"), "40"),
    }


def histograms(*times_ms: int) -> dict[str, str | None]:
    latency = synthetic.encode([1_000_000 * time for time in times_ms])
    return {"latency": latency, **dict.fromkeys(("service_time", "connect", "first_byte", "transfer"))}


def test_wrk2_has_the_percentiles_of_the_latency():
    text = said("wrk2")
    for percentile in (50, 90, 99):
        (value, unit) = re.search(rf"^ *{percentile}\.000% +([0-9.]+)(us|ms)", text, re.MULTILINE).groups()
        shown_ms = float(value) * {"us": 1e-3, "ms": 1}[unit]
        # 500 samples are the distribution's own quantiles, and the histogram has three digits.
        assert shown_ms == pytest.approx(latency_ms(percentile / 100), rel=0.02)
    within = figure(text.replace("%", " "), "Latency") and re.search(
        r"Latency .* ([0-9.]+)%$", text, re.MULTILINE
    )
    assert 50 < float(within[1]) < 100


def test_wrk2_writes_times_and_lines_as_the_real_program_does():
    # By the output of wrk2 (44a94c1) and its table of units.
    shown = {943e-3: "0.94ms", 1.612: "1.61ms", 22.33: "22.33ms", 0.573: "573.00us", 51_000: "0.85m"}
    assert {length_ms: wrk2._time(length_ms) for length_ms in shown} == shown
    lines = said("wrk2").splitlines()
    forms = {
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev": 1,
        r"    Latency   [ .\d]{6}(ms|us)[ .\d]{8}(ms|us)[ .\d]{7}(ms|us)[ .\d]{8}%": 1,
        r" 50\.000%[ .\d]{8}(ms|us)": 1,
        r"[ .\d]{8}\.\d{3} {5}0\.\d{6} [ \d]{12} [ \d]{9}\.\d{2}": len(
            [line for line in lines if re.fullmatch(r" *\S+ +0\.\d{6} +\d+ +\S+", line)]
        ),
        r"[ .\d]{12}     1\.000000 [ \d]{12}          inf": 1,
        r"Running \d+s test @ http://\S+": 1,
    }
    for form, count in forms.items():
        found = [line for line in lines if line == form or re.fullmatch(form, line)]
        assert (form, len(found)) == (form, count)


def test_the_spectrum_of_wrk2_rises_and_ends_with_the_longest_request():
    rows = [
        tuple(map(float, row))
        for row in re.findall(r"^ +([0-9.]+) +([0-9.]+) +(\d+) +(?:[0-9.]+|inf)$", said("wrk2"), re.MULTILINE)
    ]
    assert rows == sorted(rows)
    assert rows[-1][1:] == (1.0, synthetic.SAMPLES)
    median = next(value for value, share, _ in rows if share >= 0.5)
    assert median == pytest.approx(latency_ms(0.5), rel=0.02)
    assert NormalDist().inv_cdf(0.5) == 0
    assert math.isfinite(rows[-1][0])


def test_httperf_has_the_rate_of_replies_over_samples_of_five_seconds():
    period = synthetic.point_record("nginx", CONNECTIONS).load.series[0].model_dump()
    series = [
        {**period, "t_s": float(t), "width_s": 1.0, "answered": 100 if t < 5 else 300} for t in range(12)
    ]
    text = said("httperf", series=series, duration_s=12.0)
    # Two whole samples, of 100 and 300 replies per second: mean 200, and s = 100 * sqrt(2).
    assert "Reply rate [replies/s]: min 100.0 avg 200.0 max 300.0 stddev 141.4 (2 samples)" in text


def test_every_layout_counts_failures_under_the_tools_own_names():
    errors = dict.fromkeys(synthetic.FAILURES, 0) | {"timeout": 3, "connect_refused": 2, "mismatch": 1}
    requests = {
        "due": 16,
        "sent": 14,
        "answered": 10,
        "ok": 10,
        "failed": 6,
        "unanswered": 0,
        "never_sent": 0,
    }
    wild = {"errors": errors, "requests": requests}
    assert "Failed requests:        6\n   (Connect: 2, Receive: 0, Length: 1, Exceptions: 3)" in said(
        "ab", **wild
    )
    assert "Errors: total 6 client-timo 3 socket-timo 0 connrefused 2 connreset 0" in said("httperf", **wild)
    assert "Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 1" in said("httperf", **wild)
    assert "Socket errors: connect 2, read 1, write 0, timeout 3" in said("wrk2", **wild)


def test_a_load_without_any_answer_is_printed_too():
    nothing = {
        "latency_ms": synthetic.distribution([]), "histograms": histograms(), "bytes": None, "series": [],
        "requests": dict.fromkeys(("due", "sent", "answered", "ok", "failed", "unanswered", "never_sent"), 0),
    }  # fmt: skip
    for tool in LAYOUTS:
        assert said(tool, **nothing)


def test_one_point_is_chosen_by_server_and_settings(tmp_path, capsys):
    run = synthetic.write_run(tmp_path / "run")
    layout_command(run, "ab", "nginx", ["connections=50"])
    assert "Concurrency Level:      50" in capsys.readouterr().out
    with pytest.raises(BadInput, match=r"3 points fit: .* one of .*nginx at connections = 50"):
        layout_command(run, "ab", None, ["connections=50"])
    with pytest.raises(BadInput, match=r"no point fits: .* and 18 more"):
        layout_command(run, "ab", "nginx", ["connections=7"])
    with pytest.raises(BadInput, match=r"--at: found \"fifty\"; expected a key and its value"):
        layout_command(run, "ab", None, ["fifty"])


def test_one_trial_of_a_point_is_chosen_and_named(tmp_path, capsys):
    folder = synthetic.write_run(tmp_path / "run")
    at = ["connections=50"]
    of_point = [
        one for one in read_run(folder).points if one.server == "nginx" and one.point == {"connections": 50}
    ]
    trials = [record.trial for record in of_point]
    layout_command(folder, "wrk2", "nginx", at)
    first = capsys.readouterr()
    assert first.err.startswith(f"Trial {trials[0]}; ")
    layout_command(folder, "wrk2", "nginx", at, trials[0])
    assert capsys.readouterr() == first
    layout_command(folder, "wrk2", "nginx", at, trials[1])
    second = capsys.readouterr()
    assert second.err.startswith(f"Trial {trials[1]}; ")
    assert second.out != first.out
    with pytest.raises(BadInput, match="--trial: found 77"):
        layout_command(folder, "wrk2", "nginx", at, 77)


def test_a_load_on_a_database_has_no_such_layout(tmp_path):
    run = read_run(database.write_run(tmp_path / "run"))
    with pytest.raises(BadInput, match="support only loads on web servers"):
        web_point(run.points[0], "")

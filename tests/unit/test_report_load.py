"""The result of one load in the terminal."""

from typing import Any

import pytest
from pydantic import ValidationError

from loadcurve.report.load import load_summary
from loadcurve.result.load import LoadResult
from loadcurve.units import ABSENT
from support import synthetic_database_run, terminal
from support import synthetic_run as synthetic
from support.encrypted_run import http2_result, tls_result
from support.synthetic_run import distribution


def printed(**changes: Any) -> list[str]:
    """Return the lines of the summary of a load that is changed so; they fit 80 columns."""
    return printed_result(synthetic.load_result("nginx", 1, **changes))


def printed_result(data: dict[str, Any]) -> list[str]:
    """Return the lines of the summary of a load with this result; they fit 80 columns."""
    return terminal.printed(load_summary(LoadResult.model_validate(data))).splitlines()


def printed_slowest(*slowest: dict[str, Any]) -> list[str]:
    """Return the lines of the summary of a load with these slowest requests."""
    usual = synthetic.load_result("nginx", 1)["slowest"][0]
    return printed(slowest=[{**usual, **changes} for changes in slowest])


def printed_lateness(lateness_ms: dict[str, float | None] | None) -> list[str]:
    """Return the lines of the summary that tell the generator's lateness."""
    generator = synthetic.load_result("nginx", 1)["generator"] | {"lateness_ms": lateness_ms}
    return [line.rstrip() for line in printed(generator=generator) if line.startswith("lateness")]


@pytest.mark.parametrize(
    ("lateness_ms", "line"),
    [
        (
            {"p50": 0.004, "p99": 0.0509, "p99_9": 1.2, "max": 12.34},
            "lateness     0.004 ms (p50), 0.051 ms (p99), 1.200 ms (p99.9), 12.3 ms (max)",
        ),
        ({"p50": 0.004, "p99": None, "p99_9": None, "max": 2}, "lateness     0.004 ms (p50), 2.000 ms (max)"),
    ],
)
def test_lateness_is_reported_at_the_percentiles_that_its_samples_bound(lateness_ms, line):
    assert printed_lateness(lateness_ms) == [line]


def test_a_rate_below_one_is_no_zero():
    lines = printed(rate_rps={"asked": 0.3, "sent": 0.3, "answered": 0.25})
    assert any("0.250 answered of 0.3 asked" in line for line in lines), lines


def test_the_rate_of_a_recording_is_rounded_as_what_was_measured_is():
    load = synthetic.load_result("nginx", 1)["load"] | {"arrivals": "recorded"}
    rate = {"asked": 28.6432, "sent": 28.6, "answered": 28.6}
    assert any("29 answered of 29 asked" in line for line in printed(load=load, rate_rps=rate))


def test_answers_are_counted_by_single_statuses_with_what_the_errors_say():
    usual = synthetic.load_result("nginx", 1)
    answered = usual["requests"]["answered"]
    statuses = [
        {"status": 200, "answered": answered - 12, "wrong": 0},
        {"status": 404, "answered": 2, "wrong": 2, "body": "no page"},
        {"status": 415, "answered": 10, "wrong": 10, "body": "wants JSON"},
    ]
    lines = printed(status=usual["status"] | {"2xx": answered - 12, "4xx": 12}, statuses=statuses)
    at = next(at for at, line in enumerate(lines) if line.startswith("status"))
    assert [line.removeprefix("status").strip() for line in lines[at : at + 3]] == [
        f"{answered - 12:,} of 200, 2 of 404, 10 of 415",
        '415 says: "wants JSON"',
        '404 says: "no page"',
    ]


@pytest.mark.parametrize(
    ("messages", "line"), [("grpc", "status {:,} of gRPC, all right"), ("websocket", None)]
)
def test_messages_have_no_status_of_http(messages, line):
    load = synthetic.load_result("nginx", 1)
    answered = load["requests"]["answered"]
    statuses = [{"status": 200, "answered": answered, "wrong": 0}]
    lines = printed(load=load["load"] | {"messages": messages}, statuses=statuses)
    found = [" ".join(one.split()) for one in lines if one.startswith("status")]
    assert found == ([] if line is None else [line.format(answered)])


def test_a_stall_of_the_server_is_named_after_one_load():
    usual = synthetic.load_result("nginx", 1)["slowest"][0]
    slow = [usual | {"due_s": 0.1, "latency_ms": 520.0, "service_time_ms": 520.0}]
    lines = " ".join(printed(silences=[{"start_s": 0.11, "length_ms": 504.0}], slowest=slow))
    said = "stall: for 504 ms, from 0.11 s on, nothing was answered, although requests were in flight"
    assert said in " ".join(lines.split())
    nobody_waited = [usual | {"due_s": 0.7, "latency_ms": 5.0, "service_time_ms": 5.0}]
    assert "stall:" not in " ".join(
        printed(silences=[{"start_s": 0.11, "length_ms": 504.0}], slowest=nobody_waited)
    )


def test_a_request_that_is_made_once_more_is_sent_again_whatever_its_connection():
    usual = synthetic.load_result("nginx", 1)["requests"]
    text = " ".join(printed(requests={**usual, "moved": 5}))
    assert "5 sent again" in text
    assert "another connection" not in text


def test_long_names_of_slow_requests_keep_both_their_ends_on_one_line():
    lines = printed_slowest({"operation": "helloworld.Greeter/SayHello"})
    assert any(line.startswith("helloworl") and "SayHello" in line.split()[0] for line in lines), lines


def test_a_record_whose_single_statuses_are_not_those_of_its_classes_is_refused():
    with pytest.raises(ValidationError, match="single statuses come to"):
        printed(statuses=[{"status": 404, "answered": 1, "wrong": 1}])


@pytest.mark.parametrize(
    ("counted", "fastest_ms", "certainty"), [(1, 0.1, ""), (1, 44.0, "likely, "), (None, 0.1, "likely, ")]
)
def test_answers_that_wait_for_delayed_acknowledgements_are_said_with_what_to_do(
    counted, fastest_ms, certainty
):
    usual = synthetic.load_result("nginx", 1)
    answered = usual["requests"]["answered"]
    delayed = {
        **usual,
        "transfer_ms": synthetic.distribution([fastest_ms] + [44.0] * (answered - 1)),
        "bytes": {**usual["bytes"], "header": 100 * answered, "body": 900 * answered},
        "connections": {**usual["connections"], "opened": 1, "replies_per_connection": float(answered)},
        "kernel": {**usual["kernel"], "delayed_acks": counted and answered},
    }
    lines = printed_result(delayed)
    text = " ".join(" ".join(lines).split())
    assert f"delayed_acks: {certainty}answers waited 44 ms for delayed acknowledgements" in text
    assert "Turn on TCP_NODELAY in the server" in text
    assert ("the server itself takes this time" in text) == bool(certainty)
    assert "delayed_acks" not in " ".join(printed())


def test_a_closed_loop_has_no_lateness_to_tell():
    assert printed_lateness(None) == []


def test_requests_that_waited_through_the_window_have_a_line():
    waited = {"requests": 15, "connections": 15, "of_connections": 20, "oldest_ms": 7012.3}
    lines = " ".join(" ".join(printed(waited_through=waited)).split())
    assert "15 requests, on 15 of 20 connections, waited through the whole window; the oldest 7.0 s" in lines
    assert "waiting" not in " ".join(printed())


@pytest.mark.parametrize(("speed", "said"), [(1.0, "as recorded"), (2.5, "2.5 times as fast as recorded")])
def test_a_replay_shows_its_speed(speed: float, said: str):
    load = synthetic.load_result("nginx", 4)["load"]
    replay = {"model": "open", "rate_rps": None, "arrivals": "recorded", "speed": speed}
    assert printed(load={**load, **replay})[1].startswith(f"4 connections, {said}, 1 thread")


def test_a_slow_request_shows_what_its_time_went_to_and_what_was_sent_again():
    slow = {
        "due_s": 1.25,
        "latency_ms": 3012.1,
        "service_time_ms": 1.5,
        "connect_ms": 3010.0,
        "first_byte_ms": 0.25,
        "syn_retransmits": 2,
        "retransmits": 7,
    }
    row = "GET /1k.txt 1.250 3,012.1 1.500 3,010.0 0.250 2 7"
    assert row in [" ".join(line.split()) for line in printed_slowest(slow)]


def test_a_slow_request_that_failed_shows_why_and_what_is_not_known_is_not_zero():
    absent = dict.fromkeys(
        ("connect_ms", "first_byte_ms", "service_time_ms", "syn_retransmits", "retransmits")
    )
    slow = {**absent, "error": "address_unavailable", "operation": "GET /" + "long/" * 20, "due_s": 86_399.5}
    lines = printed_slowest({**slow, "latency_ms": 3_600_000.0})
    assert "address_unavailable" in "".join(line.split(" ")[0] for line in lines)
    assert [line.split()[-7:] for line in lines if "86,399.5" in line] == [
        ["86,399.500", "3,600,000.0", "—", "—", "—", "—", "—"]
    ]


def test_five_of_the_slowest_requests_are_shown():
    lines = printed_slowest(*({"due_s": due_s} for due_s in (11.0, 22.0, 33.0, 44.0, 55.0, 66.0)))
    shown = [line.split()[2] for line in lines if line.startswith("GET /1k.txt  ")]
    assert shown == ["11.000", "22.000", "33.000", "44.000", "55.000"]


def test_a_load_without_a_slow_request_has_no_list_of_them():
    assert not any(line.startswith("slowest") for line in printed_slowest())


def test_a_load_on_a_database_shows_each_kind_of_operation():
    lines = printed_result(synthetic_database_run.load_result("postgresql", 2))
    assert {"read", "update"} < {line.split()[0] for line in lines if line.strip()}
    # Two threads of 400 operations per second.
    assert ["operations/s", "800", "answered"] in [line.split() for line in lines]
    assert not any("request" in line for line in lines)


def test_the_times_that_a_database_took_to_connect_are_shown_and_no_row_of_what_no_driver_tells():
    connect_ms = synthetic.distribution([12.5, 12.5])
    lines = printed_result(synthetic_database_run.load_result("postgresql", 2, connect_ms=connect_ms))
    figures = [line.split() for line in lines]
    assert ["connect", *["12.5"] * 3, "—", "—", "—", "12.5"] in figures
    assert not any(line.startswith("first byte") for line in lines)


def test_idle_connections_that_the_server_ended_are_counted_by_its_answer():
    result = synthetic.load_result("nginx", 1)
    ended = {"idle_ended": [{"status": 408, "count": 12}, {"status": 503, "count": 1}]}
    lines = printed_result(result | {"connections": result["connections"] | ended})
    said = " ".join(" ".join(lines).split())
    assert "12 idle connections ended by the server with 408" in said
    assert "1 idle connection ended by the server with 503" in said
    assert not any("idle" in line for line in printed())


def test_why_answers_cannot_be_read_is_said_with_an_example_of_them():
    message = {
        "operation": "GET /",
        "error": "malformed",
        "text": "a header line has no colon",
        "example": "X-A \\xff",
        "count": 25,
    }
    said = " ".join(" ".join(printed(error_messages=[message])).split())
    assert '25 GET / malformed: a header line has no colon: "X-A \\xff"' in said


def test_without_a_new_connection_there_are_no_times_of_connecting():
    assert not any(line.startswith("connect ") for line in printed(connect_ms=synthetic.distribution([])))


def test_the_machines_of_a_load_have_a_row_each_and_a_lost_one_has_no_figures():
    load = synthetic.load_result("nginx", 1)
    counts = {"due": 12_351, "sent": 12_351, "answered": 12_345, "failed": 6}
    requests = load["requests"] | counts
    part = {
        "machine": "left",
        "lost": None,
        "clock": {
            "offset_s": 3600.0,
            "error_ms": 0.0254,
            "drift_ppm": 12.5,
            "round_trip_ms": 0.05,
            "exchanges": 64,
            "over": "echo",
        },
        "start_ms": 0.125,
        "started_within_ms": 0.0,
        "ended_s": 10.0,
        "interrupted": False,
        "connections_opened": 8,
        "requests": requests,
        "sent_rps": 1234.5,
        "answered_rps": 1234.0,
        "latency_ms": load["latency_ms"],
        "errors": load["errors"],
        "cpu_share": 0.256,
        "generator": load["generator"] | {"lateness_ms": {"p50": 0, "p99": None, "p99_9": None, "max": 0.75}},
    }
    part["kernel"] = load["kernel"] | {"retransmits": 1_234}
    lost = dict.fromkeys(part) | {"machine": "right", "lost": "it burst into flames"}
    machines = {"start_spread_ms": None, "start_error_ms": None, "parts": [part, lost]}
    lines = printed(requests=requests, machines=machines)
    rows = [line.split() for line in lines if line.startswith(("left", "right"))]
    assert rows == [
        ["left", "1,234", "12,345", "6", "0.125", "0.025", "0.750", "26"],
        ["right", "lost", *[ABSENT] * 7],
    ]
    assert "segments retransmitted: left 1,234" in [line.rstrip() for line in lines]


@pytest.mark.parametrize(("least", "said"), [(32, "32"), (0, "0 to 32")])
def test_a_limit_on_streams_is_shown_with_what_was_requested_and_how_many_waited(least: int, said: str):
    http2 = http2_result([3.0] * 400) | {"streams_allowed": {"min": least, "max": 32}}
    load = synthetic.load_result("nginx", 1)["load"] | {"http": "2", "streams": 100}
    lines = printed(load=load, http2=http2)
    first = next(number for number, line in enumerate(lines) if line.startswith("HTTP/2"))
    assert [line.rstrip() for line in lines[first : first + 2]] == [
        f"HTTP/2       {said} streams allowed per connection, 100 requested",
        "             400 waits for a stream, 3.000 ms (p50)",
    ]


def test_full_and_resumed_handshakes_of_the_window_have_their_own_times_and_rates():
    tls = tls_result(110, 300, full_ms=[0.5] * 100, resumed_ms=[0.25] * 300)
    lines = printed(tls=tls, handshake_ms=synthetic.distribution([0.5] * 410))
    [full] = [line.split() for line in lines if line.startswith("full handshake")]
    [resumed] = [line.split() for line in lines if line.startswith("resumed")]
    # The mean and the median.
    assert (full[2:4], resumed[1:3]) == (["0.500", "0.500"], ["0.250", "0.250"])
    assert not [line for line in lines if line.startswith("handshake")]
    said = " ".join(" ".join(lines).split())
    assert "TLS 1.3, TLS_AES_128_GCM_SHA256, X25519MLKEM768" in said
    # Of the whole load, and in its window of two seconds.
    assert "110 full and 300 resumed handshakes; 50 full per second, 150 resumed per second" in said


def test_where_all_handshakes_were_before_the_window_their_times_are_those_of_the_whole_load():
    tls = tls_result(10, 0, full_ms=[], resumed_ms=[])
    lines = printed(tls=tls, handshake_ms=synthetic.distribution([1.5] * 10))
    [handshake] = [line.split() for line in lines if line.startswith("handshake")]
    assert handshake[1:3] == ["1.500", "1.500"]
    assert "10 full and 0 resumed handshakes" in " ".join(lines)
    assert "per second" not in " ".join(line for line in lines if "resumed" in line)


def test_connections_that_the_server_has_closed_are_shown_with_the_answers_that_each_has_carried():
    result = synthetic.load_result("nginx", 1)
    for each, said in (
        ({"min": 1, "mean": 1.0, "max": 1}, "exactly 1 answer"),
        ({"min": 1, "mean": 4.7, "max": 1041}, "1 to 1,041 answers"),
    ):
        ended = {"ended_by_server": {"count": 4800, "answers": each}, "lasting": 27}
        changed = result | {"connections": result["connections"] | ended}
        lines = [line.rstrip() for line in printed_result(changed)]
        assert f"             4,800 closed by the server after {said} each" in lines
        assert "             27 kept open throughout" in lines


def test_connections_that_could_not_be_established_are_shown_with_the_reasons():
    result = synthetic.load_result("nginx", 1)
    failures = [
        {"error": "quic_refused", "text": "the server said no.", "count": 2},
        {"error": "connect_refused", "text": None, "count": 1},
    ]
    changed = result | {"connections": result["connections"] | {"failures": failures}}
    lines = [line.rstrip() for line in printed_result(changed)]
    assert "             2 failed with quic_refused: the server said no" in lines
    assert "             1 failed with connect_refused" in lines


def test_connections_that_the_server_has_ended_by_goaway_are_shown_with_its_reasons():
    ended = {"connections_ended": 79, "connections_ended_by_error": 3, "streams_abandoned": 1308}
    by_code = [{"code": "NO_ERROR", "count": 76}, {"code": "ENHANCE_YOUR_CALM", "count": 3}]
    http2 = http2_result([]) | {"connections_limited": 0} | ended | {"connections_ended_by": by_code}
    lines = [line.rstrip() for line in printed(http2=http2)]
    assert "HTTP/2       79 connections ended by GOAWAY: 76 NO_ERROR, 3 ENHANCE_YOUR_CALM" in lines
    assert "             1,308 requests left unanswered on them, despite the GOAWAY" in lines


def test_answers_over_http2_that_were_left_behind_are_shown():
    http2 = http2_result([]) | {"connections_limited": 0, "answers_starved": 1}
    lines = [line.strip() for line in printed(http2=http2)]
    assert "1 answer left behind others after the first byte" in lines


def test_a_stream_of_events_has_rows_of_its_own_times_and_says_how_many_came():
    messages = {
        "kind": "events",
        "first_event_ms": distribution([30.0] * 40),
        "first_event_from_sent_ms": distribution([29.0] * 40),
        "gap_ms": distribution([*[0.0] * 10, *[20.0] * 350]),
        "received": 400,
        "received_per_s": 200.0,
        "data_bytes": 2000,
        "together": 10,
        "delivered": 400,
        "expected": 410,
        "ended_by_client": 1,
        "reconnects": 1200,
        "reconnects_with_id": 1100,
    }
    lines = [line.rstrip() for line in printed(messages=messages)]
    assert any(line.startswith("first event") and "30.0" in line for line in lines), lines
    assert any(line.startswith("between events") and "20.0" in line for line in lines), lines
    at = next(at for at, line in enumerate(lines) if line.startswith("events"))
    assert [line.removeprefix("events").strip() for line in lines[at : at + 5]] == [
        "400 received, 200 per second, 2 kB of data",
        "400 of 410 expected ones delivered",
        "10 arrived together with the one before",
        "1 stream ended by the client",
        "1,200 streams opened again, 1,100 with the id of the last event",
    ]

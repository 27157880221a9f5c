"""Streams of HTTP/2 and HTTP/3 that a server does not let begin: limited, or refused."""

from support.explained_run import Data, distribution_of, evidence, found, speak_http2, speak_http3


def limit(
    record: Data, waits_ms: list[float], *, connections: int = 10, least: int = 8, most: int = 8
) -> None:
    """Of 1,000 requests these waited for a stream."""
    allowed = {"min": least, "max": most}
    waits = distribution_of(waits_ms)
    speak_http2(record, streams_allowed=allowed, connections_limited=connections, stream_wait_ms=waits)
    record["load"]["requests"] |= {"due": 1000, "sent": 1000, "answered": 1000, "ok": 1000}
    record["load"]["latency_ms"] = distribution_of([4.0] * 1000)


def test_requests_that_wait_for_fewer_streams_than_were_asked_for_are_a_finding():
    [finding] = found(lambda record, *_: limit(record, [3.0] * 920)).values()
    assert (finding.code, finding.certainty) == ("streams_limited", "shown")
    assert "allowed 8 streams" in finding.seen
    assert "requested 100" in finding.seen
    assert evidence(finding)["requests that waited for a stream"] == 0.92
    assert evidence(finding)["median wait for a stream"] == 3.0


def test_the_finding_says_how_many_requests_waited_and_how_much_of_the_latency_that_is():
    def plant(record: Data, *_: float) -> None:
        limit(record, [3.0] * 920)

    [finding] = found(plant).values()
    # 920 waits of 3 ms in 1,000 latencies of 4 ms: 2,760 of 4,000 ms.
    assert evidence(finding)["part of all latency that is this wait"] == 2_760 / 4_000
    assert "up to 92 % of the requests waited for a stream, 920 times in all" in finding.seen
    assert "which made 69 % of all latency" in finding.seen


def test_requests_that_never_got_a_stream_are_a_part_of_all_that_were_taken_up():
    def plant(record: Data, *_: float) -> None:
        # Of 1,000 requests 100 were sent; the others timed out before, and 50 fell due too late for any.
        limit(record, [490.0] * 1000, least=1, most=1)
        load = record["load"]
        load["requests"] |= {"due": 1050, "sent": 100, "answered": 100, "ok": 100}
        load["requests"] |= {"failed": 900, "never_sent": 50}
        load["errors"]["timeout"] = 900
        load["latency_ms"] = distribution_of([500.0] * 100)

    finding = found(plant)["streams_limited"]
    assert evidence(finding)["requests that waited for a stream"] == 1.0
    assert "allowed 1 stream per connection" in finding.seen
    assert finding.seen.endswith("up to 100 % of the requests waited for a stream, 1,000 times in all.")
    # How much of the latencies of those 100 were waits is not known.
    assert "part of all latency that is this wait" not in evidence(finding)


def test_requests_that_have_moved_and_waited_twice_are_no_more_than_there_were():
    finding = found(lambda record, *_: limit(record, [3.0] * 1080))["streams_limited"]
    assert evidence(finding)["requests that waited for a stream"] == 1.0
    assert "up to 100 % of the requests waited for a stream, 1,080 times in all" in finding.seen


def test_a_limit_that_was_zero_at_first_is_a_range():
    [finding] = found(lambda record, *_: limit(record, [3.0] * 920, least=0)).values()
    assert "allowed 0 to 8 streams per connection" in finding.seen


def test_a_limit_that_hardly_any_request_meets_is_none():
    # Below 1 % of 1,000 requests.
    assert found(lambda record, *_: limit(record, [3.0] * 9)) == {}


def test_waits_without_a_limit_below_the_loads_are_none():
    assert found(lambda record, *_: limit(record, [3.0] * 920, connections=0)) == {}


def limit_quic(record: Data, allowed: int) -> None:
    waits = distribution_of([3.0] * 920)
    speak_http3(record, streams={"allowed_at_first": {"min": allowed, "max": allowed}, "wait_ms": waits})
    record["load"]["load"]["streams"] = 100
    record["load"]["requests"]["sent"] = 1000
    record["load"]["latency_ms"] = distribution_of([4.0] * 1000)


def test_requests_over_http3_that_wait_for_fewer_streams_than_were_asked_for_are_the_same_finding():
    [finding] = found(lambda record, *_: limit_quic(record, 8)).values()
    assert (finding.code, finding.certainty) == ("streams_limited", "shown")
    assert "allowed 8 streams per connection, and the load requested 100" in finding.seen
    assert "waited for a stream, 920 times in all, which made 69 % of all latency" in finding.seen
    assert "http3_max_concurrent_streams" in finding.advice
    assert "HTTP/2" not in finding.cause + finding.advice


def test_waits_over_http3_for_streams_that_the_server_allows_as_others_end_are_none():
    assert found(lambda record, *_: limit_quic(record, 100)) == {}


def test_streams_that_are_refused_are_a_finding_however_they_ended():
    # 5,000 replies in all.
    [finding] = found(lambda record, *_: speak_http2(record, streams_refused=200)).values()
    assert (finding.code, finding.certainty) == ("streams_refused", "shown")
    assert evidence(finding)["streams refused per answer"] == 200 / 5000
    assert "requests that failed, refused twice" not in evidence(finding)


def test_a_few_refused_streams_are_none():
    assert found(lambda record, *_: speak_http2(record, streams_refused=24)) == {}


def test_a_load_over_http_1_has_neither():
    def plant(record: Data, *_: float) -> None:
        limit(record, [3.0] * 920)
        record["load"]["http2"] = None

    assert found(plant) == {}

"""`loadcurve load --messages events`: streams of a server that counts them, some of them opened again."""

import json

import pytest

from support.certificates import NAME, make_authority
from support.event_server import event_server
from support.limit_server import limit_server

EVENTS = ("--messages", "events", "--json")


def result_of(finished):
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_each_event_that_the_server_has_sent_is_counted(sandbox):
    with event_server(events_each=5) as server:
        load = ("load", f"http://{server.authority}/", *EVENTS, "-c", 3, "-n", 30)
        messages = result_of(sandbox.run(*load, "--events-expected", 5))["messages"]
    assert len(server.streams) == 30
    sent = sum(len(stream.ids) for stream in server.streams)
    assert messages["received"] == messages["delivered"] == messages["expected"] == sent == 150
    assert messages["data_bytes"] == sent * len("one\ntwo")
    assert (messages["first_event_ms"]["count"], messages["gap_ms"]["count"]) == (30, 30 * 4)
    assert messages["reconnects"] is None


def test_a_stream_that_the_server_ends_is_opened_again_with_the_id_of_its_last_event(sandbox):
    with event_server(events_each=3, retry_ms=20) as server:
        load = ("load", f"http://{server.authority}/", *EVENTS, "-c", 3, "-n", 30)
        # Longer than the test may take: what the server says comes first.
        result = result_of(sandbox.run(*load, "--reconnect-after", "1h"))
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (30, 0)
    messages = result["messages"]
    assert (messages["reconnects"], messages["reconnects_with_id"]) == (27, 27)
    asked = server.streams
    assert [stream.last_id for stream in asked].count(None) == 3
    # Each client continues behind the last event of one stream, and no two behind the same.
    said = sorted(stream.last_id for stream in asked if stream.last_id is not None)
    ended = {stream.ids[-1] for stream in asked if stream.is_ended}
    assert len(set(said)) == len(said) == 27
    assert {*said} < ended


def test_a_client_whose_server_says_no_retry_waits_as_long_as_the_load_says(sandbox):
    with event_server(events_each=1) as server:
        load = ("load", f"http://{server.authority}/", *EVENTS, "-c", 1, "-d", "1s")
        result = result_of(sandbox.run(*load, "--reconnect-after", "300ms"))
    # Due at 0, and each time 300 ms after the end of the stream before, or later where the machine is slow.
    assert 1 <= result["requests"]["due"] <= 4
    assert result["messages"]["reconnects"] == result["requests"]["due"] - 1


@pytest.mark.parametrize("version", ["1.1", "2", "3"])
def test_streams_of_limit_have_as_many_events_so_far_apart_in_each_version(sandbox, tmp_path, version):
    issued = make_authority(tmp_path, "authority").issue(NAME)
    content = tmp_path / "content"
    content.mkdir()
    (content / "stream").write_text("data: x\n\n")
    events = ("--event-every", "20ms", "--events", "5")
    certificates = (issued.certificate, issued.key)
    with limit_server(content, *certificates, http2=True, http3=True, faults=events) as address:
        load = ("load", f"https://{address}/stream", *EVENTS, "--http", version, "--insecure")
        # On one connection, where that has streams.
        places = ("-c", 6) if version == "1.1" else ("-c", 1, "--streams", 6)
        result = result_of(sandbox.run(*load, *places, "-n", 18, "--events-expected", 5))
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (18, 0)
    messages = result["messages"]
    assert messages["received"] == messages["delivered"] == messages["expected"] == 18 * 5
    assert (messages["gap_ms"]["count"], messages["data_bytes"]) == (18 * 4, 18 * 5 * len("x"))
    first_ms, gap_ms = (messages[name]["mean"] for name in ("first_event_ms", "gap_ms"))
    assert first_ms >= 20
    # An event can be late, and then the next one comes sooner behind it.
    assert first_ms + 4 * gap_ms >= 5 * 20

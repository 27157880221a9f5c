"""What a run over HTTP/3 says of its handshakes, packets and datagrams in all forms of its report."""

import json

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.connections import Range
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.formats.records import points_table
from loadcurve.report.html import render_page
from loadcurve.report.quic import quic_in_terminal, quic_table
from loadcurve.report.quic_load import quic_lines
from loadcurve.report.section import Report
from loadcurve.result.folder import Run
from loadcurve.result.http3 import Http3Result
from support.explained_run import CONNECTIONS, TRIALS, distribution_of, http3_result, planted_run, speak_http3
from support.terminal import printed

LOADS = len(CONNECTIONS) * TRIALS
EARLY = {"early_accepted": distribution_of([0.25] * 30)}


@pytest.fixture(scope="module")
def run() -> Run:
    return planted_run(
        lambda record, *_: speak_http3(
            record,
            handshakes_ms=EARLY,
            packets={"lost": 5, "key_updates": 2},
            dropped={"by_server": 3, "by_client": None},
        )
    )


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    found = analyse(run)
    assert found.not_computed == []
    return found


def test_handshakes_add_up_by_their_class_and_medians_are_those_of_loads(analysis: Analysis):
    [found] = analysis.quic
    classes = {one.kind: (one.count, one.p50_ms) for one in found.handshakes}
    full, early = (10 * LOADS, Range(2, 2)), (30 * LOADS, Range(0.25, 0.25))
    assert classes == {"full": full, "early_accepted": early}


def test_counts_add_up_over_all_loads_and_what_nobody_knows_is_no_zero(analysis: Analysis):
    [found] = analysis.quic
    assert (found.packets_lost, found.packets_sent) == (5 * LOADS, 10_000 * LOADS)
    assert (found.dropped_by_server, found.dropped_by_client) == (3 * LOADS, None)
    assert found.key_updates == 2 * LOADS
    assert (found.mtu_bytes, found.table_used_bytes) == (Range(1452, 1452), Range(0, 120))


def test_the_page_the_terminal_and_markdown_have_a_section_of_it(run: Run, analysis: Analysis):
    grid = quic_table(analysis)
    assert grid is not None
    [row] = grid.rows
    cells = dict(zip(grid.titles, row, strict=True))
    assert f"{30 * LOADS:,} 0-RTT accepted, median 0.250 ms" in cells["handshakes"]
    assert f"keys changed {2 * LOADS} times" in cells["packets"]
    assert "client —, server 75" in cells["dropped"]
    assert "GSO off, GRO on" in cells["datagrams"]
    page = render_page(Report(run, analysis))
    assert '<h2 id="quic">HTTP/3</h2>' in page
    lines = printed(quic_in_terminal(analysis))
    assert "0-RTT accepted" in lines
    assert max(map(len, lines.splitlines())) <= 80
    report = Report(run, analysis)
    assert "### HTTP/3" in markdown_bytes(report).decode()


def test_tables_have_a_column_for_each_figure_and_null_where_it_is_not_known(run: Run):
    rows = points_table(run).rows(named=True)
    assert len(rows) == LOADS
    for row in rows:
        assert (row["quic_packets_lost"], row["quic_packets_spurious"]) == (5, None)
        assert (row["quic_datagrams_dropped_by_server"], row["quic_datagrams_dropped_by_client"]) == (3, None)
        assert row["quic_early_accepted_handshake_p50_ms"] == 0.25


def test_one_load_names_its_classes_of_handshakes_its_losses_and_both_sides_drops():
    result = Http3Result.model_validate(http3_result() | {"dropped": {"by_client": 7, "by_server": None}})
    lines = "\n".join(quic_lines(result, 1))
    assert "10 full handshakes" in lines
    assert "10,000 packets sent, 0 lost" in lines
    assert "7 by the client, — by the server" in lines
    assert "left behind" not in lines
    assert "for no open connection" not in lines
    assert "stream" not in lines


def test_one_load_names_answers_that_were_left_behind_and_datagrams_of_no_connection():
    result = http3_result()
    result["streams"]["answers_starved"] = 50
    result["datagrams"]["unattributed"] = 1
    lines = list(quic_lines(Http3Result.model_validate(result), 1))
    assert "50 answers left behind others after the first byte" in lines
    assert "1 datagram received for no open connection" in lines


def test_one_load_says_how_few_streams_the_server_allowed_and_how_many_requests_waited_for_one():
    result = http3_result()
    result["handshakes_ms"]["full"] = distribution_of([2.0])
    result["streams"] |= {"allowed_at_first": {"min": 2, "max": 100}, "wait_ms": distribution_of([70.0] * 38)}
    lines = list(quic_lines(Http3Result.model_validate(result), 8))
    assert lines[0] == "1 full handshake"
    assert "2 to 100 streams allowed per connection at first, 8 requested" in lines
    assert "38 waits for a stream, 70.0 ms (p50)" in lines
    as_allowed = list(quic_lines(Http3Result.model_validate(result), 2))
    assert not any("requested" in line for line in as_allowed)


def test_one_load_names_how_its_connections_ended():
    result = http3_result()
    result["ends"] |= {"idle_timeouts": 9, "announced": 2}
    lines = list(quic_lines(Http3Result.model_validate(result), 1))
    assert "ends: 2 announced (GOAWAY), 9 by the idle timeout" in lines


def test_what_is_not_known_has_its_reason_in_the_record():
    result = Http3Result.model_validate(http3_result())
    assert result.packets.spurious is None
    assert [one.field for one in result.unknown] == ["packets.spurious"]
    assert json.loads(result.model_dump_json())["unknown"][0]["reason"]

"""What a run says of its handshakes and streams in all forms of its report; in clear text nothing."""

import csv
import io
import json
from pathlib import Path

import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.analysis.connections import AgreedOn, ConnectionsOfServer, Range
from loadcurve.report.formats.records import points_table
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import summary
from loadcurve.result.folder import Run, read_run
from support import encrypted_run as encrypted
from support import synthetic_run as synthetic
from support.schemas import validate
from support.terminal import printed

TRIALS = 3
LOADS = TRIALS * len(encrypted.CONNECTIONS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(encrypted.write_encrypted(tmp_path_factory.mktemp("runs") / "run"))


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    found = analyse(run)
    assert found.not_computed == []
    return found


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(synthetic.write_points(tmp_path_factory.mktemp("runs") / "run", *encrypted.CONNECTIONS))


def connections_of(analysis: Analysis, server: str) -> ConnectionsOfServer:
    return next(one for one in analysis.connections if one.server == server)


def test_handshakes_are_summed_over_all_loads_and_their_rates_and_medians_are_those_of_windows(
    analysis: Analysis,
):
    encryption = connections_of(analysis, "nginx").encryption
    assert encryption is not None
    assert (encryption.full, encryption.resumed) == (2 * encrypted.FULL * LOADS, encrypted.RESUMED * LOADS)
    assert encryption.resumed_share == 300 / 500
    # A hundred within two seconds.
    assert encryption.full_per_s == Range(50, 50)
    assert encryption.full_p50_ms == Range(0.5, 2.0)
    assert encryption.resumed_p50_ms == Range(0.25, 0.25)
    agreed = AgreedOn("1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768", 500 * LOADS)
    assert encryption.agreed == [agreed]
    assert [(one.key, one.chain_length) for one in encryption.certificates] == [("RSA 2048", 2)]


def test_streams_that_were_asked_for_allowed_and_waited_for_are_known_by_server(analysis: Analysis):
    found = connections_of(analysis, "apache")
    assert found.http == ["2"]
    assert found.encryption is not None
    # All its handshakes were before the windows.
    assert (found.encryption.full_per_s, found.encryption.handshake_p50_ms) == (None, Range(1.5, 1.5))
    streams = found.streams
    assert streams is not None
    assert (streams.asked, streams.allowed) == (Range(100, 100), Range(32, 32))
    assert (streams.waited, streams.wait_p50_ms) == (400 * LOADS, Range(3, 3))
    assert (streams.moved, streams.connections_ended) == (5 * LOADS, 4 * LOADS)


def test_a_server_in_clear_text_has_no_connections_to_describe(analysis: Analysis, clear: Run):
    assert [one.server for one in analysis.connections] == ["nginx", "apache"]
    assert analyse(clear).connections == []


def test_handshakes_and_waits_for_streams_are_measures_with_estimates_of_the_run_that_has_them(
    analysis: Analysis, clear: Run
):
    names = [measure.name for measure in analysis.measures]
    of_clear = [measure.name for measure in analyse(clear).measures]
    assert names[: len(of_clear)] == of_clear
    times = [f"{kind}_handshake_p50" for kind in ("full", "resumed")]
    assert {*times, "full_handshakes_per_s", "stream_wait_p50", "moved_share"} <= set(names)
    curves = {curve.server: curve for curve in analysis.curves}
    full = analysis.measure("full_handshake_p50_ms")
    known = [at.estimate(full) for at in curves["nginx"].points]
    assert [one.value for one in known if one] == pytest.approx([0.5, 2.0])
    assert [at.estimate(full) for at in curves["tiny"].points] == [None, None]
    moved = analysis.measure("requests_moved_share")
    estimate = curves["apache"].points[0].estimate(moved)
    assert estimate is not None
    assert estimate.value == pytest.approx(5 / synthetic.SAMPLES)


def test_the_table_of_points_has_columns_of_handshakes_and_streams_where_a_load_had_them(
    run: Run, clear: Run
):
    table = points_table(run)
    rows = {(row["server"], row["connections"]): row for row in table.rows(named=True)}
    nginx, apache, tiny = (rows[server, 50] for server in ("nginx", "apache", "tiny"))
    assert (nginx["full_handshake_p50_ms"], nginx["full_handshake_count"]) == (2.0, 100)
    assert (nginx["full_handshakes"], nginx["full_handshakes_per_s"]) == (200, 50)
    assert (nginx["tls_version"], nginx["tls_group"]) == ("1.3", "X25519MLKEM768")
    assert (nginx["streams_allowed_min"], apache["streams_allowed_min"], apache["streams_asked"]) == (
        *(None, 32),
        100,
    )
    assert (apache["handshake_p50_ms"], apache["full_handshake_p50_ms"]) == (1.5, None)
    assert (apache["requests_moved"], apache["stream_wait_p50_ms"]) == (5, 3.0)
    assert (tiny["full_handshakes"], tiny["handshake_p50_ms"]) == (None, None)
    of_clear = points_table(clear).columns
    assert table.columns[: len(of_clear)] == of_clear
    assert not [name for name in of_clear if "handshake" in name or name.startswith("stream")]


def test_page_markdown_and_terminal_describe_the_connections_of_each_server(run: Run, analysis: Analysis):
    content = Report(run, analysis)
    found = everything(content)["connections"]
    assert found is not None
    by_title = [dict(zip(found.titles, row, strict=True)) for row in found.rows]
    assert by_title[0]["protocol"] == "HTTP/1.1 over TLS 1.3"
    assert by_title[0]["handshakes"] == "1,200 full and 1,800 resumed (60 % resumed)"
    assert by_title[0]["full ones"] == "50.0 per second, median 0.500 to 2.00 ms"
    assert by_title[0]["streams"] == "—"
    assert by_title[1]["protocol"] == "HTTP/2 over TLS 1.3"
    assert by_title[1]["full ones"] == "—"
    assert by_title[1]["streams"] == "100 requested, 32 allowed"
    assert "30 requests sent again" in by_title[1]["moved and ended"]
    page = render_page(content)
    assert '<h2 id="connections">Connections</h2>' in page
    [part] = everything(content)["parts"]
    assert "full handshakes/s" in part.connections
    assert "waits for a stream, p50, ms" in part.connections
    markdown = dict(FORMATS["md"](Report(run, analysis)))["report.md"].decode()
    assert "### Connections" in markdown
    assert "TLS\\_AES\\_128\\_GCM\\_SHA256, X25519MLKEM768" in markdown
    shown = printed(summary(Report(run, analysis)))
    assert "full handshakes: 50.0 per second, median 0.500 to 2.00 ms" in shown
    assert "streams: 100 requested, 32 allowed" in shown


def test_a_run_in_clear_text_is_reported_as_without_any_of_it(clear: Run):
    found = analyse(clear)
    content = Report(clear, found)
    assert everything(content)["connections"] is None
    assert everything(content)["parts"][0].connections == {}
    assert 'id="connections"' not in render_page(content)
    assert "connections" not in report_tables(Report(clear, found))


def test_the_connections_are_a_table_of_the_other_forms(run: Run, analysis: Analysis):
    files = dict(FORMATS["csv"](Report(run, analysis)))
    [nginx, apache] = csv.DictReader(io.StringIO(files["report-connections.csv"].decode()))
    assert (nginx["full_handshakes"], nginx["full_handshake_p50_max_ms"]) == ("1200", "2.0")
    assert (apache["streams_allowed_max"], apache["requests_moved"]) == ("32.0", "30")
    held = json.loads(dict(FORMATS["json"](Report(run, analysis)))["report.json"])
    validate(held, "numbers")
    assert [one["server"] for one in held["analysis"]["connections"]] == ["nginx", "apache"]


def test_records_of_earlier_versions_without_measured_handshakes_are_read_and_reported(tmp_path: Path):
    folder = encrypted.write_encrypted(tmp_path / "run")
    lines = []
    for line in (folder / "trials.jsonl").read_text().splitlines():
        record = json.loads(line)
        if (tls := record["measurements"]["load"]["tls"]) is not None:
            del tls["measured"]
        lines.append(json.dumps(record) + "\n")
    (folder / "trials.jsonl").write_text("".join(lines))
    run = read_run(folder)
    found = analyse(run)
    assert found.not_computed == []
    encryption = connections_of(found, "nginx").encryption
    assert encryption is not None
    assert (encryption.full, encryption.full_per_s, encryption.full_p50_ms) == (1200, None, None)
    content = Report(run, found)
    assert content.sections.not_computed == []
    assert everything(content)["connections"] is not None
    assert "full ones" not in everything(content)["connections"].titles

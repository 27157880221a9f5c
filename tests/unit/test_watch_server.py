"""What the process of a run's page answers, and to which clients."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadcurve.watch import server as server_module
from loadcurve.watch.feed import figures
from loadcurve.watch.server import WatchServer
from support.followed_run import GrowingRun
from support.page import rows_of
from support.page_events import answer, events_of
from support.sandbox import wait_until
from support.synthetic_run import SERVERS
from support.watched_run import page_of


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    run = GrowingRun(tmp_path / "run")
    run.says()
    return run


@pytest.fixture
def served(run: GrowingRun) -> Iterator[tuple[str, WatchServer]]:
    with page_of(run.folder) as served:
        yield served


@pytest.fixture
def url(served: tuple[str, WatchServer]) -> str:
    return served[0]


def test_the_page_says_where_the_run_stands_without_a_script(url: str):
    response = answer(url)
    assert (response.status, response.getheader("Content-Type")) == (200, "text/html; charset=utf-8")
    page = response.read().decode()
    assert '<p class="lead" id="sentence" role="status">Trial 1 of 9, block 1: nginx.</p>' in page
    assert "0 of 72 points" in page


def test_nothing_of_another_place_can_be_loaded_and_no_other_page_can_frame_it(url: str):
    response = answer(url)
    page = response.read().decode()
    [policy] = [line for line in page.splitlines() if "Content-Security-Policy" in line]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert response.getheader("Content-Security-Policy") == "frame-ancestors 'none'"
    assert response.getheader("Access-Control-Allow-Origin") is None
    assert response.getheader("X-Content-Type-Options") == "nosniff"


@pytest.mark.parametrize("path", ["/", "/events", "/report.html"])
def test_a_site_that_lets_its_name_point_here_is_refused(url: str, path: str):
    response = answer(url, path, Host="attacker.example")
    assert (response.status, response.read()) == (
        403,
        b"loadcurve: this page is not served under that host name\n",
    )


@pytest.mark.parametrize(
    "path",
    ["/run.json", "/trials.jsonl", "/../run.json", "/%2e%2e/run.json", "//etc/passwd", "/report.html/.."],
)
def test_no_file_but_the_report_is_served(url: str, path: str):
    assert answer(url, path).status == 404


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_a_page_can_only_be_read(url: str, method: str):
    assert answer(url, "/", method).status == 501


def test_the_report_is_served_as_soon_as_there_is_one(url: str, run: GrowingRun):
    assert answer(url, "/report.html").status == 404
    (run.folder / "report.html").write_bytes(b"<!doctype html>whole")
    assert answer(url, "/report.html").read() == b"<!doctype html>whole"


def test_the_curves_grow_with_the_folder(url: str, run: GrowingRun):
    with events_of(url) as events:
        assert events.until("status")["verdicts"]["valid"] == 0
        for points in (1, 8, 20):
            run.add(points - len(read(run)))
            drawn = events.until("figures")
            whole = run_figures(run)
            assert drawn == json.loads(json.dumps(whole))
            assert len(read(run)) == points
    [throughput, *_] = drawn
    means = [
        row
        for rows in throughput["specification"]["datasets"].values()
        for row in rows_of(rows)
        if "n" in row
    ]
    truth = {(server, 1): SERVERS[server].throughput_rps(1) / 1.02 for server in ("nginx", "apache")}
    shown = {(row["server"], row["x"]): row["y"] for row in means if row["n"] == 1 and row["x"] == 1}
    assert {place: shown[place] for place in truth} == pytest.approx(truth, rel=1e-5)


def read(run: GrowingRun) -> list[str]:
    return (run.folder / "trials.jsonl").read_text().splitlines()


def run_figures(run: GrowingRun) -> list:
    from loadcurve.result.folder import read_run

    return figures(read_run(run.folder))


def test_a_reader_who_comes_later_gets_everything(url: str, run: GrowingRun):
    run.add(8)
    for _ in range(2):
        with events_of(url) as events:
            assert events.until("status")["verdicts"]["valid"] == 8
            assert [figure["section"] for figure in events.until("figures")][:2] == ["throughput", "latency"]


def test_nothing_remains_of_a_reader_who_goes_away(served: tuple[str, WatchServer]):
    url, server = served
    # Threads of earlier tests may still be ending.
    before = set(threading.enumerate())
    with events_of(url) as events:
        events.until("status")
        [reader] = set(threading.enumerate()) - before
        assert server.readers == 1
    wait_until(lambda: server.readers == 0 and not reader.is_alive(), "the reader is forgotten")


def test_without_a_reader_leaving_takes_no_time(served: tuple[str, WatchServer], monkeypatch):
    _, server = served
    monkeypatch.setattr(server_module.time, "sleep", lambda _: pytest.fail("it waits for nobody"))
    server.leave()


def test_readers_get_the_last_state_and_may_fetch_the_report(served, run: GrowingRun, monkeypatch):
    url, server = served
    # Only the report can end the farewell.
    monkeypatch.setattr(server_module, "FAREWELL_S", 3600.0)
    with events_of(url) as events:
        assert not events.until("status")["leaves"]
        run.add_all()
        run.ends()
        (run.folder / "report.html").write_bytes(b"<!doctype html>whole")
        leaving = threading.Thread(target=server.leave, daemon=True)
        leaving.start()
        last = [data for name, data in events if name == "status"][-1]
        assert (last["leaves"], last["phase"], last["report"]) == (True, "over", True)
        assert leaving.is_alive()
        assert answer(url, "/report.html").read() == b"<!doctype html>whole"
        wait_until(lambda: not leaving.is_alive(), "the farewell ends with the report")


def test_a_request_that_is_none_disturbs_nobody(url: str, capfd: pytest.CaptureFixture[str]):
    connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"))
    connection.connect()
    connection.sock.sendall(b"\x00\xff nonsense\r\n\r\n")
    connection.sock.recv(1000)
    connection.close()
    assert answer(url).status == 200
    assert capfd.readouterr().err == ""


def test_no_more_connections_are_served_than_there_are_places(monkeypatch, run: GrowingRun):
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 2)
    with page_of(run.folder) as (url, server):
        followers = [answer(url, "/events") for _ in range(2)]
        wait_until(lambda: server.readers == 2, "both follow")
        assert answer(url).status == 503
        for one in followers:
            one.close()
        # A place that came free is another reader's.
        wait_until(lambda: answer(url).status == 200, "there is a place")

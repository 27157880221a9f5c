"""What k6 2.2.0 writes when Loadcurve drives it: the window, and requests that it failed to send."""

import json
from pathlib import Path

import pytest

from loadcurve.loads.http import ClosedLoad, HttpLoad, OpenLoad
from loadcurve.tools.driver import Output, WebToolRequest
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.k6 import driver

TEXTS = Path(__file__).parents[1] / "data" / "tools"


def at_a_rate(**changes: object) -> HttpLoad:
    given = {"model": "open", "requests": ["/a"], "rate": 20, "connections": 2, "warmup": 0, "duration": "1s"}
    return OpenLoad.model_validate(given | changes)


def figures(
    name: str, load: HttpLoad, folder: Path, *, is_interrupted: bool = False, lines: int | None = None
) -> ToolFigures:
    text = (TEXTS / name).read_text().splitlines(keepends=True)
    (folder / "samples.csv").write_text("".join(text[:lines]))
    wanted = WebToolRequest(
        load=load, address="127.0.0.1:80", authority="127.0.0.1:80", threads=1, files=folder
    )
    return driver.figures(wanted, Output("k6", Path("k6"), folder / "stdout", folder, is_interrupted))


def test_all_of_a_load_gives_what_the_summary_of_k6_says_of_it(tmp_path):
    metrics = json.loads((TEXTS / "k6-2-rate-summary.json").read_text())["metrics"]
    found = figures("k6-2-rate.csv", at_a_rate(duration="1500ms"), tmp_path)
    theirs, ours = metrics["http_req_duration"], found.latency.distribution
    assert found.answered == ours.count == metrics["http_reqs"]["count"]
    assert [ours.min, ours.mean, ours.max] == pytest.approx([theirs[one] for one in ("min", "avg", "max")])
    assert found.first_byte.distribution.mean == pytest.approx(metrics["http_req_waiting"]["avg"])
    # k6 takes the mean of all requests, 28 of which have found their connection open.
    connect = found.connect.distribution
    assert (connect.count, found.connections_opened) == (2, 2)
    assert connect.mean * 2 / 30 == pytest.approx(metrics["http_req_connecting"]["avg"])
    assert (found.failed, found.never_sent, found.status["2xx"]) == (0, 0, 30)


def test_the_window_begins_with_the_first_iteration_which_first_opens_a_connection(tmp_path):
    found = figures("k6-2-rate.csv", at_a_rate(duration="1500ms"), tmp_path)
    # The end of the first one, in ns since 1970, and how long it took, as they are in its line.
    assert found.began_unix_s == pytest.approx((1795613238870849610 - 12_105_712) / 1e9, abs=1e-6)


def test_what_ends_during_the_warm_up_does_not_count(tmp_path):
    # Of 30 arrivals, one every 50 ms, the first ten are over within 475 ms.
    found = figures("k6-2-rate.csv", at_a_rate(warmup="475ms"), tmp_path)
    assert (found.answered, found.duration_s, found.connections_opened) == (20, 1.0, 0)
    whole = figures("k6-2-rate.csv", at_a_rate(duration="1500ms"), tmp_path)
    assert found.began_unix_s == pytest.approx(whole.began_unix_s + 0.475, abs=1e-6)
    assert [period.answered for period in found.series] == [20]
    assert whole.latency.distribution.max == 5.382237, "that of the first request, which"
    assert found.latency.distribution.max < 5, "is not in the window"


def test_a_scenario_that_ends_late_has_a_longer_window_with_all_that_was_answered(tmp_path):
    # The last of 30 arrivals, one every 50 ms, is answered after 1.45 s.
    late = figures("k6-2-rate.csv", at_a_rate(duration="1430ms"), tmp_path)
    assert (late.answered, late.duration_s) == (30, pytest.approx(1.45, abs=0.01))
    assert [(period.t_s, period.answered) for period in late.series] == [(0.0, 20), (1.0, 10)]


def test_what_is_answered_after_a_load_that_its_script_ends_does_not_count(tmp_path):
    # Those of 0, 50 … 450 ms.
    cut = figures("k6-2-rate.csv", at_a_rate(duration="480ms"), tmp_path)
    assert (cut.answered, cut.duration_s) == (10, 0.48)


def test_the_window_of_an_interrupted_load_ends_with_its_last_request(tmp_path):
    # Twelve lines for each of ten requests.
    found = figures(
        "k6-2-rate.csv", at_a_rate(duration="60s"), tmp_path, is_interrupted=True, lines=1 + 10 * 12
    )
    assert found.answered == 10
    assert found.duration_s == pytest.approx(9 * 0.05, abs=0.02)


def test_arrivals_that_find_no_free_connection_are_never_sent(tmp_path):
    # At 30/s for 1 s with one connection to a path that answers 20/s; one of the 30 was under way at the end.
    found = figures("k6-2-dropped.csv", at_a_rate(rate=30, connections=1), tmp_path)
    assert (found.answered, found.failed, found.never_sent) == (20, 0, 9)
    closed = ClosedLoad.model_validate(
        {"model": "closed", "requests": ["/a"], "connections": 1, "warmup": 0, "duration": "1s"}
    )
    assert figures("k6-2-rate.csv", closed, tmp_path).never_sent is None, "a closed loop has no arrivals"


def test_refused_connections_are_failures_of_their_class(tmp_path):
    found = figures("k6-2-refused.csv", at_a_rate(rate=5, connections=1), tmp_path)
    assert (found.answered, found.failed, found.errors["connect_refused"]) == (0, 5, 5)
    assert found.latency.distribution.count == 0


def test_samples_without_a_request_are_a_load_without_answers(tmp_path):
    found = figures("k6-2-rate.csv", at_a_rate(), tmp_path, lines=1)
    assert (found.answered, found.failed, found.never_sent, found.duration_s) == (0, 0, 0, 1.0)


@pytest.mark.parametrize(
    ("begin", "change", "said"),
    [
        ("http_req_duration", ("5.382237", "5,382237"), "found 8 columns"),
        ("http_req_duration", ("5.382237", ""), "line 3: found metric_value ''"),
        ("metric_name", ("timestamp", "time"), "no column timestamp"),
    ],
)
def test_samples_that_are_not_those_of_k6_are_refused(begin, change, said, tmp_path):
    text = (TEXTS / "k6-2-rate.csv").read_text()
    assert begin in text
    (tmp_path / "samples.csv").write_text(text.replace(*change, 1))
    wanted = WebToolRequest(
        load=at_a_rate(), address="127.0.0.1:80", authority="127.0.0.1:80", threads=1, files=tmp_path
    )
    with pytest.raises(Unreadable, match=said):
        driver.figures(wanted, Output("k6", Path("k6"), tmp_path / "stdout", tmp_path))


def test_a_k6_that_has_written_nothing_is_reported(tmp_path):
    wanted = WebToolRequest(
        load=at_a_rate(), address="127.0.0.1:80", authority="127.0.0.1:80", threads=1, files=tmp_path
    )
    with pytest.raises(Unreadable, match=r"found no file; expected samples\.csv"):
        driver.figures(wanted, Output("k6", Path("k6"), tmp_path / "stdout", tmp_path))

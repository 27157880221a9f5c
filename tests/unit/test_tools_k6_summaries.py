"""Summaries of k6, in JSON and as the text at the end of a test, say the same of one run."""

import json
from pathlib import Path

import pytest

from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.formats import format_of, read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"


def figures(path: Path | str) -> ToolFigures:
    return read_figures(Source(DATA / path), None)[0]


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = (DATA / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "changed").write_text(text)
    return folder / "changed"


def test_latencies_of_answers_are_those_of_expected_responses_where_requests_failed():
    found = figures("made/k6-failures.json")
    assert (found.answered, found.failed, found.never_sent, found.duration_s) == (1800, 200, 35, 20.0)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.count, latency.min, latency.mean, latency.max) == (1800, 5.0, 24.0, 300.0)
    assert (latency.p50, latency.p90, latency.p95, latency.p99) == (21.5, 42.0, 58.0, None)


def test_without_a_part_of_their_own_latencies_of_answers_are_not_known(tmp_path: Path):
    path = changed(tmp_path, "made/k6-failures.json", ("{expected_response:true}", "{other:true}"))
    found = figures(path)
    assert (found.latency, found.failed) == (None, 200)
    assert found.not_measured == ["latencies of answers: k6 summarises those of failures with them"]


def test_thresholds_stand_among_the_statistics_of_an_export_and_are_none(tmp_path: Path):
    """``--summary-export`` has no separate values, and says for each threshold whether it was crossed."""
    document = json.loads((DATA / "k6-export.json").read_text())
    assert "values" not in document["metrics"]["http_req_duration"]
    for metric in ("http_req_duration", "http_req_duration{expected_response:true}", "http_req_failed"):
        document["metrics"][metric]["thresholds"] = {"p(95)<500": False, "rate<0.1": True}
    (tmp_path / "summary").write_text(json.dumps(document))
    assert figures(tmp_path / "summary") == figures("k6-export.json")


def test_a_summary_whose_rate_is_not_that_of_its_time_is_said(tmp_path: Path):
    [said] = figures(
        changed(tmp_path, "made/k6-failures.json", ('"rate":100.0', '"rate":80.0'))
    ).contradictions
    assert said == "2,000 requests in 20 s are 100.0/s, and it says 80/s"


def test_the_summary_of_version_2_has_its_own_form_and_its_version():
    metrics = json.loads((DATA / "k6/2.2.0-half-new.json").read_text())["results"]["metrics"]
    values = {one["name"]: one["values"] for one in metrics}
    found = figures("k6/2.2.0-half-new.json")
    failed = values["http_req_failed"]
    assert (found.version, found.failed) == ("2.2.0", failed["matches"])
    assert found.answered == failed["total"] - failed["matches"] == 47
    assert found.duration_s == 0.029121501
    expected = values["http_req_duration{expected_response:true}"]
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.min, latency.mean, latency.max) == (expected["min"], expected["avg"], expected["max"])
    assert (latency.p50, latency.p90, latency.p99) == (expected["med"], expected["p90"], None)


def test_a_statistic_for_which_k6_was_not_asked_is_absent(tmp_path: Path):
    text = (DATA / "k6/2.2.0-half-new.json").read_text()
    document = json.loads(text)
    for metric in document["results"]["metrics"]:
        if metric["name"].startswith("http_req_duration"):
            metric["values"] |= {"med": None, "min": None}
    (tmp_path / "summary").write_text(json.dumps(document))
    found = figures(tmp_path / "summary")
    assert found.latency is not None
    assert (found.latency.distribution.min, found.latency.distribution.p50) == (None, None)
    assert found.latency.distribution.max is not None


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("k6/2.2.0-half.txt", "k6/2.2.0-half-new.json"),
        ("k6/2.2.0-dropped.txt", "k6/2.2.0-dropped.json"),
        ("k6/1.8.1-half.txt", "k6/1.8.1-half.json"),
        ("k6/0.41.0-half.txt", "k6/0.41.0-half.json"),
        ("k6/0.41.0-dropped.txt", "k6/0.41.0-dropped.json"),
    ],
)
def test_the_text_says_what_the_summary_of_the_same_run_says(text: str, summary: str):
    assert format_of(Source(DATA / text), None).name == "k6-text"
    ours, theirs = figures(text), figures(summary)
    assert (ours.answered, ours.failed, ours.never_sent) == (
        theirs.answered,
        theirs.failed,
        theirs.never_sent,
    )
    assert ours.duration_s == pytest.approx(theirs.duration_s, rel=1e-6)
    assert ours.latency is not None
    assert theirs.latency is not None
    # The text cuts its times off behind two decimals of their unit.
    for name in ("min", "mean", "max", "p50", "p90", "p95"):
        shown, exact = (getattr(one.latency.distribution, name) for one in (ours, theirs))
        if exact is None:
            assert shown is None
        else:
            assert shown == pytest.approx(exact, abs=0.01 if exact >= 1 else 1e-5)
    assert ours.latency.resolution_ms == 0.01


def test_the_scenario_of_the_text_is_the_load():
    assert figures("k6/2.2.0-half.txt").asked.connections == 3
    assert figures("k6/1.8.1-thresholds-full.txt").asked.connections == 3
    arrivals = figures("k6/2.2.0-dropped.txt").asked
    assert (arrivals.rate_rps, arrivals.connections) == (60.0, None)


def test_of_a_text_in_full_the_metrics_of_the_whole_test_count(tmp_path: Path):
    """Those of its group follow them; here with another count."""
    group, whole = "http_reqs..................: 4949", "http_reqs......................: 4949"
    name = "k6/1.8.1-thresholds-full.txt"
    assert whole in (DATA / name).read_text()
    found = figures(changed(tmp_path, name, (group, group.replace("4949", "1234"))))
    assert (found.answered, found.failed) == (3957, 992)
    assert found.latency is not None
    latency = found.latency.distribution
    assert (latency.mean, latency.p50, latency.p99, latency.p99_9, latency.max) == (
        0.52661, 0.35621, 5.01, 12.54, 15.67,
    )  # fmt: skip


def test_the_text_of_the_legacy_summary_is_read_too():
    found = figures("k6/1.8.1-legacy.txt")
    assert (found.answered, found.failed) == (47, 13)
    assert 60 / found.duration_s == pytest.approx(444.949459)


def test_a_text_of_refused_connections_has_no_latency():
    found = figures("k6/2.2.0-refused.txt")
    assert (found.answered, found.failed, found.latency) == (0, 10, None)


@pytest.mark.parametrize("name", ["2.2.0-half.txt", "2.2.0-dropped.txt", "1.8.1-legacy.txt"])
def test_a_text_that_is_cut_off_at_any_line_is_refused_or_lacks_nothing(name: str, tmp_path: Path):
    lines = (DATA / "k6" / name).read_text().splitlines(keepends=True)
    whole, is_read = figures(f"k6/{name}"), 0
    for count in range(len(lines)):
        (tmp_path / "cut").write_text("".join(lines[:count]))
        try:
            found = read_figures(Source(tmp_path / "cut"), "k6-text")[0]
        except Unreadable:
            continue
        is_read += 1
        assert found == whole, f"cut behind {lines[count - 1]!r}"
    assert is_read, "what follows its iterations is not read"


def test_minutes_and_seconds_of_a_time_are_one_time(tmp_path: Path):
    text = (DATA / "k6/1.8.1-thresholds-full.txt").read_text()
    assert "max=15.67ms" in text
    found = figures(changed(tmp_path, "k6/1.8.1-thresholds-full.txt", ("max=15.67ms", "max=1m2s   ")))
    assert found.latency is not None
    assert found.latency.distribution.max == 62_000.0
    assert found.latency.resolution_ms == 1000.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("http_req_failed", "http_req_passed"), "http_req_failed, which 0.31 and newer print"),
        (("13 out of 60", "13 out of 61"), "13 of 61 requests failed"),
        (("iterations.....", "iterat.....\n"), "iterations, or vus_max"),
    ],
)
def test_a_text_that_lacks_a_line_is_refused(change: tuple[str, str], said: str, tmp_path: Path):
    with pytest.raises(Unreadable, match=said):
        figures(changed(tmp_path, "k6/2.2.0-half.txt", change))

"""The HTML report of a run with a known truth."""

import base64
import hashlib
import html
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from loadcurve.errors import BadInput
from loadcurve.probe.window import nothing_observed
from loadcurve.result import distribution
from loadcurve.result.folder import Run
from loadcurve.result.outcomes import Caveat
from loadcurve.result.records import FailureRecord, PointRecord
from support import synthetic_run as synthetic
from support.page import HOSTILE, Page
from support.report_formats import write_run_of_two_keys
from support.report_pages import render_run, write_report


def rows(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for dataset in chart["datasets"].values() for row in dataset]


def page_of(folder: Path) -> Page:
    return Page(write_report(folder).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(run: Run) -> Page:
    return Page(render_run(run))


def test_the_summary_counts_points_verdicts_and_failures(page: Page):
    assert "69 of 72 points were measured (67 valid, 1 suspect, 1 invalid)" in page.text
    assert "1 trial failed (apache at connections = 50: the server ended with status 1" in page.text
    assert "interrupted" not in page.text


def test_the_page_names_nothing_outside_itself(page: Page):
    loading = {"src", "srcset", "action", "data"}
    assert not [attributes for _, attributes in page.elements if loading & attributes.keys()]
    assert not [tag for tag, _ in page.elements if tag in ("link", "iframe", "object", "embed", "base")]


def test_the_policy_allows_the_pages_own_scripts_and_nothing_else(page: Page):
    [policy] = [
        str(attributes["content"])
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    digests = {
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for attributes, text in page.scripts
        if attributes.get("type") != "application/json"
    }
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert set(directives["script-src"].split()) == digests


def test_the_throughput_figure_holds_the_true_means_and_their_intervals(page: Page):
    chart = page.charts["throughput-1"]
    [line] = [layer for layer in chart["layer"] if layer["mark"]["type"] == "line"]
    means = [row for row in chart["datasets"][line["data"]["name"]] if row["server"] == "nginx"]
    assert [row["x"] for row in means] == list(synthetic.CONNECTIONS)
    for row in means:
        truth = synthetic.SERVERS["nginx"].throughput_rps(row["x"])
        assert row["y"] == pytest.approx(truth, rel=1e-5)
        assert (row["low"], row["high"]) == pytest.approx(
            (truth / synthetic.REACH, truth * synthetic.REACH), rel=1e-5
        )


def test_a_sweep_over_more_than_a_factor_of_20_is_drawn_logarithmically(page: Page):
    assert '"nice": false, "padding": 12, "type": "log"}' in json.dumps(
        page.charts["throughput-1"], sort_keys=True
    )


def test_a_narrow_sweep_is_drawn_linearly(tmp_path: Path):
    chart = page_of(synthetic.write_points(tmp_path, 10, 25, 50, 100)).charts["throughput-1"]
    assert {layer["encoding"]["x"]["scale"]["type"] for layer in chart["layer"]} == {"linear"}


def test_every_figure_gives_each_server_the_same_colour(page: Page):
    scales = {
        json.dumps(layer["encoding"]["color"]["scale"])
        for chart in page.charts.values()
        for layer in chart["layer"]
        if layer.get("encoding", {}).get("color", {}).get("field") == "server"
    }
    assert len(scales) == 1


def test_invalid_trials_are_hollow_and_in_no_mean(page: Page):
    chart = page.charts["throughput-1"]
    [hollow] = [layer for layer in chart["layer"] if layer["mark"].get("filled") is False]
    [row] = chart["datasets"][hollow["data"]["name"]]
    assert (row["server"], row["x"], row["verdict"]) == ("tiny", 100, "invalid")


def test_a_missing_server_is_reported_and_never_drawn(page: Page):
    assert "absent is missing. It was not found on this machine and is not measured." in page.text
    assert "apt install absent" in page.text
    assert "absent" not in {row["server"] for chart in page.charts.values() for row in rows(chart)}


def test_the_distribution_merges_the_trials_and_starts_in_the_middle_of_the_sweep(page: Page):
    chart = page.charts["distribution-figure"]
    assert [parameter["value"] for parameter in chart["params"]] == [synthetic.CONNECTIONS.index(25)]
    truth = synthetic.SERVERS["nginx"]
    at_25 = [row for row in rows(chart) if row["server"] == "nginx" and row["place"] == 4]
    near_90 = min(at_25, key=lambda row: abs(row["x"] - 10))
    assert near_90["y"] == pytest.approx(truth.latency_ms(25, 1 - 1 / near_90["x"]), rel=0.02)
    # Three trials of 500 requests: no tail is rarer than one in 1500; the maximum is the slowest trial's.
    slowest = truth.latency_ms(25, 1 - 0.5 / synthetic.SAMPLES) * 1.02
    assert (at_25[-1]["x"], at_25[-1]["y"]) == (1500, pytest.approx(slowest, rel=1e-3))


def test_an_invalid_trial_is_not_in_the_distribution(page: Page):
    at_100 = [row for row in rows(page.charts["distribution-figure"]) if row["place"] == 6]
    assert {row["server"]: row["x"] for row in at_100 if row["last"]} == {
        "nginx": 1500,
        "apache": 1000,
        "tiny": 1000,
    }


def test_the_table_shows_the_estimate_with_its_interval(page: Page):
    # nginx at 1 connection: 42000 / 10 = 4200 requests/s, divided and multiplied by 1.050422.
    assert "4,200 3,998 to 4,412" in page.text


def test_cpu_and_memory_of_the_server_are_drawn_from_zero_with_their_intervals(page: Page):
    titles = ("resources-1-1", "resources-1-2", "resources-1-3")
    assert [name for name in page.charts if name.startswith("resources")] == list(titles)
    chart = page.charts["resources-1-2"]
    [line] = [layer for layer in chart["layer"] if layer["mark"]["type"] == "line"]
    assert line["encoding"]["y"]["scale"] == {"zero": True}
    for row in chart["datasets"][line["data"]["name"]]:
        if row["server"] == "nginx":
            assert row["y"] == pytest.approx(20)
            assert (row["low"], row["high"]) == pytest.approx(
                (20 / synthetic.REACH, 20 * synthetic.REACH), rel=1e-4
            )


def test_the_table_has_what_the_server_used(page: Page):
    # 20 µs, and 16 MiB and an eighth for one connection, each divided and multiplied by 1.050422.
    assert "20.0 19.0 to 21.0 16.1 15.4 to 16.9" in page.text


def test_what_the_probe_could_not_measure_is_said_once_with_the_servers(tmp_path: Path):
    record = synthetic.run_record()
    text = "the probe ended with status -9: it said nothing"
    caveat = Caveat.of("probe_died", text)
    records = [
        one.model_copy(update={"probe": nothing_observed([caveat])})
        if isinstance(one, PointRecord) and one.server != "tiny"
        else one
        for one in synthetic.trial_records(record)
    ]
    counts = Counter(one.server for one in records if isinstance(one, PointRecord))
    page = page_of(synthetic.write_run(tmp_path, record, records))
    first, second = (f"{server}, {counts[server]} points" for server in ("nginx", "apache"))
    assert f"{first} ; {second} : {text}." in page.text
    assert page.text.count(text) == 1
    drawn = rows(page.charts["resources-1-1"])
    assert {row["server"] for row in drawn if row["y"] is not None} == {"tiny"}


def test_a_run_without_a_record_has_no_verdicts_to_count(tmp_path: Path):
    page = page_of(synthetic.write_run(tmp_path, records=[]))
    assert "Nothing was measured." in page.text
    assert "Verdicts on single points" not in page.text
    assert "None: no point was measured." in page.text


def test_reasons_failures_and_how_to_repeat_it_are_shown(page: Page):
    assert "the latency rose by 12 % within the window" in page.text
    assert "12 % of the requests failed (60 resets)" in page.text
    assert "AH00161: server reached MaxRequestWorkers" in page.text
    assert "loadcurve run study.toml --seed 1729 --quick" in page.text


def test_a_run_whose_every_trial_failed_says_so_once_and_shows_no_empty_table(tmp_path: Path):
    record = synthetic.run_record()
    why = {"code": "server_exited", "text": "the server ended with status 1 before it answered"}
    failures = [
        FailureRecord.model_validate(
            {"kind": "failure", **planned.model_dump(), "point": None, "started_at": "2026-03-14T09:27:00Z"}
            | {"reason": why, "log_tail": f"{planned.server}'s log of trial {planned.trial}\n"}
        )
        for planned in record.order
    ]
    page = page_of(synthetic.write_run(tmp_path, record, list(failures)))
    assert "Nothing was measured: every trial failed. The first was of nginx: " in page.text
    # ORDER has nginx first in the first block, second in the second and last in the third.
    assert "nginx, trials 0, 4 and 8, before the first point" in page.text
    assert "nginx's log of trial 8" in page.text
    assert "Nothing odd was found" not in page.text
    assert "None: no point was measured." in page.text


def test_arms_whose_starts_failed_alike_are_one_failure_with_one_log(tmp_path: Path):
    record = synthetic.run_record()
    failures = [
        FailureRecord.model_validate(
            {"kind": "failure", **planned.model_dump(), "point": None, "started_at": "2026-03-14T09:27:00Z"}
            | {"log_tail": f"no module app, process {planned.trial}\n"}
            | {"reason": {"code": "died", "text": f"`app -w {planned.trial}` ended before it answered"}}
        )
        for planned in record.order
    ]
    page = page_of(synthetic.write_run(tmp_path, record, list(failures)))
    names = list(dict.fromkeys(planned.server for planned in record.order))
    assert len(names) > 1
    assert page.text.count("no module app") == 1
    heading = page.text[page.text.index("Trials that failed") :][:300]
    assert all(name in heading for name in names)
    assert f"`app -w 0 to {len(record.order) - 1}` ended before it answered" in page.text


def test_every_figure_has_a_text_in_its_place(page: Page):
    labels = [
        str(attributes["aria-label"]) for _, attributes in page.elements if attributes.get("role") == "group"
    ]
    assert len(labels) == len(page.charts)
    assert "nginx: 4,200 at 1, 40,191 at 200, highest 40,191 at 200." in labels[0]


def test_hostile_text_is_shown_and_never_run(tmp_path: Path):
    texts = synthetic.Texts(
        title=HOSTILE, question=HOSTILE, server_titles=dict.fromkeys((*synthetic.SERVERS, "absent"), HOSTILE)
    )
    record = synthetic.run_record(texts)
    hostile = record.servers["tiny"].model_copy(update={"documentation": "javascript:window.stolen = 1"})
    record = record.model_copy(update={"servers": record.servers | {"tiny": hostile}})
    folder = synthetic.write_run(tmp_path, record, synthetic.trial_records(record, HOSTILE), texts)
    page = page_of(folder)
    assert "img" not in {tag for tag, _ in page.elements}
    assert len(page.own_scripts) == 3
    assert HOSTILE in page.text
    assert not [
        a for tag, a in page.elements if tag == "a" and not str(a["href"]).startswith(("https://", "#"))
    ]


def test_a_hostile_name_of_a_server_stays_data_in_the_figures(tmp_path: Path):
    page = page_of(synthetic.write_renamed_run(tmp_path, "tiny", HOSTILE))
    assert len(page.own_scripts) == 3
    assert HOSTILE in {row["server"] for row in rows(page.charts["throughput-1"])}


def test_an_interrupted_run_says_so_and_shows_what_there_is(tmp_path: Path):
    record = synthetic.run_record()
    page = page_of(synthetic.write_run(tmp_path, record, synthetic.trial_records(record)[:11]))
    assert "11 of 72 points were measured" in page.text
    assert "The run was interrupted before its end" in page.text
    assert "tiny not measured" in page.text
    assert all(row["y"] is None or row["y"] > 0 for row in rows(page.charts["throughput-1"]))


def test_one_trial_is_said_to_have_no_interval_and_no_ranking(tmp_path: Path):
    record = synthetic.run_record()
    order = [planned for planned in record.order if planned.block == 0]
    records = [one for one in synthetic.trial_records(record) if one.block == 0]
    page = page_of(synthetic.write_run(tmp_path, record.model_copy(update={"order": order}), records))
    assert "With one usable trial of each server there is no interval, and no ranking." in page.text
    assert {row.get("low") for row in rows(page.charts["throughput-1"])} == {None}


def test_a_run_without_any_point_has_a_report_without_figures(tmp_path: Path):
    page = page_of(synthetic.write_run(tmp_path, records=[]))
    assert "0 of 72 points were measured." in page.text
    assert page.charts == {}


def test_a_single_point_is_drawn_by_server(tmp_path: Path):
    chart = page_of(synthetic.write_points(tmp_path, 50)).charts["throughput-1"]
    assert {row["x"] for row in rows(chart)} == set(synthetic.SERVERS)


def test_a_sweep_of_two_keys_has_a_figure_for_each_value_of_the_shorter_one(tmp_path: Path):
    page = page_of(write_run_of_two_keys(tmp_path))
    assert [name for name in page.charts if name.startswith("throughput")] == ["throughput-1", "throughput-2"]
    assert "pipeline = 8" in page.text


def test_a_histogram_that_cannot_be_decoded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(encoded: list[str]) -> list[tuple[float, float]]:
        raise ValueError("not base64")

    monkeypatch.setattr(distribution, "percentile_curve", refuse)
    with pytest.raises(
        BadInput, match=r"histogram of nginx at connections = 1 in trials\.jsonl .* not base64"
    ):
        write_report(synthetic.write_run(tmp_path))


def test_the_same_run_gives_the_same_page(tmp_path: Path):
    folder = synthetic.write_run(tmp_path)
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    assert html.escape("One static file, three servers").encode() in first

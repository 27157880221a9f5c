"""What happened over time in single trials, as the page holds it."""

import copy
import json
from pathlib import Path
from typing import Any

from loadcurve.loads.kinds import WEB
from loadcurve.report.charts.time import panel_figure, panels
from loadcurve.report.timeline import Example, Timeline, timeline
from loadcurve.result.folder import Run
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic
from support.disturbed import pauses
from support.explained_run import series
from support.findings import finding
from support.page import rows_of
from support.report_pages import render_report


def with_probe(record: PointRecord, **probed: Any) -> PointRecord:
    data = copy.deepcopy(record.model_dump(by_alias=True))
    data["probe"]["series"] = series(20, **probed)
    return PointRecord.model_validate(data)


def shown(found: Timeline | None) -> list[tuple[str, int, int]]:
    return [(one["server"], one["place"], one["trial"]) for one in found.series]


def test_a_period_has_its_rates_and_the_last_step_ends_with_the_window(run: Run):
    found = timeline(run, [])
    rows = rows_of(found.series[0]["load"])
    # Two seconds with half of the 500 samples each, and the last one again where it ends.
    assert [row["t_s"] for row in rows] == [0, 1, 2]
    assert [row["answered"] for row in rows] == [250, 250, 250]
    assert found.series[0]["end_s"] == 2


def test_a_trial_has_the_pauses_of_both_sides_in_a_sentence_and_in_order_of_time(run: Run):
    [first, *others] = run.points
    data = copy.deepcopy(first.model_dump(by_alias=True))
    data["measurements"]["load"]["generator"]["pauses"] = pauses((100, 108), (1_000, 1_200)).model_dump()
    data["probe"]["pauses"] = pauses((500, 504)).model_dump()
    paused = PointRecord.model_validate(data)
    found = timeline(synthetic.with_records(run, [paused, *others]), [])
    [one] = [one for one in found.series if one["paused"]]
    assert (one["server"], one["trial"]) == (first.server, first.trial)
    # In 10 s one moment in 100 falls into the first 100 ms of the long pause, and waits 100 ms or more.
    assert one["paused"] == (
        "The platform paused CPUs during this load: those of the load 2 times, 208 ms in all, the longest "
        "200 ms; those of the server once, for 4.00 ms. By themselves the pauses of the load's CPUs delay "
        "requests by up to 200 ms, 100 ms or more for one in 100."
    )
    assert [(row["side"], row["t_s"], row["end_s"]) for row in rows_of(one["pauses"])] == [
        ("load", 0.1, 0.108),
        ("server", 0.5, 0.504),
        ("load", 1.0, 1.2),
    ]


def test_the_slowest_trial_of_each_point_comes_first_and_the_highest_load_before_the_others(run: Run):
    order = shown(timeline(run, []))
    assert len(order) == len(run.points)
    # Latency is divided by a trial's factor, so block 0, with the smallest, is the slowest.
    servers = len(synthetic.SERVERS)
    by_trial = {record.trial: record.block for record in run.points}
    assert {place for _, place, _ in order[:servers]} == {len(synthetic.CONNECTIONS) - 1}
    assert [by_trial[trial] for _, _, trial in order[:servers]].count(0) == servers


def test_a_trial_with_a_finding_comes_before_others_of_its_turn(run: Run):
    nginx = next(record for record in run.points if record.server == "nginx" and record.block == 0)
    odd = finding(1, trials=[nginx.trial])
    assert shown(timeline(run, [odd]))[0] == ("nginx", 0, nginx.trial)


def test_a_finding_is_shown_by_its_trial_with_the_longest_latency_however_little_fits(run: Run):
    low = next(one for one in run.points if one.server == "nginx")
    odd = finding(1, 50, trials=[low.trial])
    shown_of_two = timeline(run, [odd], most_bytes=1)
    # Latency grows with the connections, so the trial's point of 50 of them has the longest.
    assert shown_of_two.examples == [Example("nginx", synthetic.CONNECTIONS.index(50), low.trial)]
    assert shown(shown_of_two) == [("nginx", synthetic.CONNECTIONS.index(50), low.trial)]


def test_a_finding_without_a_series_on_the_page_leads_nowhere(run: Run):
    first, other = run.points[0], run.points[-1]
    findings = [finding(server=one.server, points=[one.point], trials=[one.trial]) for one in (first, other)]
    found = timeline(run, findings, most_bytes=1)
    assert [one is None for one in found.examples] == [False, True]


def test_the_page_holds_as_many_series_as_fit_and_says_how_many_there_are(run: Run):
    everything = timeline(run, [])
    few = timeline(run, [], most_bytes=10_000)
    size = sum(len(json.dumps(one, separators=(",", ":"))) for one in few.series)
    assert 0 < size <= 10_000
    assert few.series == everything.series[: len(few.series)]
    assert few.measured == len(run.points) > len(few.series)


def test_the_probes_samples_are_in_the_units_of_their_panels(run: Run):
    record = with_probe(run.points[0], throttled_s=[0.0] * 19 + [0.05], memory_bytes=[3 * 2**20] * 20)
    found = timeline(synthetic.with_records(run, [record]), [])
    rows = rows_of(found.series[0]["probe"])
    assert [row["t_s"] for row in rows][:2] == [0.05, 0.15]
    assert {row["memory_mib"] for row in rows} == {3}
    assert rows[-1]["throttled_ms"] == 50


def test_events_that_never_happened_are_named_and_not_drawn(run: Run):
    quiet = with_probe(run.points[0], listen_overflows=[0] * 20, syn_retransmits=[0] * 19 + [2])
    found = timeline(synthetic.with_records(run, [quiet]), [])
    assert {"listen overflows", "throttled"} <= set(found.quiet)
    [kernel] = [panel for panel in found.panels if panel.name == "kernel"]
    assert list(kernel.lines) == ["syn_retransmits"]
    assert "throttled" not in [panel.name for panel in found.panels]


def test_a_run_without_the_probes_series_has_the_panels_of_the_load_alone(run: Run):
    found = timeline(run, [])
    assert [panel.name for panel in found.panels] == ["rate", "latency"]


def test_all_panels_have_one_axis_of_time_and_only_the_lowest_its_labels():
    shown = panels(WEB)
    specifications = [panel_figure(panel, is_lowest=panel is shown[-1]).specification for panel in shown]
    axes = [layer["encoding"]["x"] for one in specifications for layer in one["layer"]]
    assert {json.dumps(axis["scale"]["domain"]) for axis in axes} == {'[0, {"expr": "end_s"}]'}
    assert [one["layer"][0]["encoding"]["x"]["axis"]["labels"] for one in specifications] == (
        [False] * (len(shown) - 1) + [True]
    )


def test_every_line_of_a_panel_differs_in_its_dashes_too():
    for panel in panels(WEB):
        specification = panel_figure(panel, is_lowest=False).specification
        [line] = [layer for layer in specification["layer"] if layer["mark"]["type"] == "line"]
        dashes = line["encoding"]["strokeDash"]["scale"]["range"]
        assert len({tuple(one) for one in dashes}) == len(panel.lines)


def test_the_page_lists_every_trial_of_every_point(run: Run, tmp_path: Path):
    page = render_report(run.folder)
    data = json.loads(page.partition('id="trial-data">')[2].partition("</script>")[0])
    rows = rows_of(data["rows"])
    assert len(rows) == len(run.points)
    [first] = [row for row in rows if (row["server"], row["place"], row["trial"]) == ("nginx", 0, "0")]
    # 4,200 requests per second at one connection, divided by 1.02 in the first block.
    assert first["throughput"] == "4,118"

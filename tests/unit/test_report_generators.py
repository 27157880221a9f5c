"""A server under another generator beside the same under our engine, in every form of a report."""

import dataclasses
import json
from pathlib import Path

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.numbers import keep_numbers, read_analysis
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.run_summary import numbers_of
from loadcurve.report.section import Report
from loadcurve.result.folder import Run
from loadcurve.result.summary import source_of
from support import synthetic_run as synthetic
from support.command import Command
from support.page import Page
from support.tool_record import WRK

SHARE = 0.9
"""What is answered under wrk of what is answered under our engine."""

APART = 100
"""The numbers of the trials under wrk, less those of the same under our engine."""


@pytest.fixture(scope="module")
def under_both(run: Run) -> Run:
    """Each trial of nginx, and the same under wrk, which is sent fewer answers per second."""
    own = {"load": {**run.run.study["load"], "generator": "wrk"}}
    study = {**run.run.study, "servers": {"nginx": {}, "nginx-wrk": own}}
    servers = dict.fromkeys(study["servers"], run.run.servers["nginx"])
    of_engine = [one for one in run.points if one.server == "nginx"]
    of_wrk = [
        synthetic.with_load(synthetic.with_throughput(one, SHARE), tool=WRK).model_copy(
            update={"server": "nginx-wrk", "trial": one.trial + APART}
        )
        for one in of_engine
    ]
    planned = [one for one in run.run.order if one.server == "nginx"]
    order = [
        *planned,
        *(one.model_copy(update={"server": "nginx-wrk", "trial": one.trial + APART}) for one in planned),
    ]
    record = run.run.model_copy(update={"study": study, "servers": servers, "order": order})
    return synthetic.with_records(dataclasses.replace(run, run=record), [*of_engine, *of_wrk])


def test_the_analysis_holds_the_ratios_of_the_tool_to_our_engine(under_both: Run):
    [checked] = analyse(under_both).crosschecks
    assert (checked.arm, checked.base, checked.facts.name) == ("nginx-wrk", "nginx", "wrk")
    over_curve = {one.measure: one for one in checked.ratios if one.point is None}
    throughput = over_curve["throughput_rps"].ratio
    assert throughput is not None
    assert throughput.estimate is not None
    # Every trial has the same ratio, so the interval is a point.
    found = (throughput.estimate.value, throughput.estimate.low, throughput.estimate.high)
    assert found == pytest.approx((SHARE, SHARE, SHARE))
    assert over_curve["throughput_rps"].shown
    assert not over_curve["latency_p50_ms"].shown


def test_numbers_keep_it_and_page_and_markdown_show_it(under_both: Run, tmp_path: Path):
    analysis = analyse(under_both)
    folder = synthetic.write_run(tmp_path / "run", under_both.run, list(under_both.records))
    keep_numbers(folder, numbers_of(analysis, source_of(folder)))
    kept = read_analysis(folder)
    assert kept is not None
    assert kept.crosschecks == analysis.crosschecks
    content = Report(under_both, analysis)
    for form in (Page(render_page(content)).text, markdown_bytes(content).decode()):
        said = form.replace("\\", "")
        assert "nginx-wrk over nginx: wrk" in said
        assert "0.900" in said
        assert "They differ in throughput: the interval excludes 1." in said
        assert "wrk warms up in a separate process first: the server is warm, the connections are new" in said


def test_a_run_of_one_generator_has_no_such_section(run: Run):
    analysis = analyse(run)
    assert analysis.crosschecks == []
    assert 'id="generators"' not in render_page(Report(run, analysis))


def test_the_command_prints_what_the_numbers_keep(under_both: Run, tmp_path: Path):
    synthetic.write_run(tmp_path / "run", under_both.run, list(under_both.records))
    done = Command(tmp_path).run("crosscheck", "run", "--json")
    assert done.returncode == 0, done.stderr
    [pair] = json.loads(done.stdout)["pairs"]
    [first, *_] = pair["ratios"]
    assert (first["measure"], first["ratio"], first["differs"]) == (
        "throughput_rps",
        pytest.approx(SHARE),
        True,
    )

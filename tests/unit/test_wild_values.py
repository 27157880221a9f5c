"""Figures that spread over any distance: whatever cannot be a number is null, and the report is written."""

import io
import json
import math
import random
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.comparison import compare_runs
from loadcurve.record import Record
from loadcurve.report.comparison import ratio_in_words
from loadcurve.report.formats.write import write_formats
from loadcurve.report.load import load_summary
from loadcurve.report.section import Report
from loadcurve.report.terminal import print_results, summary
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.interval import Estimate, estimate_over_trials
from loadcurve.stats.noise import Spread, spread_within, visible_difference
from loadcurve.stats.paired import paired_ratios
from loadcurve.stats.peak import greatest
from loadcurve.stats.price import cost
from loadcurve.stats.slo import parse_objective
from loadcurve.stats.usl import ScalabilityFit, fit_scalability
from support import synthetic_run as synthetic
from support.large_run import large_run
from support.terminal import printed

positive = some.floats(1e-9, 1e9)
"""Anything that a clock or a counter might tell."""
measured = some.none() | some.just(0.0) | positive
few = some.lists(positive, min_size=2, max_size=3)


def check(estimate: Estimate | None) -> None:
    """An estimate is a number, within ends that are numbers as far as there are any."""
    if estimate is None:
        return
    assert math.isfinite(estimate.value)
    ends = [end for end in (estimate.low, estimate.high) if end is not None]
    assert all(map(math.isfinite, ends))
    if estimate.low is not None:
        assert estimate.low <= estimate.value * (1 + 1e-9)
    if estimate.high is not None:
        assert estimate.high >= estimate.value * (1 - 1e-9)


@given(some.lists(measured, max_size=3))
def test_an_estimate_over_any_trials_is_made_of_numbers(values: list[float | None]):
    check(estimate_over_trials(values))


@given(few, few)
def test_a_ratio_of_any_trials_is_made_of_numbers(new: list[float], base: list[float]):
    check(IndependentRatio.of(new, base).estimate)
    logs = [math.log(one / other) for one, other in zip(new, base, strict=False)]
    [paired] = paired_ratios(np.array([logs]))
    check(paired.estimate)


@settings(max_examples=40)
@given(some.lists(some.lists(measured, min_size=7, max_size=7), min_size=2, max_size=2))
def test_a_curve_of_any_figures_has_a_peak_a_cost_and_a_law_made_of_numbers(trials: list[list[float | None]]):
    loads = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    top = greatest(loads, trials)
    if top is not None:
        check(top.value)
        price = cost(top.value, 0.1)
        check(price.requests_per_usd)
        check(price.usd_per_million_requests)
    fit = fit_scalability(loads, trials)
    if isinstance(fit, ScalabilityFit):
        for estimate in (fit.lambda_rps, fit.sigma, fit.kappa, fit.peak_load):
            check(estimate)


@given(some.lists(some.tuples(positive, positive), min_size=2, max_size=6), some.integers(2, 50))
def test_the_smallest_visible_difference_is_a_number_or_null(servers: list[tuple[float, float]], trials: int):
    logs = {str(name): np.log(np.array([figures])).T for name, figures in enumerate(servers)}
    spread = spread_within([list(logs)], logs)
    assert spread is not None
    seen = visible_difference(spread, trials, len(servers))
    ends = [seen.low, seen.value, seen.high]
    known = [end for end in ends if end is not None]
    assert all(map(math.isfinite, known))
    assert ends == [*sorted(known), *[None] * (3 - len(known))]


def test_a_difference_of_more_than_a_thousandfold_is_none():
    # Five trials of two servers: the noncentrality with 4 degrees of freedom is 3.7611, over √5 is 1.6820.
    assert visible_difference(Spread(math.log(1000) / 1.683, 5), 5).value == pytest.approx(999, rel=0.01)
    assert visible_difference(Spread(math.log(1000) / 1.680, 5), 5).value is None
    assert visible_difference(Spread(50.0, 5), 5).value is None


def test_an_interval_beyond_all_numbers_is_open():
    # ln of the values is ±345: the half width is 12.706 times as much, and exp of that is no number.
    estimate = estimate_over_trials([1e-150, 1e150])
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(1.0), None, None)


def test_a_peak_whose_interval_is_open_above_at_a_load_that_is_alike_is_open_above():
    top = greatest([1.0, 2.0], [[1e-150, 10.0], [1e150, 11.0]])
    assert top.alike == (1.0, 2.0)
    assert top.value.high is None


@pytest.fixture(scope="module")
def wild_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Six servers at seven loads, in two trials in which nothing agrees."""
    drawn = random.Random(1)
    run = large_run(servers=6, points=7, trials=2)
    records = [scattered(one, drawn) for one in run.records if isinstance(one, PointRecord)]
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("run"), run.run, list(records)))


def scattered(record: PointRecord, drawn: random.Random) -> PointRecord:
    """Return the record with figures that are anything from 1e-9 to 1e9."""

    def anything() -> float:
        return float(10 ** drawn.uniform(-9, 9))

    latency = {name: anything() for name in ("mean", "p50", "p90", "p99", "max")}
    used = record.probe.server
    cpu = None if drawn.random() < 0.1 else used.model_copy(update={"cpu_per_request_us": anything()})
    load = record.load
    measured = synthetic.with_load(
        record,
        rate_rps=load.rate_rps.model_copy(update={"answered": anything()}),
        latency_ms=load.latency_ms.model_copy(update=latency),
    )
    return measured.model_copy(update={"probe": record.probe.model_copy(update={"server": cpu})})


def test_the_terminal_tells_a_run_that_scatters_beyond_all_numbers(wild_run: Run):
    print_results(Report(wild_run, analyse(wild_run)), Console(file=(out := io.StringIO()), width=200))
    output = " ".join(out.getvalue().split())
    assert "2 trials would show no difference, however large, in throughput" in output
    assert not {"inf", "nan"} & set(output.replace(",", " ").replace("(", " ").lower().split())


def test_every_form_of_the_report_is_written_of_such_a_run(wild_run: Run, tmp_path: Path):
    limits = parse_objective("p99 < 10ms")
    paths = write_formats(wild_run.folder, ["html", "md", "csv", "json", "xlsx"], limits, tmp_path).paths
    written = {path.name: path.read_bytes() for path in paths}
    assert b"no difference, however large, in throughput" in written["report.html"]
    json.loads(written["report.json"], parse_constant=pytest.fail)
    for name, data in written.items():
        if name.endswith(".csv"):
            assert {b"inf", b"nan", b"NaN"}.isdisjoint(data.replace(b"\n", b",").split(b","))


def test_a_run_that_scatters_can_be_compared_with_itself(wild_run: Run):
    comparison = compare_runs(analyse(wild_run), analyse(wild_run))
    assert all(len(ratio_in_words(change)) < 40 for change in comparison.curves)


@pytest.fixture(scope="module")
def bare_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two servers under a generator that knows no more than what became of the requests and their latency."""
    run = large_run(servers=2, points=3, trials=2)
    records = [bare(one) for one in run.records if isinstance(one, PointRecord)]
    return read_run(synthetic.write_run(tmp_path_factory.mktemp("run"), run.run, list(records)))


def bare(record: PointRecord) -> PointRecord:
    """Return the record without all that its result may lack."""

    def nothing(part: Record) -> Record:
        fields = type(part).model_fields.items()
        lacking = [name for name, field in fields if type(None) in get_args(field.annotation)]
        return part.model_copy(update=dict.fromkeys(lacking))

    load = record.load
    parts = ("connections", "generator", "kernel", "histograms")
    groups = {name: nothing(getattr(load, name)) for name in parts}
    lists = {"slowest": [], "silences": [], "series": [], "operations": []}
    measurements = {"load": nothing(load).model_copy(update={**groups, **lists})}
    return record.model_copy(update={"measurements": measurements})


def test_every_form_of_the_report_is_written_of_results_that_lack_what_a_generator_cannot_know(
    bare_run: Run, tmp_path: Path
):
    paths = write_formats(bare_run.folder, ["html", "md", "csv", "json", "xlsx"], None, tmp_path).paths
    assert {path.suffix for path in paths} >= {".html", ".md", ".csv", ".json", ".xlsx"}
    assert "server-1" in printed(summary(Report(bare_run, analyse(bare_run))), width=200)


def test_a_load_is_shown_by_what_its_generator_knows(bare_run: Run):
    shown = printed(load_summary(bare_run.points[0].load), width=80)
    assert "requests/s" in shown
    assert "None" not in shown

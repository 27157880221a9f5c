"""The shape of a run's curves."""

import dataclasses
import time

import pytest

from loadcurve.analysis.shape import Shape, shapes
from loadcurve.errors import BadInput
from loadcurve.result.folder import Run
from loadcurve.result.records import FailureRecord, SearchRecord
from loadcurve.stats.slo import parse_objective
from loadcurve.stats.usl import ScalabilityFit
from support import synthetic_run as synthetic
from support.machine_study import machine_run


def shape_of(run: Run, server: str, limits: str | None = None) -> Shape:
    [part] = shapes(run, None if limits is None else parse_objective(limits))
    [shape] = [shape for shape in part.shapes if shape.server == server]
    return shape


def test_a_curve_that_only_rises_has_not_reached_its_peak(run: Run):
    top = shape_of(run, "nginx").peak
    assert (top.load, top.place) == (200, "last")
    # The factors of the three trials have a geometric mean of 1.
    assert top.value.value == pytest.approx(synthetic.SERVERS["nginx"].throughput_rps(200))


def test_the_knee_is_where_throughput_over_latency_is_greatest(run: Run):
    # X = P c / (c + h) and R = c / X, so X / R = P^2 c / (c + h)^2, which is greatest at c = h = 9.
    bend = shape_of(run, "nginx").knee
    assert bend.load == 10


def test_the_synthetic_curve_is_a_case_of_the_scalability_law(run: Run):
    # P c / (c + h) = (P / (1 + h)) c / (1 + (c - 1) / (1 + h)): contention is 1 / (1 + h), coherency is 0.
    fit = shape_of(run, "nginx").scalability
    assert isinstance(fit, ScalabilityFit)
    assert fit.sigma.value == pytest.approx(1 / 10, rel=1e-3)
    assert fit.kappa.value == pytest.approx(0, abs=1e-7)


def test_the_capacity_of_a_sweep_is_where_the_latency_crosses_the_limit(run: Run):
    truth = synthetic.SERVERS["nginx"]
    median_at_50 = truth.latency_ms(50)
    found = shape_of(run, "nginx", f"p50 < {median_at_50:.4f}ms").capacity
    # The median grows with connections + 9: by 1 % for each 0.6 of them, as the trials differ by 2 %.
    assert found.load.value == pytest.approx(50, rel=0.03)
    assert found.load.low < 50 < found.load.high


def test_without_limits_there_is_no_capacity(run: Run):
    assert shape_of(run, "nginx").capacity is None


def test_the_cost_is_that_at_the_capacity_or_else_at_the_peak():
    run = machine_run()
    at_peak = shape_of(run, "t2.micro").cost
    assert at_peak.requests_per_usd.value == pytest.approx(2_304.04 * 3600 / 0.0116, rel=1e-4)
    at_limit = shape_of(run, "t2.micro", "p90 < 20ms").cost
    # At 600 connections: 2304.04 * (1 - 500 / 4000).
    assert at_limit.requests_per_usd.value == pytest.approx(2_016.03 * 3600 / 0.0116, rel=1e-3)


def test_a_server_without_a_machine_type_has_no_cost(run: Run):
    assert shape_of(run, "nginx").cost is None


def test_a_load_that_the_server_does_not_survive_breaks_the_limits(run: Run):
    died = [
        record.model_copy(update={"reason": record.reason.model_copy(update={"code": "died"})})
        if isinstance(record, FailureRecord)
        else record
        for record in run.records
    ]
    limits = "p50 < 1s"
    found = shape_of(synthetic.with_records(run, died), "apache", limits).capacity
    # Two trials hold throughout; the third died at 50 connections, and 25 had held.
    assert [(one.bound, one.load) for one in found.trials].count(("at_least", 200)) == 2
    assert ("exact", 25) in [(one.bound, one.load) for one in found.trials]


def test_a_search_has_its_own_limits_and_no_curve(run: Run):
    search = SearchRecord(key="connections", low=1, high=200, slo="p50 < 1s")
    searched = dataclasses.replace(run, run=run.run.model_copy(update={"points": [], "search": search}))
    assert searched.sweep_points == run.run.points
    shape = shape_of(searched, "nginx")
    assert (shape.peak, shape.knee, shape.scalability) == (None, None, None)
    assert shape.capacity.bound == "at_least"


def test_limits_that_do_not_apply_are_refused(run: Run):
    with pytest.raises(BadInput, match=r"requires a load with a rate; the model of this run is closed"):
        shapes(run, parse_objective("rate >= 99 %"))
    single = run.run.model_copy(update={"points": [{"connections": 10}]})
    with pytest.raises(BadInput, match="expected a sweep over connections, rate"):
        shapes(dataclasses.replace(run, run=single), parse_objective("p99 < 1s"))


def test_ten_servers_at_fifty_points_in_ten_trials_are_a_matter_of_seconds(run: Run):
    planned = [
        {"trial": 10 * block + place, "block": block, "server": f"server-{place}"}
        for block in range(10)
        for place in range(10)
    ]
    points = [{"connections": n} for n in range(1, 51)]
    base = run.run.model_dump(mode="json")
    found = {f"server-{place}": base["servers"]["nginx"] for place in range(10)}
    record = type(run.run).model_validate(base | {"servers": found, "order": planned, "points": points})
    at = {point["connections"]: synthetic.point_record("nginx", point["connections"]) for point in points}
    records = [
        at[point["connections"]].model_copy(update=one | {"point": point})
        for one in planned
        for point in points
    ]
    large = dataclasses.replace(run, run=record, records=records)
    begun_s = time.process_time()
    [part] = shapes(large, parse_objective("p50 < 1ms"))
    # A usual machine needs half a second: a slow one does not break the bound, and a loop too many does.
    assert time.process_time() - begun_s < 10
    assert len(part.shapes) == 10


def test_a_load_that_a_server_did_not_survive_says_nothing_of_other_settings(run: Run):
    points = [{**point, "pipeline": depth} for depth in (1, 2) for point in run.run.points]
    records = [
        one.model_copy(update={"point": {**one.point, "pipeline": depth}})
        for depth in (1, 2)
        for one in run.points
    ]
    [failure] = [one for one in run.records if isinstance(one, FailureRecord)]
    place = next(one for one in run.points if one.server == "nginx")
    died = failure.model_copy(
        update={
            "server": "nginx",
            "trial": place.trial,
            "block": place.block,
            "point": {"connections": 50, "pipeline": 2},
            "reason": failure.reason.model_copy(update={"code": "died"}),
        }
    )
    record = run.run.model_copy(update={"points": points})
    two = dataclasses.replace(run, run=record, records=[*records, died])
    bounds = [
        {trial.bound for one in part.shapes if one.server == "nginx" for trial in one.capacity.trials}
        for part in shapes(two, parse_objective("p50 < 1s"))
    ]
    assert bounds == [{"at_least"}, {"at_least", "exact"}]

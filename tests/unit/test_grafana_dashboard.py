"""The dashboard for Grafana: its queries name what `--metrics` serves, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from loadcurve._engine import latency_bounds_s
from loadcurve.generate.generator import LastSecond, LatencyCounts, Progress
from loadcurve.metrics.live import LiveLoad
from loadcurve.metrics.prometheus import OfLoad

DASHBOARD = json.loads((Path(__file__).parents[2] / "packaging/grafana/loadcurve.json").read_text("utf-8"))
LABELS = {"server": "nginx", "trial": "1", "point": "connections=10"}
ADDED_BY_PROMETHEUS = {"instance", "job"}
PLACES = [panel["gridPos"] for panel in DASHBOARD["panels"]]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]] + [
    variable["query"] for variable in DASHBOARD["templating"]["list"] if variable["type"] == "query"
]
METRIC = re.compile(r"\bloadcurve_\w+")


@pytest.fixture(scope="module")
def served() -> dict[str, set[str]]:
    """The labels of each series that a load serves, by its name, as Prometheus' own parser reads it."""
    live = LiveLoad()
    last = LastSecond(1.0, 200, (1.5, 4.0, 9.0))
    counts = LatencyCounts((0,) * len(latency_bounds_s()) + (500,), 1.0)
    live.show(LABELS, Progress(2.5, 500, {"timeout": 3}, last, oldest_s=2.0, latencies=counts))
    registry = CollectorRegistry()
    registry.register(OfLoad(live))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {sample.name: {*sample.labels} for family in families for sample in family.samples}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_only_metrics_and_labels_that_are_served(query, served):
    names = METRIC.findall(query)
    assert names
    assert {*names} <= served.keys()
    known = set().union(*(served[name] for name in names)) | ADDED_BY_PROMETHEUS
    selected = re.findall(r"(\w+)\s*=~?\s*\"", query)
    grouped = [label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")]
    assert {*selected, *grouped} <= known


def test_each_metric_that_is_served_is_on_the_dashboard(served):
    assert {name for query in QUERIES for name in METRIC.findall(query)} == served.keys()


def test_a_legend_names_only_labels_that_its_query_keeps(served):
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            labels = set().union(*(served[name] for name in METRIC.findall(target["expr"])))
            assert {*re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])} <= labels


def test_a_counter_is_read_by_its_rate_or_as_one_number():
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            for name in METRIC.findall(target["expr"]):
                if name.endswith("_total") and panel["type"] == "timeseries":
                    assert f"rate({name}" in target["expr"]


def test_no_panel_lies_on_another_one():
    cells = [
        (x, y)
        for place in PLACES
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len({*cells})
    assert max(x for x, _ in cells) < 24

"""`report.json`: the whole report as one object that fits the published schema."""

import json
import math
from typing import Any

import jsonschema
import pytest

from loadcurve.report.formats.schema import published_schemas
from support import synthetic_run as synthetic
from support.report_formats import formats_of

REACH = math.exp(4.302653 * math.log(1.02) / 3**0.5)
"""How many times the truth the interval's upper end is: t(0.975, 2) = 4.302653, s = ln 1.02, three trials."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return json.loads(formats_of(tmp_path_factory.mktemp("run"), "json", limits="p99 < 10ms")["report.json"])


def test_it_fits_the_published_schema(report: Any):
    jsonschema.validate(report, published_schemas()["report.schema.json"])
    assert report["format"] == "loadcurve-report/1"


def test_it_says_which_run_it_is_and_how_to_repeat_it(report: Any):
    run = report["run"]
    assert (run["seed"], run["complete"]) == (1729, True)
    assert run["repeat"] == "loadcurve run study.toml --seed 1729 --quick"
    assert run["servers"]["absent"] == {"title": "Absent", "version": None, "status": "missing"}


def test_an_estimate_has_its_interval_and_absence_is_null(report: Any):
    [nginx] = [
        one
        for one in report["estimates"]
        if (one["measure"], one["server"], one["point"]) == ("throughput_rps", "nginx", {"connections": 1})
    ]
    assert nginx["estimate"]["value"] == pytest.approx(4200)
    assert nginx["estimate"]["high"] == pytest.approx(4200 * REACH)
    absent = [one for one in report["estimates"] if one["measure"] == "latency_p99_99_ms"]
    assert {one["estimate"] for one in absent} == {None}


def test_ranking_capacity_findings_and_failures_are_there(report: Any):
    over_curve = [
        one for one in report["ranking"] if one["point"] is None and one["measure"] == "throughput_rps"
    ]
    assert [(one["server"], one["best"]) for one in over_curve] == [("nginx", 1), ("apache", 2), ("tiny", 3)]
    assert {shape["capacity"]["limits"] for shape in report["shapes"]} == {"p99 < 10ms"}
    assert report["answers"][0].startswith("By throughput: nginx has")
    assert all(finding["evidence"] for finding in report["findings"])
    assert [failure["server"] for failure in report["failures"]] == [synthetic.FAILED[0]]

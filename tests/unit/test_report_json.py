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
    jsonschema.validate(report, published_schemas()["numbers.schema.json"])
    assert report["format"] == "loadcurve-numbers/1"


def test_it_says_which_run_it_is_and_how_to_repeat_it(report: Any):
    run = report["analysis"]["run"]
    assert (run["seed"], report["analysis"]["ending"]["reason"]) == (1729, "count")
    assert run["repeat"] == "loadcurve run study.toml --seed 1729 --quick"
    absent = run["servers"]["absent"]
    assert (absent["title"], absent["version"], absent["status"]) == ("Absent", None, "missing")


def test_an_estimate_has_its_interval_and_absence_is_null(report: Any):
    [nginx, *_] = report["analysis"]["curves"]
    [first, *_] = nginx["points"]
    assert (nginx["server"], first["point"]) == ("nginx", {"connections": 1})
    throughput = first["figures"]["throughput_rps"]
    assert throughput["estimate"]["value"] == pytest.approx(4200)
    assert throughput["estimate"]["high"] == pytest.approx(4200 * REACH)
    # Of one trial each, in blocks that the order of trials gives.
    assert throughput["values"] == pytest.approx([4200 / 1.02, 4200, 4200 * 1.02])
    absent = {"estimate": None, "values": [None, None, None]}
    assert first["figures"]["latency_p99_99_ms"] == absent


def test_ranking_capacity_findings_and_failures_are_there(report: Any):
    analysis = report["analysis"]
    [throughput] = [one for one in analysis["rankings"] if one["measure"] == "throughput_rps"]
    ranks = throughput["over_curve"]["ranks"]
    assert [(one["server"], one["best"]) for one in ranks] == [("nginx", 1), ("apache", 2), ("tiny", 3)]
    [part] = analysis["shapes"]
    assert [limit["text"] for limit in part["objective"]["limits"]] == ["p99 < 10ms"]
    assert all(shape["capacity"] for shape in part["shapes"])
    assert report["summary"]["answer"].startswith("nginx keeps p99 < 10ms up to")
    assert all(finding["evidence"] for finding in analysis["findings"])
    assert [failure["server"] for failure in analysis["failures"]] == [synthetic.FAILED[0]]

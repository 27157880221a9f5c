"""`report.json`: the numbers of a run as one object that fits the published schema."""

import json
from pathlib import Path

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.numbers import Numbers
from loadcurve.result.folder import read_run
from loadcurve.stats.slo import parse_objective
from support.report_formats import formats_of
from support.schemas import validate


def test_it_is_the_analysis_with_its_limits_by_the_published_schema(tmp_path: Path):
    report = json.loads(formats_of(tmp_path, "json", limits="p99 < 10ms")["report.json"])
    validate(report, "numbers")
    # The checksum seals the file and is no part of what it holds.
    del report["sha256"]
    numbers = Numbers.model_validate(report)
    assert numbers.analysis == analyse(read_run(tmp_path / "run"), parse_objective("p99 < 10ms"))
    assert numbers.summary.answer.startswith("nginx keeps p99 < 10ms up to")
    # What was not measured is null, and a run says how it is repeated.
    [nginx, *_] = report["analysis"]["curves"]
    absent = {"estimate": None, "values": [None, None, None]}
    assert nginx["points"][0]["figures"]["latency_p99_99_ms"] == absent
    assert report["analysis"]["run"]["repeat"] == "loadcurve run study.toml --seed 1729 --quick"

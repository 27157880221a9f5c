"""`loadcurve run`: a real server whose points follow each other without a pause."""

import json
from itertools import pairwise

import pytest

from support.tiny_study import study_text


def test_the_points_of_a_trial_follow_each_other_on_connections_that_stay_open(sandbox):
    more = 'between_points = "continue"\nwarmup = { rate = 40, duration = "500ms" }'
    load = 'duration = "500ms"'
    study = study_text(connections="[2, 5, 8]", trials=2, warmup="0s", load=load, more_of_trials=more)
    sandbox.write("tiny.toml", study)
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    records = [json.loads(line) for line in (sandbox.work / "run/trials.jsonl").read_text().splitlines()]
    loads = [record["measurements"]["load"] for record in records]
    assert [record["point"]["connections"] for record in records] == [2, 5, 8] * 2
    # The connection of the warm-up is one of the first point's.
    assert [load["connections"]["opened"] for load in loads] == [1, 3, 3] * 2
    assert all(load["connections"]["lifetime_ms"]["count"] == 0 for load in loads)
    for trial in (0, 1):
        of_trial = [load for record, load in zip(records, loads, strict=True) if record["trial"] == trial]
        begins_s = [load["window_start_monotonic_s"] for load in of_trial]
        assert [after - before for before, after in pairwise(begins_s)] == pytest.approx([0.5, 0.5])
    assert all(record["probe"]["server"]["cpu_share"] > 0 for record in records)

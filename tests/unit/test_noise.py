"""The rig's noise: measured as a study, kept, and found again."""

import io
import itertools
import math
from pathlib import Path

import pytest
from rich.console import Console

from loadcurve.cli.display import RunDisplay
from loadcurve.errors import NothingMeasured
from loadcurve.host.cpus import divide_cpus
from loadcurve.report.doctor import noise_table
from loadcurve.result.rig import Ceiling, Noise
from loadcurve.runs import noise as run_noise
from loadcurve.runs.noise import measure_noise
from loadcurve.runs.rig_cache import keep, kept
from support.measured_noise import MEASURED, RIG
from support.scripted_run import ScriptedRun, answered
from support.terminal import printed


def test_noise_is_kept_for_its_own_rig_and_apart_from_the_ceiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert kept(Noise, RIG) is None
    keep(MEASURED)
    assert kept(Noise, RIG) == MEASURED
    assert kept(Noise, RIG.model_copy(update={"kernel": "6.1"})) is None
    assert kept(Ceiling, RIG) is None


def test_the_table_tells_the_smallest_difference_for_several_numbers_of_trials():
    rows = [line.split() for line in printed(noise_table(MEASURED)).splitlines()]
    assert rows[0] == ["trials", "throughput"]
    assert [row[0] for row in rows[1:]] == ["3", "5", "10", "20"]
    # Ten pairs find 0.996 standard deviations with 80 %: exp(0.996 * 0.02) - 1 = 2.0 %.
    assert rows[3][1:3] == ["2.0", "%"]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    """Trials at two connections whose rates go up by a hundredth from one to the next."""
    monkeypatch.setattr(run_noise, "CONNECTIONS", [2])
    rates = itertools.count(1000.0, 10.0)
    run = ScriptedRun(tmp_path, monkeypatch)
    run.script.loads["limit"] = lambda plan, _: answered(plan, rate_rps=next(rates))
    return run


def test_the_noise_is_that_of_one_server_under_two_names(
    scripted: ScriptedRun, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run_noise, "TRIALS", 3)
    talk = io.StringIO()
    cpus = divide_cpus(None, None)
    measured = measure_noise(cpus, "limit", RunDisplay(Console(file=talk), live=False))
    assert (measured.server, measured.trials, measured.connections) == ("limit", 3, [2])
    assert measured.spreads["throughput"].degrees_of_freedom == 2
    # Each ratio of a block is that of neighbours, one way round or the other: about 1.01 or 1 / 1.01.
    assert 0 < measured.spreads["throughput"].log_ratio_sd < 2 * math.log(1.01)
    assert scripted.script.events.count("load limit") == 6
    assert measured.rig.load_cpus == cpus.load


@pytest.mark.usefixtures("scripted")
def test_noise_of_too_few_trials_cannot_be_determined(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_noise, "TRIALS", 1)
    with pytest.raises(NothingMeasured, match="fewer than two pairs of trials of limit are usable"):
        measure_noise(divide_cpus(None, None), "limit", RunDisplay(Console(file=io.StringIO()), live=False))

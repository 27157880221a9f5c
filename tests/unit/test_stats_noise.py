"""Noise: recognising a server that is twice in a study, and the smallest difference to be seen."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.analysis.curves import curves
from loadcurve.analysis.noise import noise_of, same_servers
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES
from loadcurve.result.records import IMPORTED_ENTRY
from loadcurve.stats.noise import Spread, spread_within, visible_difference
from support import synthetic_run as synthetic


def with_twin(run: Run, **changes: object) -> Run:
    """The run with the server tiny as another nginx, but for these fields of its record."""
    twin = run.run.servers["nginx"].model_copy(update={"title": "another", **changes})
    record = run.run.model_copy(update={"servers": run.run.servers | {"tiny": twin}})
    return dataclasses.replace(run, run=record)


def test_the_sample_sizes_of_the_textbook_are_found_again():
    # Cohen (1988): at 80 % and two-sided 5 %, pairs that differ by half a standard deviation take 34 of them,
    # and pairs that differ by 0.8 take 15.
    def deviations(trials: int) -> float:
        return math.log1p(visible_difference(Spread(1.0, 1000), trials).value)

    assert deviations(34) <= 0.5 < deviations(33)
    assert deviations(15) <= 0.8 < deviations(14)


@pytest.mark.parametrize(
    ("trials", "servers", "degrees"),
    # Two trials and four leave one and three; of six servers, four others have eight, which count half.
    [(3, 2, 2), (5, 2, 4), (20, 2, 19), (5, 4, 4), (2, 2, 1.5), (2, 6, 3.5), (3, 6, 4), (4, 3, 4)],
)
def test_the_difference_has_the_power_that_scipys_distribution_says(
    trials: int, servers: int, degrees: float
):
    spread = Spread(0.03, 1000)
    seen = visible_difference(spread, trials, servers).value
    shift = math.log1p(seen) / (spread.log_sd / math.sqrt(trials))
    critical = stats.t.isf(0.05 / math.comb(servers, 2) / 2, degrees)
    assert stats.nct.sf(critical, degrees, shift) == pytest.approx(0.8, abs=1e-4)


def test_the_interval_of_the_difference_is_that_of_the_spread():
    seen = visible_difference(Spread(0.02, 9), 5)
    low, high = (math.sqrt(9 / stats.chi2.ppf(p, 9)) for p in (0.975, 0.025))
    assert math.log1p(seen.low) / math.log1p(seen.value) == pytest.approx(low)
    assert math.log1p(seen.high) / math.log1p(seen.value) == pytest.approx(high)


def test_one_trial_sees_no_difference():
    with pytest.raises(ValueError, match="a spread needs two"):
        visible_difference(Spread(0.02, 9), 1)


def test_the_spread_of_pairs_is_that_of_an_analysis_of_variance():
    logs = {"a": [0.01, 0.05, -0.02], "b": [0.0, 0.02, 0.01], "c": [-0.03, 0.04, 0.02]}
    grand = sum(map(sum, logs.values())) / 9
    of_blocks = [sum(row[i] for row in logs.values()) / 3 for i in range(3)]
    residual = sum(
        (x - sum(row) / 3 - of_blocks[i] + grand) ** 2 for row in logs.values() for i, x in enumerate(row)
    )
    spread = spread_within([("a", "b", "c")], {name: np.array([row]).T for name, row in logs.items()})
    # The variance of a difference is twice the residual mean square, on (3 - 1)(3 - 1) degrees of freedom.
    assert (spread.log_sd**2, spread.degrees) == (pytest.approx(2 * residual / 4), 4)


def test_the_same_server_under_two_names_is_recognised(run: Run):
    assert same_servers(run) == ()
    assert same_servers(with_twin(run)) == (("nginx", "tiny"),)
    noise = noise_of(with_twin(run), curves(run), MEASURES["throughput"])
    assert (noise.source, noise.groups) == ("same server", (("nginx", "tiny"),))


@pytest.mark.parametrize(
    "changes",
    [{"version": "1.2.4"}, {"binary": "/opt/nginx"}, {"settings": {"workers": 2, "keep_alive": True}}],
    ids=str,
)
def test_another_version_program_or_setting_is_another_server(run: Run, changes):
    assert same_servers(with_twin(run, **changes)) == ()


def test_another_port_in_the_configuration_is_the_same_server(run: Run):
    assert same_servers(with_twin(run, configuration={"nginx.conf": "listen 127.0.0.1:18001;"}))


@pytest.mark.parametrize(
    "asked",
    [
        {"start": ["./server", "--fast"]},
        {"cwd": "/srv/after"},
        {"environment": {"MODE": "fast"}},
        {"programs": [{"name": "app", "start": ["./server", "--fast"]}]},
        {"blocks": {"pages": "gzip on;"}},
        {"run_arguments": ["--memory=64m"]},
        {"sweep": {"calls": [1.0, 1.0]}},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_what_is_started_in_another_way_is_another_server(run: Run, asked: dict[str, object]):
    def asked_of(tables: dict[str, dict[str, object]]) -> Run:
        twins = with_twin(run)
        record = twins.run.model_copy(update={"study": twins.run.study | {"servers": tables}})
        return dataclasses.replace(twins, run=record)

    usual = {"start": ["./server"], "cwd": "/srv/before"}
    assert same_servers(asked_of({"nginx": usual | asked, "tiny": usual})) == ()
    assert same_servers(asked_of({"nginx": usual | asked, "tiny": usual | asked})) == (("nginx", "tiny"),)


def test_servers_of_other_tools_files_are_not_taken_for_one(run: Run):
    twins = with_twin(run)
    imported = {
        name: one.model_copy(update={"catalog_entry": IMPORTED_ENTRY})
        for name, one in twins.run.servers.items()
    }
    record = twins.run.model_copy(update={"servers": imported})
    assert same_servers(dataclasses.replace(twins, run=record)) == ()


def test_without_such_a_pair_the_spread_is_that_of_all_pairs(run: Run):
    noise = noise_of(run, curves(run), MEASURES["throughput"])
    assert (noise.source, noise.groups) == ("pairs", (("nginx", "apache", "tiny"),))
    assert noise.spread.degrees == (3 - 1) * (3 - 1)


def test_a_single_trial_has_no_spread(run: Run):
    single = synthetic.with_records(run, [one for one in run.records if one.block == 0])
    assert noise_of(single, curves(single), MEASURES["throughput"]).spread is None
    assert noise_of(single, curves(single), MEASURES["throughput"], "point").spread is None

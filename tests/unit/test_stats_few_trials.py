"""What few trials promise: the short form of ``python -m benches.few_trials``.

docs/methodology/statistics.md has its table.

Each share is of 400 studies, so its bound lies three standard errors, √(p (1 - p) / 400), beyond the one that
is promised: 3.3 % at 5 %, 3.8 % at 93 %. Seeds are fixed, so a test gives one answer.
"""

import math

import numpy as np
import pytest
from benches.few_trials import (
    ESTIMATORS,
    SETTINGS,
    Setting,
    fit_f_dist,
    inverse_trigamma,
    means_hold,
    promise,
    ratios_of,
)
from benches.synthetic_studies import RandomWalk, studies
from scipy.special import polygamma

from loadcurve.stats.moderated import Variances, moderated
from loadcurve.stats.ranking import rank
from loadcurve.stats.servers import estimates_of_servers

COUNT = 400
BY_NAME = {setting.name: setting for setting in SETTINGS}
WIDELY_UNLIKE = ("unlike, 1 to 4", "one of 5 times")


def bounds(share: float) -> tuple[float, float]:
    reach = 3 * math.sqrt(share * (1 - share) / COUNT)
    return share - reach, share + reach


@pytest.mark.parametrize("servers", [2, 6])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_two_trials_seldom_tell_equal_servers_apart_and_cover_the_truth(setting: Setting, servers: int):
    found = promise(setting, servers, 2, COUNT, moderated)
    assert found.alarms <= bounds(0.06 if setting.name in WIDELY_UNLIKE else 0.05)[1]
    assert found.ratios >= bounds(0.93)[0]
    assert found.means >= bounds(0.93)[0]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_three_trials_seldom_tell_equal_servers_apart_and_cover_the_truth(setting: Setting):
    found = promise(setting, 3, 3, COUNT, moderated)
    assert found.alarms <= bounds(0.05)[1]
    assert found.ratios >= bounds(0.93)[0]


@pytest.mark.parametrize("servers", [2, 3, 6])
def test_two_trials_show_a_factor_of_two_at_a_spread_of_5_percent_which_students_t_does_not(servers: int):
    alike = BY_NAME["alike"]
    assert promise(alike, servers, 2, COUNT, moderated).factor_two >= bounds(0.95)[0]
    assert promise(alike, servers, 2, COUNT, ESTIMATORS["Student"]).factor_two < 0.8


def test_the_simulation_compares_as_rankings_and_estimates_do():
    for blocks in (2, 3):
        for study in studies(20, [1000.0, 1100.0, 1000.0], blocks, RandomWalk(0.02), seed=blocks).values:
            logs = np.log(study)
            ranking = rank({str(place): row[:, None] for place, row in enumerate(logs)}, "higher")
            apart = {frozenset((pair.first, pair.second)) for pair in ranking.pairs if pair.told_apart}
            pairs = [frozenset("01"), frozenset("02"), frozenset("12")]
            found = ratios_of(logs, moderated).told_apart().tolist()
            assert [pair in apart for pair in pairs] == found
            held = [one.low <= 1000 <= one.high for one in estimates_of_servers(study.tolist())]
            assert means_hold(logs, np.full(3, math.log(1000)), moderated).tolist() == held


def test_smyths_moments_find_the_prior_that_variances_were_drawn_from():
    # By Smyth's model variances of 4 degrees of freedom are s0² times F of 4 and d0: here 3 times F(4, 6).
    drawn = 3 * np.random.default_rng(1).f(4, 6, 100_000)
    prior, degrees = fit_f_dist(Variances(drawn, np.full(len(drawn), 4.0)))
    assert (prior, degrees) == (pytest.approx(3, rel=0.02), pytest.approx(6, rel=0.03))


@pytest.mark.parametrize("y", [0.1, 1.0, 7.5, 400.0])
def test_the_inverse_of_the_trigamma_function_is_its_inverse(y: float):
    assert inverse_trigamma(float(polygamma(1, y))) == pytest.approx(y)

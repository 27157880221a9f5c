"""The universal scalability law: known parameters come back, and the misfit of a curve is reported."""

import math

import numpy as np
import pytest

from loadcurve.stats.usl import NoFit, fit_scalability

CONNECTIONS = [1, 2, 5, 10, 25, 50, 100, 200]


def law(lambda_rps: float, sigma: float, kappa: float) -> list[float]:
    return [lambda_rps * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) for n in CONNECTIONS]


def noisy(truth: list[float], trials: int, seed: int, *, drift: float = 0.04, noise: float = 0.02):
    random = np.random.default_rng(seed)
    logs = (
        np.log(truth) + random.normal(0, drift, (trials, 1)) + random.normal(0, noise, (trials, len(truth)))
    )
    return np.exp(logs).tolist()


@pytest.mark.parametrize(
    ("sigma", "kappa"), [(0.03, 1e-4), (0.3, 5e-4), (0.0, 1e-3), (0.02, 0.0), (0.0, 0.0), (0.9, 1e-5)]
)
def test_known_parameters_come_back_from_an_exact_curve(sigma: float, kappa: float):
    fit = fit_scalability(CONNECTIONS, [law(1_000, sigma, kappa)] * 3)
    assert fit.lambda_rps.value == pytest.approx(1_000, rel=1e-4)
    assert fit.sigma.value == pytest.approx(sigma, abs=1e-5)
    assert fit.kappa.value == pytest.approx(kappa, abs=1e-7)
    assert abs(fit.misfit.share) < 1e-4


def test_the_peak_is_where_gunther_puts_it():
    # sqrt((1 - 0.1) / 0.0004) = 47.43
    fit = fit_scalability(CONNECTIONS, [law(1_000, 0.1, 4e-4)] * 3)
    assert fit.peak_load.value == pytest.approx(math.sqrt(0.9 / 4e-4), rel=1e-3)
    assert fit.throughput_rps(47.43) > max(fit.throughput_rps(46), fit.throughput_rps(49))


@pytest.mark.parametrize(("sigma", "kappa", "trials"), [(0.03, 1e-4, 5), (0.3, 5e-4, 3)])
def test_the_intervals_cover_the_truth_in_19_of_20_studies(sigma: float, kappa: float, trials: int):
    # 1000 studies: the share's standard error is 0.7 %.
    truth = {"lambda": 1_000, "sigma": sigma, "kappa": kappa, "peak": math.sqrt((1 - sigma) / kappa)}
    covered = dict.fromkeys(truth, 0)
    for seed in range(1000):
        fit = fit_scalability(CONNECTIONS, noisy(law(1_000, sigma, kappa), trials, seed))
        found = {"lambda": fit.lambda_rps, "sigma": fit.sigma, "kappa": fit.kappa, "peak": fit.peak_load}
        for name, estimate in found.items():
            above = estimate.high is None or truth[name] <= estimate.high
            covered[name] += estimate.low <= truth[name] and above
    for name, times in covered.items():
        assert 0.93 <= times / 1000 <= 0.97, name


def test_no_parameter_and_no_end_of_an_interval_is_negative():
    for seed in range(50):
        fit = fit_scalability(CONNECTIONS, noisy(law(1_000, 0.0, 0.0), 3, seed))
        assert min(fit.sigma.value, fit.sigma.low, fit.kappa.value, fit.kappa.low) >= 0


def test_a_peak_that_may_not_exist_has_no_upper_end():
    fit = fit_scalability(CONNECTIONS, noisy(law(1_000, 0.05, 1e-6), 3, seed=1))
    assert fit.kappa.low == 0
    assert fit.peak_load is None or fit.peak_load.high is None


def test_gunthers_own_example_has_the_parameters_of_the_literature_and_its_misfit():
    # SPEC SDM91 on a Sun SPARCcenter 2000, with the estimates, the greatest residual and the peak that the
    # R package usl prints (README of version 3), which are Gunther's (Guerrilla Capacity Planning, 2007).
    loads = [1, 18, 36, 72, 108, 144, 216]
    fit = fit_scalability(loads, [[64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]])
    assert fit.sigma.value == pytest.approx(0.0277285, abs=5e-8)
    assert fit.kappa.value == pytest.approx(0.0001044, abs=5e-8)
    assert fit.lambda_rps.value == pytest.approx(89.9952, abs=5e-5)
    assert fit.peak_load.value == pytest.approx(96.5, abs=0.05)
    assert (fit.misfit.load, fit.misfit.cause) == (36, "unknown")
    assert fit.misfit.share == pytest.approx(111.1 / 1853.2, abs=5e-5)
    assert [(one.low, one.high) for one in (fit.lambda_rps, fit.sigma, fit.kappa, fit.peak_load)] == [
        (None, None)
    ] * 4


def test_a_curve_with_a_deep_dip_is_refused_with_the_place_of_the_dip():
    truth = law(1_000, 0.03, 1e-4)
    truth[6] *= 0.6
    fit = fit_scalability(CONNECTIONS, noisy(truth, 5, seed=1))
    assert "of its greatest throughput below the law at 100" in fit.reason


def test_a_curve_that_trials_agree_on_and_that_is_not_the_laws_has_parameters_without_intervals():
    truth = [rate * (1.1 if place % 2 else 0.9) for place, rate in enumerate(law(1_000, 0.03, 1e-4))]
    fit = fit_scalability(CONNECTIONS, noisy(truth, 5, seed=1))
    assert fit.misfit.cause == "proven"
    assert fit.peak_load is not None
    for estimate in (fit.lambda_rps, fit.sigma, fit.kappa, fit.peak_load):
        assert (estimate.low, estimate.high, estimate.n) == (None, None, 5)
    # The greatest throughput is at 50, where the curve is 10 % above what it was made of.
    assert fit.misfit.load == 50
    assert 0.05 < fit.misfit.share < 0.15


def test_the_side_and_place_of_a_dip_are_reported():
    truth = law(1_000, 0.03, 1e-4)
    truth[3] *= 0.75
    fit = fit_scalability(CONNECTIONS, noisy(truth, 5, seed=1))
    assert (fit.misfit.load, fit.misfit.cause) == (10, "proven")
    # A quarter of the law's 7,800 at 10 connections is 10 % of its peak, 20,000; the fit gives way a little.
    assert -0.10 < fit.misfit.share < -0.05


def test_noise_alone_is_taken_for_a_misfit_in_about_one_of_a_hundred_studies():
    proven = 0
    for seed in range(1000):
        fit = fit_scalability(CONNECTIONS, noisy(law(1_000, 0.03, 1e-4), 5, seed, noise=0.06))
        proven += isinstance(fit, NoFit) or fit.misfit.cause == "proven"
    # The test's level is 1 %; four standard errors of that share are 1.3 %.
    assert proven / 1000 <= 0.023


def test_a_misfit_that_is_more_than_chance_but_small_leaves_the_intervals():
    truth = [rate * (1.01 if place % 2 else 0.99) for place, rate in enumerate(law(1_000, 0.03, 1e-4))]
    fit = fit_scalability(CONNECTIONS, noisy(truth, 10, seed=1, noise=0.001))
    assert fit.misfit.cause == "small"
    assert 0.005 < abs(fit.misfit.share) < 0.02
    assert fit.sigma.low is not None


def test_four_loads_are_too_few():
    fit = fit_scalability(CONNECTIONS[:4], [law(1_000, 0.03, 1e-4)[:4]] * 3)
    assert "at least 5" in fit.reason


def test_a_single_trial_gives_parameters_without_intervals():
    fit = fit_scalability(CONNECTIONS, [law(1_000, 0.03, 1e-4)])
    assert (fit.sigma.low, fit.sigma.high, fit.sigma.n) == (None, None, 1)
    assert fit.misfit.cause == "small"


def test_a_server_that_more_connections_only_slow_down_has_no_peak_above_one():
    # 1000 / (1 + 0.001 N): all of the work is serial, and a little is lost with every connection.
    falling = [1_000 / (1 + 0.001 * n) for n in CONNECTIONS]
    fit = fit_scalability(CONNECTIONS, noisy(falling, 5, seed=1))
    assert fit.sigma.value <= 1
    assert fit.throughput_rps(200) < fit.throughput_rps(1)


def test_a_level_curve_is_serial_work_without_a_peak():
    loads = [float(load) for load in range(1, 51)]
    fit = fit_scalability(loads, [[4200.0 * factor] * len(loads) for factor in (1 / 1.02, 1.0, 1.02)])
    assert fit.sigma.value == pytest.approx(1)
    assert fit.peak_load is None


def test_no_trial_gives_no_fit():
    assert isinstance(fit_scalability(CONNECTIONS, []), NoFit)

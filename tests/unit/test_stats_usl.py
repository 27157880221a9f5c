"""The universal scalability law: known parameters come back, and what does not follow the law is refused."""

import math

import numpy as np
import pytest

from loadcurve.stats.usl import NoFit, ScalabilityFit, fit_scalability

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
    assert isinstance(fit, ScalabilityFit)
    assert fit.lambda_rps.value == pytest.approx(1_000, rel=1e-4)
    assert fit.sigma.value == pytest.approx(sigma, abs=1e-5)
    assert fit.kappa.value == pytest.approx(kappa, abs=1e-7)
    assert fit.misfit_share < 1e-4


def test_the_peak_is_where_gunther_puts_it():
    # sqrt((1 - 0.1) / 0.0004) = 47.43
    fit = fit_scalability(CONNECTIONS, [law(1_000, 0.1, 4e-4)] * 3)
    assert isinstance(fit, ScalabilityFit)
    assert fit.peak_load is not None
    assert fit.peak_load.value == pytest.approx(math.sqrt(0.9 / 4e-4), rel=1e-3)
    assert fit.throughput_rps(47.43) > max(fit.throughput_rps(46), fit.throughput_rps(49))


@pytest.mark.parametrize(("sigma", "kappa", "trials"), [(0.03, 1e-4, 5), (0.3, 5e-4, 3)])
def test_the_intervals_cover_the_truth_in_19_of_20_studies(sigma: float, kappa: float, trials: int):
    # 1000 studies: the share's standard error is 0.7 %.
    truth = {"lambda": 1_000, "sigma": sigma, "kappa": kappa, "peak": math.sqrt((1 - sigma) / kappa)}
    covered = dict.fromkeys(truth, 0)
    for seed in range(1000):
        fit = fit_scalability(CONNECTIONS, noisy(law(1_000, sigma, kappa), trials, seed))
        assert isinstance(fit, ScalabilityFit)
        found = {"lambda": fit.lambda_rps, "sigma": fit.sigma, "kappa": fit.kappa, "peak": fit.peak_load}
        for name, estimate in found.items():
            above = estimate.high is None or truth[name] <= estimate.high
            covered[name] += estimate.low <= truth[name] and above
    for name, times in covered.items():
        assert 0.93 <= times / 1000 <= 0.97, name


def test_no_parameter_and_no_end_of_an_interval_is_negative():
    for seed in range(50):
        fit = fit_scalability(CONNECTIONS, noisy(law(1_000, 0.0, 0.0), 3, seed))
        assert isinstance(fit, ScalabilityFit)
        assert min(fit.sigma.value, fit.sigma.low, fit.kappa.value, fit.kappa.low) >= 0


def test_a_peak_that_may_not_exist_has_no_upper_end():
    fit = fit_scalability(CONNECTIONS, noisy(law(1_000, 0.05, 1e-6), 3, seed=1))
    assert isinstance(fit, ScalabilityFit)
    assert fit.kappa.low == 0
    assert fit.peak_load is None or fit.peak_load.high is None


def test_a_curve_with_a_dip_is_refused_with_the_place_of_the_dip():
    truth = law(1_000, 0.03, 1e-4)
    truth[3] *= 0.75
    fit = fit_scalability(CONNECTIONS, noisy(truth, 5, seed=1))
    assert isinstance(fit, NoFit)
    assert "below the law at 10" in fit.reason


def test_a_sawtooth_is_refused_because_it_is_more_than_the_trials_differ():
    truth = [rate * (1.1 if place % 2 else 0.9) for place, rate in enumerate(law(1_000, 0.03, 1e-4))]
    fit = fit_scalability(CONNECTIONS, noisy(truth, 5, seed=1))
    assert isinstance(fit, NoFit)
    assert "than the difference between trials explains" in fit.reason


def test_noise_alone_is_refused_in_about_one_of_a_hundred_studies():
    refused = sum(
        isinstance(fit_scalability(CONNECTIONS, noisy(law(1_000, 0.03, 1e-4), 5, seed, noise=0.06)), NoFit)
        for seed in range(1000)
    )
    # The test's level is 1 %; four standard errors of that share are 1.3 %.
    assert refused / 1000 <= 0.023


def test_a_misfit_that_is_proven_but_small_is_no_reason_to_refuse():
    truth = [rate * (1.01 if place % 2 else 0.99) for place, rate in enumerate(law(1_000, 0.03, 1e-4))]
    fit = fit_scalability(CONNECTIONS, noisy(truth, 10, seed=1, noise=0.001))
    assert isinstance(fit, ScalabilityFit)
    assert 0.005 < fit.misfit_share < 0.02


def test_four_loads_are_too_few():
    fit = fit_scalability(CONNECTIONS[:4], [law(1_000, 0.03, 1e-4)[:4]] * 3)
    assert isinstance(fit, NoFit)
    assert "at least 5" in fit.reason


def test_a_single_trial_gives_parameters_without_intervals_if_it_is_near_to_the_law():
    fit = fit_scalability(CONNECTIONS, [law(1_000, 0.03, 1e-4)])
    assert isinstance(fit, ScalabilityFit)
    assert (fit.sigma.low, fit.sigma.high, fit.sigma.n) == (None, None, 1)
    far = [rate * (1.1 if place % 2 else 0.9) for place, rate in enumerate(law(1_000, 0.03, 1e-4))]
    refused = fit_scalability(CONNECTIONS, [far])
    assert isinstance(refused, NoFit)
    assert "single trial" in refused.reason


def test_a_server_that_more_connections_only_slow_down_has_no_peak_above_one():
    # 1000 / (1 + 0.001 N): all of the work is serial, and a little is lost with every connection.
    falling = [1_000 / (1 + 0.001 * n) for n in CONNECTIONS]
    fit = fit_scalability(CONNECTIONS, noisy(falling, 5, seed=1))
    assert isinstance(fit, ScalabilityFit)
    assert fit.sigma.value <= 1
    assert fit.throughput_rps(200) < fit.throughput_rps(1)


def test_no_trial_gives_no_fit():
    assert isinstance(fit_scalability(CONNECTIONS, []), NoFit)

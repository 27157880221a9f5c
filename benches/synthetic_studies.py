"""Synthetic studies with a known truth, on a machine that drifts.

The logarithm of what a trial measures is the server's own level, the machine's drift during the trial and the
trial's own noise. The drift continues in time, is common to whatever runs at that time, and is part of the
truth: a server's true value is the mean over the time of the whole run, so that a fresh start at a random
moment of the run has it as its expectation.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]

STEPS = 4
"""Moments of the drift in each trial."""
SLOW_SHARE = 0.1
"""Of the trials, where some are slow."""


@dataclass(frozen=True)
class Steady:
    """A machine that does not drift."""

    def moments(self, _draw: np.random.Generator, studies: int, moments: int, _per_block: int) -> Array:
        """Return the drift at moments in time (columns) of studies (rows)."""
        return np.zeros((studies, moments))


@dataclass(frozen=True)
class Autoregressive:
    """A stationary drift of first order, whose correlation halves within ``half_life_blocks``."""

    sd: float
    half_life_blocks: float

    def moments(self, draw: np.random.Generator, studies: int, moments: int, per_block: int) -> Array:
        """Return the drift at moments in time (columns) of studies (rows)."""
        keeps = 0.5 ** (1 / (self.half_life_blocks * per_block))
        shocks = draw.normal(0, self.sd * math.sqrt(1 - keeps**2), (studies, moments))
        shocks[:, 0] = draw.normal(0, self.sd, studies)
        return np.asarray(lfilter([1.0], [1.0, -keeps], shocks, axis=1))


@dataclass(frozen=True)
class RandomWalk:
    """A drift without a level to come back to."""

    sd_per_block: float

    def moments(self, draw: np.random.Generator, studies: int, moments: int, per_block: int) -> Array:
        """Return the drift at moments in time (columns) of studies (rows)."""
        steps = draw.normal(0, self.sd_per_block / math.sqrt(per_block), (studies, moments))
        return np.cumsum(steps, axis=1)


Drift = Steady | Autoregressive | RandomWalk


def normal(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return normal noise of standard deviation 1."""
    return draw.normal(0, 1, shape)


def heavy_tailed(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Student's t of three degrees of freedom, of standard deviation 1: now and then a trial lies far off."""
    return draw.standard_t(3, shape) / math.sqrt(3)


def slow_trials(draw: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One trial in ten is slower by 5; the mean over many trials is 0."""
    return draw.normal(0, 1, shape) - 5 * (draw.random(shape) < SLOW_SHARE) + 5 * SLOW_SHARE


@dataclass(frozen=True)
class Studies:
    """Many studies of the same servers: values and truths, indexed by study, server and (values) block."""

    values: Array
    truths: Array


def studies(
    count: int,
    levels: list[float],
    blocks: int,
    drift: Drift,
    *,
    noise_sd: float | Sequence[float] = 0.02,
    noise: Noise = normal,
    seed: int,
    in_blocks: bool = True,
) -> Studies:
    """Simulate studies; with ``in_blocks`` false, all trials of a server run before those of the next.

    ``noise_sd`` is that of all servers, or one for each.
    """
    draw = np.random.default_rng(seed)
    servers = len(levels)
    per_block = servers * STEPS
    moments = drift.moments(draw, count, blocks * per_block, per_block)
    during_trials = moments.reshape(count, blocks * servers, STEPS).mean(axis=2)
    if in_blocks:
        places = draw.permuted(np.tile(np.arange(servers), (count, blocks, 1)), axis=2)
        slots = (places + np.arange(blocks)[None, :, None] * servers).transpose(0, 2, 1)
    else:
        slots = np.broadcast_to(
            np.arange(servers * blocks).reshape(servers, blocks), (count, servers, blocks)
        )
    drifted = np.take_along_axis(during_trials[:, None, :], slots, axis=2)
    own = np.log(np.array(levels))
    sds = np.broadcast_to(np.array(noise_sd, dtype=float), servers)
    logs = own[None, :, None] + drifted + sds[:, None] * noise(draw, (count, servers, blocks))
    return Studies(np.exp(logs), np.exp(own[None, :] + moments.mean(axis=1)[:, None]))

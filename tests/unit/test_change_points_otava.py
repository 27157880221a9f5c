"""Change points beside those of Apache Otava 0.8, on a public series: throughput of builds of TigerBeetle.

Otava's variances have the divisor n for a test that is made for n - 1, it does not adjust p-values, and it
knows no smallest effect. So of its points those must be found that hold where scipy tests them.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.change_points import ERROR_RATE, SEGMENT_MIN, Reading, change_points

DATA = Path(__file__).parents[1] / "data" / "change-points" / "tigerbeetle.json"
KNOWN = json.loads(DATA.read_text())
SERIES: list[int] = KNOWN["series"]
OFF_MAX = 2
QUIET = 212
"""From here on the series has no change that is larger than its noise."""
ASKED = """
import json, sys
from otava.analysis import compute_change_points
series, window = json.load(sys.stdin)
found, _ = compute_change_points(series, window_len=window, max_pvalue=0.001, min_magnitude=0.0)
print(json.dumps([int(one.index) for one in found]))
"""


def found_in(series: Sequence[float]) -> tuple[list[int], float]:
    """Our places, and the smallest effect that counts in this series."""
    changes = change_points([Reading(one) for one in series])
    return [one.place for one in changes.points], changes.noise


def proven(points: Sequence[int], series: Sequence[float], noise: float, spikes: Sequence[int]) -> list[int]:
    """The points that hold where scipy tests them, the weakest being left out one after the other.

    A point holds where it is as large as the noise, and chance alone would show it rarely, anywhere in the
    series. Single spikes are left out of the levels.
    """
    logs = np.log(series)
    logs[list(spikes)] = np.nan
    held = list(points)
    places = len(series) - 2 * SEGMENT_MIN + 1
    while held:
        parts = [part[np.isfinite(part)] for part in np.split(logs, held)]
        pairs = list(pairwise(parts))
        sizes = [float(abs(after.mean() - before.mean())) for before, after in pairs]
        p_values = [
            stats.ttest_ind(after, before).pvalue * places
            if min(map(len, (before, after))) >= SEGMENT_MIN and size >= np.log1p(noise)
            else 1.0
            for size, (before, after) in zip(sizes, pairs, strict=True)
        ]
        p_value, _, weakest = max(
            (min(1.0, p), -size, place) for place, (p, size) in enumerate(zip(p_values, sizes, strict=True))
        )
        if p_value <= ERROR_RATE:
            break
        del held[weakest]
    return held


def require_all_found(of_otava: Sequence[int], series: Sequence[float], spikes: Sequence[int]) -> None:
    found, noise = found_in(series)
    for place in proven(of_otava, series, noise, spikes):
        assert any(abs(one - place) <= OFF_MAX for one in found), (place, found)


@pytest.mark.parametrize("window", ["30", "50"])
def test_what_otava_finds_and_the_right_test_upholds_is_found(window: str):
    of_otava = KNOWN["otava_0_8"][window]
    _, noise = found_in(SERIES)
    assert len(proven(of_otava, SERIES, noise, KNOWN["spikes"])) >= 6
    require_all_found(of_otava, SERIES, KNOWN["spikes"])


def test_nothing_is_found_where_otava_has_no_point_nearby():
    of_otava = {place for places in KNOWN["otava_0_8"].values() for place in places}
    found, _ = found_in(SERIES)
    assert all(any(abs(one - place) <= OFF_MAX for place in of_otava) for one in found)


@pytest.mark.long
def test_otava_itself_finds_no_planted_step_in_real_noise_that_is_not_found_here(tmp_path: Path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "otava"], check=True)
    python = tmp_path / "otava" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "apache-otava==0.8.0"], check=True)

    def of_otava(series: Sequence[float], window: int) -> list[int]:
        asked = subprocess.run(
            [python, "-c", ASKED], input=json.dumps([series, window]), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return json.loads(asked.stdout)

    for window, places in KNOWN["otava_0_8"].items():
        assert of_otava(SERIES, int(window)) == places
    steady = SERIES[QUIET:]
    for step in (0.06, -0.06):
        for planted in range(20, len(steady) - 20, 25):
            stepped = [one * (1 + step * (place >= planted)) for place, one in enumerate(steady)]
            asked = of_otava(stepped, 50)
            assert any(abs(one - planted) <= OFF_MAX for one in asked), (planted, asked)
            require_all_found(asked, stepped, spikes=())

"""What a long point costs: memory of the harness and room in the temporary folder, extrapolated to a day.

One point of a load at a low rate runs for a while, with the probe at a raised sampling rate; what grows with
the samples grows as much faster. The resident memory of the harness and the disk blocks under its temporary
folder are read every few seconds. Behind the first part, in which both fill up, a straight line is fitted.
Neighbouring readings depend on each other, so it goes through the means of ten blocks of them, whose scatter
gives the interval of the slope (Student's t). Both are extrapolated, by the upper end of the slope, to 24
hours at 10 samples a second: to as many samples, and, which is more cautious, to as much time.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from benches.rig import LOADCURVE, machine
from loadcurve.result.folder import read_run
from loadcurve.stats.paired import Array

DAY_S = 24 * 3600.0
SAMPLES_PER_DAY = DAY_S * 10
MIB = 2**20
GOALS_MIB = {"memory of the harness": 300, "temporary folder": 50}
READING_S = 2.0
BLOCKS = 10
STUDY = """\
title = "One long point"
[content]
"1k.txt" = "1KiB"
[load]
model = "open"
requests = ["/1k.txt"]
connections = 10
warmup = "1s"
duration = "{duration_s}s"
[sweep]
rate = [{rate}]
[trials]
count = 1
[host]
probe_interval = "{interval_ms}ms"
[servers.limit]
"""


@dataclass(frozen=True)
class Readings:
    """What was read during the run: moments in seconds, and MiB at them."""

    moments_s: Array
    mib: dict[str, Array]


@dataclass(frozen=True)
class Slope:
    """A growth in MiB per second, with its interval of 95 %."""

    value: float
    low: float
    high: float


def main() -> None:
    """Print the slopes and what they come to in a day; end with 1 where that is above a goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--interval", type=int, default=100, metavar="MS", help="from sample to sample")
    parser.add_argument("--rate", type=int, default=200, help="requests a second")
    parser.add_argument("--skip", type=float, default=0.3, help="the share of the readings before the fit")
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        readings = _soaked(Path(folder), arguments.minutes * 60, arguments.interval, arguments.rate)
        points = read_run(Path(folder, "run")).points
    if len(points) != 1 or points[0].probe.server is None:
        sys.exit("the point was not measured, or the probe has seen nothing")
    length_s = float(readings.moments_s[-1])
    samples = length_s * 1000 / arguments.interval
    share = samples / SAMPLES_PER_DAY
    print(
        f"{length_s / 60:.1f} minutes with {samples:,.0f} samples, {share:.1%} of those of a day; fitted "
        f"behind {arguments.skip:.0%} of them; verdict {points[0].load.verdict.status}, "
        f"{len(points[0].probe.series.t_s) if points[0].probe.series else 0:,} rows of the probe's series"
    )
    kept = _within_goals(readings, length_s, samples, arguments.skip)
    sys.exit(0 if kept else 1)


def _within_goals(readings: Readings, length_s: float, samples: float, skip: float) -> bool:
    kept = True
    for name, goal_mib in GOALS_MIB.items():
        values = readings.mib[name]
        slope = _slope(readings.moments_s, values, skip)
        last, growth = float(np.median(values[-BLOCKS:])), max(slope.high, 0.0)
        by_samples = last + growth * length_s * (SAMPLES_PER_DAY / samples - 1)
        by_time = last + growth * (DAY_S - length_s)
        kept = kept and by_samples <= goal_mib
        print(
            f"{name}: {last:.1f} MiB at the end (greatest {values.max():.1f}), slope "
            f"{slope.value * 3600:+.2f} MiB/h ({slope.low * 3600:+.2f} to {slope.high * 3600:+.2f}); "
            f"in 24 h at most {by_samples:.0f} MiB by samples, {by_time:.0f} MiB by time; goal {goal_mib} MiB"
        )
    return kept


def _soaked(folder: Path, duration_s: float, interval_ms: int, rate: int) -> Readings:
    """Run the point and return what was read while its load ran."""
    study, temporary, state = folder / "study.toml", folder / "temporary", folder / "state"
    for one in (temporary, state):
        one.mkdir()
    folder.chmod(0o755)
    temporary.chmod(0o755)
    study.write_text(STUDY.format(rate=rate, duration_s=round(duration_s), interval_ms=interval_ms))
    environment = {**os.environ, "TMPDIR": str(temporary), "XDG_STATE_HOME": str(state)}
    command = [*map(str, (LOADCURVE, "run", study, "--out", folder / "run"))]
    began_s, moments, memory, room = time.monotonic(), [], [], []
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as harness:
        while harness.poll() is None and time.monotonic() - began_s < duration_s:
            moments.append(time.monotonic() - began_s)
            memory.append(_resident_bytes(harness.pid) / MIB)
            room.append(_room_bytes(temporary) / MIB)
            time.sleep(READING_S)
        if harness.wait() not in {0, 3}:
            sys.exit(f"the run ended with status {harness.returncode}")
    names = list(GOALS_MIB)
    return Readings(np.array(moments), {names[0]: np.array(memory), names[1]: np.array(room)})


def _resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _room_bytes(folder: Path) -> int:
    """Return the disk blocks under a folder, which change while they are counted."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                total += Path(place, name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return total


def _slope(moments_s: Array, values: Array, skip: float) -> Slope:
    """Return the slope of the line through the means of blocks of readings."""
    first = math.floor(len(values) * skip)
    blocks = zip(
        np.array_split(moments_s[first:], BLOCKS), np.array_split(values[first:], BLOCKS), strict=True
    )
    x, y = np.array([[times.mean(), level.mean()] for times, level in blocks]).T
    found = stats.linregress(x, y)
    half = float(stats.t.ppf(0.975, BLOCKS - 2) * found.stderr)
    return Slope(float(found.slope), float(found.slope) - half, float(found.slope) + half)


if __name__ == "__main__":
    main()

"""What shorter loads cost a ranking in the width of its intervals: one recording, cut into several windows.

Every load is recorded from its first request on. A window leaves out a warm-up and lasts for its duration, so
that all windows are of the same starts of the same servers in the same disturbances. Printed are, for each
window, over all servers and points: how far throughput and p99 are from those of the longest window, which is
what a warm-up that is too short costs; and half the width of the 95 % interval of a server's figure, and of
the ratio of two servers paired by block, which decides a ranking.

python -m benches.ranking_windows [RUN]
"""

import itertools
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benches.command_start import COMMAND
from loadcurve._engine import percentile_curve
from loadcurve.result.folder import Run, read_run
from loadcurve.result.load import SeriesPeriod
from loadcurve.result.measures import point_key
from loadcurve.stats.interval import CONFIDENCE, interval_of_logarithms, quantile

SERVERS = ("apache-event", "caddy", "lighttpd", "nginx", "node", "tomcat")
TRIALS = 5
STUDY = f"""title = "Windows of one recording"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "0s"
duration = "11s"
[sweep]
connections = [1, 64]
[trials]
count = {TRIALS}
""" + "".join(f"[servers.{name}]\noptional = true\n" for name in SERVERS)


@dataclass(frozen=True)
class Window:
    """What of a load counts, in seconds."""

    warmup_s: float
    duration_s: float

    def holds(self, period: SeriesPeriod) -> bool:
        """Say whether a period of a series lies within."""
        end_s = period.t_s + period.width_s
        return period.t_s >= self.warmup_s and end_s <= self.warmup_s + self.duration_s + 1e-9


LONGEST = Window(3, 7)
WINDOWS = (LONGEST, Window(0, 4), Window(1, 4), Window(2, 3), Window(2, 4), Window(2, 5))

Case = tuple[str, tuple[object, ...]]
"""A server at a point."""
Logarithms = Mapping[Case, Mapping[int, float]]
"""Of a figure, by block."""


def logarithms(run: Run, window: Window) -> tuple[Logarithms, Logarithms]:
    """Return throughput and p99 of all trials in a window."""
    rates: dict[Case, dict[int, float]] = {}
    p99s: dict[Case, dict[int, float]] = {}
    for record in run.points:
        periods = [one for one in record.load.series if window.holds(one)]
        case = record.server, point_key(record.point)
        answered = sum(one.answered for one in periods) / sum(one.width_s for one in periods)
        latencies = percentile_curve([one.latency_histogram for one in periods])
        p99_ms = next(ms for percentile, ms in latencies if percentile >= 99)  # noqa: PLR2004 - p99
        rates.setdefault(case, {})[record.block] = math.log(answered)
        p99s.setdefault(case, {})[record.block] = math.log(p99_ms)
    return rates, p99s


def half_widths(found: Logarithms) -> list[float]:
    """Return half the width of each server's interval at each point, as a share."""
    return [_half_width(list(one.values())) for one in found.values()]


def ratio_half_widths(found: Logarithms) -> list[float]:
    """Return the same of the ratios of any two servers at each point, paired by block."""
    pairs = [
        (one, other)
        for (case, one), (with_case, other) in itertools.combinations(found.items(), 2)
        if case[1] == with_case[1]
    ]
    return [
        _half_width([one[block] - other[block] for block in one.keys() & other.keys()])
        for one, other in pairs
    ]


def distances(found: Logarithms, longest: Logarithms) -> list[float]:
    """Return the mean of each server's figure at each point over that of the longest window."""
    return [math.exp(fmean(one.values()) - fmean(longest[case].values())) - 1 for case, one in found.items()]


def _half_width(values: Sequence[float]) -> float:
    return interval_of_logarithms(values).relative_half_width or math.inf


def _percent(values: Iterable[float]) -> str:
    return f"{100 * median(values):6.1f}"


def main() -> None:
    """Print what each window shows; without a run folder, record one first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "run"
        if not path.exists():
            study = Path(folder) / "study.toml"
            study.write_text(STUDY)
            subprocess.run([*COMMAND, "run", str(study), "--out", str(path)], check=False)
        run = read_run(path)
    rates_of_longest, p99s_of_longest = logarithms(run, LONGEST)
    print(f"{len(rates_of_longest)} servers at points, {len(run.points)} loads")
    print("warm-up + duration; throughput, then p99: distance in %, median and greatest;")
    print("half-width in %, own and of ratios; by how much these are wider, median")
    for window in WINDOWS:
        shown = []
        for found, longest in zip(logarithms(run, window), (rates_of_longest, p99s_of_longest), strict=True):
            away = [abs(one) for one in distances(found, longest)]
            wider = [
                median(one / other for one, other in zip(widths(found), widths(longest), strict=True))
                for widths in (half_widths, ratio_half_widths)
            ]
            shown.append(
                f"{_percent(away)} {100 * max(away):6.1f}; {_percent(half_widths(found))} "
                f"{_percent(ratio_half_widths(found))}; {wider[0]:.2f} {wider[1]:.2f} times"
            )
        print(f"{window.warmup_s:g} s + {window.duration_s:g} s: {'  |  '.join(shown)}")
    for trials in (3, 4, 5):
        width = quantile(trials - 1, CONFIDENCE) / math.sqrt(trials)
        of_all = quantile(TRIALS - 1, CONFIDENCE) / math.sqrt(TRIALS)
        print(f"{trials} trials: {width / of_all:.2f} times the width")


if __name__ == "__main__":
    main()

"""The summary that JMeter prints while it runs without its window, and at its end (``summariser.name``).

Each line that sums up all samples so far replaces the one before it. Its times are whole milliseconds, cut
off, and those of failures are among them; its elapsed time is rounded to a second, in older versions to a
tenth of one; its rate has one decimal, behind a comma where the language of the machine wants that.
"""

import re
from itertools import pairwise

from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, window_of
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Found, Lines

NO_TIMES = "latencies of answers: JMeter's summary has those of failures among them"
NOT_AT_ITS_END = (
    "the text has not the end of JMeter's run (... end of run): later samples, if there were any, are in "
    "no figure"
)
_WHAT = "JMeter's line that sums up all samples (summary =)"
_BEHIND = (
    r"(\d{1,15}) in\s{1,10}([\d:.]{1,20})s? =\s{0,10}([\d.,]{1,20}|\*{6})/s"
    r" Avg:\s{1,10}(\d{1,15}) Min:\s{1,10}(\d{1,15})"
)
_END = r" Max:\s{1,10}(\d{1,15}) Err:\s{1,10}(\d{1,15}) \(\d[\d.,]{0,10}%\)"
_LINE = rf"[^=+]{{0,300}} (=|\+)\s{{1,10}}{_BEHIND}{_END}"
_STARTS = re.compile(rf"^{_LINE}".encode(), re.MULTILINE)
_RUN_END = r"\s{0,100}\.\.\. end of run\s{0,100}"
_CLOCK = re.compile(r"(\d{1,6}):([0-5]\d):([0-5]\d)")


def is_summary(head: bytes) -> bool:
    """Say whether a file has a line of JMeter's summary in its start."""
    return b"/s Avg:" in head and _STARTS.search(head) is not None


def read_summary(source: Source) -> ToolFigures:
    """Return the figures of the last line that sums up all samples; raises ``Unreadable``."""
    lines = Lines(source)
    number, last = _last(lines)
    count, failed = int(last[2]), int(last[8])
    mean_ms, shortest_ms, longest_ms = (int(last[group]) for group in (5, 6, 7))
    if not count or failed > count or not shortest_ms <= mean_ms <= longest_ms:
        raise source.unreadable(
            number, f"{failed:,} failures of {count:,} samples", "the samples of a load", lines.read(number)
        )
    took = _elapsed(lines, number, last[3])
    rate = None if "*" in last[4] else lines.printed(number, last[4].replace(",", "."), "samples per second")
    if took.value <= 0 or rate is None:
        raise source.unreadable(number, "a load shorter than a second", "a longer one", lines.read(number))
    window = window_of(count, rate, took, counted="samples")
    return ToolFigures(
        tool="jmeter",
        basis="send",
        duration_s=window.duration_s,
        answered=count - failed,
        failed=failed,
        ok=count - failed,
        latency=None if failed else _times(count, shortest_ms, mean_ms, longest_ms),
        contradictions=[window.contradiction] if window.contradiction else [],
        not_measured=[NO_TIMES] if failed else [],
        notes=[]
        if lines.optional(_RUN_END, "the end of JMeter's run")
        else [VerdictNote.of("figures_left_out", NOT_AT_ITS_END)],
    )


def _last(lines: Lines) -> Found:
    """Return the last line that sums up; raises ``Unreadable`` without one, and where there are two loads."""
    summaries = lines.all_of(_LINE)
    sums = [one for one in summaries if one[1][1] == "="]
    if not sums:
        raise lines.cut_off(_WHAT)
    for (before, earlier), (number, later) in pairwise(sums):
        if int(later[2]) < int(earlier[2]):
            raise lines.source.unreadable(
                number,
                f"fewer samples than in line {before}",
                "the summary of one load; split the file into one per load",
                lines.read(number),
            )
    number, _ = sums[-1]
    if summaries[-1][0] > number:
        raise lines.cut_off(f"{_WHAT}, after what was added last")
    return sums[-1]


def _elapsed(lines: Lines, number: int, text: str) -> Printed:
    """Return how long the load has taken, as hours, minutes and seconds or, before 2.13, as seconds."""
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = map(int, clock.groups())
        return Printed(3600.0 * hours + 60 * minutes + seconds, 1.0)
    return lines.printed(number, text, "the time that the load took")


def _times(count: int, shortest_ms: int, mean_ms: int, longest_ms: int) -> Times:
    """Return its times, of which 0 is one shorter than a millisecond, so none is known."""
    return Times(
        distribution=distribution(
            count, minimum=shortest_ms or None, mean=mean_ms or None, maximum=longest_ms or None
        ),
        completeness="summary",
        resolution_ms=1.0,
    )

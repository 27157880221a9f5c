"""The text that k6 prints at the end of a test, for people.

Its times are cut off behind their second decimal, and its rate has six. In the summary of every group
(``--summary-mode=full``) the metrics come once more, behind those of the whole test.
"""

import re
from dataclasses import dataclass

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.k6.reader import DROPPED, DURATION
from loadcurve.tools.k6.summary import FAILED, NO_TIMES, REQUESTS, times_of
from loadcurve.tools.printed import GO_TIME, milliseconds, units_of
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Found, Lines

_MARK = r"\s*(?:[✓✗] )?"
_TOTAL = "█ TOTAL RESULTS"


def is_text(head: bytes) -> bool:
    """Say whether a file has the metrics of k6's text in its start."""
    return re.search(rb"http_reqs\.*: \d", head) is not None and re.search(
        rb"http_req_duration\.*: [a-z(]", head
    ) is not None  # fmt: skip


def read_text(source: Source) -> ToolFigures:
    """Return the figures of the text at the end of a test; raises ``Unreadable``."""
    lines = _Total(Lines(source))
    number, requests = lines.once(rf"{REQUESTS}\.*: (\d{{1,15}})\s+(\d[\d.]*)/s\s*$", REQUESTS)
    counted, rate = int(requests[1]), lines.all.value(number, requests[2], "requests per second")
    failed = _failed(lines, counted)
    # It is behind all that is read here.
    lines.once(r"(?:iterations|vus_max)\.*: \d+ .*(?:/s|max=\d+)\s*$", "iterations, or vus_max", first=True)
    dropped = lines.optional(rf"{DROPPED}\.*: (\d{{1,15}})\s+\d[\d.]*/s\s*$", DROPPED)
    if not counted or rate <= 0:
        raise source.unreadable(number, "no request", "the requests of a load")
    line, _ = lines.once(rf"{DURATION}\.*: \S+=", DURATION)
    behind = next(
        (one for one, text in enumerate(lines.all.lines[line:], start=line + 1) if text.strip()), line
    )
    expected = lines.all.lines[behind - 1].strip()
    has_expected = re.match(r"\{ ?expected_response:true ?\}\.*: ", expected) is not None
    latency = None
    if not failed or has_expected:
        latency = _times(lines.all, behind if failed else line, counted - failed)
    return ToolFigures(
        tool="k6",
        basis="send",
        duration_s=counted / rate,
        answered=counted - failed,
        failed=failed,
        never_sent=int(dropped[1][1]) if dropped else None,
        latency=latency,
        not_measured=[] if latency else [NO_TIMES],
        asked=_asked(lines, is_one_each=_iterations(lines) == counted),
    )


@dataclass(frozen=True, slots=True)
class _Total:
    """The lines of the whole test, without those of its groups and scenarios."""

    all: Lines

    def _range(self) -> tuple[int, int]:
        total = self.all.optional(rf"\s*{_TOTAL}", f'k6\'s line "{_TOTAL}"')
        if total is None:
            return 0, len(self.all.lines)
        others = [number for number, _ in self.all.all_of(r"\s*█ ") if number > total[0]]
        return total[0], min(others, default=len(self.all.lines) + 1) - 1

    def optional(self, pattern: str, what: str, *, first: bool = False) -> Found | None:
        """Return the only line that matches, or the first one; raises ``Unreadable`` for another."""
        begin, end = self._range()
        found = [one for one in self.all.all_of(_MARK + pattern) if begin < one[0] <= end]
        if len(found) > 1 and not first:
            raise self.all.source.unreadable(
                found[1][0],
                f"{what} once more, after that of line {found[0][0]}",
                "the output of one load; split the file into one per load",
                self.all.read(found[1][0]),
            )
        return found[0] if found else None

    def once(self, pattern: str, what: str, *, first: bool = False) -> Found:
        found = self.optional(pattern, what, first=first)
        if found is None:
            raise self.all.cut_off(f"k6's line {what}")
        return found


def _failed(lines: _Total, counted: int) -> int:
    """Return how many failed; raises ``Unreadable`` where that is not said, as before 0.31."""
    found = lines.optional(
        rf"{FAILED}\.*: +\d[\d.]*%\s+"
        r"(?:(\d{1,15}) out of (\d{1,15})|✓ (\d{1,15})\s+✗ (\d{1,15}))\s*$",
        FAILED,
    )
    if found is None:
        raise lines.all.cut_off(
            f"k6's line {FAILED}, which 0.31 and newer print; of an older k6 the file of --out json or "
            "--out csv has it"
        )
    number, match = found
    failed = int(match[1] or match[3])
    total = int(match[2]) if match[2] else failed + int(match[4])
    if total != counted or failed > counted:
        raise lines.all.source.unreadable(
            number, f"{failed:,} of {total:,} requests failed", f"of all {counted:,}", lines.all.read(number)
        )
    return failed


def _iterations(lines: _Total) -> int | None:
    found = lines.optional(r"iterations\.*: (\d{1,15})\s", "iterations")
    return int(found[1][1]) if found else None


def _asked(lines: _Total, *, is_one_each: bool) -> Asked:
    """Return what its lines of scenarios say, where there is one whose load does not change.

    Of arrivals it has the rate of iterations, which is that of requests where each has one.
    """
    scenarios = lines.all.all_of(
        r"\s{1,30}\* \S{1,100}: ([^(]{1,100}) \([^)]{0,100}(?:gracefulStop|maxVUs|maxDuration): "
    )
    if len(scenarios) != 1:
        return Asked()
    text = scenarios[0][1][1]
    if looping := re.match(r"(\d{1,9}) looping VUs for \S+$", text):
        return Asked(connections=int(looping[1]))
    if shared := re.search(
        r"iterations shared among (\d{1,9}) VUs$|iterations for each of (\d{1,9}) VUs$", text
    ):
        return Asked(connections=int(shared[1] or shared[2]))
    arriving = re.match(r"(\d{1,9}(?:\.\d{1,9})?) iterations/s for \S+$", text)
    if arriving and is_one_each:
        return Asked(rate_rps=float(arriving[1]))
    return Asked()


def _times(lines: Lines, number: int, count: int) -> Times:
    """Return the times of a line, in ms."""
    shown = {}
    for found in re.finditer(rf"([^\s=]{{1,40}})=({GO_TIME})(?=\s|$)", lines.lines[number - 1]):
        # From a minute on it prints whole seconds.
        shown[found[1]] = milliseconds(found[2], decimals=2 if units_of(found[2]) == 1 else 0)
    if not shown:
        raise lines.source.unreadable(number, "no time", f"the times of {DURATION}", lines.read(number))
    known_ms = {name: one.value for name, one in shown.items()}
    return times_of(known_ms, count, max(one.step for one in shown.values()))

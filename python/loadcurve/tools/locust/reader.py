"""What locust writes with ``--csv PREFIX``: the table of statistics, and their history.

The table is ``PREFIX_stats.csv``, or ``PREFIX_requests.csv`` until 0.13. Its times are of all requests, those
that failed included. Medians and percentiles are of times that locust rounds: to 1 ms below 100 ms, then to
two digits. The percentiles of the history are of its last seconds or of all of them, by version, so that of
them nothing is read.
"""

from collections.abc import Sequence
from itertools import pairwise

from loadcurve.result.load import Operation
from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.figures import Asked, ToolFigures
from loadcurve.tools.locust.table import (
    ALL_TIMES,
    FAILURES,
    LONGEST,
    MEAN,
    NAME,
    RATE,
    REQUESTS,
    SHORTEST,
    TIMESTAMP,
    TOTAL_UNTIL_0_11,
    TOTALS,
    TYPE,
    USERS,
    LocustTable,
    Row,
    begins_with,
    table_of,
)
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.requests import require_long_window
from loadcurve.tools.source import Source

TESTED = {
    "locust-csv": ("0.11.0", "0.14.6", "1.0.3", "1.6.0", "2.17.0", "2.47.0"),
    "locust-history": ("0.14.6", "1.0.3", "1.6.0", "2.17.0", "2.47.0"),
}
"""By format, the versions whose real output it is tested with."""
_OF_ALL = (TYPE, NAME, REQUESTS, FAILURES, MEAN, SHORTEST, LONGEST)
_NOT_AT_ITS_END = (
    "locust writes its table once in a second or two while it runs: requests between the last time and the "
    "end of the run are in no figure"
)
RATE_MIN_RPS = 0.05
"""The least rate with two decimals that is known within a tenth."""


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as locust's table of statistics."""
    return (
        begins_with(head, "Type", "Name", "Request Count", "Failure Count")
        or begins_with(head, "Type", "Name", "# requests", "# failures")
        or begins_with(head, "Method", "Name", "# requests", "# failures")
    )


def is_history(head: bytes) -> bool:
    """Say whether a file begins as the history of locust's statistics."""
    return begins_with(head, "Timestamp", "User Count", "Type", "Name") or begins_with(
        head, "Type", "Name", "Timestamp", "# requests"
    )


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of locust's table of statistics."""
    table = table_of(source, (*_OF_ALL, RATE))
    total = _total(table)
    table.require_end()
    requests, failed = total.outcomes()
    rate = total.value(RATE)
    if not requests or rate <= 0:
        raise total.unreadable(f"{requests:,} requests at {rate:g}/s", "some requests")
    if failed and total.fields[NAME] == TOTAL_UNTIL_0_11:
        # Failures are no part of its requests until 0.9; since 0.10 they are, under the same names.
        raise total.unreadable(f"{failed:,} failures", "none, or a table of locust 0.12 or later")
    if table.is_rounded and rate < RATE_MIN_RPS:
        raise total.unreadable(f"{rate:g} requests/s", "a higher rate, of which two decimals are enough")
    if ALL_TIMES not in table.names:
        instead = "versions from 0.14 on write when exactly the last request ended"
        require_long_window(source, requests / rate, instead)
    return ToolFigures(
        tool="locust",
        basis="send",
        duration_s=requests / rate,
        answered=requests - failed,
        failed=failed,
        latency=total.times(requests, total.percentiles()) if not failed else None,
        ok=requests - failed,
        operations=[_operation(row) for row in table.rows[:-1]],
        notes=[*_of_failures(failed), VerdictNote.of("figures_left_out", _NOT_AT_ITS_END)],
    )


def read_history(source: Source) -> ToolFigures:
    """Return the figures of the history of locust's statistics, by its first and last line of all requests.

    Its times are of all requests since locust began, so they are read where the first line has none.
    """
    table = table_of(source, (*_OF_ALL, TIMESTAMP))
    total = _total(table)
    table.require_end()
    sums = [row for row in table.rows if row.fields[NAME] == total.fields[NAME]]
    _require_rising(sums)
    began, ended = sums[0].count(TIMESTAMP), total.count(TIMESTAMP)
    instead = "PREFIX_stats.csv has the exact rate"
    require_long_window(source, ended - began, instead)
    (requests_before, failed_before), (requests_then, failed_then) = sums[0].outcomes(), total.outcomes()
    requests, failed = requests_then - requests_before, failed_then - failed_before
    if not requests:
        raise total.unreadable("no request", "more requests than in the first line")
    users = _users(sums)
    return ToolFigures(
        tool="locust",
        basis="send",
        duration_s=ended - began,
        answered=requests - failed,
        failed=failed,
        began_unix_s=began,
        ok=requests - failed,
        latency=total.times(requests, {}) if not requests_before and not failed else None,
        asked=Asked(connections=max(users, default=None)),
        notes=[*_of_failures(failed), *_of_users(users)],
    )


def _users(sums: Sequence[Row]) -> list[int]:
    """Return how many users there were at each moment behind the first, where the file says so."""
    if USERS not in sums[0].fields:
        return []
    return [users for row in sums[1:] if (users := row.count(USERS))]


def _of_users(users: Sequence[int]) -> list[VerdictNote]:
    if not users or min(users) == max(users):
        return []
    text = f"the load was not of one size: there were from {min(users):,} to {max(users):,} users"
    return [VerdictNote.of("figures_left_out", text)]


def _of_failures(failed: int) -> list[VerdictNote]:
    if not failed:
        return []
    text = "locust's times are of failed requests, too, so there are no latencies"
    return [VerdictNote.of("figures_left_out", text)]


def _total(table: LocustTable) -> Row:
    if not table.rows or table.rows[-1].fields[NAME] not in TOTALS:
        raise table.lines.cut_off("a last line named Aggregated")
    return table.rows[-1]


def _require_rising(sums: Sequence[Row]) -> None:
    """Raise ``Unreadable`` where locust has begun to count anew (``--reset-stats``), or two loads follow."""
    for before, row in pairwise(sums):
        for name in (TIMESTAMP, REQUESTS, FAILURES):
            if row.count(name) < before.count(name):
                raise row.unreadable(
                    f"{name} {row.fields[name]} after {before.fields[name]}", "figures that rise, of one load"
                )


def _operation(row: Row) -> Operation:
    requests, failed = row.outcomes()
    return Operation(
        operation=f"{row.fields[TYPE]} {row.fields[NAME]}".strip(),
        answered=requests - failed,
        failed=failed,
        latency_ms=(
            row.times(requests, row.percentiles()).distribution
            if not failed
            else distribution(requests - failed)
        ),
    )

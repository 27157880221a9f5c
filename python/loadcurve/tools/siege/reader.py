"""The summary of siege, as text and as JSON (``-j``), of versions 2 to 4.2.

Its clock has steps of 10 ms. Answers of 5xx are among its failures, and their times in its mean and extremes.
Its transactions are all other answers, of which those of 4xx are not successful.
"""

import re
from dataclasses import dataclass

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, window_of
from loadcurve.tools.source import Json, Source, json_of
from loadcurve.tools.text_lines import Lines

TESTED = {
    "siege-text": ("4.0.7", "4.2.0-b4"),
    "siege-json": ("4.0.7", "4.2.0-b4"),
}
"""By format, the versions whose real output it is tested with."""
NO_TIMES = "latencies of answers: siege summarises those of failures with them"
NO_CLASSES = "answers of 5xx: siege counts them as failures, with what had no answer"
CLOCK_MS = 10.0
USERS_MAX = 255
"""What it allows by default. At its end each user may have counted a request by half."""
_LOG = re.compile(rb"\s*Date & Time,\s+Trans,\s+Elap Time,")
_STEP_S = 0.01
_MS_PER_S = 1e3
_LONGER = "a load that took longer than siege's clock shows (0.01 s)"


def is_text(head: bytes) -> bool:
    """Say whether a file has lines of siege's text in its start."""
    return b"Transaction rate:" in head and b"Longest transaction:" in head


def is_log(head: bytes) -> bool:
    """Say whether a file begins as siege's log, which has a line for each load."""
    return _LOG.match(head) is not None


def is_json(head: bytes) -> bool:
    """Say whether a file has the names of siege's JSON in its start."""
    return b'"transaction_rate"' in head and b'"longest_transaction"' in head


class _Summary(Json):
    transactions: int
    elapsed_time: float
    response_time: float
    transaction_rate: float
    successful_transactions: int
    failed_transactions: int
    longest_transaction: float
    shortest_transaction: float


@dataclass(frozen=True, kw_only=True)
class _Counted:
    """What both forms say."""

    transactions: int
    successful: int
    failed: int
    took: Printed
    rate: Printed
    mean: Printed
    """In ms, as are the others."""
    longest: Printed
    shortest: Printed


def read_json(source: Source) -> ToolFigures:
    """Return the figures of ``siege -j``, whatever else it has printed; raises ``Unreadable``."""
    summary = json_of(source, _Summary, "the JSON of siege (-j)", today=_alone)

    def time(value_s: float) -> Printed:
        return Printed(value_s * _MS_PER_S, _STEP_S * _MS_PER_S)

    counted = _Counted(
        transactions=summary.transactions,
        successful=summary.successful_transactions,
        failed=summary.failed_transactions,
        took=Printed(summary.elapsed_time, _STEP_S),
        rate=Printed(summary.transaction_rate, _STEP_S),
        mean=time(summary.response_time),
        longest=time(summary.longest_transaction),
        shortest=time(summary.shortest_transaction),
    )
    return _figures(source, counted, None, Asked())


def _alone(text: str) -> str:
    """Return the object without the lines around it, of which those for each request come with ``-v``."""
    inside = text.find('"transactions"')
    begin, end = text.rfind("{", 0, max(inside, 0)), text.find("}", max(inside, 0))
    return text if begin < 0 or end < 0 else text[begin : end + 1]


def read_text(source: Source) -> ToolFigures:
    """Return the figures of what siege prints at its end; raises ``Unreadable``."""
    lines = Lines(source)
    counted = _Counted(
        transactions=int(_number(lines, "Transactions", r"(?:\s+hits)?").value),
        successful=lines.count("Successful transactions"),
        failed=lines.count("Failed transactions"),
        took=_number(lines, "Elapsed time", r"\s+secs"),
        rate=_number(lines, "Transaction rate", r"\s+trans/sec"),
        mean=_time_ms(lines, "Response time"),
        longest=_time_ms(lines, "Longest transaction"),
        shortest=_time_ms(lines, "Shortest transaction"),
    )
    last, _ = lines.once(r"\s*Shortest transaction:", "siege's line Shortest transaction")
    lines.require_line_end("after siege's shortest transaction", last)
    version = lines.optional(r"\*\* SIEGE (\d[\w.-]{0,30})\s*$", "siege's version")
    users = lines.optional(r"\*\* Preparing (\d{1,9}) concurrent users? for battle", "siege's users")
    asked = Asked(connections=int(users[1][1])) if users else Asked()
    return _figures(source, counted, version[1][1] if version else None, asked)


def _number(lines: Lines, label: str, unit: str) -> Printed:
    what = f"siege's line {label}"
    number, found = lines.once(rf"\s*{label}:\s+(\d[\d.,]{{0,30}}){unit}\s*$", what)
    return lines.printed(number, found[1], what)


def _time_ms(lines: Lines, label: str) -> Printed:
    """Return a time: since 4.1.7 they are in ms and say so, and until then the extremes had no unit."""
    what = f"siege's line {label}"
    number, found = lines.once(rf"\s*{label}:\s+(\d[\d.,]{{0,30}})(?:\s+(secs|ms))?\s*$", what)
    return lines.printed(number, found[1], what, 1 if found[2] == "ms" else _MS_PER_S)


def _figures(source: Source, counted: _Counted, version: str | None, asked: Asked) -> ToolFigures:
    total = counted.transactions + counted.failed
    if not total:
        raise source.unreadable(None, "no transaction", "the transactions of a load")
    if counted.took.value <= 0:
        raise source.unreadable(None, f"an elapsed time of {counted.took.value:g} s", _LONGER)
    window = window_of(counted.transactions, counted.rate, counted.took, counted="transactions")
    by_half = counted.successful - counted.transactions
    is_by_half = 0 < by_half <= (asked.connections or USERS_MAX)
    return ToolFigures(
        tool="siege",
        version=version,
        basis="send",
        duration_s=window.duration_s,
        answered=counted.transactions,
        failed=counted.failed,
        ok=counted.transactions if is_by_half else counted.successful,
        latency=_latency(counted) if not counted.failed else None,
        contradictions=[window.contradiction] if window.contradiction else [],
        not_measured=[NO_TIMES, NO_CLASSES] if counted.failed else [],
        asked=asked,
    )


def _latency(counted: _Counted) -> Times:
    """Return its times, of which 0 is one shorter than a step of its clock, so none is known."""
    return Times(
        distribution=distribution(
            counted.transactions,
            minimum=counted.shortest.value or None,
            mean=counted.mean.value or None,
            maximum=counted.longest.value or None,
        ),
        completeness="summary",
        resolution_ms=CLOCK_MS,
    )

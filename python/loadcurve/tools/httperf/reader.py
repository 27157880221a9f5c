"""What httperf prints (``stat/basic.c`` and ``stat/print_reply.c`` of version 0.9)."""

from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, Window, window_of
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Lines

TESTED = {
    "httperf-text": ("0.9.0",),
}
"""By format, the versions whose real output it is tested with."""
_COUNT = r"(\d{1,18})"
_NUMBER = r"(-?\d[\d.]*)"
_CLASSES = {
    "client-timo": "timeout",
    "socket-timo": "connect_timeout",
    "connrefused": "connect_refused",
    "connreset": "reset",
    "fd-unavail": "fd_unavailable",
    "addrunavail": "address_unavailable",
}
"""Its classes of errors that are one of ours."""
_FIRST_ERRORS = ("total", "client-timo", "socket-timo", "connrefused", "connreset")
_LAST_ERRORS = ("fd-unavail", "addrunavail", "ftab-full", "other")


def is_text(head: bytes) -> bool:
    """Say whether a file begins as the text of httperf."""
    return b"Connection rate: " in head and b"Reply rate " in head


def read_text(source: Source) -> ToolFigures:
    """Return the figures of the text; raises ``Unreadable``."""
    lines = Lines(source)
    number, total = lines.once(
        rf"Total: connections {_COUNT} requests {_COUNT} replies {_COUNT} test-duration {_NUMBER} s$",
        'httperf\'s line "Total: connections … requests … replies … test-duration … s"',
    )
    connections, answered = int(total[1]), int(total[3])
    took_s = lines.printed(number, total[4], "the seconds of the test")
    window = _window(lines, int(total[2]), took_s)
    response_ms, transfer_ms = _values(
        lines, rf"Reply time \[ms\]: response {_NUMBER} transfer {_NUMBER}$", "Reply time [ms]:"
    )
    header, content, footer = _values(
        lines,
        rf"Reply size \[B\]: header {_NUMBER} content {_NUMBER} footer {_NUMBER} \(total {_NUMBER}\)$",
        "Reply size [B]:",
    )[:3]
    statuses = _status(lines)
    errors = _errors(lines)
    connect = lines.optional(
        rf"Connection time \[ms\]: connect {_NUMBER}$", 'httperf\'s line "Connection time [ms]: connect"'
    )
    connect_ms = lines.value(connect[0], connect[1][1], "a time in ms") if connect else None
    asked = lines.optional(
        r"httperf (?>.*?--server=)(\S+) --port=(\d+) --uri=(\S+)", "the command of httperf"
    )  # fmt: skip
    if window.duration_s <= 0:
        raise source.unreadable(number, "a test that took no time", "the requests of a load")
    return ToolFigures(
        tool="httperf",
        basis="send",
        duration_s=window.duration_s,
        answered=answered,
        ok=sum(count for name, count in statuses.items() if name < "4"),
        failed=errors["total"],
        errors={ours: errors[name] for name, ours in _CLASSES.items()},
        status=statuses,
        latency=_mean(answered, response_ms + transfer_ms) if answered else None,
        connect=_mean(connections, connect_ms) if connect_ms is not None and connections else None,
        first_byte=_mean(answered, response_ms) if answered else None,
        connections_opened=connections,
        # The means are printed with a decimal, so that these may be off by a part in a thousand.
        bytes_received=round((header + content + footer) * answered),
        bytes_body=round(content * answered),
        asked=Asked(target=f"{asked[1][1]}:{asked[1][2]}", paths=[asked[1][3]]) if asked else Asked(),
        contradictions=[window.contradiction] if window.contradiction else [],
    )


def _window(lines: Lines, requests: int, took: Printed) -> Window:
    """Return how long it took, by its rate of requests or by its time, whichever has more digits."""
    what = 'httperf\'s line "Request rate:"'
    number, found = lines.once(rf"Request rate: {_NUMBER} req/s \(", what)
    return window_of(requests, lines.printed(number, found[1], what), took)


def _values(lines: Lines, pattern: str, label: str) -> list[float]:
    """Return the numbers of the line of a label; raises ``Unreadable``."""
    what = f'httperf\'s line "{label}"'
    number, found = lines.once(pattern, what)
    return [lines.value(number, text, what) for text in found.groups()]


def _status(lines: Lines) -> dict[str, int]:
    _, found = lines.once(
        r"Reply status: " + " ".join(rf"({first}xx)={_COUNT}" for first in range(1, 6)) + "$",
        'httperf\'s line "Reply status:"',
    )
    groups = found.groups()
    return dict(zip(groups[::2], map(int, groups[1::2]), strict=True))


def _errors(lines: Lines) -> dict[str, int]:
    """Return the counts of both lines of errors, which are the end of the text."""
    counts: dict[str, int] = {}
    for names in (_FIRST_ERRORS, _LAST_ERRORS):
        pattern = " ".join(rf"{name} {_COUNT}" for name in names)
        number, found = lines.once(rf"Errors: {pattern}$", f'httperf\'s line "Errors: {names[0]} …"')
        counts |= dict(zip(names, map(int, found.groups()), strict=True))
    of_classes = sum(counts.values()) - counts["total"]
    if of_classes != counts["total"]:
        raise lines.source.unreadable(
            number,
            f"{of_classes:,} errors by class of {counts['total']:,}",
            "as many as in total: the line is truncated",
            lines.read(number),
        )
    return counts


def _mean(count: int, mean_ms: float) -> Times:
    return Times(distribution=distribution(count, mean=mean_ms), completeness="summary", resolution_ms=0.1)

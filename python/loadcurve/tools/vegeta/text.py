"""The text of ``vegeta report``, for people, of versions 7 to 12; with ``-every`` the last one counts.

Its times are of failures, too, so where there were any they are not those of answers.
"""

from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import GO_TIME, Printed, contradiction_of, milliseconds
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Lines
from loadcurve.tools.vegeta.reader import NO_TIMES, errors_by_class

_DECIMALS = 3
"""Of its times, since version 12.8; older ones have more."""
_NAMES = {"50": "p50", "90": "p90", "95": "p95", "99": "p99"}


def is_text(head: bytes) -> bool:
    """Say whether a file has the first two lines of a report of vegeta in its start."""
    return b"[total, rate" in head and b"[total, attack, wait]" in head


def read_text(source: Source) -> ToolFigures:
    """Return the figures of ``vegeta report``; raises ``Unreadable``."""
    lines = Lines(source, shown_again="Requests  ")
    place, requests = lines.once(
        r"Requests +\[total, rate(?:, throughput)?\] +(\d{1,15}), (\d[\d.]*)(?:, \d[\d.]*)?\s*$",
        "vegeta's line Requests",
    )
    total, rate = int(requests[1]), lines.printed(place, requests[2], "requests per second")
    number, taken = lines.once(
        rf"Duration +\[total, attack, wait\] +({GO_TIME}), ({GO_TIME}), ({GO_TIME})\s*$",
        "vegeta's line Duration",
    )
    took_s, attack_s = (_in_seconds(milliseconds(text, _DECIMALS)) for text in taken.groups()[:2])
    _, received = lines.once(r"Bytes In +\[total, mean\] +(\d{1,18}), \d", "vegeta's line Bytes In")
    status, failed = _statuses(lines, total)
    if not total or took_s.value <= 0:
        raise source.unreadable(number, "no request", "the requests of an attack")
    contradiction = contradiction_of(total, rate, attack_s)
    latency = _latency(lines, total)
    head = lines.optional(r"Error Set:\s*$", "vegeta's part Error Set")
    return ToolFigures(
        tool="vegeta",
        basis="send",
        duration_s=took_s.value,
        answered=total - failed,
        failed=failed,
        errors=errors_by_class(lines.lines[head[0] :] if head else (), failed),
        status=status,
        latency=None if failed else latency,
        bytes_body=int(received[1]),
        contradictions=[contradiction] if contradiction else [],
        not_measured=[NO_TIMES] if failed else [],
    )


def _in_seconds(time_ms: Printed) -> Printed:
    return Printed(time_ms.value / 1e3, time_ms.step / 1e3)


def _statuses(lines: Lines, total: int) -> tuple[dict[str, int], int]:
    """Return the answers by class of their status, and how many had none: all together, or it is cut off."""
    number, found = lines.once(
        r"Status Codes +\[code:count\] +(\d{1,3}:\d{1,15}(?: +\d{1,3}:\d{1,15}){0,500}) *$",
        "vegeta's line Status Codes",
    )
    status: dict[str, int] = {}
    failed = 0
    for code, count in (pair.split(":") for pair in found[1].split()):
        if code == "0":
            failed += int(count)
        elif len(code) == len("200") and code[0] in "12345":
            status[f"{code[0]}xx"] = status.get(f"{code[0]}xx", 0) + int(count)
        else:
            raise lines.source.unreadable(number, f"a status of {code}", "one of HTTP's, or 0 for no answer")
    counted = failed + sum(status.values())
    if counted != total:
        raise lines.source.unreadable(number, f"{counted:,} requests by status", f"all of its {total:,}")
    lines.require_line_end("after vegeta's statuses", number)
    return status, failed


def _latency(lines: Lines, count: int) -> Times:
    number, found = lines.once(
        rf"Latencies +\[((?:min, )?mean(?:, \d\d){{1,6}}, max)\] +({GO_TIME}(?:, {GO_TIME}){{3,8}})\s*$",
        "vegeta's line Latencies",
    )
    names, texts = found[1].split(", "), found[2].split(", ")
    if len(names) != len(texts):
        raise lines.source.unreadable(number, f"{len(texts)} times", f"{len(names)}: {found[1]}")
    shown = {name: milliseconds(text, _DECIMALS) for name, text in zip(names, texts, strict=True)}
    return Times(
        distribution=distribution(
            count,
            minimum=shown["min"].value if "min" in shown else None,
            mean=shown["mean"].value,
            maximum=shown["max"].value,
            percentiles={ours: shown[name].value for name, ours in _NAMES.items() if name in shown},
        ),
        completeness="percentiles",
        resolution_ms=max(one.step for one in shown.values()),
    )

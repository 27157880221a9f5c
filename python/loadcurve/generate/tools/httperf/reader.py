"""What httperf prints (``stat/basic.c`` and ``stat/print_reply.c`` of version 0.9)."""

import re

from loadcurve.generate.tools.figures import Asked, Times, ToolFigures
from loadcurve.generate.tools.lines import Lines
from loadcurve.generate.tools.percentiles import distribution

_NUMBER = r"(-?[\d.]+)"
_CLASSES = {
    "client-timo": "timeout",
    "socket-timo": "connect_timeout",
    "connrefused": "connect_refused",
    "connreset": "reset",
    "fd-unavail": "fd_unavailable",
    "addrunavail": "address_unavailable",
}
"""Its classes of errors that are one of ours."""


def read_text(text: str, file: str, version: str | None = None) -> ToolFigures:
    """Return the figures of the text; raises ``Unreadable``."""
    lines = Lines(text, file)
    expected = 'the line "Total: connections … requests … replies … test-duration … s"'
    connections, _, replies, duration_s = lines.groups(
        rf"^Total: connections (\d+) requests (\d+) replies (\d+) test-duration {_NUMBER} s", expected
    )
    (status,) = lines.groups(r"^Reply status: (.+)$", 'the line "Reply status:"')
    statuses = {name: int(count) for name, count in re.findall(r"(\dxx)=(\d+)", status)}
    errors = dict(re.findall(r"([a-z-]+) (\d+)", " ".join(re.findall(r"^Errors: (.+)$", text, re.MULTILINE))))
    answered = int(replies)
    response_ms, transfer_ms = lines.groups(
        rf"^Reply time \[ms\]: response {_NUMBER} transfer {_NUMBER}", 'the line "Reply time [ms]:"'
    )
    header, content, footer = lines.groups(
        rf"^Reply size \[B\]: header {_NUMBER} content {_NUMBER} footer {_NUMBER}",
        'the line "Reply size [B]:"',
    )
    connect = lines.optional(rf"^Connection time \[ms\]: connect {_NUMBER}")
    asked = lines.optional(r"^httperf .*--server=(\S+) --port=(\d+) --uri=(\S+)")
    body = round(float(content) * answered)
    received = round((float(header) + float(content) + float(footer)) * answered)
    return ToolFigures(
        tool="httperf",
        version=version,
        basis="send",
        duration_s=float(duration_s),
        answered=answered,
        ok=sum(count for name, count in statuses.items() if name < "4"),
        failed=int(errors.get("total", 0)),
        errors={ours: int(errors[name]) for name, ours in _CLASSES.items() if name in errors},
        status=statuses,
        latency=_mean(answered, float(response_ms) + float(transfer_ms)) if answered else None,
        connect=_mean(int(connections), float(connect[0])) if connect and int(connections) else None,
        first_byte=_mean(answered, float(response_ms)) if answered else None,
        connections_opened=int(connections),
        # The means are printed with a decimal, so that these may be off by a part in a thousand.
        bytes_received=received,
        bytes_body=body,
        asked=Asked(target=f"{asked[0]}:{asked[1]}", paths=[asked[2]]) if asked else Asked(),
    )


def _mean(count: int, mean_ms: float) -> Times:
    return Times(distribution=distribution(count, mean=mean_ms), completeness="summary", resolution_ms=0.1)

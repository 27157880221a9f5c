"""An access log of nginx or Apache as a list of requests with weights, as a load reads it.

Common and combined formats are known, with whatever stands behind them, such as a time. Only requests by GET
are taken, because a load sends the paths of its list by one method.
"""

import re
from collections import Counter
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.files import write_whole
from loadcurve.generate.tools.blocks import blocks
from loadcurve.generate.tools.source import Source, shown
from loadcurve.loads.requests import REQUEST_PATH_PATTERN

WHAT = 'a line of an access log (common or combined): host, user, [time], "GET /path HTTP/1.1", status, bytes'
_LINE = re.compile(
    rb"\S+ \S+ [^\[\n]{1,200}\[[^\]\n]{1,40}\] "
    rb'"(?:(?P<method>[A-Z]{1,20}) (?P<path>[^"\s]+)(?: HTTP/[\d.]+)?|[^"\n]*)" \d{3} (?:\d+|-)(?: .*)?'
)
_PATH = re.compile(REQUEST_PATH_PATTERN)
DISTINCT_MAX = 5_000_000
"""More paths are no list that one would weigh."""


def write_requests(log: Path, out: Path) -> tuple[int, int, int]:
    """Write the paths of a log, most frequent first, with their counts as weights.

    Returns how many requests were taken, how many paths they have, and how many requests of other methods, or
    without a path, were left out.

    Raises:
        BadInput: a line is none of an access log, no request is by GET, or the file cannot be written; then
            nothing was written.

    """
    counts, left_out = _counts(Source(log))
    if not counts:
        raise BadInput(f"{log}: no GET request; expected at least one")
    lines = (f"{path} {count}\n" for path, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    if out.exists():
        raise BadInput(f"--out {out}: it already exists and is never overwritten; choose another name")
    try:
        write_whole(out, "".join(lines).encode())
    except OSError as error:
        raise BadInput(f"--out {out}: it cannot be written: {error.strerror}") from error
    return sum(counts.values()), len(counts), left_out


def _counts(source: Source) -> tuple[Counter[str], int]:
    counts: Counter[bytes] = Counter()
    left_out = 0
    with source.opened() as file:
        for first, block in blocks(source, file, 1, WHAT, has_quotes=False):
            for number, line in enumerate(block.split(b"\n")[:-1], start=first):
                found = _LINE.fullmatch(line.rstrip(b"\r"))
                if found is None:
                    text = shown(line.decode(errors="replace"))
                    raise source.unreadable(number, text, WHAT, f"{number - 1:,} lines")
                if found["method"] == b"GET":
                    counts[found["path"]] += 1
                else:
                    left_out += 1
            if len(counts) > DISTINCT_MAX:
                raise BadInput(f"{source.name}: more than {DISTINCT_MAX:,} paths; expected fewer in a list")
    paths: Counter[str] = Counter()
    for path, count in counts.items():
        text = path.decode(errors="replace")
        # Some servers log an absolute address, or a path with bytes that no request may have.
        if _PATH.match(text):
            paths[text] += count
        else:
            left_out += count
    return paths, left_out

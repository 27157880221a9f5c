"""What tools say of a failure in words, by the classes of results."""

import re
from collections.abc import Mapping

CHECK_FAILED = "check failed"
"""What readers say of an answer without an error status that its tool found wrong."""
_CLASSES = {
    # Gatling's texts have what a check looked for, and what it has found.
    "check_failed": rf"^{CHECK_FAILED}$|\.(find|findAll|findRandom|count)\..* found ",
    "connect_refused": r"connection refused|ECONNREFUSED",
    "connect_timeout": r"dial.*(i/o timeout|timed out)|connect(ion)? timed out|connect timeout",
    "timeout": r"timeout|timed out|deadline exceeded",
    "reset": r"reset by peer|connection reset|broken pipe|ECONNRESET",
    "closed_early": r"\bEOF\b|(connection|server) closed|closed before|NoHttpResponse|RemoteDisconnected",
    "fd_unavailable": r"too many open files",
    "address_unavailable": r"cannot assign requested address",
    "malformed": r"malformed HTTP|invalid HTTP",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _CLASSES.items()}


def errors_of(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many failures were of each class that texts tell apart; a text of no class is left out."""
    found = dict.fromkeys(_CLASSES, 0)
    for text, count in counts.items():
        name = next((name for name, pattern in _PATTERNS.items() if pattern.search(text)), None)
        if name is not None:
            found[name] += count
    return found

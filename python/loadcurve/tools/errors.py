"""What tools say of a failure in words, by the classes of results."""

import re
from collections.abc import Mapping

CHECK_FAILED = "check failed"
"""What readers say of an answer without an error status that its tool found wrong."""
_CLASSES = {
    # Gatling's texts have what a check looked for, and what it has found.
    "check_failed": rf"^{CHECK_FAILED}$|\.(find|findAll|findRandom|count)\..* found ",
    "connect_refused": r"connection refused|ECONNREFUSED",
    "connect_timeout": r"connect(ion)? timed out|connect timeout|connect ETIMEDOUT",
    "timeout": r"timeout|timed out|deadline exceeded|ETIMEDOUT",
    "reset": r"reset by peer|connection reset|broken pipe|ECONNRESET|\bEPIPE\b",
    "closed_early": r"\bEOF\b|(connection|server) closed|closed before|NoHttpResponse|RemoteDisconnected",
    "fd_unavailable": r"too many open files|\bEMFILE\b",
    "address_unavailable": r"cannot assign requested address|EADDRNOTAVAIL",
    "malformed": r"malformed HTTP|invalid HTTP",
}
_DIALLED = "dial"
_IN_VAIN = ("i/o timeout", "timed out")
"""What Go says of a connection that was not made in time, behind that it dialled."""
_LOOKED_AT = 4_096
"""Of a long text its start and its end are looked at, each of this length in characters."""
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _CLASSES.items()}


def errors_of(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many failures were of each class that texts tell apart; a text of no class is left out."""
    found = dict.fromkeys(_CLASSES, 0)
    for text, count in counts.items():
        name = _class_of(text)
        if name is not None:
            found[name] += count
    return found


def _class_of(text: str) -> str | None:
    if len(text) > 2 * _LOOKED_AT:
        text = f"{text[:_LOOKED_AT]} {text[-_LOOKED_AT:]}"
    for name, pattern in _PATTERNS.items():
        if pattern.search(text) or (name == "connect_timeout" and _was_dialled_in_vain(text)):
            return name
    return None


def _was_dialled_in_vain(text: str) -> bool:
    # As one pattern, this would look through the rest of a line behind each word that it begins with.
    behind = (line.partition(_DIALLED)[2] for line in text.lower().split("\n") if _DIALLED in line)
    return any(words in rest for rest in behind for words in _IN_VAIN)

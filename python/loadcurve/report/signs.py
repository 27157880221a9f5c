"""What every text of a report writes alike, of the standard library alone."""

ABSENT = "—"
"""Shown where nothing was measured; never a zero."""


def plural(count: int, noun: str) -> str:
    """Return ``1 trial`` or ``3 trials``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

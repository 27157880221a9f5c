"""Git, asked without running any program that a repository's settings name."""

import subprocess
from pathlib import Path
from typing import Final

from loadcurve.errors import refusal
from loadcurve.redaction import hidden

QUESTION_TIMEOUT_S: Final = 5.0
CHECKOUT_TIMEOUT_S: Final = 120.0
"""A checkout of a large repository takes a while."""
_WITHOUT_PROGRAMS: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


def answer(folder: Path, *words: str) -> str | None:
    """Return what Git prints; ``None`` where it fails or prints nothing. Nothing is written there."""
    try:
        finished = _finished(folder, QUESTION_TIMEOUT_S, "--no-optional-locks", *words)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout.strip() or None if finished.returncode == 0 else None


def failure(folder: Path, *words: str) -> str | None:
    """Have Git do something, and return why it failed; ``None`` where it did not."""
    try:
        finished = _finished(folder, CHECKOUT_TIMEOUT_S, *words)
    except OSError as error:
        return refusal(error)
    except subprocess.TimeoutExpired:
        return f"git {words[0]} took longer than {CHECKOUT_TIMEOUT_S:.0f} s"
    return None if finished.returncode == 0 else hidden(finished.stderr.strip())


def _finished(folder: Path, timeout_s: float, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- the words are those of our modules
        ["git", "-C", str(folder), *_WITHOUT_PROGRAMS, *words],  # noqa: S607 -- the git of PATH
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
        # An interrupt of the terminal is ours to handle.
        start_new_session=True,
    )

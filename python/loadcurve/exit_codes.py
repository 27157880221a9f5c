"""The exit codes of commands that come to their end; errors have their own, see :mod:`loadcurve.errors`."""

EXIT_DONE = 0
EXIT_INVALID = 3
"""Measured, but invalid, or beyond a limit that was set."""
EXIT_UNDECIDED = 5
"""Measured, but too few trials to decide what was asked, and the person wants that to fail."""
EXIT_INTERRUPTED = 130
"""What was measured is kept."""

"""The exit codes of commands that come to their end; errors have their own, see :mod:`loadcurve.errors`."""

EXIT_DONE = 0
EXIT_INVALID = 3
"""Measured, but invalid, or beyond a limit that was set."""
EXIT_INTERRUPTED = 130
"""What was measured is kept."""

"""The command with its words from its standard input: the arguments of a process are shown to every user."""

import json
import os
import sys

from loadcurve.cli import main as command
from loadcurve.cli.interrupts import end_on_interrupts


def main() -> None:
    """Read the words, a list in JSON, and run the command with them."""
    end_on_interrupts()
    # Messages name the command as a person types it, whatever program has called this.
    sys.argv = ["loadcurve", *json.load(sys.stdin)]
    # What the command starts reads nothing from there.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    command.main()

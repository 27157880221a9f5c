"""One load while it is under way, and its result on stdout."""

import sys
from contextlib import nullcontext

from rich.console import Console
from rich.live import Live
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.live_line import CONNECTING, how_far, live_line
from loadcurve.generate.engine import ENGINE
from loadcurve.generate.generator import LoadInterrupted, Plan, Progress
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import judged

REFRESH_PER_SECOND = 4


def talk() -> Console:
    """Return the console for what is no result."""
    return new_console(stderr=True)


def watched(plan: Plan) -> LoadResult:
    """Run the load with one live line on stderr, where that is a terminal."""
    console = talk()
    line = Text(CONNECTING, overflow="ellipsis", no_wrap=True)
    live = (
        Live(line, console=console, refresh_per_second=REFRESH_PER_SECOND, transient=True)
        if console.is_terminal
        else nullcontext()
    )
    with live:
        try:
            return judged(
                ENGINE.run(plan, lambda progress: _show_progress(line, progress, plan, console.width))
            )
        except LoadInterrupted as interrupt:
            raise LoadInterrupted(judged(interrupt.result)) from interrupt


def _show_progress(line: Text, progress: Progress, plan: Plan, width: int) -> None:
    line.plain = live_line(how_far(progress, plan), progress, plan.kind, width)


def print_result(result: LoadResult, *, json_output: bool) -> None:
    """Print a result on stdout, as JSON or for people."""
    if json_output:
        sys.stdout.write(result.model_dump_json(by_alias=True) + "\n")
        return
    from loadcurve.report.load import load_summary

    new_console().print(load_summary(result))


def failures_in_words(result: LoadResult) -> str:
    """Say why a load got no answer."""
    counts = result.errors.nonzero()
    return (
        ", ".join(f"{count} {name}" for name, count in counts.items())
        or "the load ended before the first answer"
    )

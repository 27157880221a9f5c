"""``loadcurve load``: one load against one URL."""

import sys
from contextlib import nullcontext

from rich.console import Console
from rich.live import Live
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.load_plan import LoadOptions, plan_of
from loadcurve.errors import NothingMeasured
from loadcurve.result.load import LoadResult
from loadcurve.run.load import LoadInterrupted, Progress, run_load
from loadcurve.run.plan import EnginePlan
from loadcurve.server.target import reachable_address, read_url

EXIT_DONE = 0
EXIT_INVALID = 3
EXIT_INTERRUPTED = 130
REFRESH_PER_SECOND = 4


def load_command(options: LoadOptions, *, json_output: bool) -> int:
    """Run one load, print its result on stdout, and return the exit code.

    Raises:
        BadInput: an option cannot be used; nothing was started.
        NothingMeasured: the URL leads nowhere, or nothing was answered.

    """
    target = read_url(options.url)
    # The address is looked up last, so that bad options are refused without a question to any name server.
    plan = plan_of(options, target)
    try:
        plan = plan.model_copy(update={"address": reachable_address(target, plan.timeout_s)})
    except KeyboardInterrupt:
        _talk().print("interrupted before anything was measured")
        return EXIT_INTERRUPTED
    try:
        result = _watched(plan)
    except LoadInterrupted as interrupt:
        _print(interrupt.result, json_output=json_output)
        return EXIT_INTERRUPTED
    _print(result, json_output=json_output)
    if not result.requests.answered:
        raise NothingMeasured(f"{options.url}: no request was answered: {_failures(result)}")
    return EXIT_INVALID if result.verdict.status == "invalid" else EXIT_DONE


def _talk() -> Console:
    return new_console(stderr=True)


def _watched(plan: EnginePlan) -> LoadResult:
    """Run the load with one live line on stderr, where that is a terminal."""
    talk = _talk()
    line = Text("connecting")
    live = (
        Live(line, console=talk, refresh_per_second=REFRESH_PER_SECOND, transient=True)
        if talk.is_terminal
        else nullcontext()
    )
    with live:
        return run_load(plan, lambda progress: _show_progress(line, progress, plan))


def _show_progress(line: Text, progress: Progress, plan: EnginePlan) -> None:
    if not progress.elapsed_s:
        line.plain = "connecting"
        return
    rate = f"{progress.answered / progress.elapsed_s:,.0f} requests/s"
    failed = f" · {progress.failed:,} failed" if progress.failed else ""
    if plan.stop.requests_total is not None:
        line.plain = f"{progress.answered:,} of {plan.stop.requests_total:,} requests · {rate}{failed}"
    elif plan.stop.duration_s is None:
        line.plain = f"{progress.elapsed_s:.0f} s · {rate}{failed}"
    else:
        total_s = plan.warmup_s + plan.stop.duration_s
        line.plain = f"{progress.elapsed_s:.0f} of {total_s:g} s · {rate}{failed}"


def _print(result: LoadResult, *, json_output: bool) -> None:
    if json_output:
        sys.stdout.write(result.model_dump_json(by_alias=True) + "\n")
        return
    from loadcurve.report.load import load_summary

    new_console().print(load_summary(result))


def _failures(result: LoadResult) -> str:
    counts = {name: count for name, count in result.errors.model_dump().items() if count}
    return (
        ", ".join(f"{count} {name}" for name, count in counts.items())
        or "the load ended before an answer came"
    )

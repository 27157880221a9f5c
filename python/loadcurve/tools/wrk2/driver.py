"""wrk2: a fixed rate on open connections, whose script prints every latency with its count."""

from collections.abc import Sequence
from pathlib import Path

from loadcurve.loads.http import OpenLoad
from loadcurve.tools.counts import NS_PER_US, times_of_counts
from loadcurve.tools.driver import Output, Refused, WebToolRequest
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.wrk import driver as wrk
from loadcurve.tools.wrk.reader import outcomes

_SCRIPT = Path(__file__).with_name("report.lua")


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    if not isinstance(load, OpenLoad) or isinstance(load.rate_rps, list):
        raise Refused("model", "wrk2 is driven at one rate")
    return ["--rate", f"{load.rate_rps:.0f}", *wrk.arguments_with(_SCRIPT, wanted)]


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what the script has printed."""
    report = wrk.Report.found_in(output.text)
    answered, failed = outcomes("wrk2", report.requests, report.failed)
    return ToolFigures(
        tool="wrk2",
        basis="due",
        duration_s=report.duration_us / 1e6,
        answered=answered,
        ok=max(answered - report.status, 0),
        failed=sum(failed.values()),
        latency=times_of_counts(report.counts, NS_PER_US) if report.counts else None,
        bytes_received=report.received,
    )

"""Points that a trial has lost, and whose doing that was: they have no figure, so no interval shows them."""

from dataclasses import dataclass
from typing import Literal

from loadcurve.analysis.limits import servers_fault
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import is_usable

FaultKind = Literal["failed", "invalid", "disturbed"]
"""The server failed; what it did made a point invalid; or the machine or the generator spoilt it."""

MACHINES_FAILURES = frozenset(
    {
        "engine_unavailable",
        "limits_unavailable",
        "load_not_started",
        "machine_lost",
        "port_taken",
        "system_refused",
    }
)
"""Reasons of a failure for which no server can be blamed."""


@dataclass(frozen=True, slots=True)
class TrialFault:
    """A point of a trial without a usable figure, or a start that came to nothing."""

    server: str
    trial: int
    point: Point | None
    """``None`` before the first one."""
    kind: FaultKind
    reason: str


def trial_faults(run: Run) -> list[TrialFault]:
    """Return what the trials of a run have lost, in the order of its records; nothing of a search.

    A search goes where servers fail, to find out from where on they do.
    """
    if run.run.search is not None:
        return []
    found = []
    for one in run.failures:
        kind: FaultKind = "disturbed" if one.reason.code in MACHINES_FAILURES else "failed"
        found.append(TrialFault(one.server, one.trial, one.point, kind, one.reason.text))
    for record in run.points:
        if is_usable(record):
            continue
        fault, reasons = servers_fault(record), record.load.verdict.reasons
        kind = "disturbed" if fault is None else "invalid"
        reason = fault.text if fault is not None else reasons[0].text if reasons else "invalid"
        found.append(TrialFault(record.server, record.trial, record.point, kind, reason))
    return found

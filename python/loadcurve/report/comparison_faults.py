"""Trials of both sides that failed or have invalid points, for people and for programs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from loadcurve.analysis.faults import FaultsCompared, SideFaults
from loadcurve.analysis.trial_faults import FaultKind
from loadcurve.errors import sentence
from loadcurve.units import number, plural

SAID: Mapping[FaultKind, tuple[str, str]] = {
    "failed": ("failed", "failed"),
    "invalid": (
        "has an invalid point because of the server",
        "have an invalid point because of the server",
    ),
    "disturbed": (
        "was spoilt by the machine or the generator",
        "were spoilt by the machine or the generator",
    ),
}
"""What became of one trial, and of several."""


def faults_in_words(found: Iterable[FaultsCompared]) -> list[str]:
    """Return a sentence for each side and kind of fault, the new side first.

    Such as ``head: 9 of 19 trials failed: the server ended with status 7 during the trial.``
    """
    return [said for one in found for side in (one.new, one.base) for said in _side_in_words(side)]


def _side_in_words(side: SideFaults) -> Iterator[str]:
    who = side.server if side.called == side.server else f"{side.server} in {side.called}"
    for kind, count in side.kinds.items():
        is_several = count.trials > 1
        trials = f"{count.trials} of {plural(side.trials, 'trial')}"
        yield sentence(f"{who}: {trials} {SAID[kind][is_several]}: {count.reason}")


def more_faults_in_words(one: FaultsCompared) -> str:
    """Return in how many trials of each side the server is to blame, and what chance says of it."""
    new, base = (f"{side.of_server} of {plural(side.trials, 'trial')}" for side in (one.new, one.base))
    said = f"{one.new.server} failed, or made a point invalid, in {new}, and"
    who = one.base.server if one.base.called == one.base.server else one.base.called
    if not one.base.of_server:
        return f"{said} {who} in none of {one.base.trials}"
    return f"{said} {who} in {base} (p = {number(one.p_value, 2)})"


def add_faults(suite: Element, found: Iterable[tuple[FaultsCompared, bool]]) -> None:
    """Add a test to a suite of JUnit for each server with faults, failed where they are a regression."""
    for one, is_regression in found:
        case = SubElement(
            suite, "testcase", classname=one.server, name="trials without a fault of the server"
        )
        if is_regression:
            said = " ".join([sentence(more_faults_in_words(one)), *faults_in_words([one])])
            SubElement(case, "failure", message=said)


def faults_json(one: FaultsCompared) -> dict[str, Any]:
    """Return the trials of both sides and those with a fault, as plain data."""
    return {
        "server": one.server,
        "base": _side_json(one.base),
        "new": _side_json(one.new),
        "p_value": one.p_value,
    }


def _side_json(side: SideFaults) -> dict[str, Any]:
    counts = {kind: count.trials for kind, count in side.kinds.items()}
    reasons = {kind: count.reason for kind, count in side.kinds.items()}
    return {"trials": side.trials, **{kind: counts.get(kind, 0) for kind in SAID}, "reasons": reasons}

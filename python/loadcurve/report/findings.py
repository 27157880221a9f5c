"""Findings as people read them: where each was seen, and its evidence, for the terminal and the page."""

from collections.abc import Sequence
from typing import Literal

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from loadcurve.explain.finding import Certainty, Evidence, Finding, Weight
from loadcurve.load.values import Point
from loadcurve.report import text

MOST_FINDINGS = 8
"""The terminal shows at most this many; the page shows all."""
MOST_EVIDENCE = 5
"""A finding in the terminal names at most this many figures, the most telling first."""

WEIGHT_TITLES: dict[Weight, str] = {
    "invalidates": "do not use these figures",
    "distorts": "these figures include more than serving",
    "explains": "why these figures are so",
}
CAUSE_TITLES: dict[Certainty, str] = {"shown": "Cause", "likely": "Likely cause"}
_STYLES: dict[Weight, str] = {"invalidates": "red", "distorts": "yellow", "explains": "cyan"}


def where(finding: Finding) -> str:
    """Return where a finding was seen: ``connections = 200 to 1,000, in 5 of 5 trials``."""
    trials = f"in {len(finding.trials):,} of {text.plural(finding.trials_measured, 'trial')}"
    return f"{points(finding.points)}, {trials}"


def points(seen_at: Sequence[Point]) -> str:
    """Return several points by the range of each of their settings."""
    if not any(seen_at):
        return text.point(seen_at[0])
    parts = []
    for key in dict.fromkeys(key for point in seen_at for key in point):
        values = [point[key] for point in seen_at if key in point]
        low, high = text.setting(min(values)), text.setting(max(values))
        parts.append(f"{key} = {low}" if low == high else f"{key} = {low} to {high}")
    return ", ".join(parts)


def figure(evidence: Evidence) -> str:
    """Return a figure with its unit, and its range or interval in brackets; shares in percent."""
    if evidence.low is None or evidence.high is None:
        return f"{_number(evidence.value, evidence.unit)}{_unit(evidence.unit)}"
    value, low, high = (_number(one, evidence.unit) for one in (evidence.value, evidence.low, evidence.high))
    spread = f"({low} to {high})" if evidence.spread == "range" else f"[{low}, {high}]"
    return f"{value} {spread}{_unit(evidence.unit)}"


def _number(value: float, unit: str) -> str:
    shown = value * 100 if unit == "share" else value
    return f"{int(shown):,}" if shown == int(shown) else text.number(shown)


def _unit(unit: str) -> str:
    if unit == "share":
        return " %"
    return f" {unit}" if unit else ""


Detail = Literal["brief", "full"]
"""What is shown of a finding: what was seen and why; or also the evidence, and what to do."""


def findings_text(findings: Sequence[Finding], detail: Detail) -> Group:
    """Return the weightiest findings for a terminal of 80 columns; nothing at all where there is none."""
    if not findings:
        return Group()
    shown = findings[:MOST_FINDINGS]
    parts: list[Text | Padding] = [Text(""), Text("Findings", style="bold")]
    for finding in shown:
        parts += _finding(finding, detail)
    rest = [f"{len(findings) - len(shown):,} more"] if len(findings) > len(shown) else []
    rest += ["their evidence, and what to do"] if detail == "brief" else []
    if rest:
        parts.append(Text(f"in the report: {', '.join(rest)}", style="dim"))
    parts.append(Text(""))
    return Group(*parts)


def _finding(finding: Finding, detail: Detail) -> list[Text | Padding]:
    """Return the lines of one finding; names are shown as they are, not as markup."""
    head = Text.assemble(("● ", _STYLES[finding.weight]), (finding.server, "bold"), f", {where(finding)}")
    evidence = "; ".join(f"{one.name} {figure(one)}" for one in finding.evidence[:MOST_EVIDENCE])
    seen, cause = Text(finding.seen), Text(f"{CAUSE_TITLES[finding.certainty]}: {finding.cause}")
    lines = {
        "brief": [seen, cause],
        "full": [seen, Text(evidence, style="dim"), cause, Text(f"To do: {finding.advice}")],
    }[detail]
    return [head, *(Padding(line, (0, 0, 0, 2), expand=False) for line in lines)]

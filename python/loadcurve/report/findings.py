"""Findings as people read them: where each was seen, and its evidence, for the terminal and the page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from loadcurve import units
from loadcurve.explain.all import FINDINGS
from loadcurve.explain.finding import Certainty, Evidence, Finding, Weight
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.inconclusive import visible_words
from loadcurve.report.markdown import escaped, listed
from loadcurve.report.section import Report, Section

MOST_FINDINGS = 8
"""The terminal shows at most this many; the page shows all."""
MOST_SERVERS = 4
"""The servers that one cause was seen of are named up to this many."""
MOST_VALUES = 3
"""Points of this many values of a setting name each of them."""
MOST_EVIDENCE = 3
"""In Markdown a finding names at most this many of its figures; the page has them all."""

WEIGHT_TITLES: dict[Weight, str] = {
    "invalidates": "do not use these figures",
    "distorts": "these figures include more than serving",
    "explains": "why these figures are so",
}
CAUSE_TITLES: dict[Certainty, str] = {"shown": "Cause", "likely": "Likely cause"}
_STYLES: dict[Weight, str] = {"invalidates": "red", "distorts": "yellow", "explains": "cyan"}


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """What was seen of one cause, of one server or of several."""

    code: str
    weight: Weight
    findings: list[Finding]
    places: list[int]
    """The place of each of them in the list of all findings."""
    limit: str | None = None
    """What cannot be said of the run because of it, where it is about the machine."""

    @property
    def title(self) -> str:
        """What happened, in a few words."""
        return FINDINGS[self.code].title

    @property
    def is_single(self) -> bool:
        """Whether the cause was seen in one finding alone."""
        return len(self.findings) == 1

    @property
    def servers(self) -> list[str]:
        """The servers that it was seen of."""
        return list(dict.fromkeys(one.server for one in self.findings))

    @property
    def where(self) -> str:
        """Where it was seen: a single finding with its trials, several by their points."""
        if self.is_single:
            return where(self.findings[0])
        everywhere = points([point for one in self.findings for point in one.points])
        return f"{everywhere}, {len(self.findings):,} findings"

    @property
    def seen_of(self) -> str:
        """The servers and where: ``nginx, connections = 200, in 5 of 5 trials``."""
        named = self.servers[:MOST_SERVERS]
        more = len(self.servers) - len(named)
        return f"{units.listing([*named, f'{more:,} more'] if more else named)}, {self.where}"

    @property
    def seen(self) -> str:
        """What was seen, of the first where there are several, and what that limits."""
        first = self.findings[0]
        whose = "" if self.is_single else f"{first.server}: "
        return f"{whose}{first.seen}{f' {self.limit}' if self.limit else ''}"

    @property
    def has_one_cause(self) -> bool:
        """Whether all of them have the same words for the cause."""
        return len({one.cause for one in self.findings}) == 1

    @property
    def cause_title(self) -> str:
        """Of the first: "Cause", or "Likely cause", and whose it is where others have another one."""
        first = self.findings[0]
        return f"{CAUSE_TITLES[first.certainty]}{'' if self.has_one_cause else f' (of {first.server})'}"

    @property
    def has_one_advice(self) -> bool:
        """Whether the same is to be done about all of them."""
        return len({one.advice for one in self.findings}) == 1


def grouped(findings: Sequence[Finding], limit: str | None = None) -> list[FindingGroup]:
    """Return the findings by cause, in the order of the first of each; shown and likely causes differ.

    ``limit`` says what the run cannot show; it is shown with what the machine did.
    """
    groups: dict[tuple[Weight, Certainty, str], FindingGroup] = {}
    for place, finding in enumerate(findings):
        key = finding.weight, finding.certainty, finding.code
        of_machine = FINDINGS[finding.code].of_machine
        new = FindingGroup(finding.code, finding.weight, [], [], limit if of_machine else None)
        group = groups.setdefault(key, new)
        group.findings.append(finding)
        group.places.append(place)
    return list(groups.values())


def where(finding: Finding) -> str:
    """Return where a finding was seen: ``connections = 200 and 1,000, in 5 of 5 trials``."""
    return points_and_trials(finding.points, len(finding.trials), finding.trials_measured)


def points_and_trials(seen_at: Sequence[Point], trials: int, measured: int) -> str:
    """Return the same of what some of the trials that measured these points have shown there."""
    return f"{points(seen_at)}, {_of_trials(trials, measured)}"


def trials_in_words(finding: Finding) -> str:
    """Return in how many trials a finding was seen: ``in 5 of 5 trials``."""
    return _of_trials(len(finding.trials), finding.trials_measured)


def _of_trials(trials: int, measured: int) -> str:
    return f"in {trials:,} of {units.plural(measured, 'trial')}"


def points(seen_at: Sequence[Point], sweep: Sequence[Point] = ()) -> str:
    """Return several points by the values of each of their settings.

    A few values are named. A span, ``1 to 200``, says that each point of the ``sweep`` in it is meant; where
    it has others, or the sweep is not known, the number of the values is behind it.
    """
    if not any(seen_at):
        return text.point(seen_at[0])
    parts = []
    for key in dict.fromkeys(key for point in seen_at for key in point):
        values = sorted({point[key] for point in seen_at if key in point})
        known = sorted({point[key] for point in sweep if key in point})
        parts.append(f"{key} = {values_in_words(values, known)}")
    return ", ".join(parts)


def values_in_words(values: Sequence[float], known: Sequence[float]) -> str:
    """Return ascending values of a setting, of those that are ``known`` of it; see :func:`points`."""
    if len(values) <= MOST_VALUES:
        return units.listing(map(units.setting, values))
    low, high = values[0], values[-1]
    span = f"{units.setting(low)} to {units.setting(high)}"
    within = [value for value in known if low <= value <= high]
    if within == list(values):
        return span
    return f"{span} ({len(values)}{f' of {len(within)}' if within else ''} values)"


def figure(evidence: Evidence) -> str:
    """Return a figure with its unit, and its range or interval in brackets; shares in percent."""
    if evidence.low is None or evidence.high is None:
        return f"{units.in_unit(evidence.value, evidence.unit)}{units.behind(evidence.unit)}"
    value, low, high = (
        units.in_unit(one, evidence.unit) for one in (evidence.value, evidence.low, evidence.high)
    )
    spread = f"({low} to {high})" if evidence.spread == "range" else f"[{low}, {high}]"
    return f"{value} {spread}{units.behind(evidence.unit)}"


def findings_text(findings: Sequence[Finding], limit: str | None = None) -> Group:
    """Return the weightiest findings by cause for a terminal of 80 columns; nothing where there is none.

    Of each it has what was seen, and why; the report has the evidence, and what to do.
    """
    if not findings:
        return Group()
    groups = grouped(findings, limit)
    shown = groups[:MOST_FINDINGS]
    parts: list[Text | Padding] = [Text(""), Text("Findings", style="bold")]
    for group in shown:
        parts += _group(group)
    rest = [f"{len(groups) - len(shown):,} more"] if len(groups) > len(shown) else []
    rest.append("their evidence, and what to do")
    parts.append(Text(f"in the report: {', '.join(rest)}", style="dim"))
    return Group(*parts)


def _group(group: FindingGroup) -> list[Text | Padding]:
    """Return the lines of one cause; names are shown as they are, not as markup."""
    first = group.findings[0]
    head = Text.assemble(("● ", _STYLES[group.weight]), (group.title, "bold"), f": {group.seen_of}")
    lines = [Text(group.seen), Text(f"{group.cause_title}: {first.cause}")]
    return [head, *(Padding(line, (0, 0, 0, 2), expand=False) for line in lines)]


def _in_markdown(_report: Report, groups: Sequence[FindingGroup]) -> Iterable[str]:
    items = []
    for group in groups:
        first = group.findings[0]
        to_do = "To do" if group.has_one_advice else f"To do (of {first.server})"
        evidence = "; ".join(f"{one.name} {figure(one)}" for one in first.evidence[:MOST_EVIDENCE])
        items.append(
            f"**{escaped(group.title)}**: {escaped(group.seen_of)} ({WEIGHT_TITLES[group.weight]}): "
            f"{escaped(group.seen)} {escaped(evidence)}. *{escaped(group.cause_title)}:* "
            f"{escaped(first.cause)} *{escaped(to_do)}:* {escaped(first.advice)}"
        )
    return listed(items)


LIMIT: Section[str | None] = Section(
    "limit", "the smallest difference to be seen", lambda report: visible_words(report.analysis), None
)
FOUND: Section[list[FindingGroup]] = Section(
    "findings",
    "the findings by cause",
    lambda report: grouped(report.analysis.findings, report.of(LIMIT)),
    [],
    page="findings",
    terminal=lambda report, _: [findings_text(report.analysis.findings, report.of(LIMIT))],
    markdown=_in_markdown,
    heading="Findings",
)

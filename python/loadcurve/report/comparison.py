"""Two runs side by side, for people at a terminal and for programs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.change import Change, Outcome
from loadcurve.analysis.comparison import OF_OPERATIONS, RunComparison
from loadcurve.analysis.gate import Gate
from loadcurve.analysis.missing import MissingFigure
from loadcurve.analysis.trust import Trust
from loadcurve.analysis.unusable import Unusable
from loadcurve.errors import sentence
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.column import WORDS, Column, Layout
from loadcurve.report.comparison_errors import errors_in_words, errors_json, estimate_json
from loadcurve.report.comparison_faults import faults_in_words, faults_json, more_faults_in_words
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.leader import first_named
from loadcurve.report.terminal_tables import column_table, server_column
from loadcurve.result.differences import Difference
from loadcurve.result.measures import MEASURES
from loadcurve.stats.interval import Estimate
from loadcurve.stats.power import TRIALS_MAX
from loadcurve.units import plural

SHOWN = [MEASURES[name] for name in ("throughput", "p50", "p99", "cpu_per_request_us")]
"""The measures that the terminal has room for; the JSON has all."""
BY_OPERATION = [MEASURES[name] for name in OF_OPERATIONS]
PLACES: Layout = {"justify": "right", "width": 7, "overflow": "fold"}
"""Their keys are in the line above."""
RATIOS: Layout = {"justify": "right", "width": 17, "overflow": "fold"}

DIGITS = 2
"""Decimals of a ratio."""
DIGITS_MAX = 5
"""Of one that is shown, where it is near 1."""
FAR = 2.0
"""A ratio of this, or its inverse, is named though it is not shown."""
LONGEST_FACT = 60
"""Characters of a fact that are shown; configurations and lists can be long."""


def comparison_lines(comparison: RunComparison) -> RenderableType:
    """Return what differs, the ratios with their intervals, and what they show; fits 80 columns."""
    parts: list[RenderableType] = [*_what_differs(comparison), _ratios(comparison), Text()]
    parts += _of_operations(comparison.operations)
    parts += [Text(words) for words in errors_in_words(comparison)]
    parts += [Text(words) for words in faults_in_words(comparison.faults)]
    parts += [Text(words) for words in resources_in_words(comparison.resources)]
    cautions = [*(one.words for one in comparison.not_computed), *trust_in_words(comparison)]
    said = [Text(words, style="yellow") for words in cautions]
    return Group(*parts, *said, *_conclusions(comparison), *_left_out(comparison))


def difference_line(difference: Difference) -> str:
    """Return ``kernel: 6.1.0 → 6.12.3``; a text of several lines is only said to differ."""
    base, new = _fact(difference.base), _fact(difference.new)
    is_long = any("\n" in str(value) for value in (difference.base, difference.new))
    # Of long facts what is shown may be the same.
    return (
        f"{difference.name}: not the same" if is_long or base == new else f"{difference.name}: {base} → {new}"
    )


def resources_in_words(changes: Iterable[Change]) -> list[str]:
    """Return a sentence for each server with the resources that it is shown to take more or less of.

    Such as ``nginx takes: CPU time in the kernel per request: 1.24 (1.20 to 1.28) times the base's, 10 →
    12 µs``; nothing where no resource differs.
    """
    by_server: dict[str, list[Change]] = {}
    for change in changes:
        if change.shown and not _looks_alike(change):
            by_server.setdefault(change.server, []).append(change)
    return [
        f"{server} takes: {'; '.join(f'{one.measure.title}: {times_in_words(one)}' for one in shown)}."
        for server, shown in by_server.items()
    ]


def _looks_alike(change: Change) -> bool:
    """Say whether a ratio is shown as 1.00, which explains nothing although chance does not explain it."""
    ratio = change.ratio.estimate
    return ratio is not None and units.number(ratio.value) == units.number(1.0)


def changes_in_words(changes: Iterable[Change]) -> list[str]:
    """Return a sentence for each server and measure that became better or worse, from its changes.

    Such as ``nginx: p99 is worse: 1.21 (1.08 to 1.35) times the base's over the whole curve; at 3 points,
    most at connections = 100: 1.43 (1.20 to 1.70)``.
    """
    groups: dict[tuple[str, str, bool], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.server, change.measure.title, change.worse_by > 0), []).append(change)
    return [
        f"{server}: {measure} is {'worse' if worse else 'better'}: {_where_changed(group)}"
        for (server, measure, worse), group in groups.items()
    ]


def gate_in_words(gate: Gate) -> str:
    """Return what a gate comes to in a sentence, with the share that it was asked for."""
    share = f"{100 * gate.least:g} %"
    match gate.outcome:
        case Outcome.FAILED if gate.regressions or gate.errors:
            return f"Regression: something is shown to be worse by {share} or more."
        case Outcome.FAILED if gate.faults and not gate.lost:
            return f"Failed: {units.listing(map(more_faults_in_words, gate.faults))}."
        case Outcome.FAILED if gate.lost_figures and not gate.lost:
            return "Failed: the base has figures that the other side has not."
        case Outcome.FAILED:
            return "Failed: what had usable figures has none now."
        case Outcome.UNDECIDED:
            return f"Not decided: the trials neither show nor rule out a regression of {share}."
        case Outcome.PASSED:
            return f"No regression of {share} or more over the whole curve."
        case _ as never:
            assert_never(never)


def trust_in_words(comparison: RunComparison) -> list[str]:
    """Say how many measured points of each side are suspect or invalid; nothing where all are valid."""
    return [_trust_in_words(one) for one in comparison.trust]


def _trust_in_words(one: Trust) -> str:
    said = []
    if one.suspect:
        said.append(f"{_of_all(one.suspect, one.measured)} suspect, and in the ratios")
    if one.invalid:
        said.append(f"{_of_all(one.invalid, one.measured)} invalid, and in no ratio")
    return f"Caution: {one.called}: {'; '.join(said)}. The report of the run has the reasons."


def _of_all(some: int, measured: int) -> str:
    return f"{some} of {plural(measured, 'measured point')} {'is' if some == 1 else 'are'}"


def lost_figures_in_words(gate: Gate) -> list[str]:
    """Return a sentence for each measure that the base alone has, such as a p99 of too few answers."""
    return [_lost_figure_in_words(one) for one in gate.lost_figures]


def _lost_figure_in_words(one: MissingFigure) -> str:
    # Of two servers the reason begins with the name of the one that it is about.
    reason = one.reason.removeprefix(f"{one.server}: ")
    return sentence(f"{one.server}: {one.measure.title} {place_in_words(one.point)}: {reason}")


def place_in_words(point: Point | None) -> str:
    """Return ``at connections = 10``, or that it is the whole curve."""
    return "over the whole curve" if point is None else f"at {text.point(point)}"


def undecided_in_words(gate: Gate) -> list[str]:
    """Return a sentence for each change that a gate cannot decide, with the trials that would decide it.

    Such as ``nginx: p99: 1.03 (0.91 to 1.17) times the base's; about 14 trials would decide it, …``.
    """
    return [
        f"{change.server}: {change.measure.title}"
        f"{'' if change.point is None else f' {place_in_words(change.point)}'}: {times_in_words(change)}; "
        f"{why_undecided(change, gate.least)}"
        for change in gate.undecided
    ]


def why_undecided(change: Change, least: float) -> str:
    """Say what a change that is not decided lacks: an interval, or trials."""
    if change.worse_by_at_most is None:
        return "one trial on a side has no interval: measure at least 3 on each"
    return _trials_in_words(change.trials_to_decide(least))


def times_in_words(change: Change) -> str:
    """Return ``0.28 (0.12 to 0.62) times the base's, 383 → 106 requests/s``, the figures where known."""
    return f"{ratio_in_words(change)} times the base's{_figures(change)}"


def _figures(change: Change) -> str:
    if change.values is None:
        return ""
    base, new = map(units.number, change.values)
    return f", {base} → {new}{units.behind(change.measure.unit)}"


def _trials_in_words(trials: int | None) -> str:
    if trials is None:
        return f"no number of trials up to {TRIALS_MAX} would decide it"
    return f"about {trials} trials would decide it, if it stays so"


def _where_changed(changes: Sequence[Change]) -> str:
    parts = [
        f"{ratio_in_words(one)} times the base's over the whole curve{_figures(one)}"
        for one in changes
        if one.point is None
    ]
    points = [change for change in changes if change.point is not None]
    if points:
        most = max(points, key=lambda change: abs(change.ratio.logarithm))
        at = f"at {text.point(most.point)}"
        at = at if len(points) == 1 else f"at {len(points)} points, most {at}"
        parts.append(f"{at}: {ratio_in_words(most)}{'' if parts else ' times'}{_figures(most)}")
    return "; ".join(parts)


def comparison_json(comparison: RunComparison, gate: Gate | None) -> dict[str, Any]:
    """Return everything as plain data, with what a gate says where one was asked for."""
    return {
        "format": "loadcurve-comparison/1",
        "base": None if comparison.arms is None else comparison.arms[0],
        "head": None if comparison.arms is None else comparison.arms[1],
        "conditions": [_difference_json(difference) for difference in comparison.conditions],
        "servers": {
            name: [_difference_json(difference) for difference in differences]
            for name, differences in comparison.servers.items()
        },
        "curves": [_change_json(change) for change in comparison.curves],
        "points": [_change_json(change) for change in comparison.points],
        "operations": [_change_json(change) for change in comparison.operations],
        "errors": list(map(errors_json, comparison.errors)),
        "faults": list(map(faults_json, comparison.faults)),
        "resources": [_change_json(change) for change in comparison.resources],
        "servers_in_one_run": list(comparison.servers_in_one),
        "points_in_one_run": list(comparison.points_in_one),
        "lost": [
            {"server": one.server, "points": list(one.points), "reason": one.reason}
            for one in comparison.lost
        ],
        "missing": [
            {
                "server": one.server,
                "measure": one.measure.name,
                "point": one.point,
                "lost": one.is_lost,
                "reason": one.reason,
            }
            for one in comparison.missing
        ],
        "trust": [asdict(one) for one in comparison.trust],
        "not_computed": [asdict(one) for one in comparison.not_computed],
        "regressions": None if gate is None else list(map(_change_json, gate.regressions)),
        "error_regressions": None if gate is None else list(map(errors_json, gate.errors)),
        "fault_regressions": None if gate is None else list(map(faults_json, gate.faults)),
        "undecided": None if gate is None else list(map(_change_json, gate.undecided)),
    }


def _what_differs(comparison: RunComparison) -> list[RenderableType]:
    lines = [difference_line(difference) for difference in comparison.conditions]
    lines += [
        f"{name}: {difference_line(difference)}"
        for name, differences in comparison.servers.items()
        for difference in differences
    ]
    if not lines:
        lines = ["no recorded difference: equal servers under equal conditions"]
    return [Text("what differs", "bold"), *(Text(f"  {line}", overflow="fold") for line in lines), Text()]


def _ratios(comparison: RunComparison) -> Group:
    """Return each server's name above its ratios, so that neither takes room from the other."""
    changes = (*comparison.curves, *comparison.points)
    keys = list(dict.fromkeys(key for change in changes for key in change.point or {}))
    # All columns are equally wide, and together 80 of them.
    columns: list[Column[PlaceRow]] = [
        Column("at", lambda row: row[0], PLACES),
        *(Column(measure.title, partial(_ratio_at, measure.name), RATIOS) for measure in SHOWN),
    ]
    rows: dict[str, dict[str, dict[str, Change]]] = {}
    for change in changes:
        at = "all" if change.point is None else text.point_values(change.point, keys)
        rows.setdefault(change.server, {}).setdefault(at, {})[change.measure.name] = change
    over = (
        "new / base, 95 % intervals over trials"
        if comparison.arms is None
        else f"{' / '.join(reversed(comparison.arms))}, 95 % intervals over blocks"
    )
    at = f"at {text.keys_title(keys)}; " if keys else ""
    parts: list[RenderableType] = [Text(f"{over}; {at}+ better, - worse", "bold")]
    if any(change.step > 1 for change in comparison.points):
        parts.append(Text("At points they are wider, so that they hold for all points together.", "dim"))
    for number, (server, places) in enumerate(rows.items()):
        header = [column_table([], columns, gap=1)] if number == 0 else []
        table = column_table(places.items(), columns, gap=1, show_header=False)
        parts += [*header, Text(server, overflow="fold"), table]
    return Group(*parts)


def _of_operations(changes: Sequence[Change]) -> list[RenderableType]:
    """Return the requests, or kinds of operations, of which a change is shown; the others are counted."""
    by_operation: dict[tuple[str, str], dict[str | None, Change]] = {}
    for change in changes:
        of_one = by_operation.setdefault((change.server, change.measure.operation or ""), {})
        of_one[change.measure.column_of_operation] = change
    shown = {one: found for one, found in by_operation.items() if any(each.shown for each in found.values())}
    if not shown:
        rows = [*by_operation.values()]
        is_of_use = any(map(_lacks_latency, rows)) or bool(_farthest(rows))
        return [Text(_not_shown(rows, "request"), "dim"), Text()] if is_of_use else []
    columns: list[Column[OperationRow]] = [
        server_column(shown.items(), lambda row: row[0][0]),
        Column("request", lambda row: row[0][1], WORDS),
        *(Column(one.title, partial(_ratio_of_operation, one.column), RATIOS) for one in BY_OPERATION),
    ]
    others = [found for one, found in by_operation.items() if one not in shown]
    rest = [Text(_not_shown(others, "more row"), style="dim")] if others else []
    title = Text("each request, new / base over the whole curve", style="bold")
    return [title, column_table(shown.items(), columns), *rest, Text()]


def _lacks_latency(row: dict[str | None, Change]) -> bool:
    return MEASURES["p50"].column not in row


def _not_shown(rows: Sequence[dict[str | None, Change]], what: str) -> str:
    """Say how many requests have no difference that is shown, and of how many the latency is not known."""
    unknown = sum(map(_lacks_latency, rows))
    but = (
        f"; of {'it' if len(rows) == 1 else unknown} no latency can be compared, because a load has too few "
        "answers for its p50: longer loads give more"
    )
    said = f"{plural(len(rows), what)} without a difference that is shown"
    return f"{said}{_farthest(rows)}{but if unknown else ''}"


def _farthest(rows: Sequence[dict[str | None, Change]]) -> str:
    """Name the request whose median is farthest from the base's, where trials are too few to show so much."""
    medians = [row[MEASURES["p50"].column] for row in rows if not _lacks_latency(row)]
    most = max(medians, key=lambda one: abs(one.ratio.logarithm), default=None)
    if most is None or abs(most.ratio.logarithm) < math.log(FAR):
        return ""
    return (
        f"; farthest apart is the {most.measure.title}, {ratio_in_words(most)} times the base's, which more "
        "trials or longer loads would decide"
    )


def _ratio_of_operation(column: str, row: "OperationRow") -> Text:
    return _cell(row[1].get(column))


OperationRow = tuple[tuple[str, str], dict[str | None, Change]]
"""A server with an operation's label, and what changed by the column of the measure."""
PlaceRow = tuple[str, dict[str, Change]]
"""A point in words, and what changed there by measure."""


def _ratio_at(measure: str, row: PlaceRow) -> Text:
    return _cell(row[1].get(measure))


def _cell(change: Change | None) -> Text:
    if change is None:
        return Text(units.ABSENT)
    ratio = ratio_in_words(change, to="–")  # noqa: RUF001 -- a dash takes less room than a word
    if not change.shown:
        return Text(ratio, style="dim")
    # A sign beside the colour, for those who do not see it.
    return Text(f"{ratio}-", "red") if change.worse_by > 0 else Text(f"{ratio}+", "green")


def ratio_in_words(change: Change, to: str = " to ") -> str:
    """Return a ratio with its interval, such as ``0.80 (0.76 to 0.84)``."""
    ratio = change.estimate
    if ratio is None:
        return "out of range"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    digits = _digits(ratio) if change.shown else DIGITS
    return f"{ratio.value:.{digits}f} ({ratio.low:.{digits}f}{to}{_times(ratio.high, digits)})"


def _digits(ratio: Estimate) -> int:
    """Return how many decimals tell a difference from none: of one that is shown, no end may read as 1.00."""
    ends = [end for end in (ratio.value, ratio.low, ratio.high) if end is not None]
    return next(
        (digits for digits in range(DIGITS, DIGITS_MAX) if all(round(end, digits) != 1 for end in ends)),
        DIGITS_MAX,
    )


def _times(ratio: float, digits: int) -> str:
    return f"{ratio:.{digits}f}" if ratio < units.PLAIN_MAX else units.number(ratio)


def _conclusions(comparison: RunComparison) -> Iterable[Text]:
    changes = comparison.changes
    shown = [change for change in changes if change.shown]
    if not changes:
        yield Text(_nothing_in_common(comparison))
    elif all(change.adjusted_p_value is None for change in changes):
        where = ("one of the runs", "in each") if comparison.arms is None else ("common", "of each")
        yield Text(
            f"With one trial in {where[0]} no difference can be shown: measure at least 3 trials {where[1]}."
        )
    elif not shown and not any(one.shown for one in comparison.errors):
        yield Text("No difference is shown: chance alone can explain the measured differences.")
    yield from map(Text, changes_in_words(shown))
    yield from map(Text, unusable_base_in_words(comparison))
    if changes and comparison.arms is None:
        yield Text(
            "The runs were measured one after the other, so the ratios include what changed on the machine "
            "in between. Two versions in one study, each with its binary, are measured in turn and show "
            "smaller differences: compare them by --base and --head.",
            style="dim",
        )


def _nothing_in_common(comparison: RunComparison) -> str:
    if comparison.arms is None:
        return "The runs have no server and point in common that could be compared."
    return f"{units.listing(comparison.arms)} have no point in common that could be compared."


def unusable_in_words(found: Iterable[Unusable]) -> list[str]:
    """Return a sentence for each reason, such as ``nginx and node at connections = 1 to 200: it ended``.

    Of reasons that differ in their figures alone, the first is given. The points of each are neighbours.
    """
    alike: dict[tuple[str, str], list[Unusable]] = {}
    for one in found:
        alike.setdefault((points_in_words(one.points, one.points), one.code), []).append(one)
    said = []
    for (where, _), group in alike.items():
        servers = units.listing(first_named(list(dict.fromkeys(one.server for one in group))))
        reasons = dict.fromkeys(reason for one in group for reason in one.reasons)
        more = f" ({len(reasons)} such reasons, this is the first)" if len(reasons) > 1 else ""
        said.append(sentence(f"{servers} at {where}: {group[0].reason}{more}"))
    return said


def unusable_base_in_words(comparison: RunComparison) -> list[str]:
    """Say why servers of the base have no usable figure at all, so that nothing is compared with them."""
    side = "the base run" if comparison.arms is None else "the base"
    return [f"no usable figure in {side}: {words}" for words in unusable_in_words(comparison.unusable)]


def _left_out(comparison: RunComparison) -> Iterable[Text]:
    if comparison.lost:
        side = "the new run" if comparison.arms is None else comparison.arms[1]
        yield Text(f"without a usable figure in {side}:", style="yellow")
    for words in unusable_in_words(comparison.lost):
        yield Text(f"  {words}", style="yellow")
    for words in in_one_in_words(comparison):
        yield Text(words, style="dim")


def in_one_in_words(comparison: RunComparison) -> list[str]:
    """Say which servers and points only one of two runs has: they are in no ratio."""
    said = []
    if comparison.servers_in_one:
        said.append(f"only one run has measured: {', '.join(comparison.servers_in_one)}")
    if comparison.points_in_one:
        said.append(f"only one run has the points: {'; '.join(map(text.point, comparison.points_in_one))}")
    return said


def _fact(value: object) -> str:
    return units.cut("not reported" if value is None else str(value), LONGEST_FACT)


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {"name": difference.name, "base": difference.base, "new": difference.new}


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "server": change.server,
        "measure": change.measure.name,
        "operation": change.measure.operation,
        "point": change.point,
        **estimate_json("ratio", change.estimate),
        "confidence": change.confidence,
        "base_value": None if change.values is None else change.values[0],
        "new_value": None if change.values is None else change.values[1],
        "unit": change.measure.unit,
        "adjusted_p_value": change.adjusted_p_value,
        "shown": change.shown,
    }

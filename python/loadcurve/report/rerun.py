"""What a second run says of a published one, for people at a terminal and for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.rerun import RankOrder, Refigured, Rerun, RerunOutcome
from loadcurve.analysis.rerun_differences import OtherServer
from loadcurve.analysis.rerun_shapes import Shape, ShapeOutcome
from loadcurve.report import text
from loadcurve.report.column import WORDS, Column, Layout
from loadcurve.report.comparison import comparison_json, difference_line, ratio_in_words
from loadcurve.report.findings import points as points_in_words
from loadcurve.report.leader import first_named
from loadcurve.report.terminal_tables import column_table, server_column
from loadcurve.result.checksum import is_digest
from loadcurve.result.differences import Difference
from loadcurve.stats.interval import Estimate

_RATIOS: Layout = {"justify": "right", "width": 22, "overflow": "fold"}
_IN_WORDS: dict[RerunOutcome, str] = {
    "reproduced": "reproduced",
    "not_reproduced": "not reproduced",
    "cannot_tell": "not decided by these trials",
    "another_machine": "another machine",
}
_SHAPES: dict[ShapeOutcome, str] = {
    "alike": "the same shape",
    "differs": "another shape",
    "cannot_tell": "its shape is not decided",
}
_OTHERS: dict[OtherServer, str] = {
    "version": "of another version",
    "program": "of another build",
    "configuration": "with another configuration",
    "settings": "with other settings",
}
"""How a verdict names a server that is not the published one."""


def rerun_lines(rerun: Rerun) -> RenderableType:
    """Return each server's ratio to its published figure, and what follows; fits 80 columns."""
    title = rerun.measure.title
    columns: list[Column[Refigured]] = [
        server_column(rerun.figures, lambda one: one.server),
        Column(f"{title}, second run over the published one", _ratio, _RATIOS),
        Column("", partial(_verdict, {one.server: one for one in rerun.shapes}), WORDS),
    ]
    differences = [Text(line, style="yellow", overflow="fold") for line in differences_in_words(rerun)]
    return Group(
        *differences, column_table(rerun.figures, columns), Text(), *map(Text, rerun_in_words(rerun))
    )


def differences_in_words(rerun: Rerun) -> Iterator[str]:
    """Yield what differs between the runs apart from their figures, a line each."""
    yield from map(_difference, rerun.conditions)
    shown = {one.server for one in rerun.figures}
    for server, found in rerun.comparison.servers.items():
        if server in shown:
            yield from (f"{server}: {_difference(one)}" for one in found)


def _difference(one: Difference) -> str:
    """Return a line; of two digests it says no more than that they differ."""
    if is_digest(one.base) and is_digest(one.new):
        return f"{one.name}: not the same"
    return difference_line(one)


def rerun_in_words(rerun: Rerun) -> Iterator[str]:
    """Yield what the second run says, in sentences."""
    share = f"{100 * rerun.margin:g} %"
    others = list(_others_in_words(rerun))
    but = f"; {', '.join(others)}" if others else ""
    match rerun.outcome:
        case "reproduced":
            head = f"Reproduced, but {', '.join(others)}" if others else "Reproduced"
            yield f"{head}: each figure is within {share} of the published one."
        case "not_reproduced":
            wrong = [one.server for one in rerun.figures if one.outcome == "not_reproduced"]
            differs = (
                f"{units.listing(wrong)} {'differs' if len(wrong) == 1 else 'differ'} by more than {share}"
            )
            yield f"Not reproduced: {differs}, and not by chance{but}."
        case "cannot_tell":
            if any(one.outcome == "cannot_tell" and one.is_measured for one in rerun.figures):
                yield f"Not decided: the intervals are too wide to say that figures are within {share}{but}."
            else:
                yield f"Not decided: not every published server has a usable figure here{but}."
        case "another_machine":
            published, second = (one.name for one in rerun.machines)
            where = f"{published}, and this is {second}" if published != second else published
            yield (
                f"Measured on another machine ({where}): figures of two machines are not compared, only the "
                f"shapes of curves and the order of the servers{but}."
            )
        case _ as never:
            assert_never(never)
    if missing := [one.server for one in rerun.figures if not one.is_measured]:
        yield f"Without a usable figure here: {units.listing(missing)}."
    if partly := [one for one in rerun.figures if one.left_out]:
        named = [f"{one.server} at {points_in_words(one.left_out)}" for one in partly]
        yield (f"Not in every trial of both runs, and so not compared: {'; '.join(first_named(named))}.")
    with_shape = {one.server for one in rerun.shapes}
    without = [one.server for one in rerun.figures if one.is_measured and one.server not in with_shape]
    if rerun.is_elsewhere and without:
        yield f"Fewer than two points are in every trial, so no shape is compared: {units.listing(without)}."
    yield from _shapes_in_words(rerun.shapes, share)
    yield from _order_in_words(rerun.order)


def _others_in_words(rerun: Rerun) -> Iterator[str]:
    """Yield what is not as published, such as ``nginx and apache are of another version``."""
    if any(one.aspect in {"load", "content"} for one in rerun.conditions):
        yield "the load or its content is another one"
    by_kind: dict[OtherServer, list[str]] = {}
    for one in rerun.figures:
        if one.differs:
            by_kind.setdefault(one.differs[0], []).append(one.server)
    for kind, words in _OTHERS.items():
        if servers := by_kind.get(kind):
            verbs = ("is", "are") if words.startswith("of ") else ("runs", "run")
            yield f"{units.listing(servers)} {verbs[len(servers) > 1]} {words}"


def _shapes_in_words(shapes: Sequence[Shape], share: str) -> Iterator[str]:
    def servers(outcome: ShapeOutcome) -> list[str]:
        return [one.server for one in shapes if one.outcome == outcome]

    if alike := servers("alike"):
        yield (
            f"Shape, each curve over its own mean: that of {units.listing(alike)} is the published one, "
            f"within {share} at each point."
        )
    for one in shapes:
        if one.outcome == "differs":
            most = one.farthest
            at = text.point(most.point or {})
            yield (
                f"Another shape, each curve over its own mean: {one.server} has {ratio_in_words(most)} times "
                f"the published share at {at}."
            )
    if unknown := servers("cannot_tell"):
        yield f"The intervals are too wide to compare the shape of {units.listing(unknown)}."
    yield from _peaks_in_words(shapes)


def _peaks_in_words(shapes: Sequence[Shape]) -> Iterator[str]:
    same = [one.server for one in shapes if one.peaks is not None and one.peaks.base == one.peaks.new]
    if same:
        yield f"Highest at the published point: {units.listing(same)}."
    for one in shapes:
        if one.peaks is None or one.peaks.base == one.peaks.new:
            continue
        published, here = map(text.point, (one.peaks.base, one.peaks.new))
        if one.peaks.told_apart:
            yield f"Highest elsewhere: {one.server} at {here}, published at {published}."
        else:
            yield f"{one.server} is highest at {here}, published at {published}, which may be chance."


def _order_in_words(order: RankOrder) -> Iterator[str]:
    pairs = [*order.same, *order.reversed, *order.unknown]
    if not pairs:
        return
    of_all = f"of {units.plural(len(pairs), 'pair')} of servers that the published run tells apart"
    yield f"Order: {len(order.same)} {of_all} {'is' if len(order.same) == 1 else 'are'} in the same order."
    for better, worse in order.reversed:
        yield f"In the other order: {better} was better than {worse}, and is worse."
    if order.unknown:
        yield f"Not told apart here: {units.listing(f'{a} and {b}' for a, b in order.unknown)}."


def rerun_json(rerun: Rerun) -> dict[str, Any]:
    """Return the same for programs, with the comparison of all measures."""
    return {
        "outcome": rerun.outcome,
        "margin": rerun.margin,
        "measure": rerun.measure.column,
        "figures": [
            {
                "server": one.server,
                "outcome": one.outcome,
                "ratio": None if one.change is None else _ends(one.change.estimate),
                "differs": list(one.differs),
                "left_out": list(one.left_out),
            }
            for one in rerun.figures
        ],
        "shapes": list(map(_shape_json, rerun.shapes)),
        "order": {
            "same": rerun.order.same,
            "reversed": rerun.order.reversed,
            "unknown": rerun.order.unknown,
        },
        "machines": [one.name for one in rerun.machines],
        "comparison": comparison_json(rerun.comparison, None),
    }


def _shape_json(shape: Shape) -> dict[str, Any]:
    return {
        "server": shape.server,
        "outcome": shape.outcome,
        "points": [
            {"point": one.point, "shown": one.shown, "ratio": _ends(one.estimate)} for one in shape.points
        ],
        "peaks": None if shape.peaks is None else asdict(shape.peaks),
    }


def _ends(found: Estimate | None) -> dict[str, float | int | None] | None:
    return (
        None if found is None else {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
    )


def _verdict(shapes: dict[str, Shape], one: Refigured) -> str:
    words = [_IN_WORDS[one.outcome]]
    if one.outcome == "another_machine" and one.server in shapes:
        words.append(_SHAPES[shapes[one.server].outcome])
    if one.differs:
        words.append(_OTHERS[one.differs[0]])
    return ", ".join(words)


def _ratio(one: Refigured) -> str:
    return text.ratio(None if one.outcome == "another_machine" or one.change is None else one.change.estimate)

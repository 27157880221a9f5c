"""What a second run says of a published one, for people at a terminal and for programs."""

from collections.abc import Iterator
from typing import Any, assert_never

from rich.console import Group, RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.rerun import RankOrder, Refigured, Rerun, RerunOutcome
from loadcurve.report import text
from loadcurve.report.comparison import comparison_json, difference_line
from loadcurve.report.terminal_tables import WORDS, Column, Layout, column_table, server_column

_RATIOS: Layout = {"justify": "right", "width": 22, "overflow": "fold"}
_IN_WORDS: dict[RerunOutcome, str] = {
    "reproduced": "reproduced",
    "not_reproduced": "not reproduced",
    "cannot_tell": "not decided by these trials",
    "another_machine": "another machine: not compared",
}


def rerun_lines(rerun: Rerun) -> RenderableType:
    """Return each server's ratio to its published figure, and what follows; fits 80 columns."""
    title = rerun.measure.title
    columns: list[Column[Refigured]] = [
        server_column(rerun.figures, lambda one: one.server),
        Column(f"{title}, second run over the published one", _ratio, _RATIOS),
        Column("", lambda one: _IN_WORDS[one.outcome], WORDS),
    ]
    differences = [
        Text(difference_line(one), style="yellow")
        for one in rerun.comparison.conditions
        if one.aspect != "machine"
    ]
    return Group(
        *differences, column_table(rerun.figures, columns), Text(), *map(Text, rerun_in_words(rerun))
    )


def rerun_in_words(rerun: Rerun) -> Iterator[str]:
    """Yield what the second run says, in sentences."""
    share = f"{100 * rerun.margin:g} %"
    match rerun.outcome:
        case "reproduced":
            yield f"Reproduced: each figure is within {share} of the published one."
        case "not_reproduced":
            wrong = [one.server for one in rerun.figures if one.outcome == "not_reproduced"]
            yield f"Not reproduced: {units.listing(wrong)} differs by more than {share}, and not by chance."
        case "cannot_tell":
            yield f"Not decided: the intervals are too wide to say that figures are within {share}."
        case "another_machine":
            published, second = (one.name for one in rerun.machines)
            where = f"{published}, and this is {second}" if published != second else published
            yield (
                f"Measured on another machine ({where}): figures of two machines are not compared, only the "
                "order of the servers."
            )
        case _ as never:
            assert_never(never)
    yield from _order_in_words(rerun.order)


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
            {"server": one.server, "outcome": one.outcome, "ratio": _estimate(one)} for one in rerun.figures
        ],
        "order": {
            "same": rerun.order.same,
            "reversed": rerun.order.reversed,
            "unknown": rerun.order.unknown,
        },
        "machines": [one.name for one in rerun.machines],
        "comparison": comparison_json(rerun.comparison, None),
    }


def _estimate(one: Refigured) -> dict[str, float | int | None] | None:
    found = None if one.change is None else one.change.estimate
    return (
        None if found is None else {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
    )


def _ratio(one: Refigured) -> str:
    return text.ratio(None if one.outcome == "another_machine" or one.change is None else one.change.estimate)

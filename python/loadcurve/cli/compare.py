"""``loadcurve compare``: two runs of one study, or two servers of one run, before and after a change."""

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from rich.text import Text

from loadcurve.analysis.comparison import RunComparison, compare_arms, compare_runs
from loadcurve.analysis.gate import Gate, Outcome
from loadcurve.analysis.numbers import analysis_of
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out, tell_damage
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID, EXIT_UNDECIDED
from loadcurve.report.comparison import (
    changes_in_words,
    comparison_json,
    comparison_lines,
    difference_line,
    undecided_in_words,
    unusable_in_words,
)
from loadcurve.report.comparison_formats import comparison_junit, comparison_markdown
from loadcurve.report.terminal_tables import bounded
from loadcurve.result.differences import ConditionDifference
from loadcurve.toml.quantities import parse_share

ComparisonFormat = Literal["text", "json", "md", "junit"]
"""How a comparison is printed."""


@dataclass(frozen=True)
class Runs:
    """Two run folders, of which the second is compared with the first."""

    base: Path
    new: Path
    despite: Sequence[str] = ()
    """Differences of the conditions that are accepted, by name or by aspect."""


@dataclass(frozen=True)
class Arms:
    """Two servers of one run folder, of which the second is compared with the first."""

    run: Path
    base: str
    head: str


@dataclass(frozen=True)
class GateOptions:
    """What is to fail, besides what has no usable figure any more."""

    fail_on_regression: str | None = None
    """The least regression that counts, such as ``"5%"``; without it nothing fails."""
    is_strict: bool = False
    """Whether it fails, too, where the trials do not decide."""


def compare_command(sides: Runs | Arms, options: GateOptions, printed: ComparisonFormat) -> int:
    """Compare two runs or two servers of one, print the comparison, and return the exit code.

    Raises ``BadInput``: a folder is no run, the runs were not measured under the same conditions, or the run
    has no such server. Raises ``NothingMeasured``: a gate has nothing to compare with.
    """
    least = _least_regression(options, printed)
    comparison = _compared(sides)
    gate = None if least is None else Gate.of(comparison, least)
    if gate is not None and not comparison.changes and not comparison.lost:
        raise NothingMeasured("the base has no usable figure that the new side could be compared with")
    _print(comparison, gate, printed)
    fail_where_left_out(comparison.not_computed)
    return EXIT_DONE if gate is None else _judge(gate, options)


def _compared(sides: Runs | Arms) -> RunComparison:
    match sides:
        case Runs(base, new, despite):
            analyses = analysis_of(base), analysis_of(new)
            tell_damage(analyses[0], base)
            tell_damage(analyses[1], new)
            comparison = compare_runs(*analyses)
            _require_same_conditions(comparison.conditions, despite)
            return comparison
        case Arms(run, base, head):
            analysis = analysis_of(run)
            tell_damage(analysis, run)
            _require_arms(analysis.run.servers, base, head)
            return compare_arms(analysis, base, head)
        case _ as never:
            assert_never(never)


def _require_arms(known: Collection[str], base: str, head: str) -> None:
    for option, name in (("--base", base), ("--head", head)):
        if name not in known:
            raise BadInput(f"{option} {name}: the run has no such server; it has: {', '.join(known)}")
    if base == head:
        raise BadInput(f"--base and --head are both {base}: name two servers of the run: {', '.join(known)}")


def _print(comparison: RunComparison, gate: Gate | None, printed: ComparisonFormat) -> None:
    match printed:
        case "text":
            new_console().print(bounded(comparison_lines(comparison)))
        case "json":
            sys.stdout.write(json.dumps(comparison_json(comparison, gate), indent=2) + "\n")
        case "md":
            sys.stdout.write(comparison_markdown(comparison, gate))
        case "junit":
            assert gate is not None, "junit without a gate is refused"  # noqa: S101
            sys.stdout.write(comparison_junit(comparison, gate))
        case _ as never:
            assert_never(never)


def _judge(gate: Gate, options: GateOptions) -> int:
    """Say what fails a gate, or what it cannot decide, and return the exit code."""
    talk = new_console(stderr=True)
    share = options.fail_on_regression
    for heading, sentences in (
        (f"worse by {share} or more:", changes_in_words(gate.regressions)),
        ("usable in BASE and without a usable figure in NEW:", unusable_in_words(gate.lost)),
        (f"not decided, whether worse by {share} or more:", undecided_in_words(gate)),
    ):
        if sentences:
            talk.print(Text(heading))
        for sentence in sentences:
            talk.print(Text(f"  {sentence}"))
    match gate.outcome:
        case Outcome.FAILED:
            return EXIT_INVALID
        case Outcome.UNDECIDED:
            return EXIT_UNDECIDED if options.is_strict else EXIT_DONE
        case Outcome.PASSED:
            return EXIT_DONE
        case _ as never:
            assert_never(never)


def _least_regression(options: GateOptions, printed: ComparisonFormat) -> float | None:
    if options.fail_on_regression is None:
        if options.is_strict:
            raise BadInput("--strict needs --fail-on-regression, such as --fail-on-regression 5%")
        if printed == "junit":
            raise BadInput("--format junit needs --fail-on-regression: what is a failed test otherwise?")
        return None
    try:
        return parse_share(options.fail_on_regression)
    except ValueError as error:
        raise BadInput(f"--fail-on-regression: {error}") from None


def _require_same_conditions(differences: Sequence[ConditionDifference], despite: Collection[str]) -> None:
    """Raise BadInput for differences that the person does not accept, and for names of none."""
    known = {name for difference in differences for name in (difference.name, difference.aspect)}
    for name in despite:
        if name not in known:
            differing = ", ".join(sorted(known)) or "nothing"
            raise BadInput(f"--despite {name}: the runs do not differ in this; they differ in: {differing}")
    refused = [one for one in differences if one.name not in despite and one.aspect not in despite]
    if refused:
        lines = "\n".join(f"  {one.aspect}: {difference_line(one)}" for one in refused)
        accepted = " ".join(f"--despite {aspect}" for aspect in dict.fromkeys(one.aspect for one in refused))
        raise BadInput(
            f"the runs were not measured under the same conditions:\n{lines}\nThe ratio would include the "
            "effect of these differences. Measure both under the same conditions, or compare even though "
            f"they differ: {accepted}."
        )

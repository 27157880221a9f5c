"""``loadcurve compare``: two runs of one study, before and after a change."""

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from loadcurve.analysis.comparison import compare_runs
from loadcurve.analysis.numbers import analysis_of
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out, tell_damage
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID
from loadcurve.report.comparison import (
    changes_in_words,
    comparison_json,
    comparison_lines,
    difference_line,
    unusable_in_words,
)
from loadcurve.report.terminal_tables import bounded
from loadcurve.result.differences import ConditionDifference
from loadcurve.toml.quantities import parse_share


@dataclass(frozen=True)
class CompareOptions:
    """What the person asks of a comparison."""

    base: Path
    new: Path
    despite: Sequence[str] = ()
    """Differences of the conditions that are accepted, by name or by aspect."""
    fail_on_regression: str | None = None
    """The least regression that counts, such as ``"5%"``."""


def compare_command(options: CompareOptions, *, json_output: bool) -> int:
    """Compare two runs, print the comparison, and return the exit code.

    Raises ``BadInput``: a folder is no run, or the runs were not measured under the same conditions.
    """
    least = None if options.fail_on_regression is None else _least_regression(options.fail_on_regression)
    base, new = analysis_of(options.base), analysis_of(options.new)
    tell_damage(base, options.base)
    tell_damage(new, options.new)
    comparison = compare_runs(base, new)
    _require_same_conditions(comparison.conditions, options.despite)
    regressions = None if least is None else comparison.regressions(least)
    if json_output:
        sys.stdout.write(json.dumps(comparison_json(comparison, regressions), indent=2) + "\n")
    else:
        new_console().print(bounded(comparison_lines(comparison)))
    fail_where_left_out(comparison.not_computed)
    if regressions is None:
        return EXIT_DONE
    return _judge(changes_in_words(regressions), unusable_in_words(comparison.lost), options)


def _judge(worse: Sequence[str], lost: Sequence[str], options: CompareOptions) -> int:
    """Say what fails a gate, and return the exit code: what cannot be compared any more has not passed."""
    talk = new_console(stderr=True)
    for heading, sentences in (
        (f"worse by {options.fail_on_regression} or more:", worse),
        ("usable in BASE and without a usable figure in NEW:", lost),
    ):
        if sentences:
            talk.print(Text(heading))
        for sentence in sentences:
            talk.print(Text(f"  {sentence}"))
    return EXIT_INVALID if worse or lost else EXIT_DONE


def _least_regression(share: str) -> float:
    try:
        return parse_share(share)
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

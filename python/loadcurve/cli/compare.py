"""``loadcurve compare``: two runs of one study, or two servers of one run, before and after a change."""

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from rich.text import Text

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Outcome
from loadcurve.analysis.comparison import RunComparison, compare_arms, compare_runs
from loadcurve.analysis.gate import Gate
from loadcurve.analysis.numbers import analysis_of
from loadcurve.analysis.resources import with_resources_of_arms, with_resources_of_runs
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out, tell_damage
from loadcurve.cli.regression import exit_code_of, regression_share
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE
from loadcurve.report.comparison import (
    changes_in_words,
    comparison_json,
    comparison_lines,
    difference_line,
    gate_in_words,
    lost_figures_in_words,
    undecided_in_words,
    unusable_base_in_words,
    unusable_in_words,
)
from loadcurve.report.comparison_errors import errors_of_requests_in_words
from loadcurve.report.comparison_faults import faults_in_words
from loadcurve.report.comparison_formats import (
    comparison_junit,
    comparison_markdown,
    refused_junit,
    refused_markdown,
)
from loadcurve.report.findings import points
from loadcurve.report.terminal_tables import bounded
from loadcurve.result.differences import ConditionDifference

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

    Raises ``BadInput``: a folder is no run, both are one and a gate is asked for, the runs were not measured
    under the same conditions, or the run has no such server. Raises ``NothingMeasured``: a gate has nothing
    to compare with.
    """
    least = _least_regression(options, printed)
    try:
        if least is not None:
            _require_two(sides)
        comparison = _compared(sides)
    except BadInput as error:
        # The step that publishes the answer finds a file, and in it the reason.
        _print_refusal(str(error), printed)
        raise
    gate = None if least is None else Gate.of(comparison, least)
    _print(comparison, gate, printed)
    fail_where_left_out(comparison.not_computed)
    if gate is None:
        return EXIT_DONE
    if not comparison.changes and not comparison.lost:
        said = [] if printed == "text" else unusable_base_in_words(comparison)
        reasons = [f"\n  {words}" for words in said]
        raise NothingMeasured(
            f"the base has no usable figure that the new side could be compared with{''.join(reasons)}"
        )
    return _judge(gate, options, printed)


def _compared(sides: Runs | Arms) -> RunComparison:
    match sides:
        case Runs(base, new, despite):
            analyses = analysis_of(base), analysis_of(new)
            tell_damage(analyses[0], base)
            tell_damage(analyses[1], new)
            comparison = compare_runs(*analyses)
            _require_same_conditions(comparison.conditions, despite)
            _require_common_points(*analyses)
            return with_resources_of_runs(comparison, *analyses)
        case Arms(run, base, head):
            analysis = analysis_of(run)
            tell_damage(analysis, run)
            _require_arms(analysis.run.servers, base, head)
            comparison = compare_arms(analysis, base, head)
            return with_resources_of_arms(comparison, analysis, base, head)
        case _ as never:
            assert_never(never)


def _require_two(sides: Runs | Arms) -> None:
    """Raise BadInput where a gate is to compare a run with itself, which passes whatever was measured."""
    if isinstance(sides, Runs) and sides.base.resolve() == sides.new.resolve():
        raise BadInput(
            f"{sides.base} is both RUN_A and RUN_B, so that no regression can be shown; give the folder of "
            "the base first, and that of the change behind it"
        )


def _require_common_points(base: Analysis, new: Analysis) -> None:
    """Raise BadInput where the studies of two runs have no point in common."""
    if base.points and new.points and not any(point in new.points for point in base.points):
        sweeps = (f"BASE has {points(base.points)}", f"NEW has {points(new.points)}")
        raise BadInput(
            f"the runs have no point of the sweep in common: {'; '.join(sweeps)}. Measure both with the same "
            "study."
        )


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


def _print_refusal(reason: str, printed: ComparisonFormat) -> None:
    match printed:
        case "md":
            sys.stdout.write(refused_markdown(reason))
        case "junit":
            sys.stdout.write(refused_junit(reason))
        case "text" | "json":
            pass
        case _ as never:
            assert_never(never)


def _judge(gate: Gate, options: GateOptions, printed: ComparisonFormat) -> int:
    """Say what fails a gate, or what it cannot decide, and return the exit code.

    Where the text on stdout has the sentences, stderr has the answer alone.
    """
    talk = new_console(stderr=True)
    share = f"{100 * gate.least:g} %"
    worse = [*changes_in_words(gate.regressions), *errors_of_requests_in_words(gate.errors)]
    lost_servers = {one.server for one in gate.lost}
    faults = faults_in_words(one for one in gate.faults if one.server not in lost_servers)
    failing = [
        (f"worse by {share} or more:", worse),
        ("usable in BASE and without a usable figure in NEW:", unusable_in_words(gate.lost)),
        ("faults in more trials than of BASE:", faults),
    ]
    if printed == "text" and gate.outcome is Outcome.FAILED:
        talk.print(Text(gate_in_words(gate)))
    for heading, sentences in (
        *(failing if printed != "text" else ()),
        ("figures in BASE alone:", lost_figures_in_words(gate)),
        (f"not decided, whether worse by {share} or more:", undecided_in_words(gate)),
    ):
        if sentences:
            talk.print(Text(heading))
        for sentence in sentences:
            talk.print(Text(f"  {sentence}"))
    return exit_code_of(gate.outcome, is_strict=options.is_strict)


def _least_regression(options: GateOptions, printed: ComparisonFormat) -> float | None:
    if options.fail_on_regression is None:
        if options.is_strict:
            raise BadInput("--strict needs --fail-on-regression, such as --fail-on-regression 5%")
        if printed == "junit":
            raise BadInput("--format junit needs --fail-on-regression: what is a failed test otherwise?")
        return None
    return regression_share(options.fail_on_regression)


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
        aspects = dict.fromkeys(one.aspect for one in refused)
        accepted = " ".join(f"--despite {aspect}" for aspect in aspects)
        here = ", as `loadcurve gate` does in turn on one machine" if "machine" in aspects else ""
        raise BadInput(
            f"the runs were not measured under the same conditions:\n{lines}\nThe ratio would include the "
            f"effect of these differences. Measure both under the same conditions{here}, or compare even "
            f"though they differ: {accepted}."
        )

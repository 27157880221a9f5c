"""``loadcurve gate``: whether a build is slower than another one, by both in turn."""

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from rich.console import Console
from rich.text import Text

from loadcurve.analysis.change import Outcome
from loadcurve.analysis.gate import GateAnswer
from loadcurve.analysis.gated import GatedRun
from loadcurve.cli.compare import ComparisonFormat
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out
from loadcurve.cli.display import RunDisplay, shown
from loadcurve.cli.regression import exit_code_of, regression_share
from loadcurve.cli.results import written_report
from loadcurve.cli.run import followed, note_disturbance
from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured, sentence
from loadcurve.exit_codes import EXIT_INTERRUPTED
from loadcurve.host.look import Look
from loadcurve.report.gate import gate_json, gate_junit, gate_lines, gate_markdown
from loadcurve.report.markdown import escaped
from loadcurve.report.profile_page import profile_in_words, profile_json, write_profile
from loadcurve.report.terminal_tables import bounded
from loadcurve.result.cpu_time import ProfiledPair
from loadcurve.result.measures import MEASURES
from loadcurve.result.records import FailureRecord, PlannedTrial
from loadcurve.runs.gate import GateOptions
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.runs.worktrees import Revision, built_revisions
from loadcurve.study.find import find_study
from loadcurve.study.model import Study
from loadcurve.toml.quantities import parse_duration_s

if TYPE_CHECKING:
    from loadcurve.analysis.analysis import Analysis
    from loadcurve.analysis.comparison import RunComparison
    from loadcurve.result.folder import Run

LAST_LINES = 10
NOT_IN_A_WORKTREE = (
    "The worktree of a commit has what Git knows and nothing that it ignores, such as .venv or node_modules: "
    "make it in each by --build, such as --build 'python3 -m venv .venv && .venv/bin/pip install -e .', or "
    "name the program in the study by its whole path"
)


@dataclass(frozen=True)
class GateGiven:
    """What a person asks of a gate, as it is given."""

    base: str | None
    """A side; ``None`` where it is a revision."""
    head: str | None
    least: str = "3%"
    budget: str = "10m"
    also: Sequence[str] = ()
    is_strict: bool = False
    printed: ComparisonFormat = "text"
    base_revision: str | None = None
    """Of the repository that the study lies in."""
    head_revision: str | None = None
    build: str | None = None
    """A command that builds a revision."""
    is_profiled: bool = False


class GateDisplay(RunDisplay):
    """Follows a gate, whose number of blocks is not known before."""

    _suspected: frozenset[str] = frozenset()

    def begins(self, studies: Sequence[Study], order: Sequence[PlannedTrial], first_block: int = 0) -> None:
        """A gate of at most these trials begins."""
        self._trials_at_most = self._at_most = self._about = "at most "
        super().begins(studies, order, first_block)

    def gate_looks(self, gate: GatedRun) -> None:
        """Say where a regression is suspected, which is measured again from here on."""
        suspected = frozenset(
            MEASURES[one.measure].title + (f" of {one.request}" if one.request else "")
            for one in gate.measures
            if one.confirmation is not None
        )
        for title in sorted(suspected - self._suspected):
            self.note(
                f"after {gate.blocks} blocks: {title} of {gate.head} is suspected to be worse; it is "
                "measured again"
            )
        self._suspected = suspected


def gate_command(study: str, given: GateGiven, options: RunOptions, watch_at: str | None = None) -> int:
    """Let two servers take turns until it is decided, print the answer, and return the exit code.

    Raises ``BadInput``: the study or an option cannot be used. Raises ``NothingMeasured``: the base has no
    usable figure, or a revision cannot be built.
    """
    study_file = find_study(study)
    gate = GateOptions(
        given.base or "",
        given.head or "",
        _share(given.least),
        _budget_s(given.budget),
        tuple(given.also),
        given.is_profiled,
    )
    given_revisions = (("--base-rev", given.base_revision), ("--head-rev", given.head_revision))
    named = {option: name for option, name in given_revisions if name is not None}
    if not named:
        return _gate(study_file, gate, given, options, watch_at)
    new_console(stderr=True).print(Text(f"checking out {' and '.join(named.values())}"))
    with built_revisions(study_file, named, given.build) as found:
        try:
            return _gate(study_file, _of_revisions(gate, given, found), given, options, watch_at)
        except NothingMeasured as error:
            folders = [str(folder) for _, folder in found.values()]
            if given.build is None and any(folder in str(error) for folder in folders):
                raise NothingMeasured(f"{error}\n{NOT_IN_A_WORKTREE}") from None
            raise


def _of_revisions(
    gate: GateOptions, given: GateGiven, found: Mapping[str, tuple[Revision, Path]]
) -> GateOptions:
    """Return the gate with the folders of revisions as its sides, and what the record says of these."""
    words: list[str] = []
    sides: dict[str, str] = {}
    for side, text in (("base", gate.base), ("head", gate.head)):
        if (known := found.get(f"--{side}-rev")) is None:
            sides[side] = text
            words += [f"--{side}", text]
        else:
            sides[side] = str(known[1])
            words += [f"--{side}-rev", known[0].commit]
    built = [] if given.build is None else ["--build", given.build]
    return replace(gate, base=sides["base"], head=sides["head"], given=[*words, *built])


def _gate(
    study_file: Path, gate: GateOptions, given: GateGiven, options: RunOptions, watch_at: str | None
) -> int:
    look, talk = Look(), new_console(stderr=True)
    with ExitStack() as stack:
        display = stack.enter_context(shown(GateDisplay(talk, live=talk.is_terminal), talk))
        display.budget_s = gate.budget_s
        study_run = StudyRun(study_file, options, display, gate=gate)
        stack.enter_context(followed(study_run, display, watch_at))
        note_disturbance(look, display)
        display.begins(study_run.studies, study_run.order)
        interrupted = _interrupted(study_run)
    if interrupted and not (study_run.folder / "run.json").exists():
        talk.print("interrupted before anything was measured")
        return EXIT_INTERRUPTED
    report, file = written_report(study_run.folder)
    run, analysis, page = report.run, report.analysis, str(file)
    answer, compared = GateAnswer.of(analysis), report.arms_compared
    if answer is None or compared is None:
        raise LoadcurveError(f"{study_run.folder} was not written as a gate")
    if interrupted:
        talk.print("interrupted: what was measured is kept, and decides nothing")
        talk.print(Text(page), soft_wrap=True)
        return EXIT_INTERRUPTED
    profiled = _profiled(study_run, answer)
    _print((analysis, answer, compared), given.printed, page, profiled)
    fail_where_left_out(analysis.not_computed)
    return _judged(run, answer, given, talk)


def _interrupted(study_run: StudyRun) -> bool:
    """Take a run to its end and say whether it was interrupted before."""
    try:
        study_run.measure()
    except KeyboardInterrupt:
        return True
    return False


@dataclass(frozen=True)
class _Profiled:
    """The profiles of both sides, and their page where there is something to draw."""

    pair: ProfiledPair
    page: Path | None


def _profiled(study_run: StudyRun, answer: GateAnswer) -> _Profiled | None:
    pair, names = study_run.profiled, (answer.gated.base, answer.gated.head)
    return None if pair is None else _Profiled(pair, write_profile(study_run.folder, names, pair))


def _print(
    found: "tuple[Analysis, GateAnswer, RunComparison]",
    printed: ComparisonFormat,
    page: str,
    profiled: _Profiled | None,
) -> None:
    said = [] if profiled is None else profile_in_words(profiled.pair)
    match printed:
        case "text":
            out = new_console()
            out.print(bounded(gate_lines(*found)))
            for words in said:
                out.print(Text(words))
            for file in (page, None if profiled is None else profiled.page):
                if file is not None:
                    out.print(Text(str(file)), soft_wrap=True)
        case "json":
            profile = None if profiled is None else profile_json(profiled.pair, profiled.page)
            answer = {**gate_json(*found), "report": page, "profile": profile}
            sys.stdout.write(json.dumps(answer, indent=2) + "\n")
        case "md":
            lines = [f"\n- {escaped(words)}" for words in said]
            sys.stdout.write(gate_markdown(*found) + "".join(lines) + ("\n" if lines else ""))
        case "junit":
            sys.stdout.write(gate_junit(*found[:2]))
        case _ as never:
            assert_never(never)


def _judged(run: "Run", answer: GateAnswer, given: GateGiven, talk: Console) -> int:
    """Return the exit code; raises NothingMeasured where there is nothing to compare."""
    if answer.outcome is None:
        raise NothingMeasured(_why_nothing(run, answer))
    if answer.outcome is Outcome.FAILED and (answer.lost or answer.has_more_faults):
        _tell_log(run.failures, answer.gated.head, talk)
    return exit_code_of(answer.outcome, is_strict=given.is_strict)


def _why_nothing(run: "Run", answer: GateAnswer) -> str:
    """Say why there is nothing to compare, with the last lines of the server's output."""
    from loadcurve.analysis.analysis import analyse
    from loadcurve.analysis.unusable import without_usable_figures
    from loadcurve.report.comparison import unusable_in_words

    sides = [answer.gated.base, answer.gated.head]
    said = unusable_in_words(without_usable_figures(analyse(run), sides))
    words = " ".join(map(sentence, said)) or "the two have no usable figure in a common block."
    failed = [one for one in run.failures if one.server in sides and one.log_tail]
    log = "".join(f"\n  {line}" for line in _last_lines(failed))
    return f"the gate has nothing to compare: {words}{' Its last lines:' if log else ''}{log}"


def _tell_log(failures: Sequence[FailureRecord], server: str, talk: Console) -> None:
    lines = _last_lines([one for one in failures if one.server == server and one.log_tail])
    if lines:
        talk.print(Text(f"the last lines of {server}:"))
    for line in lines:
        talk.print(Text(f"  {line}"), soft_wrap=True)


def _last_lines(failed: Sequence[FailureRecord]) -> list[str]:
    return failed[-1].log_tail.splitlines()[-LAST_LINES:] if failed else []


def _share(given: str) -> float:
    share = regression_share(given)
    if not 0 < share < 1:
        raise BadInput(f"--fail-on-regression {given}: expected a share above 0 % and below 100 %")
    return share


def _budget_s(given: str) -> float:
    try:
        budget_s = parse_duration_s(given)
    except ValueError as error:
        raise BadInput(f"--budget: {error}") from None
    if budget_s <= 0:
        raise BadInput(f"--budget {given}: expected a duration above 0, such as 10m")
    return budget_s

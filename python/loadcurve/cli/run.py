"""``loadcurve run``."""

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.display import RunDisplay, shown
from loadcurve.cli.live_metrics import published
from loadcurve.cli.results import show_results
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_UNDECIDED
from loadcurve.host.look import Look, warning
from loadcurve.result.folder import Run
from loadcurve.result.machine import others_are_expected
from loadcurve.result.run_files import has_several_loads
from loadcurve.runs.resume import interrupted_run
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.study.bundled import bundled_studies
from loadcurve.study.find import find_study
from loadcurve.watch.address import Address, Listener, announcement
from loadcurve.watch.live import LiveFile
from loadcurve.watch.process import page_beside_run
from loadcurve.watch.progress import ProgressFile


def next_steps(argument: str, study_file: Path, folder: Path, options: RunOptions) -> Text | None:
    """Return the next commands, for a run of ``argument`` whose folder this is.

    No command is broken over lines, so that it can be copied: print them with ``soft_wrap``.

    ``None`` for a whole run of a person's own study, who knows what to do next.
    """
    is_bundled = study_file.resolve() in [file.resolve() for file in bundled_studies().values()]
    if not options.quick and not is_bundled:
        return None
    steps: dict[tuple[str, ...], str] = {("open", str(folder)): "the report in the browser"}
    if options.quick:
        steps["run", argument] = "the full study, with narrower intervals"
    if is_bundled:
        steps["init",] = "a study of your own, for the servers found here"
    return shown_steps(steps)


def shown_steps(steps: Mapping[tuple[str, ...], str]) -> Text:
    """Return commands as a person may enter them next, by their words, each under what it is for."""
    program = program_name()
    lines = [Text("Next", style="bold")]
    for words, meaning in steps.items():
        lines += [Text(f"  {meaning}:", style="dim"), Text(f"    {shlex.join([program, *words])}")]
    return Text("\n").join(lines)


def program_name() -> str:
    """Return how the command is called from here: by its name where a shell finds it by that."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if found is not None and called.exists() and Path(found).samefile(called):
        return called.name
    return str(called)


@dataclass(frozen=True)
class Followers:
    """Who follows a run beside the person at its terminal; ``None`` for nobody."""

    watch_at: str | None = None
    """Where a page is served that follows it."""
    metrics_at: str | None = None
    """Where Prometheus finds its figures."""
    otlp: str | None = None
    """The URL of a collector that takes them."""


NOBODY = Followers()


def run_command(
    argument: str | None,
    options: RunOptions,
    followers: Followers = NOBODY,
    resumed: Path | None = None,
    *,
    is_strict: bool = False,
    suggests: bool = True,
) -> int:
    """Run a study, or resume the interrupted run of one; show its progress and summary; return the exit code.

    Unless it ``suggests`` something, no next commands are shown.

    Raises ``LoadcurveError``: nothing was measured, or a record could not be written; its exit code says
    which.
    """
    look, talk = Look(), new_console(stderr=True)
    with ExitStack() as stack:
        with shown(RunDisplay(talk, live=talk.is_terminal), talk) as display:
            if resumed is not None:
                interrupted_one = interrupted_run(resumed, argument)
                study_run = StudyRun.resume(interrupted_one, display, options.catalogs)
            else:
                study_run = StudyRun(find_study(argument or ""), options, display)
            if is_strict and not any(study.require for study in study_run.studies):
                raise BadInput(f"--strict needs [[require]] in {study_run.study_file}; it has none")
            stack.enter_context(followed(study_run, display, followers.watch_at))
            live = stack.enter_context(
                published(followers.metrics_at, followers.otlp, study_run.cpus_of_observers, display.note)
            )
            if live is not None:
                display.publishes(live)
            note_disturbance(look, display)
            display.begins(study_run.studies, study_run.order, study_run.first_block)
            interrupted = measured(study_run)
        steps = None
        if suggests and resumed is None and talk.is_terminal:
            steps = next_steps(argument or "", study_run.study_file, study_run.folder, options)
        ending = Ending(talk, steps, interrupted=interrupted)
        _show_all(study_run, talk, ending, interrupted=interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    return ending.exit_code(is_strict=is_strict)


class Ending:
    """What is said of a run between its results and the path of its report."""

    def __init__(self, talk: Console, steps: Text | None, *, interrupted: bool) -> None:
        """Say ``steps``, the next commands, of a whole run all servers of which have usable figures."""
        self._talk = talk
        self._steps = steps
        self._interrupted = interrupted
        self.usable = False
        """Whether each planned server of each load has a usable point."""
        self._outcomes: set[str] = set()

    def __call__(self, runs: Sequence[Run]) -> None:
        """Name the servers without a usable figure, or else the next commands."""
        if self._interrupted:
            return
        usable = [_is_usable(run, self._talk) for run in runs]
        self.usable = bool(usable) and all(usable)
        for run in runs:
            self._outcomes |= _requirements(run, self._talk)
        if self.usable and self._steps is not None:
            self._talk.print(self._steps, soft_wrap=True)
            self._talk.print()

    def exit_code(self, *, is_strict: bool) -> int:
        """Return what a whole run ends with."""
        if not self.usable or "failed" in self._outcomes:
            return EXIT_INVALID
        if self._outcomes == {"no_figure"}:
            return NothingMeasured.exit_code
        is_open = not self._outcomes <= {"held"}
        return EXIT_UNDECIDED if is_strict and is_open else EXIT_DONE


def _show_all(study_run: StudyRun, talk: Console, ending: Ending, *, interrupted: bool) -> None:
    """Print the summaries of a run, and write its reports, or those of its loads."""
    if not study_run.has_several_loads:
        show_results(study_run.folder, talk, interrupted=interrupted, before_path=ending)
        return
    if not has_several_loads(study_run.folder):
        talk.print("interrupted before anything was measured")
        return
    with interrupts_deferred():
        from loadcurve.cli.together import show_together

    show_together(study_run.folder, talk, interrupted=interrupted, before_path=ending)


@contextmanager
def followed(study_run: StudyRun, display: RunDisplay, watch_at: str | None) -> Iterator[None]:
    """Let a run be followed inside the block: in its folder, and on a page at ``watch_at``, if that is given.

    Raises ``BadInput``: the page cannot listen there.
    """
    if study_run.has_several_loads:
        if watch_at is not None:
            raise BadInput(f"--watch cannot be combined with the several loads of {study_run.study_file}")
        yield
        return
    with ExitStack() as stack:
        if watch_at is not None:
            listener = Listener.at(Address.parse(watch_at))
            display.note(announcement(listener))
            page = page_beside_run(study_run.folder, listener, study_run.cpus_of_observers)
            stack.enter_context(page)
        seconds = stack.enter_context(LiveFile(study_run.folder))
        display.keeps(stack.enter_context(ProgressFile(study_run.folder)), seconds)
        yield


def note_disturbance(look: Look, display: RunDisplay) -> None:
    """Say what else takes CPU time on this machine, unless that is expected."""
    if not others_are_expected() and (found := look.disturbance()) is not None:
        display.note(warning(found))


def measured(study_run: StudyRun) -> bool:
    """Take a run to its end and say whether it was interrupted before.

    Raises ``LoadcurveError``: nothing was measured, or a record could not be written.
    """
    try:
        points = study_run.measure()
    except KeyboardInterrupt:
        return True
    if not points:
        raise NothingMeasured(
            f"no point could be measured; {study_run.folder}/trials.jsonl records the reason for each trial"
        )
    return False


def _is_usable(run: Run, talk: Console) -> bool:
    """Say whether each planned server of a run has a usable point, and name those without one."""
    from loadcurve.result.measures import is_usable

    planned = list(dict.fromkeys(trial.server for trial in run.run.order))
    if {record.server for record in run.points if is_usable(record)} >= set(planned):
        return True
    from loadcurve.analysis.numbers import analysis_of
    from loadcurve.analysis.unusable import without_usable_figures
    from loadcurve.report.comparison import unusable_in_words

    talk.print("without a usable figure:")
    for words in unusable_in_words(without_usable_figures(analysis_of(run.folder), planned)):
        talk.print(Text(f"  {words}"))
    return False


def _requirements(run: Run, talk: Console) -> set[str]:
    """Return the outcomes of a run's requirements, and name those that are not held.

    One that is not decided for want of any figure is ``no_figure``.
    """
    if not run.run.study.get("require"):
        return set()
    from loadcurve.analysis.numbers import analysis_of
    from loadcurve.report.requirements import requirement_in_words, requirement_rows

    rows = requirement_rows(analysis_of(run.folder))
    for row in rows:
        if row.judged.outcome != "held":
            talk.print(Text(requirement_in_words(row)))
    return {
        "no_figure"
        if row.judged.outcome == "cannot_tell" and row.judged.estimate is None
        else row.judged.outcome
        for row in rows
    }

"""``loadcurve capacity``."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console

from loadcurve.analysis.limits import observed
from loadcurve.analysis.shape import shapes
from loadcurve.cli.console import new_console
from loadcurve.cli.display import RunDisplay, shown
from loadcurve.cli.results import show_results
from loadcurve.cli.run import followed, measured, note_disturbance
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.host.look import Look
from loadcurve.report.shape_words import enough_words, limited
from loadcurve.report.text import load
from loadcurve.result.folder import Run
from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord
from loadcurve.runs.capacity import SearchOptions
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.running import names_its_version
from loadcurve.server.target import read_url
from loadcurve.server.temporary import temporary_folder
from loadcurve.stats.slo import Objective, parse_objective
from loadcurve.study.find import find_study
from loadcurve.study.model import Study
from loadcurve.study.of_url import is_web_url, name_of_url, study_of_url
from loadcurve.toml.document import TomlDocument
from loadcurve.units import plural


class SearchDisplay(RunDisplay):
    """Follows a search: what each measured load says, and how many trials are over."""

    counted = "trials"

    def __init__(self, console: Console, objective: Objective, *, live: bool) -> None:
        """Show a search for the highest load at which ``objective`` holds."""
        super().__init__(console, live=live)
        self._objective = objective

    def begins(self, studies: Sequence[Study], order: Sequence[PlannedTrial], first_block: int = 0) -> None:  # noqa: ARG002
        """A search in these trials begins; how many points each will have is not known."""
        [study] = studies
        self._arms = study.arms
        self._points_per_trial = 1
        self._trials_planned = self._points_planned = len(order)
        self.note(f"{study.title}: a search in {plural(len(order), 'trial')}")

    def trial_begins(self, trial: PlannedTrial) -> None:
        """A server is being started."""
        self._points_over = trial.trial
        super().trial_begins(trial)

    def record_is_safe(self, trial: PlannedTrial, records: Sequence[PointRecord | FailureRecord]) -> None:
        """A load was measured, or a trial has failed."""
        [record] = records
        if isinstance(record, FailureRecord):
            super().record_is_safe(trial, records)
            return
        self._keep(None)
        self._note_new_caveats(record)
        key = next(key for key in reversed(record.point) if key in self._kind.load_keys)
        seen = observed(record, record.point[key], self._objective)
        said = "cannot be judged" if seen.holds is None else "holds" if seen.holds else "fails"
        figures = ", ".join(map(limited, self._objective.limits, seen.values))
        place = f"trial {record.trial + 1} of {self._trials_planned}, {record.server}"
        late = "although the generator was late" if seen.was_late else None
        because = seen.why_unknown or seen.why_failed or late
        why = "; ".join(filter(None, (because, enough_words(seen.enough_s))))
        self.note(f"{place}: {load(key, seen.load)}: {said} ({figures}){f': {why}' if why else ''}")


def capacity_command(
    argument: str,
    slo: str | None,
    key: str | None,
    low: float | None,
    high: float | None,
    options: RunOptions,
    watch_at: str | None = None,
) -> int:
    """Search the capacity of each server, or of that at a URL, show it, and return the exit code.

    The limits are those of the study where ``slo`` is ``None``.

    Raises ``LoadcurveError``: the limits or the study cannot be used, nothing was measured, or a record could
    not be written; its exit code says which.
    """
    look = Look()
    talk = new_console(stderr=True)
    with ExitStack() as followers:
        study_file = followers.enter_context(_study_at(argument, slo, low, high))
        search = SearchOptions(parse_objective(slo or _limits_of(study_file)), key, low, high)
        with shown(SearchDisplay(talk, search.objective, live=talk.is_terminal), talk) as display:
            study_run = StudyRun(study_file, options, display, search)
            followers.enter_context(followed(study_run, display, watch_at))
            note_disturbance(look, display)
            display.begins(study_run.studies, study_run.order)
            interrupted = measured(study_run)
        run = show_results(study_run.folder, talk, interrupted=interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_DONE if run and _has_capacity(run, search.objective) else EXIT_INVALID


@contextmanager
def _study_at(argument: str, slo: str | None, low: float | None, high: float | None) -> Iterator[Path]:
    """Yield the file of a study, which of a URL is made for as long as it is used: the run has a copy."""
    if not is_web_url(argument):
        yield find_study(argument)
        return
    read_url(argument)
    if slo is None:
        raise BadInput('--slo: missing; of a URL it names the limits, such as --slo "p99 < 10ms"')
    with temporary_folder("study") as folder:
        file = Path(folder, f"{name_of_url(argument)}.toml")
        limits = parse_objective(slo).text
        study = study_of_url(argument, limits, low, high, names_its_version=names_its_version(argument))
        file.write_text(study, encoding="utf-8")
        yield file


def _limits_of(study_file: Path) -> str:
    """Return the limits that a study names; raises ``BadInput`` where it names none, or cannot be read."""
    limits = TomlDocument.read(study_file).data.get("limits")
    if isinstance(limits, str):
        return limits
    raise BadInput(
        f'{study_file} names no limits: expected --slo LIMITS, such as --slo "p99 < 10ms", or '
        'limits = "p99 < 10ms" at the top of the study'
    )


def _has_capacity(run: Run, objective: Objective) -> bool:
    """Say whether any server kept the limits at some load of any trial."""
    capacities = [shape.capacity for part in shapes(run, objective) for shape in part.shapes]
    return any(one is not None and one.bound != "below" for one in capacities)

"""``loadcurve run`` of a suite: its plan, and its studies in turn, each with a run folder in the suite's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from loadcurve.analysis.ending import ending
from loadcurve.cli.agreement import require_agreement
from loadcurve.cli.console import new_console
from loadcurve.cli.run import Followers, run_command, shown_steps
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.report.column import FIGURES, NAMES, WRAPPED, Column
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.folder import read_run, require_new_folder
from loadcurve.result.inputs import LeftOut
from loadcurve.result.run_files import RUN_FILE, may_begin, new_folder
from loadcurve.result.several import SUITE_FORMAT, SuiteRecord, read_suite_record, write_suite
from loadcurve.runs.planned import not_installed_record
from loadcurve.runs.resume import is_complete
from loadcurve.runs.study import RunOptions
from loadcurve.server.catalog import catalogs_of, load_catalog
from loadcurve.server.check import CatalogRow, catalog_rows
from loadcurve.study.bundled import bundled_suites
from loadcurve.study.estimate import estimated_total_s
from loadcurve.study.model import Study
from loadcurve.study.suite import Suite, read_suite
from loadcurve.toml.document import TomlDocument
from loadcurve.units import clock

TRIALS_MAX = 100_000
"""A record of a suite that asks for more is refused."""


@dataclass(frozen=True)
class PlannedStudy:
    """A study of a suite, as it is about to be run."""

    name: str
    file: Path
    study: Study
    only: Sequence[str]
    """Those of the servers that ``--only`` names which the study has."""
    here: Sequence[str]
    """Those of its servers that are on this machine, or are built from what it has."""
    duration_s: float | None
    """About how long it takes with these, of a resumed suite what is left; ``None`` where nobody knows."""
    is_measured: bool = False
    """Whether a resumed suite has all of it."""


@dataclass(frozen=True)
class SuitePart:
    """What of a suite is to be measured now."""

    profiles: Sequence[str] = ()
    """Empty for all; other ones may follow by ``--resume``."""
    is_planned_only: bool = False
    """Whether to say what would be measured, and to end."""


def suite_command(
    file: Path,
    options: RunOptions,
    followers: Followers,
    resumed: Path | None,
    part: SuitePart,
    *,
    is_strict: bool,
    agrees: bool,
) -> int:
    """Run the studies of a suite, or those that an interrupted one lacks; return the exit code.

    It is that of the first study which does not end with 0. A study without any server on this machine is
    left out and said so.

    Raises ``LoadcurveError``: a study or an option cannot be used, the folder is in use, or no study could
    be measured.
    """
    if resumed is not None:
        options = _as_begun(read_suite_record(resumed), file, options.catalogs, resumed)
    suite = read_suite(file, quick=options.quick, profiles=part.profiles)
    if not suite.studies:
        raise BadInput(f"--quick measures no study of --profile {', '.join(part.profiles)}: leave it out")
    for study_file in suite.studies.values():
        require_agreement(str(study_file), is_given=agrees)
    planned, rows = plan_of(suite, options, resumed)
    talk = new_console(stderr=True)
    if part.is_planned_only:
        _show_plan(suite, planned, rows, new_console(), options)
        return EXIT_DONE
    _show_plan(suite, planned, rows, talk, options)
    folder = resumed or options.out or new_folder(suite.name)
    if resumed is None:
        require_new_folder(folder)
        record = SuiteRecord(
            format=SUITE_FORMAT, name=suite.name, options=options.changes(), seed=options.seed
        )
        write_suite(folder, record)
    codes: list[int] = []
    for place, one in enumerate(planned, start=1):
        talk.print(Text(f"\n{place} of {len(planned)}: {one.study.title}", style="bold"), soft_wrap=True)
        code: int | None = EXIT_INTERRUPTED
        try:
            code = _run_one(one, folder / one.name, options, followers, talk, is_strict=is_strict)
        finally:
            if code == EXIT_INTERRUPTED:
                of_part = [word for name in part.profiles for word in ("--profile", name)]
                words = ("run", _argument(suite.name, file), "--resume", str(folder), *of_part)
                talk.print(shown_steps({words: "the studies that are left"}), soft_wrap=True)
        codes += [] if code is None else [code]
        if code == EXIT_INTERRUPTED:
            return EXIT_INTERRUPTED
    if not codes:
        raise NothingMeasured("no study of the suite could be measured: none of their servers is installed")
    talk.print(Text(f"\n{suite.title}: {len(codes)} of {len(planned)} studies measured"))
    publish = ("publish", str(folder), "--to", "results")
    talk.print(shown_steps({publish: "one site of all of them"}), soft_wrap=True)
    return next((code for code in codes if code != EXIT_DONE), EXIT_DONE)


def plan_of(
    suite: Suite, options: RunOptions, resumed: Path | None = None
) -> tuple[list[PlannedStudy], Mapping[str, CatalogRow]]:
    """Return the studies of a suite as they are about to be run, and the servers of the catalogue.

    Of one that is ``resumed`` from a folder, what is measured there takes no more time.

    Nothing is started or built. Raises ``BadInput``: a study or an option cannot be used.
    """
    documents = {name: TomlDocument.read(file) for name, file in suite.studies.items()}
    studies = {name: document.to_model(Study) for name, document in documents.items()}
    folders = [folder for document in documents.values() for folder in catalogs_of(document)]
    catalog = load_catalog([*dict.fromkeys(folders), *options.catalogs])
    used = {server.use for study in studies.values() for server in study.servers.values()}
    rows = {row.name: row for row in catalog_rows(entry for entry in catalog if entry.name in used)}
    known = {name for study in studies.values() for name in study.servers}
    if unknown := [name for name in options.only if name not in known]:
        raise BadInput(f"--only {unknown[0]}: no study of the suite has such a server")
    planned = []
    for name, study in studies.items():
        shown = study.quick() if options.quick else study
        only = [one for one in options.only if one in shown.servers]
        if options.only and not only:
            continue
        servers = only or list(shown.servers)
        here = [one for one in servers if _is_here(rows.get(shown.servers[one].use))]
        done = 0 if resumed is None else _whole_blocks(resumed / name)
        count = max((options.trials or shown.trials.most) - done, 0) if done is not None else 0
        duration_s = estimated_total_s([shown], dict.fromkeys(here, count))
        planned.append(PlannedStudy(name, suite.studies[name], shown, only, here, duration_s, done is None))
    return planned, rows


def _whole_blocks(folder: Path) -> int | None:
    """Return how many blocks of a study are measured in a run folder; ``None`` where it is complete."""
    if not (folder / RUN_FILE).exists():
        return 0
    ended = ending(read_run(folder))
    return ended.blocks if ended.reason == "unfinished" else None


def _argument(name: str, file: Path) -> str:
    """Return by what a suite is named on the command line."""
    return name if bundled_suites().get(name) == file else str(file)


def _is_here(row: CatalogRow | None) -> bool:
    """Say whether a server is here; one that only a study defines is."""
    return row is None or row.status in {"found", "not built"}


def _as_begun(record: SuiteRecord, file: Path, catalogs: Sequence[Path], folder: Path) -> RunOptions:
    """Return the options with which a suite was begun."""
    name = read_suite(file).name
    if record.name != name:
        raise BadInput(f"{folder} has the runs of the suite {record.name}, and not of {name}: name that one.")
    options = RunOptions.of_words(record.options, record.seed, TRIALS_MAX)
    # A catalogue runs commands: that of a record is not followed.
    return replace(options, catalogs=catalogs)


def _run_one(
    one: PlannedStudy,
    folder: Path,
    options: RunOptions,
    followers: Followers,
    talk: Console,
    *,
    is_strict: bool,
) -> int | None:
    """Run a study of a suite, or what is left of it; return its exit code.

    ``None`` where none of its servers is here.
    """
    if (folder / RUN_FILE).exists():
        if is_complete(folder):
            talk.print(Text(f"measured already: {folder}"), soft_wrap=True)
            return EXIT_DONE
        kept = RunOptions(catalogs=options.catalogs)
        return run_command(str(one.file), kept, followers, folder, is_strict=is_strict, suggests=False)
    if not one.here:
        talk.print("left out: none of its servers is installed")
        return None
    if folder.exists() and may_begin(folder):
        # A run that was killed before it began has left its first files.
        for file in folder.iterdir():
            file.unlink()
    own = replace(options, out=folder, only=one.only)
    try:
        return run_command(str(one.file), own, followers, is_strict=is_strict, suggests=False)
    except NothingMeasured as error:
        has_failed = (folder / RUN_FILE).exists()
        talk.print(Text(f"{'' if has_failed else 'left out: '}{error}"), soft_wrap=True)
        return EXIT_INVALID if has_failed else None


def _show_plan(
    suite: Suite,
    planned: Sequence[PlannedStudy],
    rows: Mapping[str, CatalogRow],
    talk: Console,
    options: RunOptions,
) -> None:
    """Print what is going to be measured, for how long, and which servers are left out."""
    talk.print(Text(suite.title, style="bold"))
    columns: list[Column[PlannedStudy]] = [
        Column("study", lambda one: one.study.title, WRAPPED),
        Column("servers", lambda one: f"{len(one.here)} of {len(one.only or one.study.servers)}", NAMES),
        Column("about", _length, FIGURES),
    ]
    talk.print(column_table(planned, columns))
    total_s = sum(one.duration_s or 0.0 for one in planned)
    shorter = "" if options.quick else "; the short form, --quick, ends within ten minutes"
    talk.print(Text(f"about {clock(total_s)} in all{shorter}"))
    if left_out := _left_out(planned, rows):
        talk.print(Text(left_out.names))
        if left_out.hint is not None:
            talk.print(Text(f"  {left_out.hint}:"))
            talk.print(Text(f"    {left_out.install}"), soft_wrap=True)


def _length(one: PlannedStudy) -> str:
    """Return how long a study takes, as the plan shows it."""
    if one.is_measured:
        return "measured"
    return "?" if one.duration_s is None else clock(one.duration_s)


def _left_out(planned: Iterable[PlannedStudy], rows: Mapping[str, CatalogRow]) -> LeftOut | None:
    """Return the servers that are not on this machine, with one command for all that its system has."""
    used = [one.study.servers[name].use for one in planned for name in one.only or one.study.servers]
    missing = [name for name in dict.fromkeys(used) if not _is_here(rows.get(name))]
    return not_installed_record({name: rows[name].entry.description.install for name in missing})

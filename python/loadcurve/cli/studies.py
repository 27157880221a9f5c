"""``loadcurve studies``: the studies that come with Loadcurve, and how long a study takes."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from loadcurve.cli.agreement import print_effects
from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput
from loadcurve.report.column import NAMES, WRAPPED, Column
from loadcurve.report.terminal_tables import column_table
from loadcurve.runs.prepare import checked_studies
from loadcurve.server.catalog import catalogs_of, load_catalog
from loadcurve.study.bundled import STUDY_FILE, SUITE_FILE, bundled_studies, bundled_suites
from loadcurve.study.estimate import estimated_total_s
from loadcurve.study.find import bundled_study, find_study
from loadcurve.study.several import studies_in
from loadcurve.study.suite import find_suite, read_suite
from loadcurve.toml.document import TomlDocument
from loadcurve.units import clock, plural

UNKNOWN = "duration unknown before a run"


def list_command() -> None:
    """Print the studies and suites that come with Loadcurve, with what they ask."""
    suites = bundled_suites()
    folders = {file.parent for file in suites.values()}
    rows = [
        (name, study.question or study.title)
        for name, file in bundled_studies().items()
        if file.parent not in folders
        for study in studies_in(file)[:1]
    ]
    for name, file in suites.items():
        suite = read_suite(file)
        rows.append((name, f"{suite.question or suite.title} ({len(suite.studies)} studies in turn)"))
    columns: list[Column[tuple[str, str]]] = [
        Column("study", lambda row: row[0], NAMES),
        Column("question", lambda row: row[1], WRAPPED),
    ]
    new_console(is_list=True).print(column_table(sorted(rows), columns))


def check_command(argument: str, catalogs: Sequence[Path] = ()) -> None:
    """Check a study as a run would, and print what it would measure, for how long, and what it touches.

    Of a suite, all of its studies. Nothing is started.

    Raises ``BadInput``: the study cannot be used.
    """
    if (suite := find_suite(argument)) is not None:
        for study_file in read_suite(suite).studies.values():
            check_command(str(study_file), catalogs)
        return
    file = find_study(argument)
    catalog = load_catalog([*catalogs_of(TomlDocument.read(file)), *catalogs])
    studies = checked_studies(file, catalog)
    out = new_console()
    out.print(Text(f"{file}: {studies[0].title}"), soft_wrap=True)
    for words, shown in (("in full", studies), ("with --quick", [one.quick() for one in studies])):
        points, trials = len(shown[0].points()), shown[0].trials.most
        size = plural(sum(len(one.servers) for one in shown), "server")
        if len(shown) > 1:
            size = f"{len(shown)} loads alone and together"
        # The start of all servers of several loads counts once.
        arms = [*shown[0].arms, *(next(iter(one.arms)) for one in shown[1:])]
        duration_s = estimated_total_s(shown, dict.fromkeys(arms, trials))
        length = UNKNOWN if duration_s is None else f"about {clock(duration_s)}"
        lengths = f"{plural(points, 'point')}, {plural(trials, 'trial')} of each; {length}"
        out.print(f"{words}: {size}, {lengths}")
    print_effects(file, out)


def copy_command(name: str, target: Path | None) -> None:
    """Copy a bundled study, with all that belongs to it, to a place where nothing is yet.

    Raises ``BadInput``: there is no bundled study of this name, or the place is taken or cannot be made.
    """
    file = bundled_suites().get(name) or bundled_study(name)
    is_folder = file.name in {STUDY_FILE, SUITE_FILE}
    source = file.parent if is_folder else file
    made = target or Path(source.name)
    if made.exists() or made.is_symlink():
        raise BadInput(f"{made} already exists and is not overwritten; give another folder: DIR")
    try:
        if is_folder:
            shutil.copytree(source, made, copy_function=shutil.copyfile)
        else:
            made.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, made)
    except OSError as error:
        raise BadInput(f"{made} cannot be written: {error.strerror or error}") from None
    new_console().print(Text(f"{made}: edit {made / file.name if is_folder else made}, then run it"))

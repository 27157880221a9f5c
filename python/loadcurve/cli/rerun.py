"""``loadcurve rerun``: a run measured again from its folder, beside the figures that it published."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import typer

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.numbers import analysis_of
from loadcurve.analysis.rerun import Rerun, judge_published, judge_rerun
from loadcurve.cli.agreement import require_agreement
from loadcurve.cli.commands.options import runs_there
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import tell_damage
from loadcurve.cli.output import one_object_on_stdout
from loadcurve.cli.regression import share_of
from loadcurve.cli.rerun_servers import provide_servers
from loadcurve.cli.run import run_command
from loadcurve.errors import BadInput
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_UNDECIDED
from loadcurve.host.fetching import SCHEMES, fetch
from loadcurve.report.rerun import rerun_json, rerun_lines
from loadcurve.result.archive import BYTES_MAX
from loadcurve.result.folder import read_run_record
from loadcurve.result.publication import PUBLISHED_BYTES_MAX, read_published_file
from loadcurve.result.records import RunRecord
from loadcurve.result.run_files import ARCHIVE_SUFFIX, STUDY_FILE, new_folder
from loadcurve.runs.study import RunOptions
from loadcurve.server.temporary import temporary_folder

PUBLISHED_SUFFIX = ".json"
TRIALS_MAX = 1_000
"""More trials than this of a published run are not repeated."""


@dataclass(frozen=True)
class RerunOptions:
    """What the person changes about a second run."""

    rows: tuple[str, ...] = ()
    """The servers to measure; empty for all."""
    out: Path | None = None
    within: str = "10%"
    is_strict: bool = False
    """Whether a second run that cannot tell is a failure."""
    as_json: bool = False
    agrees: bool = False
    """Whether the person agrees to what the study runs, and to installing the servers that it needs."""


def rerun_command(source: str, options: RerunOptions) -> int:
    """Measure a run again, and say whether its figures are reproduced; return the exit code.

    ``source`` is a run folder, a run as one file, a published result, or the URL of one of the latter two.

    Raises ``LoadcurveError``: the run cannot be measured again, or nothing was measured.
    """
    with temporary_folder("a published result") as fetched:
        path = _fetched(source, fetched) if source.startswith(SCHEMES) else Path(source)
        if path.name.endswith(PUBLISHED_SUFFIX):
            return _again_published(path, fetched, options)
        (folder,) = runs_there([path])
        is_fetched = path != Path(source)
        return _again(folder, options, is_foreign=f"it comes from {source}" if is_fetched else None)


def _again(folder: Path, options: RerunOptions, is_foreign: str | None) -> int:
    margin = share_of("--within", options.within)
    record, damage = read_run_record(folder)
    _require_study(folder, record, options.rows)
    for sentence in damage:
        new_console(stderr=True).print(f"loadcurve: {sentence}", soft_wrap=True)
    study = folder / STUDY_FILE
    require_agreement(str(study), is_given=options.agrees, is_foreign=is_foreign)
    of_run = RunOptions.of_run(folder, record)
    measured = {name: one.version for name, one in record.servers.items() if one.status == "found"}
    _provide(study, measured, of_run, options)
    new = _measured(study, of_run, options)
    if new is None:
        return EXIT_INTERRUPTED
    base = analysis_of(folder)
    tell_damage(base, folder)
    return _told(judge_rerun(base, new, margin), options)


def _again_published(path: Path, work: Path, options: RerunOptions) -> int:
    """Measure the run of a published file again from the study in it."""
    margin = share_of("--within", options.within)
    run = read_published_file(path)
    _require_rows(options.rows, [one.name for one in run.servers])
    if run.study is None:
        raise BadInput(
            f"{path} was published without its study, which named folders or machines: it cannot be measured "
            "again. Ask its publisher for the run as one file (loadcurve pack)."
        )
    study = work / STUDY_FILE
    study.write_text(run.study, encoding="utf-8")
    require_agreement(str(study), is_given=options.agrees, is_foreign="it is part of a published result")
    # Catalogues lie where the publisher had them.
    of_run = replace(
        RunOptions.of_words(run.options, run.seed, trials_max=TRIALS_MAX),
        catalogs=(),
        study_name=run.subject,
    )
    _provide(study, {one.name: one.version for one in run.servers if not one.missing}, of_run, options)
    new = _measured(study, of_run, options)
    if new is None:
        return EXIT_INTERRUPTED
    return _told(judge_published(run, new, margin), options)


def _provide(
    study: Path, measured: Mapping[str, str | None], of_run: RunOptions, options: RerunOptions
) -> None:
    """Let servers that are to be measured again be installed where they are missing."""
    wanted = {name: version for name, version in measured.items() if name in (options.rows or measured)}
    provide_servers(study, wanted, of_run.catalogs, agrees=options.agrees)


def _measured(study: Path, of_run: RunOptions, options: RerunOptions) -> Analysis | None:
    """Run a study with the options of a run, and return what was found; ``None`` where it was interrupted."""
    out = options.out or new_folder("rerun")
    with one_object_on_stdout(is_asked=options.as_json):
        code = run_command(str(study), replace(of_run, out=out, only=options.rows or of_run.only))
    return None if code == EXIT_INTERRUPTED else analysis_of(out)


def _told(found: Rerun, options: RerunOptions) -> int:
    if options.as_json:
        typer.echo(json.dumps(rerun_json(found), indent=2))
    else:
        new_console().print(rerun_lines(found))
    return exit_code_of(found, is_strict=options.is_strict)


def exit_code_of(found: Rerun, *, is_strict: bool) -> int:
    """Return what a rerun ends with, as a gate does: 3 is for what is shown, 5 for what is not decided."""
    if found.is_contradicted:
        return EXIT_INVALID
    return EXIT_UNDECIDED if is_strict and not found.is_confirmed else EXIT_DONE


def _fetched(url: str, folder: Path) -> Path:
    """Return the file at a URL, fetched into a folder; its digest is checked where it is read."""
    bounds = {PUBLISHED_SUFFIX: PUBLISHED_BYTES_MAX, ARCHIVE_SUFFIX: BYTES_MAX}
    named = unquote(urlsplit(url).path)
    suffix = next((one for one in bounds if named.endswith(one)), None)
    if suffix is None:
        raise BadInput(
            f"{url} names no published result and no run as one file: expected a URL that ends with "
            f"{PUBLISHED_SUFFIX} or {ARCHIVE_SUFFIX}."
        )
    path = folder / f"fetched{suffix}"
    fetch(url, path, bounds[suffix])
    return path


_OF_NO_SWEEP = {
    "import": "imported from files of other tools",
    "gate": "a gate",
    "search": "a search for the capacity",
}


def _require_study(folder: Path, record: RunRecord, rows: tuple[str, ...]) -> None:
    """Refuse runs that no study's sweep makes, and servers that the run does not have."""
    if record.origin != "sweep":
        raise BadInput(
            f"{folder} is {_OF_NO_SWEEP[record.origin]}, and not a sweep of a study, which alone can be "
            "measured again beside its figures. The report has the command that repeats it."
        )
    _require_rows(rows, list(record.servers))


def _require_rows(rows: tuple[str, ...], servers: Sequence[str]) -> None:
    if unknown := [name for name in rows if name not in servers]:
        raise BadInput(
            f"--row {unknown[0]}: the run has no such server; expected one of {', '.join(servers)}"
        )

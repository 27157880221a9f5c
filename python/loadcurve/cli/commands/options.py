"""Options that several subcommands have, and checks of what they name before anything heavy is imported."""

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from loadcurve.cli import completion
from loadcurve.errors import BadInput
from loadcurve.result.run_files import (
    RUN_FILE,
    has_several_loads,
    is_archive,
    is_of_suite,
    may_begin,
    require_run_folder,
)

CatalogOption = Annotated[
    list[Path] | None,
    typer.Option("--catalog", metavar="DIR", help="A folder with your own servers; may be repeated."),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="The new run folder; default: one in loadcurve-runs."),
]
TrialsOption = Annotated[
    int | None, typer.Option("--trials", min=1, metavar="N", help="Trials of each server.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="SERVER",
        help="Only this server; may be repeated.",
        autocompletion=completion.servers,
    ),
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Shorter loads and fewer points, for a first look.")
]
ProfileOption = Annotated[
    list[str] | None,
    typer.Option(
        "--profile", metavar="NAME", help="Of a suite only this profile, such as tls; may be repeated."
    ),
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Run the study even if it may be of somebody else's making.")
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        metavar="N",
        help="Seed of the order of trials and of the content, to repeat another run.",
    ),
]


def run_there(run: Path | None) -> Path | None:
    """Return the folder of a run or of its archive; refuse all else before what reads one is imported."""
    if run is None:
        return None
    folder = _opened(run)
    require_run_folder(folder)
    return folder


def run_to_watch(run: Path) -> Path:
    """Return the folder of a run, as :func:`run_there` does, or one in which a run may begin soon."""
    return run if may_begin(run) else run_there(run) or run


def runs_there(runs: list[Path]) -> list[Path]:
    """Return the folders of runs, as :func:`run_there` does."""
    return [folder for folder in map(run_there, runs) if folder is not None]


def run_to_resume(folder: Path | None) -> Path | None:
    """Refuse what is no run folder that can be written to, before what resumes one is imported."""
    if folder is not None and is_archive(folder):
        raise BadInput(
            f"{folder} is an archive, which is not written to: `loadcurve import {folder}` makes "
            "a run folder of it."
        )
    if folder is not None and not is_of_suite(folder):
        require_run_folder(folder)
    return folder


def _opened(run: Path) -> Path:
    if not is_archive(run):
        return run
    from loadcurve.host.archives import opened

    return opened(run)


def study_there(study: str | None) -> str | None:
    """Refuse what names no study, before what runs one is imported."""
    if study is not None and not Path(study).is_file():
        from loadcurve.study.find import find_study

        find_study(study)
    return study


def study_or_suite_there(name: str | None) -> str | None:
    """Refuse what names neither a study nor a suite of studies, before what runs one is imported."""
    if name is not None and not Path(name).is_file():
        from loadcurve.study.suite import find_suite

        return name if find_suite(name) is not None else study_there(name)
    return name


def study_or_url_there(name: str) -> str:
    """Refuse what names neither a study nor a web server, before what runs one is imported."""
    if not name.startswith(("http://", "https://")):
        study_there(name)
    return name


def require_files(names: Iterable[str]) -> None:
    """Refuse files that do not exist, except patterns, before what reads files is imported."""
    for name in names:
        if "{" not in name and not os.path.lexists(name):
            raise BadInput(f"{name} cannot be read: {os.strerror(errno.ENOENT)}.")


def study_or_run_there(name: str | None) -> str | None:
    """Refuse what names neither a study nor a run folder, before what reads them is imported."""
    folder = None if name is None else _opened(Path(name))
    return str(folder) if folder is not None and (folder / RUN_FILE).exists() else study_there(name)


def folders_to_report(folders: list[Path]) -> list[Path]:
    """Return folders as :func:`run_there` does; the only one may be that of several loads."""
    opened = list(map(_opened, folders))
    return opened if len(opened) == 1 and has_several_loads(opened[0]) else runs_there(opened)


def run_argument(metavar: str, about: str) -> Any:  # noqa: ANN401 -- typer's class is private
    """Return an argument that names a run folder."""
    return typer.Argument(
        metavar=metavar, help=about, callback=run_there, autocompletion=completion.run_folders
    )


StudyThere = Callable[[str | None], str | None]


def study_argument(metavar: str, there: StudyThere = study_there) -> Any:  # noqa: ANN401 -- as above
    """Return an argument that names a study to run, which is looked for by ``there``."""
    return typer.Argument(
        metavar=metavar,
        help="A study file, or a bundled study.",
        callback=there,
        autocompletion=completion.studies,
    )


def suite_argument(metavar: str) -> Any:  # noqa: ANN401 -- as above
    """Return an argument that names a study, or a suite of them, to run."""
    return typer.Argument(
        metavar=metavar,
        help="A study file, a suite of them, or a bundled one.",
        callback=study_or_suite_there,
        autocompletion=completion.studies_and_suites,
    )


ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        help="Resume the interrupted run in this folder, with its own options; name its study if another "
        "user started it.",
        autocompletion=completion.run_folders,
        callback=run_to_resume,
    ),
]
GeneratorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--generator",
        metavar="NAME",
        help="Measure each server under this load generator, too; may be repeated.",
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        help="Serve figures of the load under way to Prometheus there, such as 127.0.0.1:9464.",
    ),
]
OtlpOption = Annotated[
    str | None,
    typer.Option(
        "--otlp",
        metavar="URL",
        help="Send them each second to this collector by OTLP, such as http://127.0.0.1:4318.",
    ),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Serve a page that follows the run; its URL is printed on stderr.")
]
WatchAddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Where that page listens; default: a free port on the loopback interface."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]


def refuse_two_forms(printed: str, *, json_output: bool) -> None:
    """Refuse ``--json`` beside another ``--format``: one of them would be ignored."""
    if json_output and printed not in {"text", "json"}:
        raise typer.BadParameter(f"--json and --format {printed} name two forms; remove one of the two")


SLO_HELP = 'Limits, such as "p99 < 10ms, errors < 0.1 %".'
SloOption = Annotated[str | None, typer.Option("--slo", metavar="LIMITS", help=SLO_HELP)]

"""Subcommands that measure: studies, searches and cross-checks."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadcurve.cli import completion
from loadcurve.cli.commands.options import (
    CatalogOption,
    GeneratorOption,
    JsonOption,
    MetricsOption,
    OnlyOption,
    OtlpOption,
    OutOption,
    ProfileOption,
    QuickOption,
    ResumeOption,
    SeedOption,
    SloOption,
    TrialsOption,
    WatchAddressOption,
    WatchOption,
    YesOption,
    study_or_run_there,
    study_or_url_there,
    suite_argument,
)
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput
from loadcurve.result.run_files import RUN_FILE, is_of_suite

if TYPE_CHECKING:
    from loadcurve.runs.study import RunOptions


def run(
    study: Annotated[str | None, suite_argument("STUDY.toml")] = None,
    out: OutOption = None,
    trials: TrialsOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
    seed: SeedOption = None,
    catalog: CatalogOption = None,
    watch: WatchOption = False,
    watch_address: WatchAddressOption = None,
    generator: GeneratorOption = None,
    metrics: MetricsOption = None,
    otlp: OtlpOption = None,
    resume: ResumeOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 5 if a requirement is not decided.")
    ] = False,
    repeat_every: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="A soak: a trial at this interval, on servers that live on."),
    ] = None,
    lasting: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="With --repeat-every: how long, such as 24h."),
    ] = None,
    profile: ProfileOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be measured and for how long, and end.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Run a study and write its run folder with report.html.

    Of a suite, such as the bundled `ranking`, all studies are run in turn, each with a run folder.
    """
    from loadcurve.cli.agreement import require_agreement
    from loadcurve.cli.run import Followers, run_command
    from loadcurve.runs.soak import EVERY_OPTION, FOR_OPTION, Soak
    from loadcurve.runs.study import RunOptions

    raise_on_interrupts()
    soak = {EVERY_OPTION: repeat_every, FOR_OPTION: lasting}
    options = RunOptions(
        out,
        trials,
        tuple(only or ()),
        quick,
        seed,
        tuple(catalog or ()),
        tuple(generator or ()),
        Soak.of_words({name: [word] for name, word in soak.items() if word is not None}),
    )
    if resume is None and study is None:
        raise typer.BadParameter("missing; expected a study file, or --resume RUN", param_hint="STUDY.toml")
    kept = RunOptions() if study is None else RunOptions(catalogs=options.catalogs)
    followers = Followers(watched_at(watch, watch_address), metrics, otlp)
    if resume is not None and options != kept:
        raise typer.BadParameter(
            "a resumed run keeps its original options; expected only --watch, or --catalog beside STUDY.toml",
            param_hint="--resume",
        )
    if (suite := suite_of(study, resume)) is not None:
        from loadcurve.cli.suite import SuitePart, suite_command

        part = SuitePart(tuple(profile or ()), dry_run)
        raise typer.Exit(suite_command(suite, options, followers, resume, part, is_strict=strict, agrees=yes))
    if profile:
        raise typer.BadParameter("expected a suite, whose profiles it names", param_hint="--profile")
    if dry_run:
        _dry_run(study if resume is None else None, options, kept)
    if study is not None:
        require_agreement(study, is_given=yes)
    raise typer.Exit(run_command(study, options, followers, resume, is_strict=strict))


def _dry_run(study: str | None, options: "RunOptions", alone: "RunOptions") -> None:
    """Print what a study would measure, in full and with ``--quick``, and end the command."""
    from loadcurve.cli.studies import check_command

    if study is None or options not in (alone, replace(alone, quick=True)):
        raise typer.BadParameter(
            "it shows a single study in full and with --quick; expected no other option than --catalog",
            param_hint="--dry-run",
        )
    check_command(study, options.catalogs)
    raise typer.Exit


def suite_of(study: str | None, resumed: Path | None) -> Path | None:
    """Return the file of the suite that is to be run or resumed; ``None`` where it is a single study.

    Raises ``BadInput``: a suite's runs are to be resumed, and the suite is not named.
    """
    from loadcurve.study.suite import find_suite

    suite = None if study is None else find_suite(study)
    if suite is None and resumed is not None and is_of_suite(resumed):
        raise BadInput(
            f"{resumed} has the runs of a suite: name it, because its studies run commands, such as "
            f"loadcurve run ranking --resume {resumed}"
        )
    return suite


def rerun(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|URL",
            help="A run folder, a run as one file, or a published result, of anybody; or the URL of a file.",
            autocompletion=completion.run_folders,
        ),
    ],
    row: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="SERVER", help="Measure only this server; may be repeated."),
    ] = None,
    out: OutOption = None,
    within: Annotated[
        str, typer.Option(metavar="SHARE", help="By how much a reproduced figure may differ.")
    ] = "10%",
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 5 if the trials cannot tell.")] = False,
    json_output: JsonOption = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Run the study even if it may be somebody else's, and install the servers that it needs.",
        ),
    ] = False,
) -> None:
    """Measure a run again, to see whether it is reproduced.

    The study, its inputs, the seed and the options are the run's. Versions and settings that differ are
    named. Servers that are missing are installed, by version and digest, where the catalogue has packages
    and you agree. On another machine, the shapes of curves and the order of the servers are compared and no
    figures are. Exit code 3 if a figure is not reproduced, or on another machine a shape or the order.
    """
    from loadcurve.cli.rerun import RerunOptions, rerun_command

    raise_on_interrupts()
    options = RerunOptions(tuple(row or ()), out, within, strict, json_output, yes)
    raise typer.Exit(rerun_command(run, options))


def init(
    file: Annotated[
        Path,
        typer.Argument(metavar="STUDY.toml", help="The new file; an existing file is never overwritten."),
    ] = Path("study.toml"),
    command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="A study of your own application instead, or with --only of both, started by this command "
            "with {port} in it, such as 'PORT={port} node server.js'.",
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path",
            metavar="PATH",
            help="What --command is asked for; without it, it is started once, and asked for / or, where "
            "that is not answered with 200, for paths of its openapi.json or its source. Repeatable.",
        ),
    ] = None,
    only: OnlyOption = None,
    catalog: CatalogOption = None,
) -> None:
    """Write a commented study: servers found here, or your own."""
    if path and command is None:
        raise typer.BadParameter("--path requires --command: servers of the catalogue serve generated files")
    from loadcurve.cli.init import InitGiven, init_command

    raise_on_interrupts()
    init_command(file, tuple(catalog or ()), InitGiven(command, tuple(path or ()), tuple(only or ())))


def capacity(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|URL",
            help="A study, or the URL of a web server that runs.",
            autocompletion=completion.studies,
            callback=study_or_url_there,
        ),
    ],
    slo: SloOption = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The key to vary in the search: connections, threads or rate."),
    ] = None,
    low: Annotated[
        float | None, typer.Option("--from", metavar="LOAD", help="The lowest load; default: the sweep's.")
    ] = None,
    high: Annotated[
        float | None, typer.Option("--to", metavar="LOAD", help="The highest load; default: the sweep's.")
    ] = None,
    out: OutOption = None,
    trials: TrialsOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
    seed: SeedOption = None,
    catalog: CatalogOption = None,
    watch: WatchOption = False,
    watch_address: WatchAddressOption = None,
    yes: YesOption = False,
) -> None:
    """Search the highest load at which limits hold.

    The result is a load for each server, with its interval over trials. The limits are those of --slo, or
    else the study's own. The server at a URL is asked for its path at rates from 100 to 100,000 per second,
    or --from LOAD --to LOAD; the run folder has the study that this makes.
    """
    from loadcurve.cli.agreement import require_agreement
    from loadcurve.cli.capacity import capacity_command
    from loadcurve.runs.study import RunOptions
    from loadcurve.study.of_url import is_web_url

    raise_on_interrupts()
    options = RunOptions(out, trials, tuple(only or ()), quick, seed, tuple(catalog or ()))
    watch_at = watched_at(watch, watch_address)
    if not is_web_url(study):
        require_agreement(study, is_given=yes)
    raise typer.Exit(capacity_command(study, slo, key, low, high, options, watch_at))


def watched_at(watch: bool, address: str | None) -> str | None:  # noqa: FBT001 -- an option
    """Return where the page listens; ``None`` where none is asked for."""
    from loadcurve.watch.address import ANY_LOOPBACK_PORT

    if address is not None and not watch:
        raise typer.BadParameter("--watch-address requires --watch")
    return (address or ANY_LOOPBACK_PORT) if watch else None


def crosscheck(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY|RUN]",
            help="A study file, a bundled study, or the folder of a run with several generators.",
            autocompletion=completion.studies,
            callback=study_or_run_there,
        ),
    ] = None,
    generator: GeneratorOption = None,
    out: OutOption = None,
    trials: TrialsOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
    seed: SeedOption = None,
    catalog: CatalogOption = None,
    yes: YesOption = False,
    json_output: JsonOption = False,
) -> None:
    """Run a study under several load generators in turn.

    The result shows where they differ from our engine, and possible reasons.

    Without --generator the study's own generators are used, or every installed one that can send its load;
    without a study, nginx or `limit` is measured as in the bundled study quickstart.
    """
    from loadcurve.cli.agreement import require_agreement
    from loadcurve.cli.crosscheck import checked_names, crosscheck_command
    from loadcurve.runs.study import RunOptions

    raise_on_interrupts()
    options = RunOptions(
        out, trials, tuple(only or ()), quick, seed, tuple(catalog or ()), checked_names(generator or ())
    )
    if study is not None and not (Path(study) / RUN_FILE).exists():
        require_agreement(study, is_given=yes)
    raise typer.Exit(crosscheck_command(study, options, json_output=json_output))

"""The command ``loadcurve``: its subcommands, and the exit code of every way in which they end.

What a subcommand needs is imported when it runs, so that ``--help`` answers at once.
"""

import functools
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli import completion
from loadcurve.cli.interrupts import end_on_interrupts, raise_on_interrupts
from loadcurve.cli.load_arguments import load
from loadcurve.cli.output import WITHOUT_CONTROL_CHARACTERS, results_on_stdout
from loadcurve.cli.parsing import Command, CommandGroup
from loadcurve.errors import NO_MEMORY, LoadcurveError, refusal
from loadcurve.exit_codes import EXIT_INTERRUPTED
from loadcurve.result.run_files import RUNS_FOLDER, has_several_loads, require_run_folder

app = typer.Typer(
    name="loadcurve",
    cls=CommandGroup,
    help="Puts real servers under load and returns the curve, with an interval on every number.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
command = functools.partial(app.command, cls=Command)

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
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        metavar="N",
        help="Seed of the order of trials and of the content, to repeat another run.",
    ),
]


def run_folders_there(folders: Path | list[Path] | None) -> Path | list[Path] | None:
    """Refuse what is no run folder, before what reads one is imported."""
    for folder in folders if isinstance(folders, list) else filter(None, [folders]):
        require_run_folder(folder)
    return folders


def study_there(study: str | None) -> str | None:
    """Refuse what names no study, before what runs one is imported."""
    if study is not None and not Path(study).is_file():
        from loadcurve.study.find import find_study

        find_study(study)
    return study


ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        help="Resume the interrupted run in this folder, with its own options; name its study where somebody "
        "else began it.",
        autocompletion=completion.run_folders,
        callback=run_folders_there,
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
METRICS_HELP = "Serve figures of the load under way to Prometheus there, such as 127.0.0.1:9464."
OTLP_HELP = "Send them each second to this collector by OTLP, such as http://127.0.0.1:4318."
MetricsOption = Annotated[str | None, typer.Option("--metrics", metavar="HOST:PORT", help=METRICS_HELP)]
OtlpOption = Annotated[str | None, typer.Option("--otlp", metavar="URL", help=OTLP_HELP)]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Serve a page that follows the run; its URL is printed on stderr.")
]
WatchAddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Where that page listens; default: a free port on the loopback interface."
    ),
]


def folders_to_report(folders: list[Path]) -> list[Path]:
    """Refuse what is neither a run folder nor the only one, of several loads."""
    if not (len(folders) == 1 and has_several_loads(folders[0])):
        run_folders_there(folders)
    return folders


SLO_HELP = 'Limits, such as "p99 < 10ms, errors < 0.1 %".'
SloOption = Annotated[str, typer.Option("--slo", metavar="LIMITS", help=SLO_HELP)]


@command()
def run(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY.toml",
            help="A study file, or a bundled study.",
            autocompletion=completion.studies,
            callback=study_there,
        ),
    ] = None,
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
) -> None:
    """Run a study and write its run folder with report.html."""
    from loadcurve.cli.run import Followers, run_command
    from loadcurve.runs.study import RunOptions

    raise_on_interrupts()
    options = RunOptions(
        out, trials, tuple(only or ()), quick, seed, tuple(catalog or ()), tuple(generator or ())
    )
    if resume is None and study is None:
        raise typer.BadParameter("missing; expected a study file, or --resume RUN", param_hint="STUDY.toml")
    kept = RunOptions() if study is None else RunOptions(catalogs=options.catalogs)
    followers = Followers(_watched_at(watch, watch_address), metrics, otlp)
    if resume is not None and options != kept:
        raise typer.BadParameter(
            "a resumed run keeps its original options; expected only --watch, or --catalog beside STUDY.toml",
            param_hint="--resume",
        )
    raise typer.Exit(run_command(study, options, followers, resume))


@command()
def init(
    file: Annotated[
        Path,
        typer.Argument(metavar="STUDY.toml", help="The new file; an existing file is never overwritten."),
    ] = Path("study.toml"),
    catalog: CatalogOption = None,
) -> None:
    """Write a commented study for the servers found here."""
    from loadcurve.cli.init import init_command

    raise_on_interrupts()
    init_command(file, tuple(catalog or ()))


@command()
def capacity(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study file, or a bundled study.",
            autocompletion=completion.studies,
            callback=study_there,
        ),
    ],
    slo: SloOption,
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
) -> None:
    """Search the highest load at which limits hold.

    The result is a load for each server, with its interval over trials.
    """
    from loadcurve.cli.capacity import capacity_command
    from loadcurve.runs.study import RunOptions

    raise_on_interrupts()
    options = RunOptions(out, trials, tuple(only or ()), quick, seed, tuple(catalog or ()))
    watch_at = _watched_at(watch, watch_address)
    raise typer.Exit(capacity_command(study, slo, key, low, high, options, watch_at))


def _watched_at(watch: bool, address: str | None) -> str | None:  # noqa: FBT001 -- an option
    """Return where the page listens; ``None`` where none is asked for."""
    from loadcurve.watch.address import ANY_LOOPBACK_PORT

    if address is not None and not watch:
        raise typer.BadParameter("--watch-address requires --watch")
    return (address or ANY_LOOPBACK_PORT) if watch else None


command()(load)


@command()
def studies(
    first: Annotated[
        str | None,
        typer.Argument(metavar="check|copy", help="Read a study without running it, or copy one to edit."),
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY", help="A study file, or a bundled study.", autocompletion=completion.studies
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="With copy: what is made; default: the study's name, here."),
    ] = None,
) -> None:
    """List the bundled studies, check one, or copy one.

    `studies check STUDY` reads a study without running it, and prints how long it takes. `studies copy STUDY
    [DIR]` copies a bundled study with its figures and claims to a new folder, to edit it there.
    """
    from loadcurve.cli.studies import check_command, copy_command, list_command

    if first is None:
        list_command()
    elif first == "check" and second is not None and target is None:
        check_command(second)
    elif first == "copy" and second is not None:
        copy_command(second, target)
    else:
        found = " ".join(filter(None, (first, second, str(target) if target else None)))
        raise typer.BadParameter(
            f"found {found}; expected check STUDY, copy STUDY [DIR], or nothing for the list"
        )


@command()
def machines(
    named: Annotated[
        list[str],
        typer.Argument(
            metavar="[check|remove] STUDY.toml|SSH…",
            help="Study files, or ssh destinations such as bench@web.example.",
        ),
    ],
) -> None:
    """List, check or clean up the machines that studies name.

    `check` connects to each machine, copies what it lacks and tests the path of the load, as a run does.
    `remove` deletes what was copied.
    """
    from loadcurve.cli.machines import check_command, list_command, remove_command

    raise_on_interrupts()
    first, *rest = named
    carry_out = {"check": check_command, "remove": remove_command}.get(first)
    if carry_out is not None and not rest:
        raise typer.BadParameter(f"missing; expected a study file or an ssh destination after {first}")
    if carry_out is None:
        list_command(named)
    else:
        carry_out(rest)


@command("import")
def import_files(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files of other load generators, or patterns with {server}, {trial} or a key in braces.",
        ),
    ],
    named: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="TOOL",
            help="The tool or format of the files; default: recognised from their content. "
            "requests: make a list of requests from an access log.",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="NAME", help="The server that was measured; default: the tool."),
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(
            "--point",
            metavar="KEY=NUMBER",
            help="A setting of the load, such as connections=50; may be repeated.",
        ),
    ] = None,
    trials: Annotated[
        str,
        typer.Option(
            "--trials", metavar="PATTERN", help="A prefix for the pattern of each FILE, such as '{trial}/'."
        ),
    ] = "",
    out: OutOption = None,
) -> None:
    """Make a run folder from files of other load generators.

    It has a report, as any run. Several files of one server at one point are its trials. If a file cannot be
    read, nothing is written.
    """
    from loadcurve.cli.import_files import import_command

    raise_on_interrupts()
    import_command(files, named=named, server=server, point=point or [], trials=trials, out=out)


@command()
def servers(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="check",
            help="Start the server, verify its answers, stop it.",
            autocompletion=completion.servers_or_check,
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One server; default: all.", autocompletion=completion.servers),
    ] = None,
    catalog: CatalogOption = None,
    engine: Annotated[
        Literal["podman", "docker"] | None, typer.Option(help="check: run the server in a container.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="check: use this image instead of the server's Containerfile.")
    ] = None,
    rootfs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="check: use this root filesystem, a folder or a tar file."),
    ] = None,
    network: Annotated[
        Literal["host", "private"] | None,
        typer.Option(help="check: the container's network: this machine's, or its own."),
    ] = None,
) -> None:
    """List the catalogue, show one server, or check one.

    `servers check NAME` starts a server, verifies its answers, and stops it.
    """
    from loadcurve.cli.servers import check_command, container_options, list_command, show_command

    raise_on_interrupts()
    catalogs = tuple(catalog or ())
    if first is None:
        list_command(catalogs)
    elif first != "check" and second is None:
        show_command(first, catalogs)
    elif first == "check" and second is not None:
        container = container_options(engine=engine, image=image, rootfs=rootfs, network=network)
        check_command(second, catalogs, container)
    else:
        found = " ".join(filter(None, (first, second)))
        raise typer.BadParameter(f"found {found}; expected NAME, or check NAME")


@command()
def crosscheck(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY|RUN]",
            help="A study file, a bundled study, or the folder of a run with several generators.",
            autocompletion=completion.studies,
        ),
    ] = None,
    generator: GeneratorOption = None,
    out: OutOption = None,
    trials: TrialsOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
    seed: SeedOption = None,
    catalog: CatalogOption = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the comparison as one JSON object to stdout.")
    ] = False,
) -> None:
    """Run a study under several load generators in turn.

    The result shows where they differ from our engine, and possible reasons.

    Without --generator the study's own generators are used, or every installed one that can send its load;
    without a study, nginx or `limit` is measured as in the bundled study quickstart.
    """
    from loadcurve.cli.crosscheck import checked_names, crosscheck_command
    from loadcurve.runs.study import RunOptions

    raise_on_interrupts()
    options = RunOptions(
        out, trials, tuple(only or ()), quick, seed, tuple(catalog or ()), checked_names(generator or ())
    )
    raise typer.Exit(crosscheck_command(study, options, json_output=json_output))


@command()
def generators(
    first: Annotated[
        str | None,
        typer.Argument(metavar="check", help="Put a short load on a server and compare the counts."),
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="NAME", help="The generator to check.")] = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the list as one JSON object to stdout.")
    ] = False,
) -> None:
    """List the load generators, show one, or check one.

    `generators check NAME` puts a short load on a server and compares its count with the generator's.
    """
    from loadcurve.cli.generators import check_command, list_command, show_command

    raise_on_interrupts()
    if first is None:
        list_command(json_output=json_output)
    elif first != "check" and second is None:
        show_command(first)
    elif first == "check" and second is not None:
        raise typer.Exit(check_command(second))
    else:
        found = " ".join(filter(None, (first, second)))
        raise typer.BadParameter(f"found {found}; expected NAME, or check NAME")


@command()
def report(
    run_folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="A run folder; or several, to compare side by side.",
            callback=folders_to_report,
            autocompletion=completion.run_folders,
        ),
    ],
    slo: Annotated[str | None, typer.Option("--slo", metavar="LIMITS", help=SLO_HELP)] = None,
    findings: Annotated[
        bool, typer.Option("--findings", help="Print only the findings, as JSON, to stdout; write no file.")
    ] = False,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="LIST",
            help="One or more of html, md, csv, xlsx, parquet, png, svg, pdf, json, or for latency alone "
            "hgrm, hlog, fortio, k6-summary, wrk2, separated by commas. The paths are printed.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder for the files; default: RUN, or the newest of several."
        ),
    ] = None,
    layout: Annotated[
        Literal["ab", "httperf", "wrk2"] | None,
        typer.Option("--as", help="Print one point in the layout of another load generator; write no file."),
    ] = None,
    server: Annotated[
        str | None, typer.Option("--server", metavar="NAME", help="With --as: the server of the point.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="KEY=VALUE", help="With --as: a setting of the point; may be repeated."),
    ] = None,
    trial: Annotated[
        int | None,
        typer.Option("--trial", metavar="N", help="With --as: the trial; default: the first of the point."),
    ] = None,
) -> None:
    """Make the report of a run again, or one page of several runs.

    For one run it also prints the findings, the answer, the curves and, with limits, the capacity; for
    several, what differs and the ratios.
    """
    raise_on_interrupts()
    first, *others = run_folders
    if others and (findings or slo is not None or formats is not None or layout is not None):
        raise typer.BadParameter("--findings, --slo, --format and --as accept one run; found several")
    if layout is None and (server is not None or at or trial is not None):
        raise typer.BadParameter("--server, --at and --trial require --as")
    if layout is not None and (findings or slo is not None or formats is not None or out is not None):
        raise typer.BadParameter("--as writes no file; remove --findings, --slo, --format and --out")
    if findings and (formats is not None or out is not None):
        raise typer.BadParameter("--findings writes no file; remove --format and --out")
    if layout is not None:
        from loadcurve.cli.report_layout import layout_command

        layout_command(first, layout, server, at or [], trial)
    elif others:
        from loadcurve.cli.side_by_side import side_by_side_command

        side_by_side_command(run_folders, out)
    elif findings:
        from loadcurve.cli.report import findings_command

        findings_command(first)
    elif formats is not None or out is not None:
        from loadcurve.cli.report_formats import formats_command

        formats_command(first, formats or "html", slo, out)
    else:
        from loadcurve.cli.report import report_command

        report_command(first, slo)


@command("open")
def open_report(
    run_folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="A run folder.",
            callback=run_folders_there,
            autocompletion=completion.run_folders,
        ),
    ],
) -> None:
    """Open the report of a run in the browser, and print its path."""
    from loadcurve.cli.open import open_command

    raise_on_interrupts()
    open_command(run_folder)


@command()
def watch(
    run_folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run, in progress or finished.",
            callback=run_folders_there,
            autocompletion=completion.run_folders,
        ),
    ],
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where the page listens; default: a free port on the loopback interface.",
        ),
    ] = None,
) -> None:
    """Serve a page that follows a run by its folder, until Ctrl-C."""
    from loadcurve.cli.watch import watch_command

    raise_on_interrupts()
    watch_command(run_folder, address)


@command()
def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that contains the run folders.")
    ] = RUNS_FOLDER,
    html: Annotated[
        bool, typer.Option("--html", help="Also write an index page, index.html, into the folder.")
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """List runs with their questions and answers, newest first."""
    from loadcurve.cli.runs import runs_command

    raise_on_interrupts()
    runs_command(folder, json_output=json_output, html=html)


@command()
def compare(
    base: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_A",
            help="The run folder of the base, to compare with.",
            callback=run_folders_there,
            autocompletion=completion.run_folders,
        ),
    ],
    new: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_B",
            help="The run folder of the change.",
            callback=run_folders_there,
            autocompletion=completion.run_folders,
        ),
    ],
    despite: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Compare even though this differs: load, content, machine, generator, or a single "
            "difference by its name.",
        ),
    ] = None,
    fail_on_regression: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Exit code 3 if a regression of at least this size is shown, such as 5%."
        ),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Compare two runs of one study.

    The result is a ratio with its interval for each point, and which differences are shown.
    """
    from loadcurve.cli.compare import CompareOptions, compare_command

    raise_on_interrupts()
    options = CompareOptions(base, new, tuple(despite or ()), fail_on_regression)
    raise typer.Exit(compare_command(options, json_output=json_output))


@command()
def doctor(
    connection_rate: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="CPS", help="New connections per second that the machine should sustain."
        ),
    ] = None,
    no_ceiling: Annotated[
        bool,
        typer.Option("--no-ceiling", help="Do not measure the rig's ceilings, which takes over a minute."),
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Measure only the ceiling of HTTP/1.1, in a few seconds; it is not saved.",
        ),
    ] = False,
    noise: Annotated[
        bool, typer.Option("--noise", help="Also measure the rig's noise, which takes a minute.")
    ] = False,
    noise_server: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The server that --noise compares with itself.",
            autocompletion=completion.servers,
        ),
    ] = "limit",
    machine: Annotated[
        str | None,
        typer.Option(metavar="DESTINATION", help="Check only this machine for servers, an ssh destination."),
    ] = None,
    machines: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[,HOST…]",
            help="Measure the ceiling of the first of these load machines, of the first two, four and so on, "
            "against a server here or on --machine.",
        ),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Check whether this machine is fit to measure.

    It also measures the rig's ceiling and, with --noise, its noise.
    """
    from loadcurve.cli.doctor import doctor_command, machine_doctor, machines_doctor

    raise_on_interrupts()
    if machines is not None:
        others = {"--connection-rate": connection_rate is not None, "--quick": quick, "--noise": noise}
        given = [name for name, is_given in others.items() if is_given]
        raise typer.Exit(machines_doctor(machines, machine, given, json_output=json_output))
    if machine is not None:
        others = {"--connection-rate": connection_rate is not None, "--quick": quick, "--noise": noise}
        code = machine_doctor(
            machine, [name for name, is_given in others.items() if is_given], json_output=json_output
        )
        raise typer.Exit(code)
    code = doctor_command(
        connection_rate,
        with_ceiling=not no_ceiling,
        noise_of=noise_server if noise else None,
        quick=quick,
        json_output=json_output,
    )
    raise typer.Exit(code)


def version_callback(asked: bool) -> None:  # noqa: FBT001 -- typer hands it over so
    """Print the version and end."""
    if asked:
        from loadcurve.version import VERSION

        typer.echo(f"loadcurve {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=version_callback, is_eager=True, help="Show the version.")
    ] = False,
    _install: completion.InstallOption = False,
    _show: completion.ShowOption = False,
) -> None:
    """Puts real servers under load and returns the curve, with an interval on every number."""


def main() -> None:
    """Run the command and end the process with the contract's exit code."""
    # An exception in the middle of an import may be lost or turned into another one by native code. Until the
    # imports are done there is nothing to clean up, so that an interrupt may end the process at once.
    end_on_interrupts()
    try:
        with results_on_stdout():
            app()
    except LoadcurveError as error:
        from loadcurve.redaction import hidden

        _say(f"loadcurve: {hidden(str(error))}")
        sys.exit(error.exit_code)
    except OSError as error:
        _say(f"loadcurve: the system refused an operation that the command requires: {refusal(error)}")
        sys.exit(LoadcurveError.exit_code)
    except MemoryError:
        _say(f"loadcurve: {NO_MEMORY}")
        sys.exit(LoadcurveError.exit_code)
    except ImportError as error:
        _say(f"loadcurve: a part of the program cannot be loaded, possibly for lack of memory: {error}")
        sys.exit(LoadcurveError.exit_code)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _say(text: str) -> None:
    """Print sentences on stderr; a terminal breaks their lines between words."""
    lines = text.translate(WITHOUT_CONTROL_CHARACTERS).splitlines()
    if sys.stderr.isatty():
        columns = shutil.get_terminal_size().columns
        lines = [
            textwrap.fill(line, columns, break_long_words=False, break_on_hyphens=False) for line in lines
        ]
    sys.stderr.write("\n".join([*lines, ""]))

"""Subcommands on run folders: from other tools' files, reports, comparisons."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from loadcurve.cli import completion
from loadcurve.cli.commands.options import (
    SLO_HELP,
    JsonOption,
    OutOption,
    folders_to_report,
    refuse_two_forms,
    require_files,
    run_argument,
    run_to_watch,
)
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.result.run_files import RUNS_FOLDER, is_archive

if TYPE_CHECKING:
    from loadcurve.cli.compare import Arms, Runs


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
            "From an access log: requests makes a list with weights, recording a list with times.",
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
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Of an access log: the requests by this method, such as HEAD; default: GET.",
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Of an access log: the requests with these statuses, such as 2xx or 200,404; default: all.",
        ),
    ] = None,
    out: OutOption = None,
) -> None:
    """Make a run folder from files of other load generators.

    It has a report, as any run. Several files of one server at one point are its trials. If a file cannot be
    read, nothing is written. A run as one file, NAME.loadcurve.zip, becomes a run folder again.
    """
    require_files(trials + file for file in files)
    if any(is_archive(Path(file)) for file in files):
        if len(files) > 1 or any((named, server, point, trials, method, status)):
            raise typer.BadParameter("an archive of a run is imported alone, with no option but --out")
        from loadcurve.cli.pack import unpack_command

        raise_on_interrupts()
        unpack_command(Path(files[0]), out)
        return
    from loadcurve.cli.import_files import import_command

    raise_on_interrupts()
    import_command(
        files,
        named=named,
        server=server,
        point=point or [],
        trials=trials,
        method=method,
        statuses=status,
        out=out,
    )


def pack(
    run_folder: Annotated[Path, run_argument("RUN", "A run folder.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Default: RUN's name and .loadcurve.zip, here."),
    ] = None,
) -> None:
    """Write a run as one file, to publish, keep or hand on.

    The file has the records, the study and its inputs, and no reports, which are made of these again. The
    same run gives the same bytes. Commands that read a run read the file as well; one that has been changed
    is refused.
    """
    from loadcurve.cli.pack import pack_command

    raise_on_interrupts()
    pack_command(run_folder, out)


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
            help="One or more of html, md, csv, xlsx, parquet, png, svg, pdf, tex, json, junit, "
            "github-benchmark, bencher, openmetrics, or for latency alone hgrm, hlog, fortio, k6-summary, "
            "wrk2, separated by commas. The paths are printed.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder for the files; default: RUN, or the newest of several."
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Of pictures: only figures whose names begin so, such as throughput,latency."
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(metavar="WIDTHxHEIGHT", help="Of pictures: their size, such as 8.5cmx6cm or 640x400."),
    ] = None,
    font: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of pictures: the font, which must be installed.")
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
        typer.Option(
            "--trial",
            metavar="N",
            help="With --as: the trial by its number in the records, from 0 on; default: the first one.",
        ),
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
    if findings and slo is not None:
        raise typer.BadParameter("--findings are the same with any limits; remove --findings or --slo")
    if formats is None and any(one is not None for one in (figures, size, font)):
        raise typer.BadParameter("--figures, --size and --font require --format with png, svg or pdf")
    if layout is not None:
        from loadcurve.cli.report_layout import layout_command

        layout_command(first, layout, server, at or [], trial)
    elif others:
        from loadcurve.cli.report import side_by_side_command

        side_by_side_command(run_folders, out)
    elif findings:
        from loadcurve.cli.report import findings_command

        findings_command(first)
    elif formats is not None or out is not None:
        from loadcurve.cli.report_formats import formats_command
        from loadcurve.report.picture_style import parse_style

        formats_command(first, formats or "html", slo, out, parse_style(figures, size, font))
    else:
        from loadcurve.cli.report import report_command

        report_command(first, slo)


def open_report(
    run_folder: Annotated[Path, run_argument("RUN", "A run folder.")],
) -> None:
    """Open the report of a run in the browser, and print its path."""
    from loadcurve.cli.open import open_command

    raise_on_interrupts()
    open_command(run_folder)


def watch(
    run_folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run, in progress or finished.",
            autocompletion=completion.run_folders,
            callback=run_to_watch,
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


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that contains the run folders.")
    ] = RUNS_FOLDER,
    html: Annotated[
        bool, typer.Option("--html", help="Also write an index page, index.html, into the folder.")
    ] = False,
    every_answer: Annotated[
        bool, typer.Option("--all", help="Compute every answer that is missing, however long that takes.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """List runs with their questions and answers, newest first."""
    from loadcurve.cli.runs import runs_command

    raise_on_interrupts()
    runs_command(folder, json_output=json_output, html=html, every_answer=every_answer)


def compare(
    base: Annotated[Path, run_argument("RUN_A", "The run folder of the base, to compare with.")],
    new: Annotated[
        Path | None,
        run_argument("RUN_B", "The run folder of the change; not with --base and --head."),
    ] = None,
    base_server: Annotated[
        str | None, typer.Option("--base", metavar="SERVER", help="Of one run: the server to compare with.")
    ] = None,
    head_server: Annotated[
        str | None, typer.Option("--head", metavar="SERVER", help="Of one run: the server with the change.")
    ] = None,
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
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit code 5 if the trials neither show nor rule out such a regression."
        ),
    ] = False,
    printed: Annotated[
        Literal["text", "json", "md", "junit"],
        typer.Option("--format", help="What is printed; junit needs --fail-on-regression."),
    ] = "text",
    json_output: JsonOption = False,
) -> None:
    """Compare two runs of one study, or two servers of one run.

    The result is a ratio with its interval for each point, and which differences are shown. Servers of one
    run were measured in turn, so that smaller differences are shown.
    """
    refuse_two_forms(printed, json_output=json_output)
    sides = _sides(base, new, (base_server, head_server), despite or ())
    from loadcurve.cli.compare import GateOptions, compare_command

    raise_on_interrupts()
    options = GateOptions(fail_on_regression, strict)
    raise typer.Exit(compare_command(sides, options, "json" if json_output else printed))


def _sides(
    run: Path, new: Path | None, servers: tuple[str | None, str | None], despite: Sequence[str]
) -> "Runs | Arms":
    from loadcurve.cli.compare import Arms, Runs

    base, head = servers
    if new is not None and servers == (None, None):
        return Runs(run, new, tuple(despite))
    if new is None and base is not None and head is not None and not despite:
        return Arms(run, base, head)
    if despite and new is None:
        raise typer.BadParameter("--despite accepts differences of two runs; one run has none")
    raise typer.BadParameter("name two runs, or one run with --base SERVER and --head SERVER")

"""The subcommand that guards a server: two builds in turn."""

import os
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli.commands.measure import watched_at
from loadcurve.cli.commands.options import (
    CatalogOption,
    JsonOption,
    OutOption,
    SeedOption,
    WatchAddressOption,
    WatchOption,
    YesOption,
    refuse_two_forms,
    study_argument,
    study_there,
)
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput
from loadcurve.result.run_files import RUN_FILE


def _study_there(argument: str | None) -> str | None:
    if argument is not None and os.path.lexists(Path(argument) / RUN_FILE):
        raise BadInput(
            f"{argument} is a run folder, and a gate measures both sides itself, as a study says; two runs "
            f"that are there already are compared by: loadcurve compare {shlex.quote(argument)} RUN "
            "--fail-on-regression 5%"
        )
    return study_there(argument)


def gate(
    study: Annotated[str, study_argument("STUDY", _study_there)],
    base: Annotated[
        str | None,
        typer.Option(metavar="SIDE", help="The base: a program, folder, command, image or server."),
    ] = None,
    head: Annotated[str | None, typer.Option(metavar="SIDE", help="The same with the change.")] = None,
    base_rev: Annotated[
        str | None,
        typer.Option("--base-rev", metavar="REV", help="A commit of the study's repository, as the base."),
    ] = None,
    head_rev: Annotated[
        str | None, typer.Option("--head-rev", metavar="REV", help="The same, as the head.")
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help='What builds such a commit, at its root, such as "make".'),
    ] = None,
    fail_on_regression: Annotated[
        str, typer.Option(metavar="SHARE", help="The least regression that counts.")
    ] = "3%",
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may take.")] = "10m",
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME", help="Gate this measure, too, such as p99; repeatable."),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Show where the CPU time differs, by perf.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 5 if it is not decided.")] = False,
    printed: Annotated[
        Literal["text", "json", "md", "junit"], typer.Option("--format", help="What is printed.")
    ] = "text",
    out: OutOption = None,
    seed: SeedOption = None,
    catalog: CatalogOption = None,
    watch: WatchOption = False,
    watch_address: WatchAddressOption = None,
    yes: YesOption = False,
    json_output: JsonOption = False,
) -> None:
    """Decide whether a build is slower than another one.

    Both run in turn until a regression is shown and confirmed, or ruled out, or the time is used up. Of gates
    of equal builds at most 0.25 % fail. A head that does not keep what the study requires fails, too.
    """
    for name, side, revision in (("base", base, base_rev), ("head", head, head_rev)):
        if side is not None and revision is not None:
            raise typer.BadParameter(f"found --{name} and --{name}-rev; name each side once")
        if side is None and revision is None:
            raise typer.BadParameter(
                f"--{name}: missing; expected the build of this side: a program, a folder in place of the "
                f"study's, or a command with {{port}} in it; or its commit, by --{name}-rev"
            )
    if build is not None and base_rev is None and head_rev is None:
        raise typer.BadParameter(
            "--build is for --base-rev and --head-rev; the sides given are built already"
        )
    refuse_two_forms(printed, json_output=json_output)
    from loadcurve.cli.agreement import require_agreement
    from loadcurve.cli.gate import GateGiven, gate_command
    from loadcurve.runs.study import RunOptions

    raise_on_interrupts()
    require_agreement(study, is_given=yes)
    given = GateGiven(
        base,
        head,
        fail_on_regression,
        budget,
        tuple(measure or ()),
        strict,
        "json" if json_output else printed,
        base_rev,
        head_rev,
        build,
        profile,
    )
    options = RunOptions(out, seed=seed, catalogs=tuple(catalog or ()))
    raise typer.Exit(gate_command(study, given, options, watched_at(watch, watch_address)))

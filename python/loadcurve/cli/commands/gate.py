"""The subcommand that guards a server: two builds in turn."""

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
    study_argument,
)
from loadcurve.cli.interrupts import raise_on_interrupts


def gate(
    study: Annotated[str, study_argument("STUDY")],
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
    if (base is None) == (base_rev is None) or (head is None) == (head_rev is None):
        raise typer.BadParameter("name each side once: --base or --base-rev, and --head or --head-rev")
    if build is not None and base_rev is None and head_rev is None:
        raise typer.BadParameter(
            "--build is for --base-rev and --head-rev; the sides given are built already"
        )
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

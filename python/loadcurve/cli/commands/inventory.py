"""Subcommands that list and check what there is to measure, and with what."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli import completion
from loadcurve.cli.commands.options import CatalogOption, JsonOption
from loadcurve.cli.interrupts import raise_on_interrupts


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
    catalog: CatalogOption = None,
) -> None:
    """List the bundled studies, check one, or copy one.

    `studies check STUDY` checks a study as a run does, and prints how long it takes, which commands it runs,
    and which hosts, files and variables it touches; nothing is started. `studies copy STUDY [DIR]` copies a
    bundled study with its figures and claims to a new folder, to edit it there.
    """
    from loadcurve.cli.studies import check_command, copy_command, list_command

    if first is None:
        list_command()
    elif first == "check" and second is not None and target is None:
        check_command(second, tuple(catalog or ()))
    elif first == "copy" and second is not None:
        copy_command(second, target)
    else:
        found = " ".join(filter(None, (first, second, str(target) if target else None)))
        raise typer.BadParameter(
            f"found {found}; expected check STUDY, copy STUDY [DIR], or nothing for the list"
        )


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


SERVER_ACTIONS = ("check", "install", "remove")
NOISE_SERVER = "limit"
"""That `doctor --noise` compares with itself unless another one is named."""


def servers(
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="check|install|remove",
            help="Check one server, or install or remove some.",
            autocompletion=completion.servers_or_check,
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Servers; default: all.", autocompletion=completion.servers),
    ] = None,
    catalog: CatalogOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="install: every server that this machine can have.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="install, remove: the folder of the servers."),
    ] = None,
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
    """List, show, check, install or remove servers.

    `servers check NAME` starts a server, verifies its answers, and stops it. `servers install NAME…` fetches
    servers from Debian, PyPI or npm by version and digest, or builds them, into a folder of their own, where
    studies find them after PATH; `servers remove NAME…` removes them.
    """
    from loadcurve.cli.server_installation import install_command, remove_command
    from loadcurve.cli.servers import check_command, container_options, list_command, show_command

    raise_on_interrupts()
    catalogs = tuple(catalog or ())
    names = names or []
    if (every or to is not None) and first not in ({"install"} if every else {"install", "remove"}):
        raise typer.BadParameter("--all goes with install, and --to with install or remove")
    container = {"engine": engine, "image": image, "rootfs": rootfs, "network": network}
    of_container = [f"--{name}" for name, value in container.items() if value is not None]
    if of_container and first != "check":
        raise typer.BadParameter(f"{of_container[0]} goes with check: loadcurve servers check NAME")
    if first is None:
        list_command(catalogs)
    elif first == "install" and every != bool(names):
        install_command(names, catalogs, to, every=every)
    elif first == "remove" and names:
        remove_command(names, catalogs, to)
    elif first not in SERVER_ACTIONS and not names:
        show_command(first, catalogs)
    elif first == "check" and len(names) == 1:
        check_command(names[0], catalogs, container_options(**container))
    else:
        found = " ".join([first, *names])
        raise typer.BadParameter(
            f"found {found}; expected NAME, check NAME, install NAME…, install --all, or remove NAME…"
        )


def generators(
    first: Annotated[
        str | None,
        typer.Argument(metavar="check", help="Put a short load on a server and compare the counts."),
    ] = None,
    second: Annotated[str | None, typer.Argument(metavar="NAME", help="The generator to check.")] = None,
    json_output: JsonOption = False,
) -> None:
    """List the load generators, show one, or check one.

    `generators check NAME` puts a short load on a server and compares its count with the generator's.
    """
    from loadcurve.cli.generators import check_command, list_command, show_command

    raise_on_interrupts()
    if json_output and first is not None:
        raise typer.BadParameter("--json is an option of the list alone, which has every generator")
    if first is None:
        list_command(json_output=json_output)
    elif first != "check" and second is None:
        show_command(first)
    elif first == "check" and second is not None:
        raise typer.Exit(check_command(second))
    else:
        found = " ".join(filter(None, (first, second)))
        raise typer.BadParameter(f"found {found}; expected NAME alone, or check NAME")


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
            help="Measure only the ceiling of HTTP/1.1, or of the first of --messages, in a few seconds; it "
            "is not saved.",
        ),
    ] = False,
    generator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Measure the ceiling of this load generator; default: Loadcurve's own.",
        ),
    ] = None,
    messages: Annotated[
        Literal["grpc", "websocket"] | None,
        typer.Option(
            help="Measure the ceiling of loads of these messages, in place of requests: about a minute.",
        ),
    ] = None,
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
    ] = NOISE_SERVER,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DESTINATION",
            help="Check only this machine for servers: one of --study, or an ssh destination.",
        ),
    ] = None,
    machines: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[,HOST…]",
            help="Measure the ceiling of the first of these load machines, of the first two, four and so on, "
            "against a server here or on --machine.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="STUDY",
            help="The study that defines the machines of --machine and --machines.",
            autocompletion=completion.studies,
        ),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Check whether this machine is fit to measure.

    It also measures the rig's ceiling and, with --noise, its noise.
    """
    from loadcurve.cli.doctor import doctor_command, machine_doctor, machines_doctor

    raise_on_interrupts()
    others = {
        "--connection-rate": connection_rate is not None,
        "--generator": generator is not None,
        "--messages": messages is not None,
        "--quick": quick,
        "--noise": noise,
        "--noise-server": noise_server != NOISE_SERVER,
    }
    given = [name for name, is_given in others.items() if is_given]
    if machines is not None:
        raise typer.Exit(machines_doctor(machines, machine, study, given, json_output=json_output))
    if machine is not None:
        raise typer.Exit(machine_doctor(machine, study, given, json_output=json_output))
    if study is not None:
        raise typer.BadParameter("--study requires --machine or --machines")
    if noise_server != NOISE_SERVER and not noise:
        raise typer.BadParameter("--noise-server requires --noise")
    if generator is not None and no_ceiling:
        raise typer.BadParameter("--generator names whose ceiling is measured; remove it or --no-ceiling")
    if messages is not None and (no_ceiling or generator is not None):
        other = "--no-ceiling" if no_ceiling else "--generator, which sends none"
        raise typer.BadParameter(f"--messages says what ceiling is measured; remove it or {other}")
    code = doctor_command(
        connection_rate,
        with_ceiling=not no_ceiling,
        noise_of=noise_server if noise else None,
        generator=generator,
        messages=messages,
        quick=quick,
        json_output=json_output,
    )
    raise typer.Exit(code)

"""The arguments of ``loadcurve load``, for web servers and for databases.

The function names them for the command line; what was given is read from the context, by the names of the
study's keys. So an option is one parameter here, and nothing else of the command knows it.
"""
# ruff: noqa: ARG001

from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput


def load(
    context: typer.Context,
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="Where the load goes: http://host:port/path, mongodb://host:port or postgresql://host:port.",
        ),
    ],
    connections: Annotated[
        int | None,
        typer.Option("-c", "--connections", min=1, metavar="N", help="Connections kept open; default 10."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "-t",
            "--threads",
            min=1,
            metavar="N",
            help="Sending threads; of a database its clients; default 1.",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option("-d", "--duration", metavar="TIME", help="Such as 500ms, 10s or 1m; default 10s."),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option(
            "-n", "--requests", "--operations", min=1, metavar="N", help="Ends after N of them instead."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "-R",
            "--rate",
            metavar="RPS",
            help="Open loop: requests or operations per second, or stretches such as 100-1000:30s.",
        ),
    ] = None,
    arrivals: Annotated[
        Literal["constant", "poisson"], typer.Option(help="How arrivals are spread in time.")
    ] = "constant",
    connection_rate: Annotated[
        str | None,
        typer.Option(metavar="CPS", help="Sessions: connections per second, each with its calls."),
    ] = None,
    num_connections: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Sessions: ends after N connections.")
    ] = None,
    pipeline: Annotated[
        int, typer.Option(min=1, metavar="N", help="Requests under way at once on a connection.")
    ] = 1,
    calls: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Requests on a connection before it is closed.")
    ] = None,
    think: Annotated[
        str, typer.Option(metavar="TIME", help="Between an answer and the next request.")
    ] = "0s",
    urls: Annotated[Path | None, typer.Option(metavar="FILE", help="Paths to take from, one a line.")] = None,
    pick: Annotated[
        Literal["in-order", "random", "weighted"], typer.Option(help="How paths are taken from --urls.")
    ] = "in-order",
    http: Annotated[Literal["1.0", "1.1"], typer.Option(help="Version of the requests.")] = "1.1",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Repeats what is drawn at random.")] = 0,
    warmup: Annotated[
        str, typer.Option("--warmup", metavar="TIME", help="Load before the measured part.")
    ] = "0s",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="For connecting, and for an answer.")
    ] = "10s",
    method: Annotated[
        str, typer.Option("-X", "--method", metavar="NAME", help="The method of the requests.")
    ] = "GET",
    header: Annotated[
        list[str] | None,
        typer.Option(
            "-H", "--header", metavar="'NAME: VALUE'", help="Or @FILE, which has one a line; repeatable."
        ),
    ] = None,
    header_env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VARIABLE", help="A header whose value the environment has; repeatable."),
    ] = None,
    body: Annotated[
        str, typer.Option("--body", metavar="TEXT", help="Or @FILE: what the file holds, however long.")
    ] = "",
    cpus: Annotated[
        str, typer.Option("--cpus", metavar="LIST", help="CPUs of the threads, such as 1 or 2,3.")
    ] = "",
    io: Annotated[
        Literal["auto", "uring", "epoll"],
        typer.Option("--io", help="How to talk to the kernel; auto takes what costs less."),
    ] = "auto",
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload", metavar="a…f|FILE", help="Databases: YCSB's core workload, or a file of properties."
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "-p", "--property", metavar="NAME=VALUE", help="Databases: a property of YCSB; repeatable."
        ),
    ] = None,
    phase: Annotated[
        Literal["load", "run"], typer.Option(help="Databases: insert the records, or put load on them.")
    ] = "run",
    records: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Databases: records of the table.")
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, metavar="N", help="Databases: records that one request inserts.")
    ] = 1,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Databases: the database or schema with the table.")
    ] = "loadcurve",
    table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Databases: the table or collection; default usertable."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Databases: a setting of the driver; repeatable."),
    ] = None,
    verify_values: Annotated[
        bool, typer.Option("--verify-values", help="Databases: compare what is read with what was written.")
    ] = False,
    password_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Databases: what holds the password of the URL's user."),
    ] = None,
    password_env: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Databases: the variable that holds it."),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Databases: first remove the table, if Loadcurve created it.")
    ] = False,
    drop_table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Databases: first remove this table, even if Loadcurve did not create it."
        ),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Put one load on one URL: a web server or a database."""
    from loadcurve.cli.load_study import Options
    from loadcurve.loads.kinds import WEB, kind_of_protocol
    from loadcurve.protocol import protocol_of_url
    from loadcurve.redaction import without_passwords

    protocol = protocol_of_url(url)
    if protocol is None:
        raise BadInput(
            f"{without_passwords(url)}: {_scheme_in_words(url)}; expected http://host:port/path, or for a "
            "database mongodb://host:port or postgresql://host:port"
        )
    raise_on_interrupts()
    options = Options(kind_of_protocol(protocol), context.params, _given(context), _written(context))
    if options.kind is WEB:
        from loadcurve.cli.load import load_command

        raise typer.Exit(load_command(url, options, json_output=json_output))
    from loadcurve.cli.database_load import database_load_command

    raise typer.Exit(database_load_command(url, options, json_output=json_output))


def _scheme_in_words(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    return f"the scheme is {scheme!r}" if separator else "the scheme is missing"


def _given(context: typer.Context) -> list[str]:
    """Return the names of the parameters that the person has given."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def _written(context: typer.Context) -> dict[str, str]:
    """Return how the person writes each parameter, such as ``-c/--connections``."""
    return {param.name or "": "/".join(param.opts) for param in context.command.params}

"""The arguments of ``loadcurve load``, for web servers and for databases."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput

OF_WEB_SERVERS = frozenset(
    {
        "connections",
        "connection_rate",
        "num_connections",
        "pipeline",
        "calls",
        "think",
        "urls",
        "pick",
        "http",
        "method",
        "header",
        "body",
        "io",
    }
)
"""Parameters that say nothing of a load on a database."""
OF_DATABASES = frozenset(
    {
        "workload",
        "properties",
        "phase",
        "records",
        "batch",
        "namespace",
        "table",
        "settings",
        "verify_values",
        "drop",
        "drop_table",
    }
)
"""Parameters that say nothing of a load on a web server."""


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
    method: Annotated[str, typer.Option("-X", "--method", metavar="NAME")] = "GET",
    header: Annotated[
        list[str] | None, typer.Option("-H", "--header", metavar="'NAME: VALUE'", help="May be repeated.")
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
    drop: Annotated[
        bool, typer.Option("--drop", help="Databases: first remove the table, if Loadcurve has made it.")
    ] = False,
    drop_table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Databases: first remove this table, whoever has made it."),
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Put one load on one URL: a web server or a database."""
    from loadcurve.server.protocol import protocol_of_url

    if protocol_of_url(url) not in {"http", None}:
        from loadcurve.cli.database_load import DatabaseOptions, database_load_command

        raise_on_interrupts()
        _refuse(context, OF_WEB_SERVERS, "the URL leads to a database")
        database_options = DatabaseOptions(
            url=url,
            workload=workload,
            properties=tuple(properties or ()),
            phase=phase,
            threads=threads,
            operations=requests,
            duration=duration,
            rate=rate,
            arrivals=arrivals,
            records=records,
            batch=batch,
            namespace=namespace,
            table=table,
            settings=tuple(settings or ()),
            verify_values=verify_values,
            drop=drop,
            drop_table=drop_table,
            seed=seed,
            warmup=warmup,
            timeout=timeout,
            cpus=cpus,
        )
        raise typer.Exit(database_load_command(database_options, json_output=json_output))
    from loadcurve.cli.load import load_command
    from loadcurve.cli.load_plan import LoadOptions

    raise_on_interrupts()
    _refuse(context, OF_DATABASES, "the URL leads to a web server")
    options = LoadOptions(
        url=url,
        connections=connections,
        threads=threads or 1,
        duration=duration,
        requests_total=requests,
        rate=rate,
        arrivals=arrivals,
        connection_rate=connection_rate,
        connections_total=num_connections,
        pipeline=pipeline,
        calls=calls,
        think=think,
        urls=urls,
        pick=pick,
        http=http,
        seed=seed,
        warmup=warmup,
        timeout=timeout,
        method=method,
        headers=tuple(header or ()),
        body=body,
        cpus=cpus,
        io=io,
    )
    raise typer.Exit(load_command(options, json_output=json_output))


def _refuse(context: typer.Context, foreign: frozenset[str], because: str) -> None:
    """Raise BadInput where the person has given an option of the other kind of load."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in foreign and source is not None and source.name == "COMMANDLINE":
            option = max(parameter.opts, key=len)
            other = "web servers" if foreign is OF_WEB_SERVERS else "databases"
            raise BadInput(f"{option}: an option for {other}, and {because}; leave it out")

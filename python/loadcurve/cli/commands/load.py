"""The arguments of ``loadcurve load``, for web servers and for databases.

The function names them for the command line; what was given is read from the context, by the names of the
study's keys. So an option is one parameter here, and nothing else of the command knows it.
"""
# ruff: noqa: ARG001

from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli.commands.options import JsonOption, MetricsOption, OtlpOption
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput
from loadcurve.protocol import HTTP1_1, HttpVersion

ARRIVALS, REQUESTS, TLS = "Arrivals and connections", "Requests", "TLS"
GENERATOR, DATABASES = "Generator", "Databases"
"""Sections of the help, beside the options that most loads need."""


def load(
    context: typer.Context,
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="Target of the load, such as http://127.0.0.1:8080/path, https://127.0.0.1:8443, "
            "mongodb://127.0.0.1:27017 or postgresql://127.0.0.1:5432.",
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
            help="Sending threads; for a database: clients; default 1.",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "-d",
            "--duration",
            metavar="TIME",
            help="Length of the measurement, such as 500ms, 10s or 1m; default 10s.",
        ),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--requests",
            "--operations",
            min=1,
            metavar="N",
            help="End after N requests instead of after a duration.",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "-R",
            "--rate",
            metavar="RPS",
            help="Open loop: requests or operations per second, or ramps and steps such as 100-1000:30s.",
        ),
    ] = None,
    arrivals: Annotated[
        Literal["constant", "poisson", "recorded"],
        typer.Option(
            help="Distribution of arrivals in time; recorded: the times of --urls.", rich_help_panel=ARRIVALS
        ),
    ] = "constant",
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            help="With recorded arrivals: how many times as fast; default 1.",
            rich_help_panel=ARRIVALS,
        ),
    ] = None,
    connection_rate: Annotated[
        str | None,
        typer.Option(
            metavar="CPS",
            help="Sessions: new connections per second, each with --calls requests.",
            rich_help_panel=ARRIVALS,
        ),
    ] = None,
    num_connections: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Sessions: end after N connections.", rich_help_panel=ARRIVALS),
    ] = None,
    pipeline: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Requests in flight on each connection.", rich_help_panel=ARRIVALS
        ),
    ] = 1,
    streams: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="The same over HTTP/2, where answers come in any order.",
            rich_help_panel=ARRIVALS,
        ),
    ] = 1,
    calls: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Requests per connection, after which it is closed.",
            rich_help_panel=ARRIVALS,
        ),
    ] = None,
    think: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Pause between an answer and the next request.", rich_help_panel=ARRIVALS
        ),
    ] = "0s",
    source_addresses: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="This machine's addresses that connections come from in turn.",
            rich_help_panel=ARRIVALS,
        ),
    ] = None,
    urls: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of request paths, one per line.", rich_help_panel=REQUESTS),
    ] = None,
    pick: Annotated[
        Literal["in-order", "random", "weighted"],
        typer.Option(help="How paths are chosen from --urls.", rich_help_panel=REQUESTS),
    ] = "in-order",
    http: Annotated[
        HttpVersion,
        typer.Option(help="HTTP version of the requests.", rich_help_panel=REQUESTS),
    ] = HTTP1_1,
    hpack: Annotated[
        Literal["indexed", "literal"] | None,
        typer.Option(help="HTTP/2: how header fields are sent; default indexed.", rich_help_panel=REQUESTS),
    ] = None,
    stream_window: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="HTTP/2: receive window of a stream; default 1GiB.", rich_help_panel=REQUESTS
        ),
    ] = None,
    connection_window: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="HTTP/2: receive window of a connection; default 1GiB.",
            rich_help_panel=REQUESTS,
        ),
    ] = None,
    tls_version: Annotated[
        Literal["1.2", "1.3"] | None,
        typer.Option(help="The one version of TLS that is offered; default both.", rich_help_panel=TLS),
    ] = None,
    ciphers: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Cipher suites offered, by IANA name.", rich_help_panel=TLS),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Key-exchange groups offered, such as x25519.", rich_help_panel=TLS
        ),
    ] = None,
    cacert: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Trust the authorities of this PEM file instead.", rich_help_panel=TLS
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept any certificate.", rich_help_panel=TLS)
    ] = False,
    server_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name in the certificate; default the URL's host.", rich_help_panel=TLS
        ),
    ] = None,
    cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The client's certificate, PEM.", rich_help_panel=TLS),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its private key, PEM.", rich_help_panel=TLS)
    ] = None,
    full_handshakes: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of connections that do not resume a session.",
            rich_help_panel=TLS,
        ),
    ] = 1.0,
    key_log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append the secrets of the connections here.", rich_help_panel=TLS),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Seed of all random choices, to repeat a load.",
            rich_help_panel=GENERATOR,
        ),
    ] = 0,
    warmup: Annotated[
        str, typer.Option("--warmup", metavar="TIME", help="Load before the measurement, not measured.")
    ] = "0s",
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="Timeout for connecting, and for each answer.")
    ] = "10s",
    method: Annotated[
        str,
        typer.Option(
            "-X", "--method", metavar="NAME", help="The method of the requests.", rich_help_panel=REQUESTS
        ),
    ] = "GET",
    header: Annotated[
        list[str] | None,
        typer.Option(
            "-H",
            "--header",
            metavar="'NAME: VALUE'",
            help="Request header, or @FILE with one per line; repeatable.",
            rich_help_panel=REQUESTS,
        ),
    ] = None,
    header_env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VARIABLE",
            help="Request header with its value from an environment variable; repeatable.",
            rich_help_panel=REQUESTS,
        ),
    ] = None,
    body: Annotated[
        str,
        typer.Option(
            "--body",
            metavar="TEXT",
            help="Request body, or @FILE: the file's content, of any length.",
            rich_help_panel=REQUESTS,
        ),
    ] = "",
    cpus: Annotated[
        str,
        typer.Option(
            "--cpus",
            metavar="LIST",
            help="CPUs to run the sending threads on, such as 1 or 2,3.",
            rich_help_panel=GENERATOR,
        ),
    ] = "",
    load_machines: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="HOST[,HOST…]",
            help="Machines that share the load and begin together: here, or destinations of ssh.",
            rich_help_panel=GENERATOR,
        ),
    ] = "",
    on_ray: Annotated[
        int,
        typer.Option(
            "--on-ray",
            metavar="N",
            min=0,
            help="Nodes of a Ray cluster that share the load and begin together.",
            show_default=False,
            rich_help_panel=GENERATOR,
        ),
    ] = 0,
    ray_address: Annotated[
        str,
        typer.Option(
            "--ray-address",
            metavar="ADDRESS",
            help="A running Ray cluster; without it RAY_ADDRESS, or one of this machine alone.",
            rich_help_panel=GENERATOR,
        ),
    ] = "",
    generator: Annotated[
        str,
        typer.Option(
            "--generator",
            metavar="NAME",
            help="What sends the load: engine, or another tool of `loadcurve generators`.",
            rich_help_panel=GENERATOR,
        ),
    ] = "engine",
    io: Annotated[
        Literal["auto", "uring", "epoll"],
        typer.Option(
            "--io", help="Kernel interface; auto takes the cheaper one available.", rich_help_panel=GENERATOR
        ),
    ] = "auto",
    waiting: Annotated[
        Literal["auto", "sleep"],
        typer.Option(
            "--waiting",
            help="How threads wait for answers; auto polls where CPUs are to spare.",
            rich_help_panel=GENERATOR,
        ),
    ] = "auto",
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="a…f|FILE",
            help="A YCSB core workload, a to f, or a properties file.",
            rich_help_panel=DATABASES,
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--property",
            metavar="NAME=VALUE",
            help="A YCSB property; repeatable.",
            rich_help_panel=DATABASES,
        ),
    ] = None,
    phase: Annotated[
        Literal["load", "run"],
        typer.Option(
            help="Insert the records (load), or run operations on them (run).", rich_help_panel=DATABASES
        ),
    ] = "run",
    records: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of records in the table.", rich_help_panel=DATABASES),
    ] = None,
    batch: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Records inserted by each request.", rich_help_panel=DATABASES),
    ] = 1,
    namespace: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The database or schema that contains the table.", rich_help_panel=DATABASES
        ),
    ] = "loadcurve",
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The table or collection; default usertable.", rich_help_panel=DATABASES
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A driver setting; repeatable.", rich_help_panel=DATABASES
        ),
    ] = None,
    verify_values: Annotated[
        bool,
        typer.Option(
            "--verify-values", help="Compare the values read with those written.", rich_help_panel=DATABASES
        ),
    ] = False,
    password_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the password of the URL's user.", rich_help_panel=DATABASES
        ),
    ] = None,
    password_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE", help="Environment variable with that password.", rich_help_panel=DATABASES
        ),
    ] = None,
    drop: Annotated[
        bool,
        typer.Option(
            "--drop", help="First remove the table, if Loadcurve created it.", rich_help_panel=DATABASES
        ),
    ] = False,
    drop_table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="First remove this table, even if Loadcurve did not create it.",
            rich_help_panel=DATABASES,
        ),
    ] = None,
    metrics: MetricsOption = None,
    otlp: OtlpOption = None,
    json_output: JsonOption = False,
) -> None:
    """Put one load on one URL: a web server or a database.

    On a terminal, a line shows the rate and coarse percentiles of the last second, and what failed.
    The result is printed at the end, from all requests of the measured part.
    """
    from loadcurve.cli.load_study import Options
    from loadcurve.loads.kinds import kind_of_url
    from loadcurve.protocol import with_lower_case_scheme
    from loadcurve.redaction import without_passwords

    url = with_lower_case_scheme(url)
    kind = kind_of_url(url)
    if kind is None:
        raise BadInput(
            f"{without_passwords(url)}: {_scheme_in_words(url)}; expected a URL such as "
            "http://127.0.0.1:8080/path, or for a database mongodb://127.0.0.1:27017 or postgresql://127.0.0.1:5432"
        )
    raise_on_interrupts()
    options = Options(kind, context.params, _given(context), _written(context))
    match kind.work:
        case "http":
            from loadcurve.cli.load import load_command
        case "ycsb":
            from loadcurve.cli.database_load import load_command
    raise typer.Exit(load_command(url, options, json_output=json_output))


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

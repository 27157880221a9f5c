"""``loadcurve load``, for web servers and for databases: its parameters are rows.

Those of the load itself are generated from the fields of its tables, so that the help needs nothing of what
reads these.
"""

import inspect
import re
from typing import Annotated, assert_never

import typer

from loadcurve.cli.commands.load_options import LOAD_OPTIONS
from loadcurve.cli.commands.options import JsonOption, MetricsOption, OtlpOption
from loadcurve.cli.commands.row import in_order
from loadcurve.cli.commands.running_options import RUNNING
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput

ROWS = in_order([*LOAD_OPTIONS, *RUNNING])
_SHARED = {"metrics": (MetricsOption, None), "otlp": (OtlpOption, None), "json_output": (JsonOption, False)}
"""The options that other commands have, too, with their defaults."""
_URL = typer.Argument(
    metavar="URL",
    help="Target of the load, such as http://127.0.0.1:8080/path, https://127.0.0.1:8443, "
    "grpc://127.0.0.1:50051/shop.Orders/Get, ws://127.0.0.1:8080/path, mongodb://127.0.0.1:27017 "
    "or postgresql://127.0.0.1:5432.",
)


def load(context: typer.Context, url: Annotated[str, _URL], **values: object) -> None:
    """Put one load on one URL: a web server or a database.

    On a terminal, a line shows the rate and coarse percentiles of the last second, and what failed.
    The result is printed at the end, from all requests of the measured part.
    """
    from loadcurve.cli.followed_load import check_following
    from loadcurve.cli.load_study import Options
    from loadcurve.loads.kinds import kind_of_url
    from loadcurve.protocol import MESSAGE_SCHEMES, SCHEMES, with_lower_case_scheme
    from loadcurve.redaction import without_passwords

    url = with_lower_case_scheme(url)
    kind = kind_of_url(url)
    if kind is None:
        raise BadInput(
            f"{without_passwords(url)}: {_scheme_in_words(url)}; expected a URL such as {_such_as(url)}, "
            f"with one of the schemes {', '.join([*SCHEMES, *MESSAGE_SCHEMES])} or unix:"
        )
    raise_on_interrupts()
    options = Options(kind, values, _given(context), {row.name: row.written for row in ROWS})
    check_following(options)
    match kind.work:
        case "http":
            from loadcurve.cli.load import load_command
        case "ycsb":
            from loadcurve.cli.database_load import load_command
        case _:
            assert_never(kind.work)
    raise typer.Exit(load_command(url, options, json_output=values["json_output"] is True))


def _with_rows() -> inspect.Signature:
    """Return the signature of the command, with a parameter for each row."""
    context, url, _ = inspect.signature(load).parameters.values()
    shared = (
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _SHARED.items()
    )
    return inspect.Signature([context, url, *(row.parameter for row in ROWS), *shared])


_signature = _with_rows()
load.__signature__ = _signature  # type: ignore[attr-defined]
load.__annotations__ = {name: one.annotation for name, one in _signature.parameters.items()}


def _such_as(url: str) -> str:
    """Return a URL that may be meant by one without a scheme, and otherwise any."""
    plain = "://" not in url and re.fullmatch(r"[\w.-]+(:\d+)?(/\S*)?", url)
    return f"http://{url}" if plain else "http://127.0.0.1:8080/path"


def _scheme_in_words(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    return f"the scheme is {scheme!r}" if separator else "the scheme is missing"


def _given(context: typer.Context) -> list[str]:
    """Return the names of the parameters that the person has given."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]

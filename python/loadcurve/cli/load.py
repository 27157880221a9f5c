"""``loadcurve load``: one load against one URL."""

from functools import partial
from urllib.parse import urlsplit

from loadcurve.cli.commands.running_options import RUNNING
from loadcurve.cli.followed_load import followed
from loadcurve.cli.load_study import TLS_OPTIONS, Options, cpus_of, http_load
from loadcurve.cli.watched_load import (
    conclude,
    failures_in_words,
    talk,
    warn_of_disturbance,
    watched_by,
)
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.exit_codes import EXIT_DONE, EXIT_INTERRUPTED, EXIT_INVALID
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.host.look import Look
from loadcurve.loads.http import HttpLoad
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.values import ENGINE_NAME
from loadcurve.loads.way import socket_url
from loadcurve.protocol import HTTP3, http_family
from loadcurve.result.folder import refuse_used_folder
from loadcurve.server.alt_svc import following
from loadcurve.server.answers import verify_answers
from loadcurve.server.asked import Site
from loadcurve.server.failure import ServerFailure
from loadcurve.server.presence import announce
from loadcurve.server.reflection import reflected
from loadcurve.server.target import Target, reached, read_url
from loadcurve.server.transport import Transport
from loadcurve.tools.catalog import tool_named
from loadcurve.tools.driver import Refused
from loadcurve.tools.exact import require_exact

ALONE = [row.name for row in RUNNING if row.is_of_engine]
"""Options of running a load that our own engine alone has."""


def require_tool(options: Options, load: HttpLoad, target: Target) -> None:
    """Raise ``BadInput`` where the tool that is to send a load is missing, or cannot send it as it is."""
    options.require_none_of(ALONE, f"{load.generator} has no such option")
    try:
        tool = tool_named(load.generator)
        tool.require_installed()
        require_exact(tool, load, target.scheme, target.authority)
    except Refused as refused:
        # The model follows from other options.
        key = "generator" if refused.key == "model" else refused.key
        raise options.at_fault(key, str(refused)) from None
    except BadInput as error:
        raise options.at_fault("generator", str(error)) from None


def _without_socket(url: str, options: Options) -> tuple[str, str | None]:
    """Return the URL behind the socket of ``unix:SOCKET:/PATH``, and the socket; raises BadInput for two."""
    parts = socket_url(url)
    if parts is None:
        return url, None
    options.require_none_of(["unix_socket"], "the URL names a socket already")
    socket, path = parts
    return f"http://localhost{path}", socket


def _require_clear_text(url: str, load: HttpLoad) -> None:
    """Raise ``BadInput`` where a load cannot be sent without TLS, whatever else is given of that."""
    if http_family(load.http) == HTTP3:
        raise BadInput(
            f"--http {load.http}: HTTP/3 has no clear text; give a URL of {urlsplit(url).scheme}s://"
        )


def _verify_messages(plan: HttpPlan) -> None:
    """Make each call once, as the load does, or have one message delivered.

    Raises ``NothingMeasured`` where that does not end well.
    """
    transport = Transport(plan.scheme, plan.load.tls, other_addresses=plan.other_addresses)
    site = Site(plan.address, plan.authority, transport, plan.load.timeout_s)
    try:
        verify_answers(site, plan.load.paths_to_verify(plan.seed), None, plan.load)
    except ServerFailure as failure:
        raise NothingMeasured(failure.text) from None


def _reflected(target: Target, load: HttpLoadTable) -> bytes:
    """Return the descriptors of what a load calls, as the server has them.

    Raises:
        BadInput: it has none, or not of these methods.
        NothingMeasured: it does not answer.

    """
    found = reached(target, load.way, load.timeout_s)
    transport = Transport(target.scheme, load.tls, other_addresses=found.others)
    return reflected(load, Site(found.address, target.authority, transport, load.timeout_s))


def _planned(options: Options, load: HttpLoad, target: Target, cpus: tuple[int, ...]) -> HttpPlan:
    """Return the plan of a load to where its URL leads; raises ``NothingMeasured`` where nobody answers."""
    found = reached(target, load.way, load.timeout_s)
    return HttpPlan(
        load=load,
        address=found.address,
        other_addresses=found.others,
        authority=target.authority,
        scheme=target.scheme,
        host=target.host,
        threads=load.threads or 1,
        cpus=cpus,
        seed=options.values["seed"],
        io=options.values["io"],
        waiting=options.values["waiting"],
    )


def load_command(url: str, options: Options, *, json_output: bool) -> int:
    """Run one load, print its result on stdout, and return the exit code.

    Raises:
        BadInput: an option cannot be used; nothing was started.
        NothingMeasured: the URL leads nowhere, or nothing was answered.

    """
    look = Look()
    url, socket = _without_socket(url, options)
    target = read_url(url)
    ask = partial(_reflected, target)
    load = http_load(options, url, target.path, socket, target.messages, ask)
    if target.scheme == "http":
        _require_clear_text(url, load)
        options.require_none_of(TLS_OPTIONS, "the connections of an http:// URL carry clear text")
    if options.values["out"] is not None:
        refuse_used_folder(options.values["out"])
    cpus = cpus_of(options.values["cpus"])
    if load.generator != ENGINE_NAME:
        require_tool(options, load, target)
    # The address is looked up last, so that bad options are refused without a question to any name server.
    try:
        plan = following(_planned(options, load, target, cpus))
    except KeyboardInterrupt:
        talk().print("interrupted before anything was measured")
        return EXIT_INTERRUPTED
    if load.makes_calls or load.subscribers is not None:
        _verify_messages(plan)
    announce()
    warn_of_disturbance(look)
    if load.requests_left_out:
        talk().print(load.requests_left_out, soft_wrap=True)
    with followed(options, url, plan) as follower:
        try:
            result = watched_by(options, plan, follower)
        except LoadInterrupted as interrupt:
            conclude(follower, interrupt.result, json_output=json_output)
            return EXIT_INTERRUPTED
        result = conclude(follower, result, json_output=json_output)
    if not result.requests.answered:
        raise NothingMeasured(f"{url}: no request was answered: {failures_in_words(result)}")
    return EXIT_INVALID if result.verdict.status == "invalid" else EXIT_DONE

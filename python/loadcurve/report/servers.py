"""The servers of a run in words: which version each is, what it is held to, and where it is documented."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis, ServerFacts
from loadcurve.report import text
from loadcurve.report.arms import own_settings
from loadcurve.report.section import Report, Section
from loadcurve.report.terminal_tables import as_it_is

_ADDRESS = re.compile(r"https?://[\w.~/%?=&#+:-]+", re.ASCII)
"""An address in which nothing is markup, in any form of the report."""
NAME_WIDTH = 16
ARTICLES = ("The ", "A ", "An ")
"""A title that begins so says what a server is, because no name of it is known."""


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """One server that was found."""

    name: str
    what: str
    """Title, version, and the settings in which it differs from another arm of the same server."""
    limits: str
    """What it was held to; empty where that was nothing."""
    documentation: str | None


def title_with_version(server: ServerFacts) -> str:
    """Return the name of a program and its version, such as ``nginx 1.28.0``.

    Behind a description, of a program of the study or one that runs already, a number alone says nothing.
    """
    if not server.version:
        return server.title
    joined = ", version " if server.title.startswith(ARTICLES) else " "
    return f"{server.title}{joined}{server.version}"


def measured_servers(analysis: Analysis) -> list[MeasuredServer]:
    """Return every server that was found, in the order of the study."""
    settings = own_settings(analysis.run.servers)
    return [
        MeasuredServer(
            name,
            ", ".join([title_with_version(server), *settings[name]]),
            limits_in_words(server),
            documentation_address(server.documentation),
        )
        for name, server in analysis.run.servers.items()
        if server.status == "found"
    ]


def documentation_address(documentation: str | None) -> str | None:
    """Return the address of a server's documentation, which a received run folder may have made up."""
    return documentation if documentation is not None and _ADDRESS.fullmatch(documentation) else None


def limits_in_words(server: ServerFacts) -> str:
    """Return what a server was held to, as ``t2.micro, 1 CPU, 1 GiB``; empty where that was nothing."""
    machine, limits = server.facts.get("machine"), server.facts.get("limits")
    return ", ".join([*([str(machine)] if machine else []), *_limits(limits or {})])


def _limits(limits: Mapping[str, Any]) -> list[str]:
    said = []
    if (cpus := limits.get("cpus")) is not None:
        said.append(f"{cpus:g} CPU{'' if cpus == 1 else 's'}")
    if (memory := limits.get("memory_bytes")) is not None:
        said.append(units.memory_limit(memory))
    if (burst := limits.get("burst")) is not None:
        share = 100 * burst["baseline_share"]
        kept = "" if burst.get("restarted", True) else " for all trials together"
        said.append(f"{burst['credits']:g} CPU credits{kept}, then {share:.3g} % of its CPU time")
    return said


def servers_table(servers: Sequence[MeasuredServer]) -> Table:
    """Return names, versions and limits for the terminal, and an address below those that share it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    names = text.shortened([server.name for server in servers], NAME_WIDTH)
    for address, documented in groupby(servers, lambda server: server.documentation):
        for server in documented:
            what = ", ".join(filter(None, [server.what, server.limits]))
            table.add_row(Text(names[server.name]), as_it_is(what))
        if address is not None:
            table.add_row("", Text(as_it_is(address).plain, style="dim"))
    return table


@dataclass(frozen=True, slots=True)
class ShownServers:
    """Every server of the study."""

    measured: dict[str, MeasuredServer]
    """Those that were found, by name."""
    settings: dict[str, list[tuple[str, str]]]


def _shown(report: Report) -> ShownServers:
    servers = report.run.run.servers
    return ShownServers(
        {server.name: server for server in measured_servers(report.analysis)},
        {name: list(text.flattened(server.settings)) for name, server in servers.items()},
    )


def _in_terminal(_report: Report, shown: ShownServers) -> list[RenderableType]:
    found = list(shown.measured.values())
    return [Text("\nservers", style="bold"), servers_table(found)] if found else []


SERVERS = Section(
    "servers", "the servers", _shown, ShownServers({}, {}), page="servers", terminal=_in_terminal
)

"""Whether the generators that a study names can send its loads; seen to before anything is started."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from loadcurve.errors import BadInput
from loadcurve.loads.tls import Scheme
from loadcurve.loads.values import ENGINE_NAME, Point
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import ProtocolName, protocol_of_url
from loadcurve.server.catalog import Catalog
from loadcurve.server.transport import scheme_of
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.problems import Problem
from loadcurve.tools.catalog import Tool, driven_tools, tool_named
from loadcurve.tools.driver import Refused
from loadcurve.tools.exact import require_exact
from loadcurve.tools.exact_database import require_exact_on_database

RATES = {"rate", "connection_rate"}
"""The keys of a load that are rates."""


def require_generators(
    study: Study,
    document: TomlDocument,
    catalog: Catalog,
    *,
    has_other_loads: bool,
    searched: str | None = None,
) -> None:
    """See that each load can be sent exactly by its generator.

    ``searched`` is the key of a search for a capacity, whose ends are then the points of the study.

    Raises:
        BadInput: a generator cannot, or is missing; with the line of the load.

    """
    problems = dict.fromkeys(
        problem
        for arm in study.arms.values()
        for problem in _problems(study, arm, catalog, has_other_loads=has_other_loads, searched=searched)
    )
    if problems:
        raise BadInput("\n".join(map(document.report, problems)))


def takes_whole_rates(study: Study) -> bool:
    """Say whether a generator of the study takes whole requests per second alone."""
    names = {arm.load.generator for arm in study.arms.values()}
    tools = driven_tools()
    return any(can.whole_rate for name in names if name in tools and (can := tools[name].table.can))


def _problems(
    study: Study, arm: Arm, catalog: Catalog, *, has_other_loads: bool, searched: str | None
) -> Iterator[Problem]:
    load = arm.load
    name = load.generator
    if name == ENGINE_NAME:
        return
    place = arm.place("generator")
    try:
        tool = tool_named(name)
        tool.require_installed()
    except BadInput as error:
        yield Problem(place, str(error))
        return
    alone = {
        "several loads at once": has_other_loads,
        "loads from other machines": study.sending_machines_of(arm.name) is not None,
        "points that continue without a pause": study.trials.continues,
    }
    for what, is_asked in alone.items():
        if is_asked:
            yield Problem(place, f"{name} cannot send it: {what} are sent only by Loadcurve's own engine")
    if searched == "connections" and (load.sending_threads or 1) > 1:
        text = (
            f"a search tries connections that cannot be divided equally among threads for {name}; remove it"
        )
        yield Problem(arm.place("threads"), text)
    yield from _inexact(tool, study, arm, catalog)


def scheme_in(catalog: Catalog, arm: Arm) -> Scheme:
    """Return how the server of an arm is spoken to; one that the catalogue lacks is reported elsewhere."""
    server = arm.server
    settings = catalog[server.use].description.settings if server.use in catalog else {}
    return scheme_of(settings, server.settings, server.url)


def authority_in(arm: Arm) -> str | None:
    """Return what ``Host`` names for the server of an arm; ``None`` where that is its address."""
    return None if arm.server.url is None else urlsplit(arm.server.url).netloc


def require_exact_at(point: Point, tool: Tool, arm: Arm, catalog: Catalog) -> None:
    """Raise ``Refused`` where a tool cannot put the load of an arm on its server exactly at a point."""
    load, server = arm.load_at(point), arm.server
    if isinstance(load, DatabaseLoad):
        require_exact_on_database(tool, load, _protocol_in(catalog, arm), server.driver, server.url)
    else:
        require_exact(tool, load, scheme_in(catalog, arm), authority_in(arm))


def _protocol_in(catalog: Catalog, arm: Arm) -> ProtocolName | None:
    """Return what the server of an arm speaks; ``None`` where the catalogue lacks it."""
    server = arm.server
    if server.url is not None:
        return protocol_of_url(server.url)
    return catalog[server.use].description.protocol if server.use in catalog else None


def _inexact(tool: Tool, study: Study, arm: Arm, catalog: Catalog) -> Iterator[Problem]:
    """Yield the first point that the tool cannot carry out exactly, at the key of its load."""
    for point in study.points():
        try:
            require_exact_at(point, tool, arm, catalog)
        except Refused as refused:
            swept = refused.key in study.sweep
            yield Problem(("sweep", refused.key) if swept else arm.place(refused.key), str(refused))
            return

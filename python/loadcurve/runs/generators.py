"""Whether the generators that a study names can send its loads; seen to before anything is started."""

from collections.abc import Iterator

from loadcurve.errors import BadInput
from loadcurve.generate.tools.catalog import ENGINE_NAME, Tool, tool_named
from loadcurve.generate.tools.driver import Refused
from loadcurve.generate.tools.exact import require_exact
from loadcurve.loads.http import HttpLoad, HttpLoadTables
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.problems import Problem


def require_generators(
    study: Study, document: TomlDocument, *, has_other_loads: bool, searches: bool
) -> None:
    """Raise ``BadInput`` with the line of each load that its generator cannot send exactly, or is missing."""
    problems = dict.fromkeys(
        problem
        for arm in study.arms.values()
        for problem in _problems(study, arm, has_other_loads=has_other_loads, searches=searches)
    )
    if problems:
        raise BadInput("\n".join(map(document.report, problems)))


def _problems(study: Study, arm: Arm, *, has_other_loads: bool, searches: bool) -> Iterator[Problem]:
    load = arm.load
    name = getattr(load, "generator", ENGINE_NAME)
    if name == ENGINE_NAME or not isinstance(load, HttpLoadTables):
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
        "loads from other machines": study.host.load_machines is not None,
        "points that continue without a pause": study.trials.continues,
    }
    for what, is_asked in alone.items():
        if is_asked:
            yield Problem(place, f"{name} cannot send it: {what} are sent by our own engine alone")
    if not searches:
        yield from _inexact(tool, study, arm)


def _inexact(tool: Tool, study: Study, arm: Arm) -> Iterator[Problem]:
    """Yield the first point that the tool cannot carry out exactly, at the key of its load."""
    for point in study.points():
        load = arm.load_at(point)
        if not isinstance(load, HttpLoad):
            return
        try:
            require_exact(tool, load)
        except Refused as refused:
            swept = refused.key in study.sweep
            yield Problem(("sweep", refused.key) if swept else arm.place(refused.key), str(refused))
            return

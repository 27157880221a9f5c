"""Whether the parts of a study fit together."""

from collections.abc import Iterable, Iterator

from loadcurve.loads.models import LoadTables
from loadcurve.study.arm import Arm
from loadcurve.study.tables import Content, Sweep
from loadcurve.toml.problems import Problem


def inconsistencies(
    content: Content | None, load: LoadTables, arms: Iterable[Arm], sweep: Sweep
) -> Iterator[Problem]:
    """Yield what keeps a point of ``sweep`` from giving each arm a complete load of ``content``.

    What holds of the study's ``load`` is reported of it, and what only the keys of an arm's own table bring
    about is reported of these.
    """
    common = list(_inconsistencies(content, load, sweep))
    for arm in arms:
        if arm.load is load:
            yield from common
            continue
        if (wrong := _wrong_sweep(arm)) is not None:
            yield wrong
            continue
        for problem in _inconsistencies(content, arm.load, arm.own_sweep):
            is_common = problem in common and problem.path[1:2] not in [(key,) for key in arm.load.overriding]
            yield problem if is_common else _of_arm(arm, problem)


def _wrong_sweep(arm: Arm) -> Problem | None:
    """Return what keeps an arm's own values from going with those of the study's sweep."""
    own = arm.server.sweep or {}
    if own and len(arm.sweep) > 1:
        text = f"expected a [sweep] of one key, whose values these go with; it has {', '.join(arm.sweep)}"
        return Problem(arm.place_of_sweep, text)
    for key, column in own.items():
        count = len(next(iter(arm.sweep.values())))
        if len(column) != count:
            text = f"found {len(column)} values; expected {count}, one for each value of [sweep]"
            return Problem((*arm.place_of_sweep, key), text)
    return None


def _of_arm(arm: Arm, problem: Problem) -> Problem:
    """Return a problem of an arm's own load at the place of its key, or else of its table."""
    table, key, *rest = problem.path
    if table == "sweep" and key in (arm.server.sweep or {}):
        return Problem((*arm.place_of_sweep, key, *rest), problem.text)
    if table == "load" and (key in arm.load.overriding or not arm.load.gives(key)):
        return Problem((*arm.place_of_load, key, *rest), problem.text)
    return Problem(arm.place_of_load, f"with {table}.{key}: {problem.text}")


def _inconsistencies(content: Content | None, load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Yield what keeps a point of ``sweep`` from giving a complete load of ``content``."""
    yield from load.problems(sweep)
    if content is not None:
        yield from load.problems_of_content(content.files if content.folder is None else None)

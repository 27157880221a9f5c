"""Whether the parts of a study fit together."""

from collections.abc import Iterator
from itertools import chain

from loadcurve.study.expected import nearest, show, unknown_key
from loadcurve.study.problems import Problem
from loadcurve.study.tables import (
    FRACTIONAL_SWEEP_KEYS,
    ClosedLoadTable,
    Content,
    OpenLoadTable,
    Sweep,
    load_attribute,
    sweep_keys,
)

_WITHOUT_DEFAULT = frozenset({"connections", "rate"})

LoadTables = ClosedLoadTable | OpenLoadTable


def inconsistencies(content: Content, load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Yield what keeps a point of ``sweep`` from giving a complete load of ``content``."""
    return chain(
        _swept_in_vain(load, sweep),
        _left_out(load, sweep),
        _endings(load, sweep),
        _idle_threads(load, sweep),
        _requests_without_content(content, load),
    )


def _swept_in_vain(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    known = sweep_keys(load)
    for key, values in sweep.items():
        if key not in known:
            yield Problem(("sweep", key), unknown_key(key, known))
            continue
        if getattr(load, load_attribute(key)) is not None:
            yield Problem(("load", key), "given here and in [sweep]; keep one of the two")
        for index, value in enumerate(values):
            if isinstance(value, float) and key not in FRACTIONAL_SWEEP_KEYS:
                text = f"found {show(value)}; expected a positive whole number"
                yield Problem(("sweep", key, str(index)), text)


def _left_out(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    for key in sweep_keys(load):
        if key in _WITHOUT_DEFAULT and key not in sweep and getattr(load, load_attribute(key)) is None:
            text = "missing; expected a positive number here, or a list of them in [sweep]"
            yield Problem(("load", key), text)


def _endings(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Check that a closed loop ends in exactly one way; an open one always ends after its duration."""
    if isinstance(load, OpenLoadTable):
        return
    swept = "requests_total" in sweep
    counted = swept or load.requests_total is not None
    timed = load.duration_s is not None
    if counted and timed:
        place = ("sweep" if swept else "load", "requests_total")
        yield Problem(place, "given beside load.duration; keep one of the two, as a load ends in one way")
    if not counted and not timed:
        yield Problem(("load", "duration"), 'missing; expected duration, such as "10s", or requests_total')


def _idle_threads(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Check that every thread has a connection at every point."""
    threads = sweep.get("threads") or [load.threads or 1]
    connections = sweep.get("connections") or [load.connections or max(threads)]
    if max(threads) > min(connections):
        text = f"found {max(threads)}; expected no more threads than connections, of which a point has "
        yield Problem(("sweep" if "threads" in sweep else "load", "threads"), f"{text}{min(connections)}")


def _requests_without_content(content: Content, load: LoadTables) -> Iterator[Problem]:
    if content.folder is not None:
        return
    paths = [f"/{name}" for name in content.files]
    for index, request in enumerate(load.requests):
        path, _, _ = request.partition("?")
        if path not in paths:
            text = f"found {show(request)}, which is not in [content]; expected one of {', '.join(paths)}"
            yield Problem(("load", "requests", str(index)), text + nearest(path, paths))

"""Whether the parts of a study fit together."""

from collections.abc import Iterable, Iterator
from itertools import chain

from pydantic import ValidationError

from loadcurve.load.http import ClosedLoadTable, HttpLoadTable, HttpLoadTables, SessionsLoadTable
from loadcurve.load.loads import LoadTables
from loadcurve.load.requests import LongList
from loadcurve.load.table import attributes, sweep_keys
from loadcurve.load.ycsb import DatabaseLoadTable
from loadcurve.study.arm import Arm
from loadcurve.study.tables import Content, Sweep
from loadcurve.toml.expected import nearest, show, unknown_key
from loadcurve.toml.problems import KeyPath, Problem


def inconsistencies(
    content: Content | None, load: LoadTables, arms: Iterable[Arm], sweep: Sweep
) -> Iterator[Problem]:
    """Yield what keeps a point of ``sweep`` from giving each arm a complete load of ``content``.

    What holds of the study's ``load`` is told of it, and what only the keys of an arm's own table bring about
    is told of these.
    """
    common = list(_inconsistencies(content, load, sweep))
    for arm in arms:
        if arm.load is load:
            yield from common
            continue
        for problem in _inconsistencies(content, arm.load, sweep):
            is_common = problem in common and problem.path[1:2] not in [(key,) for key in arm.load.overriding]
            yield problem if is_common else _of_arm(arm, problem)


def _of_arm(arm: Arm, problem: Problem) -> Problem:
    """Return a problem of an arm's own load at the place of its key, or else of its table."""
    table, key, *rest = problem.path
    if table == "load" and (key in arm.load.overriding or not arm.load.gives(key)):
        return Problem((*arm.place_of_load, key, *rest), problem.text)
    return Problem(arm.place_of_load, f"with {table}.{key}: {problem.text}")


def _inconsistencies(content: Content | None, load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Yield what keeps a point of ``sweep`` from giving a complete load of ``content``.

    The points are the product of the swept values, so what the extremes of two keys allow holds everywhere.
    """
    of_every_load = (_swept_in_vain(load, sweep), _left_out(load, sweep))
    if isinstance(load, DatabaseLoadTable):
        return chain(
            *of_every_load,
            _phases(load, sweep),
            _idle_generator_threads(load, sweep),
            _reloads(load, sweep),
            _content_of_a_database(content),
        )
    return chain(
        *of_every_load,
        _endings(load, sweep),
        _idle_threads(load, sweep),
        _thinking_in_a_pipeline(load, sweep),
        _bursts_without_calls(load, sweep),
        _weights(load),
        () if content is None else _requests_without_content(content, load),
    )


def _given(load: LoadTables, key: str) -> bool:
    return attributes(type(load))[key] in load.model_fields_set


def _place(sweep: Sweep, key: str) -> KeyPath:
    return ("sweep" if key in sweep else "load", key)


def _values(load: LoadTables, sweep: Sweep, key: str) -> list[int | float]:
    """Return the values that a key has at the points; none where it is left out."""
    if key in sweep:
        return sweep[key]
    value = getattr(load, attributes(type(load))[key])
    value = load.unsaid(key) if value is None else value
    return [] if value is None else [value]


def _swept_in_vain(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    known = sweep_keys(type(load))
    for key, values in sweep.items():
        if key not in known:
            yield Problem(("sweep", key), unknown_key(key, list(known)))
            continue
        if _given(load, key):
            yield Problem(("load", key), "given here and in [sweep]; keep one of the two")
        for index, value in enumerate(values):
            if not _fits(load, key, value):
                yield Problem(
                    ("sweep", key, str(index)), f"found {show(value)}; expected {known[key].in_words()}"
                )


def _fits(load: LoadTables, key: str, value: float) -> bool:
    try:
        load.with_values({key: value}, type(load))
    except ValidationError:
        return False
    return True


def _left_out(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    fields = load.complete.model_fields
    for key in sweep_keys(type(load)):
        if fields[attributes(type(load))[key]].is_required() and not _values(load, sweep, key):
            text = "missing; expected a positive number here, or a list of them in [sweep]"
            yield Problem(("load", key), text)


def _endings(load: LoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Check that the load ends in exactly one way."""
    counted, timed = _values(load, sweep, load.counted_end), _values(load, sweep, "duration")
    if counted and timed:
        text = "given beside a duration; keep one of the two, as a load ends in one way"
        yield Problem(_place(sweep, load.counted_end), text)
    if not counted and not timed:
        text = f'missing; expected duration, such as "10s", or {load.counted_end}'
        yield Problem(("load", "duration"), text)


def _idle_threads(load: HttpLoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Check that every thread has a connection at every point."""
    threads, connections = _values(load, sweep, "threads"), _values(load, sweep, "connections")
    if not connections and isinstance(load, SessionsLoadTable):
        connections = _values(load, sweep, "num_connections")
    if threads and connections and max(threads) > min(connections):
        text = f"found {max(threads)}; expected no more threads than connections, of which a point has "
        yield Problem(_place(sweep, "threads"), f"{text}{min(connections)}")


def _thinking_in_a_pipeline(load: HttpLoadTables, sweep: Sweep) -> Iterator[Problem]:
    if not isinstance(load, ClosedLoadTable):
        return
    depth = max(_values(load, sweep, "pipeline"))
    if depth > 1 and max(_values(load, sweep, "think")) > 0:
        text = f"given with a pipeline of {depth}; expected one of 1, as a client thinks after each answer"
        yield Problem(_place(sweep, "think"), text)


def _bursts_without_calls(load: HttpLoadTables, sweep: Sweep) -> Iterator[Problem]:
    """Check that every connection makes enough calls for its bursts."""
    if not isinstance(load, SessionsLoadTable):
        return
    burst, calls = max(_values(load, sweep, "burst")), min(_values(load, sweep, "calls"))
    if burst > calls:
        text = f"found {burst}; expected no more than the calls of a connection, of which a point has {calls}"
        yield Problem(_place(sweep, "burst"), text)


def _weights(load: HttpLoadTable) -> Iterator[Problem]:
    place = ("load", "weights")
    requests = load.requests
    if isinstance(requests, LongList):
        if load.pick == "weighted" and not requests.listed.has_weights:
            text = f"no line of {requests.file} gives a weight; expected some, as the pick is weighted"
            yield Problem(("load", "requests"), text)
    elif load.weights is None:
        if load.pick == "weighted":
            yield Problem(place, 'missing; expected one for each request, as pick is "weighted"')
    elif load.pick != "weighted":
        yield Problem(
            place, 'given without pick = "weighted", which alone uses weights; expected both or none'
        )
    elif len(load.weights) != len(requests):
        text = f"found {len(load.weights)} of them; expected {len(requests)}, one for each request"
        yield Problem(place, text)
    elif sum(load.weights) == 0:
        yield Problem(place, "found only zeros; expected at least one weight above 0")


def _requests_without_content(content: Content, load: HttpLoadTable) -> Iterator[Problem]:
    if content.folder is not None or isinstance(load.requests, LongList):
        return
    paths = [f"/{name}" for name in content.files]
    for index, request in enumerate(load.requests):
        path, _, _ = request.partition("?")
        if path not in paths:
            place = f"{load.request_places[index]}: " if load.request_places else ""
            text = f"found {show(request)}, which is not in [content]; expected one of {', '.join(paths)}"
            yield Problem(("load", "requests", str(index)), place + text + nearest(path, paths))


def _phases(load: DatabaseLoadTable, sweep: Sweep) -> Iterator[Problem]:
    """Check that the run phase ends in exactly one way, and that the load phase is left to its records."""
    ends = [key for key in (load.counted_end, "duration") if _given(load, key) or key in sweep]
    if load.phase == "run":
        if len(ends) > 1 or not any(_values(load, sweep, key) for key in (load.counted_end, "duration")):
            yield from _endings(load, sweep)
        return
    for key in ends:
        text = "given with the load phase, which ends when each of its records is inserted; leave it out"
        yield Problem(_place(sweep, key), text)
    if _values(load, sweep, "warmup") != [0] and (_given(load, "warmup") or "warmup" in sweep):
        text = "given with the load phase, which inserts each record once; leave it out"
        yield Problem(_place(sweep, "warmup"), text)


def _idle_generator_threads(load: DatabaseLoadTable, sweep: Sweep) -> Iterator[Problem]:
    """Check that every thread of the generator has a client at every point."""
    own, clients = _values(load, sweep, "generator_threads"), _values(load, sweep, "threads")
    if own and clients and max(own) > min(clients):
        text = f"found {max(own)}; expected no more than threads, of which a point has {min(clients)}"
        yield Problem(_place(sweep, "generator_threads"), text)


def _reloads(load: DatabaseLoadTable, sweep: Sweep) -> Iterator[Problem]:
    """Check that records which stay for a whole trial are the same at all its points."""
    if load.reload == "point":
        return
    if load.phase == "load":
        text = 'found "trial" with the load phase, which needs an empty table at every point; leave it out'
        yield Problem(("load", "reload"), text)
    yield from (
        Problem(
            ("sweep", key),
            'given with reload = "trial"; expected "point", as every point needs its own records',
        )
        for key in ("records", "batch")
        if key in sweep
    )


def _content_of_a_database(content: Content | None) -> Iterator[Problem]:
    if content is not None:
        yield Problem(("content",), "given for databases, which hold the workload's records; leave it out")

"""Whether the parts of a study fit together."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.models import LoadTables
from loadcurve.loads.values import Point
from loadcurve.machines.table import HERE, RAY, MachineTable
from loadcurve.stats.slo import (
    OF_MESSAGES,
    RATE_KEPT,
    STREAMED_ANSWERS,
    Objective,
    parse_objective,
    unknown_operations,
)
from loadcurve.study.arm import Arm
from loadcurve.study.tables import Content, Host, StudyServer, Sweep, Trials, own_keys
from loadcurve.toml.expected import nearest, show
from loadcurve.toml.problems import KeyPath, Problem, never_used


def inconsistencies(
    content: Content | None, load: LoadTables, arms: Iterable[Arm], sweep: Sweep, beside: Collection[str] = ()
) -> Iterator[Problem]:
    """Yield what keeps a point of ``sweep`` from giving each arm a complete load of ``content``.

    What holds of the study's ``load`` is reported of it, and what only the keys of an arm's own table bring
    about is reported of these. Keys of the loads ``beside`` this one are those loads' to check.
    """
    common = list(_inconsistencies(content, load, own_keys(sweep, beside)))
    for arm in arms:
        yield from _of_hosts(arm, load)
        if arm.load is load:
            yield from common
            continue
        if (wrong := _wrong_sweep(arm)) is not None:
            yield wrong
            continue
        for problem in _inconsistencies(content, arm.load, arm.own_sweep):
            is_common = problem in common and problem.path[1:2] not in [(key,) for key in arm.load.overriding]
            yield problem if is_common else _of_arm(arm, problem)


def _of_hosts(arm: Arm, common: LoadTables) -> Iterator[Problem]:
    """Yield the requests of an arm that name another server than its own."""
    for problem in arm.load.problems_of_hosts(arm.server.url):
        yield problem if arm.load is common else _of_arm(arm, problem)


def unknown_machines(
    host: Host, servers: Mapping[str, StudyServer], machines: Collection[str]
) -> Iterator[Problem]:
    """Yield the machines that are named and have no table, or that have one and are this one."""
    if HERE in machines:
        yield Problem(("machines", HERE), f"{HERE} is this machine, which has no table; choose another name")
    known = [HERE, *machines]
    named: list[tuple[KeyPath, str]] = [(("host", "server_machine"), host.server_machine)]
    named += [(place, name) for place, names in named_load_machines(host, servers) for name in names]
    for server, table in servers.items():
        place = ("servers", server, "server_machine")
        if table.server_machine is not None:
            named.append((place, table.server_machine))
            if table.url is not None:
                yield Problem(place, "cannot be combined with url, which says where the server runs")
    for key, name in named:
        if name not in known:
            text = f"found {show(name)}; expected {HERE}, or a name from [machines]{nearest(name, known)}"
            yield Problem(key, text)


def named_load_machines(
    host: Host, servers: Mapping[str, StudyServer]
) -> Iterator[tuple[KeyPath, Sequence[str]]]:
    """Yield each list of machines that are named to send loads, and where the file has it."""
    if isinstance(host.load_machines, list):
        yield ("host", "load_machines"), host.load_machines
    for server, table in servers.items():
        if table.load_machines is not None:
            yield ("servers", server, "load_machines"), table.load_machines


def load_machine_inconsistencies(
    host: Host, servers: Mapping[str, StudyServer], trials: Trials, machines: Mapping[str, MachineTable]
) -> Iterator[Problem]:
    """Yield what is missing or superfluous of load machines, and what they cannot do."""
    if host.load_machines == RAY and host.load_nodes is None:
        text = (
            f"found {show(RAY)}, which requires load_nodes, the number of its nodes that send the load, "
            "such as load_nodes = 4"
        )
        yield Problem(("host", "load_machines"), text)
    if host.load_nodes is not None and host.load_machines != RAY:
        yield Problem(("host", "load_nodes"), f"requires load_machines = {show(RAY)}, whose nodes it counts")
    lists = list(named_load_machines(host, servers))
    for name, table in machines.items():
        if table.cpus is not None and not any(name in names for _, names in lists):
            text = (
                "only for a machine that sends load, and no load_machines name it; the CPUs of servers are "
                "server_cpus in [host]"
            )
            yield Problem(("machines", name, "cpus"), text)
        if table.source_addresses and not any(name in names for _, names in lists):
            text = "only for a machine that sends load, and no load_machines name it; remove it"
            yield Problem(("machines", name, "source_addresses"), text)
    if (host.load_machines is not None or lists) and trials.continues:
        text = 'found "continue"; expected "pause", because load machines start each point anew'
        yield Problem(("trials", "between_points"), text)


def sources_in_vain(senders: Mapping[str, Sequence[str] | None], arms: Iterable[Arm]) -> Iterator[Problem]:
    """Yield the source addresses that are given to loads which this machine has no part in sending.

    ``senders`` has the names of the machines that share the load of each arm; ``None`` where the run sends
    it, or where only a cluster knows which they are.
    """
    uses = (
        (arm.place("source_addresses"), (names := senders[arm.name]) is None or HERE in names)
        for arm in arms
        if isinstance(arm.load, HttpLoadTable) and arm.load.source_addresses
    )
    text = (
        "not used: these are addresses of this machine, which sends no load; set source_addresses in "
        f"[machines] of those that do, or name {show(HERE)} in load_machines"
    )
    yield from (Problem(place, text) for place in never_used(uses))


def machine_types_missing(host: Host, servers: Mapping[str, StudyServer]) -> Iterator[Problem]:
    """Yield what is said of machine types where no server is of one."""
    if any(table.machine is not None for table in servers.values()):
        return
    for key in ("cpus_per_vcpu", "burst"):
        if key in host.model_fields_set and getattr(host, key) != Host.model_fields[key].default:
            text = (
                'requires a machine type, such as machine = "t2.micro" in the table of a server, and none '
                "is of one (a type in [machines] says its price alone); set it, or remove this"
            )
            yield Problem(("host", key), text)


def restarts_in_vain(trials: Trials, servers: Mapping[str, StudyServer]) -> Iterator[Problem]:
    """Yield that points are to begin with a start of the server where a run starts none."""
    if trials.restart == "point" and all(table.url is not None for table in servers.values()):
        text = 'found "point", but all servers run already (url), and a run starts and stops none; remove it'
        yield Problem(("trials", "restart"), text)


def undivided_connections(
    counts: Mapping[str, int], arms: Iterable[Arm], points: Sequence[Point]
) -> Iterator[Problem]:
    """Yield that load machines have fewer connections at a point than one for each thread of each of them.

    ``counts`` has how many there are for each arm, 0 where the run sends its load.
    """
    for arm in arms:
        if not (machines := counts[arm.name]):
            continue
        loads = [arm.load_at(point) for point in points]
        fewest = min(loads, key=lambda load: load.connections_at_once)
        each = fewest.sending_threads or 1
        key = f"{fewest.kind.client}s"
        if fewest.connections_at_once < machines * each:
            of_threads = f" with {each} threads each" if each > 1 else ""
            text = (
                f"found {fewest.connections_at_once} at the lowest point; expected at least "
                f"{machines * each}, one for each of {machines} load machines{of_threads}"
            )
            yield Problem(("sweep", key) if key in arm.own_sweep else arm.place(key), text)


def drop_inconsistencies(trials: Trials, sweep: Sweep) -> Iterator[Problem]:
    """Yield what keeps the curves of a study from ending where throughput falls."""
    if trials.until_drop_share is None:
        return
    several = {key: values for key, values in sweep.items() if len(values) > 1}
    place = ("trials", "until_drop")
    if len(several) != 1:
        found = ", ".join(several) or "none with more than one value"
        yield Problem(place, f"requires a [sweep] of one key with rising values; it has {found}")
    for key, values in several.items():
        if len(several) == 1 and values != sorted(values):
            yield Problem(place, f"requires rising values in [sweep]; those of {key} do not rise")
    if trials.until_share is not None:
        text = (
            "cannot be combined with until: few trials reach the last points of the curves, so that their "
            "intervals stay wide"
        )
        yield Problem(place, text)


def limit_inconsistencies(limits: str | None, arms: Iterable[Arm], sweep: Sweep) -> Iterator[Problem]:
    """Yield what keeps limits from being held against the curves of a study."""
    if limits is None:
        return
    loads = [arm.load for arm in arms]
    keys = dict.fromkeys(key for load in loads for key in load.kind.load_keys)
    if not any(len(sweep.get(key, ())) > 1 for key in keys):
        text = (
            f"requires a [sweep] over a load: {', '.join(keys)}; they are answered by the load up to which "
            "each server keeps them. What a figure must be at each point is said by tables [[require]], with "
            'measure = "p99" and below = "20ms" for instance'
        )
        yield Problem(("limits",), text)
    objective = parse_objective(limits)
    for text in operations_not_sent(objective, loads):
        yield Problem(("limits",), text)
    keeps_rate = any(limit.measure == RATE_KEPT for limit in objective.limits)
    if keeps_rate and "rate" not in sweep and all(_has_no_rate(load) for load in loads):
        text = f'"{RATE_KEPT}" requires a load with a rate; limit a latency or the errors instead'
        yield Problem(("limits",), text)
    for text in messages_not_sent(objective, loads, sweep):
        yield Problem(("limits",), text)


def peak_inconsistencies(arms: Iterable[Arm], sweep: Sweep) -> Iterator[Problem]:
    """Yield what keeps a study from being answered by the peaks of its curves."""
    keys = dict.fromkeys(key for arm in arms for key in arm.load.kind.load_keys)
    if not any(len(sweep.get(key, ())) > 1 for key in keys):
        text = f'"peak" requires a [sweep] over a load: {", ".join(keys)}; it is the greatest throughput'
        yield Problem(("answer_by",), text)


def operations_not_sent(objective: Objective, loads: Iterable[LoadTables]) -> list[str]:
    """Say of each limit on an operation that no load sends it; nothing where a load's are not known yet."""
    sent = [load.labels for load in loads]
    known = [label for labels in sent if labels is not None for label in labels]
    return [] if None in sent else list(unknown_operations(objective, list(dict.fromkeys(known))))


def messages_not_sent(objective: Objective, loads: Sequence[LoadTables], sweep: Sweep) -> Iterator[str]:
    """Say of each limit on messages that no load has such."""
    for limit in objective.limits:
        required = OF_MESSAGES.get(limit.measure)
        if required and required not in sweep and not any(_has(load, required) for load in loads):
            yield f'"{limit.text}" requires a load with {required}; limit a latency or the errors instead'


def _has(load: LoadTables, required: str) -> bool:
    """Whether a load has what limits on messages require of it."""
    if required == STREAMED_ANSWERS:
        return isinstance(load, HttpLoadTable) and load.streams_answers
    return getattr(load, required, None) is not None


def _has_no_rate(load: LoadTables) -> bool:
    return getattr(load, "rate_rps", None) is None and not load.ends_by_itself


def warmup_inconsistencies(trials: Trials, arms: Iterable[Arm]) -> Iterator[Problem]:
    """Yield what keeps a study from warming its servers up before their first points."""
    if trials.warmup is not None and not all(arm.kind.has_server_warmup for arm in arms):
        text = "only for web servers; a load on a database is warmed up by warmup in [load]"
        yield Problem(("trials", "warmup"), text)


def continuation_inconsistencies(trials: Trials, arms: Iterable[Arm]) -> Iterator[Problem]:
    """Yield what keeps the points of a trial from following each other without a pause."""
    if not trials.continues:
        return
    place = ("trials", "between_points")
    if trials.restart == "point":
        yield Problem(place, 'cannot be combined with restart = "point", which stops the server; remove one')
    if "repeat_disturbed" in trials.model_fields_set and trials.repeat_disturbed:
        text = f"found {trials.repeat_disturbed}; a point cannot be repeated in its place among points "
        yield Problem(("trials", "repeat_disturbed"), text + "without a pause; remove it")
    yield from dict.fromkeys(problem for arm in arms for problem in _kept_from_continuing(arm, place))


CONTINUED_KEYS = ("connections", "rate")
"""What a load can change while its connections stay open."""


def _kept_from_continuing(arm: Arm, place: KeyPath) -> Iterator[Problem]:
    if not arm.kind.can_continue:
        yield Problem(place, "only for web servers; the clients of a database start anew at each point")
        return
    if arm.load.model == "sessions":
        text = "not for sessions: they close their connections, so that there is none to continue with"
        yield Problem(place, text)
        return
    if arm.load.ends_by_itself:
        yield Problem(place, "not for recorded arrivals, which end before the next point starts")
        return
    own = arm.server.sweep or {}
    for key in arm.own_sweep:
        if key not in CONTINUED_KEYS:
            where = (*arm.place_of_sweep, key) if key in own else ("sweep", key)
            text = (
                'cannot change without a pause (between_points = "continue"); only connections and rate can'
            )
            yield Problem(where, text)
    if arm.load.duration_s is None and "duration" not in arm.own_sweep:
        text = 'requires a duration, such as "30s", at whose end the next point begins'
        yield Problem(place, text)


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

"""How a study is shortened for a first look."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from loadcurve.loads.models import LoadTables
from loadcurve.loads.table import attributes
from loadcurve.loads.values import Duration, PositiveCount
from loadcurve.study.tables import Sweep, Trials
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import Problem
from loadcurve.toml.values import Text

TRIALS_MAX = 3
POINTS_MAX = 8
WARMUP_S_MAX = 0.2
DURATION_S_MAX = 0.4
COUNTS = ("requests_total", "num_connections", "operations", "records")
"""The keys that count what a load does."""


class QuickTable(TomlTable):
    """What a study keeps when it is shortened, where the common rules leave too much."""

    servers: (
        Annotated[list[Text], Field(min_length=1), Expected('a list of servers, such as ["nginx"]')] | None
    ) = None
    """The servers that are measured; all unless they are given."""
    sweep: Sweep | None = None
    """Fewer values of the sweep's keys, all of which stay."""
    duration_s: Duration = Field(DURATION_S_MAX, alias="duration")
    """The longest time that a load takes."""
    count_max: PositiveCount | None = None
    """The most requests, connections or operations after which a load ends, and records of a table.

    Values of a server's own sweep stay.
    """

    def inconsistencies(self, servers: list[str], sweep: Sweep) -> Iterator[Problem]:
        """Yield what does not fit the servers and the sweep of the study."""
        for place, name in enumerate(self.servers or []):
            if name not in servers:
                text = f"found {show(name)}; expected a server of this study{nearest(name, servers)}"
                yield Problem(("quick", "servers", str(place)), text)
        for key, values in (self.sweep or {}).items():
            known = sweep.get(key, [])
            if key not in sweep:
                text = f"expected a key of [sweep]: {', '.join(sweep)}{nearest(key, list(sweep))}"
                yield Problem(("quick", "sweep", key), text)
            for place, value in enumerate(values):
                if known and value not in known:
                    text = f"found {show(value)}; expected one of the values of [sweep]"
                    yield Problem(("quick", "sweep", key, str(place)), text)


def shortened_load(load: LoadTables, kept: QuickTable) -> LoadTables:
    """Return a load with a short warm-up and duration, and no greater counts than the most."""
    count_max = kept.count_max
    shorter: dict[str, object] = {
        "warmup_s": min(load.warmup_s, WARMUP_S_MAX),
        "duration_s": None if load.duration_s is None else min(load.duration_s, kept.duration_s),
    }
    known = attributes(type(load))
    if load.ends_by_itself and load.duration_s is None and getattr(load, known[load.counted_end]) is None:
        shorter["duration_s"] = kept.duration_s
    for name in (known[key] for key in COUNTS if key in known):
        count = getattr(load, name)
        if count_max is not None and count is not None:
            shorter[name] = min(count, count_max)
    return load.model_copy(update=shorter)


def shortened_trials(trials: Trials) -> Trials:
    """Return few trials, with a short warm-up after each start, which go to the end of the sweep.

    The throughput of such short loads varies too much to end a curve by.
    """
    warmup = trials.warmup
    if warmup is not None:
        warmup = warmup.model_copy(update={"duration_s": min(warmup.duration_s, DURATION_S_MAX)})
    changes = {"warmup": warmup, "until_drop_share": None}
    return trials.exactly(min(trials.count, TRIALS_MAX)).model_copy(update=changes)


def shortened_sweep(sweep: Sweep, kept: QuickTable) -> Sweep:
    """Return a sweep with at most 8 points, or with those that are named, none longer than a first look."""
    values_max = max(number for number in range(1, POINTS_MAX + 1) if number ** len(sweep) <= POINTS_MAX)
    most = {"warmup": WARMUP_S_MAX, "duration": kept.duration_s}
    if kept.count_max is not None:
        most |= dict.fromkeys(COUNTS, kept.count_max)
    named = kept.sweep or {}
    return {
        key: at_most(named[key], most.get(key))
        if key in named
        else evenly_chosen(at_most(values, most.get(key)), values_max)
        for key, values in sweep.items()
    }


def values_at_kept(own: Sweep, sweep: Sweep, kept: Sweep) -> Sweep:
    """Return a server's values at those of the study's only key that are kept."""
    ((key, values),) = kept.items()
    places = [sweep[key].index(value) if value in sweep[key] else -1 for value in values]
    return {name: [column[place] for place in places] for name, column in own.items()}


def evenly_chosen(values: list[int | float], count: int) -> list[int | float]:
    """Return ``count`` of the values, at least 2, among them the first and the last; or all of fewer."""
    if len(values) <= count:
        return values
    last = len(values) - 1
    return [values[round(index * last / (count - 1))] for index in range(count)]


def at_most(values: list[int | float], maximum: float | None) -> list[int | float]:
    """Return the values, each at most ``maximum`` and each once."""
    return values if maximum is None else list(dict.fromkeys(min(value, maximum) for value in values))

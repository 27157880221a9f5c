"""The search for a capacity: a run whose points are chosen as the measurements come in."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loadcurve.analysis.limits import observed, observed_failure
from loadcurve.errors import BadInput
from loadcurve.loads.kinds import KINDS, kind_with_model
from loadcurve.loads.models import LoadTables
from loadcurve.loads.table import sweep_keys
from loadcurve.loads.values import Point
from loadcurve.result.distribution import PERCENTILES, samples_needed
from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord, SearchRecord
from loadcurve.runs.generators import RATES, takes_whole_rates
from loadcurve.stats.capacity import Observation, trial_capacity
from loadcurve.stats.search import SearchSpace, next_load
from loadcurve.stats.slo import LATENCY_FIELDS, Objective
from loadcurve.study.consistency import messages_not_sent, operations_not_sent
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.problems import Problem
from loadcurve.units import setting


@dataclass(frozen=True)
class SearchOptions:
    """What is searched; ``None`` leaves the key and the ends of the search to the study's sweep."""

    objective: Objective
    key: str | None = None
    low: float | None = None
    high: float | None = None

    def words(self) -> list[str]:
        """Return the options as they are given on the command line."""
        given = (("--key", self.key), ("--from", self.low), ("--to", self.high))
        words = [word for name, value in given if value is not None for word in (name, _plain(value))]
        return ["--slo", self.objective.text, *words]


def search_document(document: TomlDocument, options: SearchOptions) -> TomlDocument:
    """Return the study with the ends of the search as its sweep of the key that is searched.

    Raises:
        BadInput: it is not clear which key is searched, or from where to where.

    """
    given = document.data.get("sweep", {})
    sweep = dict(given) if isinstance(given, dict) else {}
    key = _searched_key(document, options, sweep)
    servers = document.data.get("servers", {})
    own = [name for name, server in servers.items() if isinstance(server, dict) and "sweep" in server]
    if own:
        raise BadInput(
            document.report(
                Problem(
                    ("servers", own[0], "sweep"),
                    "a search chooses its own loads, so a server cannot have a [sweep]",
                )
            )
        )
    values = sweep.pop(key, [])
    numbers = (
        [value for value in values if isinstance(value, int | float)] if isinstance(values, list) else []
    )
    several = [name for name, others in sweep.items() if not isinstance(others, list) or len(others) != 1]
    if several:
        raise BadInput(
            f"{document.path}: a search varies one key, {key}; expected a single value of "
            f"{', '.join(several)}, in [load] or in [sweep]"
        )
    low = min(numbers, default=None) if options.low is None else options.low
    high = max(numbers, default=None) if options.high is None else options.high
    if low is None or high is None or not 0 < low < high:
        found = f"found {_end(low)} to {_end(high)}"
        raise BadInput(
            f"{document.path}: {found} as the range of {key}; expected two loads above 0, the lower one "
            "first: set them in [sweep], or with --from and --to"
        )
    searched = {**sweep, key: [_number(low), _number(high)]}
    without = {
        "load": _without(document.data.get("load", {}), key),
        "servers": _servers_without(document.data.get("servers", {}), key),
    }
    kept = _without_points_of(document.data, key)
    return dataclasses.replace(document, data={**kept, **without, "sweep": searched})


def _without(load: object, key: str) -> object:
    return {name: value for name, value in load.items() if name != key} if isinstance(load, dict) else load


def _without_points_of(study: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a study without what names points of its sweep along a key, of which a search has other ones.

    Requirements are judged of no search; of what ``--quick`` keeps, the values of the key are left out.
    """
    kept = {name: value for name, value in study.items() if name != "require"}
    quick = kept.get("quick")
    if isinstance(quick, dict) and isinstance(swept := quick.get("sweep"), dict) and key in swept:
        others = {name: values for name, values in swept.items() if name != key}
        rest = {name: value for name, value in quick.items() if name != "sweep"}
        kept["quick"] = {**rest, "sweep": others} if others else rest
    return kept


def _servers_without(servers: object, key: str) -> object:
    """Return the servers, without a key in their own loads."""
    if not isinstance(servers, dict):
        return servers
    return {
        name: {**server, "load": _without(server["load"], key)}
        if isinstance(server, dict) and "load" in server
        else server
        for name, server in servers.items()
    }


def _searched_key(document: TomlDocument, options: SearchOptions, sweep: dict[str, object]) -> str:
    load = document.data.get("load", {})
    kind = kind_with_model(load.get("model")) if isinstance(load, dict) else None
    # An unknown model is refused when the study is read.
    known = kind.load_keys if kind else tuple(dict.fromkeys(key for one in KINDS for key in one.load_keys))
    if options.key is not None:
        if options.key not in known:
            raise BadInput(f"--key {options.key} cannot be searched; expected one of {', '.join(known)}")
        return options.key
    keys = [key for key in sweep if key in known]
    if len(keys) == 1:
        return keys[0]
    found = f"sweeps {' and '.join(keys)}" if keys else "sweeps no load key"
    raise BadInput(
        f"{document.path}: the study {found}; choose the key to search with --key, one of {', '.join(known)}"
    )


class CapacitySearch:
    """Chooses each trial's points so that they close in on the server's capacity."""

    def __init__(self, study: Study, options: SearchOptions) -> None:
        """Search along the key of the study, one that :func:`search_document` has made, with two values.

        Raises ``BadInput``: a limit is on a request, or on messages, that no load of the study sends.
        """
        loads = [arm.load for arm in study.arms.values()]
        objective = options.objective
        unknown = [
            *operations_not_sent(objective, loads),
            *messages_not_sent(objective, loads, study.sweep),
        ]
        if unknown:
            raise BadInput(f"--slo {unknown[0]}")
        [key] = [key for key, values in study.sweep.items() if len(values) > 1]
        low, high = study.sweep[key]
        self._fixed = {name: values[0] for name, values in study.sweep.items() if name != key}
        self._key = key
        self._objective = options.objective
        self._begin = _first_judged(loads, options.objective) if key == "rate" else None
        if self._begin is not None and low < self._begin < high:
            low = self._begin
        else:
            self._begin = None
        is_whole = sweep_keys(type(study.load))[key].type is int
        self._space = SearchSpace(low, high, whole=is_whole or (key in RATES and takes_whole_rates(study)))
        self._seen: dict[str, dict[int, list[Observation]]] = {}

    @property
    def record(self) -> SearchRecord:
        """What is searched, for the run folder."""
        space = self._space
        return SearchRecord(key=self._key, low=space.low, high=space.high, slo=self._objective.text)

    @property
    def beginning_in_words(self) -> str | None:
        """Why the search begins higher than was asked for; ``None`` where it begins there."""
        if self._begin is None:
            return None
        return (
            f"the search begins at {setting(self._space.low)} per second: at lower rates too "
            f"few answers come for {self._objective.text}; a longer duration lets it begin lower"
        )

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:
        """Return the next point of a trial, which closes in on what it and earlier trials have found."""
        trials = self._seen.setdefault(trial.server, {})
        seen = trials.setdefault(trial.trial, [])
        if isinstance(last, PointRecord):
            seen.append(observed(last, last.point[self._key], self._objective))
        elif last is not None and last.point is not None:
            seen.append(observed_failure(last, last.point[self._key]))
        others = [
            trial_capacity(one, self._objective) for number, one in trials.items() if number != trial.trial
        ]
        load = next_load(self._space, seen, [other.centre for other in others if other is not None])
        return None if load is None else {**self._fixed, self._key: _number(load)}


def _first_judged(loads: Iterable[LoadTables], objective: Objective) -> float | None:
    """Return the rate from which a load is long enough for every limited percentile of all requests.

    ``None`` where that depends on more than the rate. Arrivals may be random: with three standard deviations
    more than are needed enough come.
    """
    lengths_s = [load.duration_s for load in loads]
    shares = [
        # An answer has one first event.
        PERCENTILES.get(LATENCY_FIELDS.get(one.measure, one.measure.removeprefix("first_event_")))
        for one in objective.limits
        if one.operation is None
    ]
    known_s = [length_s for length_s in lengths_s if length_s]
    counts = [samples_needed(share) for share in shares if share is not None]
    if not counts or len(known_s) < len(lengths_s):
        return None
    needed = max(counts)
    return float(math.ceil((needed + 3 * math.sqrt(needed)) / min(known_s)))


def _number(value: float) -> float:
    """Return a whole number as one, as the study's keys want it."""
    return int(value) if value == int(value) else value


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{_number(value)}"


def _end(value: float | None) -> str:
    return "nothing" if value is None else _plain(value)

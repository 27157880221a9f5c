"""Whole run folders of any shape and any figures, which the reader accepts."""

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from hypothesis import strategies as some

from loadcurve.result.outcomes import ENDS
from loadcurve.result.run_files import RUN_FILE, STUDY_FILE, TRIALS_FILE
from support import synthetic_database_run as databases
from support import synthetic_run as web
from support.wild_values import WildValues

Mode = Literal[
    "closed", "rate", "sessions", "two keys", "own loads", "search", "database", "database at a rate"
]
MODES: tuple[Mode, ...] = (
    "closed", "rate", "sessions", "two keys", "own loads", "search", "database", "database at a rate",
)  # fmt: skip
STARTED_AT = "2026-03-14T09:27:00Z"


@dataclass(frozen=True)
class WildRun:
    """What a run folder is made from; the same gives the same folder."""

    seed: int
    servers: int
    trials: int
    points: int
    mode: Mode
    restart: Literal["sweep", "point"]
    changed: float
    """Which share of the synthetic figures becomes anything."""
    nulls: float
    zeros: float
    failing: float
    """Which share of the points fails."""
    repeated: float
    """Which share of the points is measured again."""
    end: Literal["complete", "interrupted", "cut off", "resumed", "at once"]
    adaptive: bool
    near: float | None = None
    """By how much, as a standard deviation of logarithms, trials differ of servers that are near one another:
    the throughput and the latencies that are left unchanged by the above. ``None`` for examples at random."""

    def write(self, folder: Path) -> Path:
        """Write the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        record = _record(self)
        lines = list(_lines(self, record))
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / RUN_FILE).write_text(json.dumps(record))
        (folder / TRIALS_FILE).write_text(text[:-9] if self.end == "cut off" else text)
        (folder / STUDY_FILE).write_text(web.study_text(web.Texts()))
        return folder


def wild_runs(most: int = 12 * 5 * 10) -> some.SearchStrategy[WildRun]:
    """Return runs of 1 to 12 servers, 1 to 5 trials and 1 to 10 points, of which ``most`` are planned."""
    share = some.sampled_from([0.0, 0.05, 0.5])
    return some.builds(
        WildRun,
        seed=some.integers(0, 2**32),
        servers=some.integers(1, 12),
        trials=some.integers(1, 5),
        points=some.integers(1, 10),
        mode=some.sampled_from(MODES),
        restart=some.sampled_from(["sweep", "point"]),
        changed=some.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]),
        nulls=share,
        zeros=share,
        failing=some.sampled_from([0.0, 0.1, 0.9]),
        repeated=share,
        end=some.sampled_from(["complete", "complete", "interrupted", "cut off", "resumed", "at once"]),
        adaptive=some.booleans(),
    ).filter(lambda wild: wild.servers * wild.trials * wild.points <= most)


def near_runs() -> some.SearchStrategy[WildRun]:
    """Return runs of servers near one another, so that some differences are chance and some are not."""
    share = some.sampled_from([0.0, 0.0, 0.1])
    return some.builds(
        WildRun,
        seed=some.integers(0, 2**32),
        servers=some.integers(1, 4),
        trials=some.integers(1, 5),
        points=some.integers(1, 6),
        mode=some.sampled_from(["closed", "closed", "rate", "two keys", "database"]),
        restart=some.just("point"),
        changed=some.just(0.0),
        nulls=share,
        zeros=some.just(0.0),
        failing=some.sampled_from([0.0, 0.0, 0.3]),
        repeated=some.just(0.0),
        end=some.sampled_from(["complete", "interrupted"]),
        adaptive=some.just(False),
        near=some.sampled_from([0.001, 0.02, 0.1, 0.5]),
    )


def _values(wild: WildRun, drawn: Random, file: str) -> WildValues:
    return WildValues(drawn, file, wild.changed, wild.nulls, wild.zeros)


def _is_database(wild: WildRun) -> bool:
    return wild.mode.startswith("database")


def _sweep(wild: WildRun, drawn: Random) -> dict[str, list[float]]:
    """Return the values of the swept keys."""
    whole = sorted(drawn.sample([1, 2, 5, 10, 25, 50, 100, 200, 1000, 10**6], wild.points))
    rates = sorted({float(10 ** drawn.uniform(-3, 9)) for _ in range(wild.points)})
    match wild.mode:
        case "rate" | "database at a rate":
            return {"rate": list(rates)}
        case "sessions":
            return {"connection_rate": list(rates)}
        case "database":
            return {"threads": list(whole)}
        case "two keys":
            depth = [1.0, 8.0][: 1 if wild.points == 1 else 2]
            return {"connections": list(whole[: max(1, wild.points // 2)]), "pipeline": list(depth)}
        case _:
            return {"connections": list(whole)}


def _points(sweep: dict[str, list[float]]) -> list[dict[str, float]]:
    points: list[dict[str, float]] = [{}]
    for key, values in sweep.items():
        points = [{**point, key: value} for point in points for value in values]
    return points


def _record(wild: WildRun) -> dict[str, Any]:
    """Return the run's record as JSON data."""
    drawn = Random(wild.seed)
    like = databases.run_record() if _is_database(wild) else web.run_record()
    example = json.loads(like.model_dump_json(by_alias=True))
    values = _values(wild, drawn, "run.schema.json")
    template = example["servers"]["postgresql" if _is_database(wild) else "nginx"]
    names = [f"server-{number}" for number in range(1, wild.servers + 1)]
    of_server = {"$ref": "run.schema.json#/$defs/ServerRecord"}
    servers = {name: values.like(of_server, template) for name in names}
    # A server that is missing is never measured.
    servers |= {name: {**server, "status": "found"} for name, server in servers.items()}
    servers["absent"] = {**template, "status": "missing", "version": None}
    for server in servers.values():
        server["container"] = None
    order = []
    for block in range(wild.trials):
        for place, name in enumerate(drawn.sample(names, len(names))):
            order.append({"trial": block * len(names) + place, "block": block, "server": name})
    sweep = _sweep(wild, drawn)
    search = (
        {"key": "connections", "low": 1, "high": 1e6, "slo": "p99 < 10ms"} if wild.mode == "search" else None
    )
    made: dict[str, Any] = values.like({"$ref": "run.schema.json"}, example)
    return made | {
        "started_at": STARTED_AT,
        "study_sha256": None,
        "seed": wild.seed,
        "study": _study(wild, example["study"], sweep, names),
        "order": order,
        "points": [] if search else _points(sweep),
        "search": search,
        "servers": servers,
        "ceiling": made["ceiling"] and {**made["ceiling"], "points": _rising(made["ceiling"]["points"])},
    }


def _rising(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points of a ceiling, by connections in rising order."""
    return [{**point, "connections": number} for number, point in enumerate(points, start=1)]


def _study(
    wild: WildRun, example: dict[str, Any], sweep: dict[str, list[float]], names: list[str]
) -> dict[str, Any]:
    load = {**example["load"]}
    if wild.mode in {"rate", "sessions"}:
        load["model"] = {"rate": "open", "sessions": "sessions"}[wild.mode]
    trials: dict[str, Any] = {"count": wild.trials, "restart": wild.restart}
    if wild.adaptive:
        trials |= {"until_share": 0.03, "at_most": wild.trials + 1, "measure": "throughput"}
    study = {**example, "load": load, "sweep": sweep, "trials": trials}
    if wild.mode == "own loads":
        study["servers"] = {names[0]: {"load": {**load, "pipeline": 8}}}
    if sweep:
        study["claims"] = {"claims": list(_claims(names, next(iter(sweep))))}
    if wild.near is not None:
        study["limits"] = f"p99 < {Random(wild.seed + 2).choice([0.5, 1, 2, 4, 8])}ms"
    return study


def _claims(names: list[str], over: str) -> Iterator[dict[str, Any]]:
    """Yield a claim of every kind that these servers allow, as a record has it."""
    first, last = names[0], names[-1]
    common = {"text": "So it is.", "over": over}
    yield {**common, "kind": "peak", "server": first, "near": 10}
    for kind in ("rises", "falls", "level"):
        yield {**common, "kind": kind, "servers": [first]}
        yield {**common, "kind": kind, "servers": [*names, "absent"], "measure": "p99"}
    for kind in ("greater", "alike"):
        yield {**common, "kind": kind, "servers": [first, last], "measure": "memory_peak_mib"}
    yield {**common, "kind": "ratio", "servers": [first, last], "ratio": 1.3}
    yield {**common, "kind": "cheapest", "server": first, "limits": "p99 < 10ms", "up_to": 100}


def _lines(wild: WildRun, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the records of the trials as JSON data, until the run's end."""
    drawn = Random(wild.seed + 1)
    if wild.end == "at once":
        return
    whole = len(record["order"])
    until = drawn.randint(0, whole) if wild.end == "interrupted" else whole
    resumed = drawn.randrange(wild.trials) if wild.end == "resumed" else None
    for planned in record["order"][:until]:
        yield from _trial(wild, drawn, planned, record["points"])
    if resumed is not None:
        yield {"kind": "resumed", "block": resumed, "started_at": STARTED_AT}
        for planned in record["order"]:
            if planned["block"] >= resumed:
                yield from _trial(wild, drawn, planned, record["points"])


def _trial(
    wild: WildRun, drawn: Random, planned: dict[str, Any], points: list[dict[str, float]]
) -> Iterator[dict[str, Any]]:
    searched = [{"connections": float(drawn.randint(1, 10**6))} for _ in range(wild.points)]
    if drawn.random() < wild.failing / 2:
        yield _failure(wild, drawn, planned, None)
        return
    for point in points or searched:
        if drawn.random() < wild.failing:
            yield _failure(wild, drawn, planned, point)
            if wild.restart == "sweep":
                return
            continue
        attempts = 1 + (drawn.random() < wild.repeated) + (drawn.random() < wild.repeated)
        for attempt in range(1, attempts + 1):
            yield _point(wild, drawn, planned, point, attempt, is_disturbed=attempt < attempts)


def _failure(
    wild: WildRun, drawn: Random, planned: dict[str, Any], point: dict[str, float] | None
) -> dict[str, Any]:
    made: dict[str, Any] = _values(wild, drawn, "trial.schema.json").like({"$ref": "#/$defs/FailureRecord"})
    return made | planned | {"point": point, "started_at": STARTED_AT, "attempt": 1}


def _point(
    wild: WildRun,
    drawn: Random,
    planned: dict[str, Any],
    point: dict[str, float],
    attempt: int,
    *,
    is_disturbed: bool,
) -> dict[str, Any]:
    if wild.near is None:
        example = _example(wild.mode, drawn.randrange(3), drawn.randrange(3))
    else:
        example = _near_example(wild, drawn, planned["server"], point)
    values = _values(wild, drawn, "trial.schema.json")
    made: dict[str, Any] = values.like({"$ref": "#/$defs/PointRecord"}, example)
    for load in made["measurements"].values():
        _add_up(load)
    if is_disturbed:
        reason = {"code": "steal", "text": "the host did not run a CPU"}
        made["measurements"]["load"]["verdict"] = {"status": "invalid", "reasons": [reason], "notes": []}
    return made | planned | {"point": point, "started_at": STARTED_AT, "attempt": attempt}


def _add_up(load: dict[str, Any]) -> None:
    """Make counts agree: of what was due and became of it, of machines, of answers by status, of messages."""
    machines = (load.get("machines") or {}).get("parts", ())
    parts = [part["requests"] for part in machines if part["requests"]]
    whole = load["requests"]
    if parts:
        whole |= {name: sum(part[name] or 0 for part in parts) for name in ("sent", *ENDS)}
    if load.get("statuses") is not None:
        counts = ((int(code[0]), count) for code, count in (load["status"] or {}).items() if count)
        load["statuses"] = [{"status": 100 * code, "answered": n, "wrong": 0} for code, n in counts]
    if events := load.get("messages"):
        events["together"] = min(events["together"], events["received"])
        if events.get("reconnects_with_id") is not None:
            events["reconnects_with_id"] = min(events["reconnects_with_id"], events.get("reconnects") or 0)
        if events["expected"] is not None:
            events["delivered"] = min(events["delivered"], events["expected"])
    if deliveries := load.get("deliveries"):
        deliveries["delivered"] = min(deliveries["delivered"], deliveries["expected"])
        subscribers = deliveries["subscribers"]
        subscribers["opened"] = min(subscribers["opened"], subscribers["asked"])
    for spared in (load.get("compression") or {}).values():
        if isinstance(spared, dict) and not spared["messages"]:
            spared |= {"bytes": 0, "compressed_bytes": 0}
    for counts in (*parts, whole):
        counts["due"] = sum(counts[end] or 0 for end in ENDS)


def _near_example(wild: WildRun, drawn: Random, server: str, point: dict[str, float]) -> dict[str, Any]:
    """Return a point whose throughput rises and falls with its load, and whose latencies rise."""
    example: dict[str, Any] = json.loads(json.dumps(_example(wild.mode, 0, 1)))
    ability = Random(f"{wild.seed} {server} {sorted(point.items())}").gauss(0, 0.05)
    place = math.log2(1 + next(iter(point.values()), 1))
    load = example["measurements"]["load"]
    faster = math.exp(place / 2 - (place / 5) ** 2 + ability + drawn.gauss(0, wild.near or 0))
    slower = math.exp(place / 3 - ability + drawn.gauss(0, wild.near or 0))
    _scale(load["rate_rps"], faster)
    _scale(load["latency_ms"], slower)
    for operation in load.get("operations") or []:
        _scale(operation.get("latency_ms") or {}, slower)
    return example


def _scale(figures: dict[str, Any], factor: float) -> None:
    for name, value in figures.items():
        if isinstance(value, float):
            figures[name] = value * factor


@functools.cache
def _example(mode: Mode, place: int, trial: int) -> dict[str, Any]:
    """Return a synthetic point as JSON data, in the mode of the run."""
    factor = web.TRIAL_FACTORS[trial]
    if mode.startswith("database"):
        record = databases.point_record(list(databases.PER_THREAD_RPS)[place % 2], databases.THREADS[place])
    else:
        record = web.point_record(list(web.SERVERS)[place], web.CONNECTIONS[place * 3], factor=factor)
    example: dict[str, Any] = json.loads(record.model_dump_json(by_alias=True))
    load = example["measurements"]["load"]["load"]
    if mode in {"rate", "database at a rate"}:
        load |= {"rate_rps": 1000.0, "arrivals": "constant"}
    if mode in {"rate", "sessions"}:
        load["model"] = {"rate": "open", "sessions": "sessions"}[mode]
    if mode == "sessions":
        load |= {"connection_rate_cps": 100.0, "connections_total": 100, "calls": 2}
    return example

"""Runs of one server in which nothing is odd, and into which a test plants what a finding should explain."""

import copy
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.result.folder import Run
from loadcurve.result.probe import ProbeSeries
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic

CONNECTIONS = (5, 10, 25, 50, 100)
TRIALS = 5
BEGIN = datetime(2026, 3, 14, 9, 27, tzinfo=UTC)
SPREAD = 0.01
"""The deviation between trials, of the logarithm."""

Data = dict[str, Any]
Planted = Callable[[Data, int, float], None]
"""Changes the JSON data of a record, given the number of its trial and the value of the swept key."""


def nothing_planted(_record: Data, _trial: int, _value: float) -> None:
    pass


@dataclass(frozen=True)
class Setup:
    """What the run was made with."""

    values: Sequence[float] = CONNECTIONS
    key: str = "connections"
    trials: int = TRIALS
    settings: Data = field(default_factory=dict)
    host: Data = field(default_factory=dict)
    server: Data = field(default_factory=dict)
    seed: int = 1
    every_s: float | None = None
    """A soak: from the start of one trial to that of the next, on a server that is started once."""


def planted_run(plant: Planted = nothing_planted, setup: Setup | None = None) -> Run:
    """A run of one server on two of four CPUs with a smooth curve, changed by ``plant``."""
    setup = setup or Setup()
    drawn = random.Random(setup.seed)
    base = synthetic.run_record()
    host = {
        "server_cpus": [0, 1],
        "load_cpus": [2, 3],
        "limits": {"open_files": [1024, 4096]},
        "sysctls": {
            "net.core.somaxconn": "4096",
            "net.ipv4.tcp_syn_linear_timeouts": "0",
            "net.ipv4.ip_local_port_range": "32768\t60999",
        },
    }
    server = base.servers["nginx"].model_copy(update={"settings": setup.settings, **setup.server})
    order = [{"trial": trial, "block": trial, "server": "nginx"} for trial in range(setup.trials)]
    run = base.model_copy(
        update={
            "host": host | setup.host,
            "servers": {"nginx": server},
            "points": [{setup.key: value} for value in setup.values],
            "study": base.study | {"trials": base.study["trials"] | {"every_s": setup.every_s}},
            "started_at": BEGIN.isoformat(),
        }
    )
    records = []
    for planned in order:
        for value in setup.values:
            factor = math.exp(drawn.gauss(0, SPREAD))
            record = _clean_record(setup.key, value, factor)
            plant(record, planned["trial"], value)
            measured = {"measurements": {"load": record.pop("load")}}
            at = {"point": {setup.key: value}, **_times(setup, planned["trial"])}
            records.append(PointRecord.model_validate(planned | at | record | measured))
    return Run(folder=Path("run"), run=run, records=records, study_text="", cut_off=False)


def _times(setup: Setup, trial: int) -> Data:
    if setup.every_s is None:
        return {"started_at": BEGIN.isoformat()}
    at = BEGIN + timedelta(seconds=trial * setup.every_s)
    return {"started_at": at.isoformat(), "server_started_at": BEGIN.isoformat()}


def _clean_record(key: str, value: float, factor: float) -> Data:
    connections = int(value) if key == "connections" else 50
    load = copy.deepcopy(synthetic.load_result("nginx", connections))
    for name in ("sent", "answered"):
        load["rate_rps"][name] *= factor
    load["kernel"]["listen_overflows"] = 0
    probe = copy.deepcopy(synthetic.probe_record("nginx", connections))
    probe["server"] |= {
        "memory_mean_bytes": 16 * 2**20 * factor,
        "processes": {"min": 3, "max": 3},
        "threads": {"min": 3, "max": 3},
        "busiest_process": None,
        "busiest_thread": None,
    }
    probe["throttling"] = None
    probe["series"] = series()
    return {"kind": "point", "load": load, "probe": probe, "limit_use": None}


def series(samples: int = 20, **columns: list[float]) -> Data:
    """The probe's columns of two seconds, of a server at half a CPU; a test may give others."""
    usual: Data = dict.fromkeys(ProbeSeries.model_fields) | {
        "cpu_user_share": [0.1] * samples,
        "cpu_system_share": [0.4] * samples,
        "memory_bytes": [16 * 2**20] * samples,
        "processes": [3] * samples,
        "threads": [3] * samples,
        "voluntary_context_switches": [100] * samples,
        "busy_cpus": [1.0] * samples,
        "steal_cpus": [0.0] * samples,
        "retransmits": [0] * samples,
        "throttled_s": [0.0] * samples,
    }
    return usual | {"t_s": [0.05 + 0.1 * sample for sample in range(samples)]} | columns


def found(plant: Planted = nothing_planted, setup: Setup | None = None) -> dict[str, Finding]:
    """The findings of a planted run by their codes; a code that comes twice is an error of the test."""
    all_of_them = findings(planted_run(plant, setup))
    by_code = {one.code: one for one in all_of_them}
    assert len(by_code) == len(all_of_them), [one.code for one in all_of_them]
    return by_code


def evidence(finding: Finding) -> dict[str, float]:
    """The value of each piece of evidence by its name."""
    return {one.name: one.value for one in finding.evidence}


def slow_request(due_s: float, latency_ms: float, connection: int = 0, **more: object) -> Data:
    """One of the slowest requests, which waited for nothing but its answer."""
    return {
        "operation": "GET /1k.txt",
        "due_s": due_s,
        "connect_ms": None,
        "first_byte_ms": latency_ms,
        "service_time_ms": latency_ms,
        "latency_ms": latency_ms,
        "error": None,
        "syn_retransmits": 0,
        "retransmits": 0,
        "connection": connection,
    } | more


def distribution_of(times_ms: list[float]) -> Data:
    return synthetic.distribution(sorted(times_ms))


def retried_connects(record: Data, times_ms: list[float], overflows: int | None) -> None:
    """Connections took these times, and SYNs were sent again."""
    load = record["load"]
    load["connect_ms"] = distribution_of(times_ms)
    load["histograms"]["connect"] = synthetic.encode([round(time * 1e6) for time in times_ms])
    load["kernel"] |= {"syn_retransmits": 7, "listen_overflows": overflows}


def division(others: float, name: str) -> Data:
    """Return a division of the time of CPU 0, of which a program of this name took a share."""
    program = {"name": name, "processes": 1, "pid": 7, "cpu": 0, "cpu_share": others}
    return {
        "cpus": [0],
        "server": 1 - others,
        "generator": None,
        "kernel": 0.0,
        "host": 0.0,
        "others": others,
        "idle": 0.0,
        "softirq_share": 0.0,
        "uncertain": 0.0,
        "programs": [program],
    }


def doubt(record: Data, code: str) -> None:
    """The verdict is suspect for this reason, too."""
    reasons = [*record["load"]["verdict"]["reasons"], {"code": code, "text": code}]
    record["load"]["verdict"] = {"status": "suspect", "reasons": reasons, "notes": []}


def use_cpus(record: Data, cpus: float, **server: object) -> None:
    """The server used this number of CPUs."""
    record["probe"]["server"] |= {"cpu_share": cpus, **server}


def speak_http2(
    record: Data, *, streams: int = 100, opened: int = 10, replies: float = 500.0, **http2: object
) -> None:
    """The load spoke HTTP/2, on ``opened`` connections with ``replies`` each, limited as given only."""
    load = record["load"]
    load["load"] |= {"http": "2", "streams": streams}
    load["connections"] |= {"opened": opened, "replies_per_connection": replies}
    load["http2"] = {
        "streams_allowed": {"min": 128, "max": 128},
        "connections_limited": 0,
        "stream_wait_ms": distribution_of([]),
        "moved_wait_ms": distribution_of([]),
        "streams_refused": 0,
        "connections_ended": 0,
        "connections_ended_by_error": 0,
        "bodies_delayed": 0,
        "windows_used_up": 0,
        "answers_behind_long": 0,
    } | http2

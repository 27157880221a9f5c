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
    """A soak: from the start of one trial to that of the next."""
    is_kept: bool = True
    """In a soak, whether the server is started once, not for each trial."""


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
    return {"started_at": at.isoformat(), "server_started_at": BEGIN.isoformat() if setup.is_kept else None}


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
    """Connections took these times, for each of which a request waited, and SYNs were sent again."""
    load = record["load"]
    longest_ms = sorted(times_ms, reverse=True)[:10]
    load["slowest"] = [slow_request(0.1, time_ms + 0.5, connect_ms=time_ms) for time_ms in longest_ms]
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
        "answers_starved": 0,
    } | http2


HANDSHAKES = ("full", "resumed", "early_accepted", "early_rejected", "after_retry")


def speak_http3(record: Data, **parts: Data) -> None:
    """The load spoke HTTP/3 on 10 connections of 500 answers each, with nothing odd but these parts."""
    load = record["load"]
    load["load"] |= {"http": "3", "scheme": "https", "streams": 1}
    load["connections"] |= {"opened": 10, "replies_per_connection": 500.0}
    load["http3"] = http3_result()
    for name, changed in parts.items():
        load["http3"][name] |= changed


def http3_result() -> Data:
    """What a load of 5,000 answers of one datagram says of HTTP/3 on a dedicated machine."""
    none = distribution_of([])
    return {
        "version": "1",
        "handshakes_ms": dict.fromkeys(HANDSHAKES, none) | {"full": distribution_of([2.0] * 10)},
        "certificate_bytes": {"min": 463, "max": 463},
        "packets": {
            "sent": 10_000,
            "lost": 0,
            "spurious": None,
            "key_updates": 0,
            "datagrams_sent": 10_000,
            "datagrams_received": 10_000,
            "bytes_sent": 600_000,
            "bytes_received": 6_000_000,
            "sent_per_answer": 2.0,
            "received_per_answer": 2.0,
        },
        "acknowledgements": {
            "sent": 5_000,
            "received": 5_000,
            "packets_each": 2,
            "delay_max_ms": 25,
            "server_delay_max_ms": {"min": 25, "max": 25},
            "frequency_agreed": False,
            "frequency_offered": 0,
        },
        "rtt_min_ms": distribution_of([0.1] * 10),
        "rtt_smoothed_ms": distribution_of([0.5] * 10),
        "mtu_bytes": {"min": 1452, "max": 1452},
        "link_mtu_bytes": {"min": 65_536, "max": 65_536},
        "congestion": {
            "control": "cubic",
            "initial_window_bytes": 12_000,
            "is_paced": True,
            "events": 0,
            "black_holes": 0,
            "server_control": None,
            "server_initial_window_bytes": None,
        },
        "windows": {
            "stream_bytes": 2**20,
            "connection_bytes": 2**22,
            "server_stream_bytes": {"min": 65_536, "max": 65_536},
            "server_connection_bytes": {"min": 2**20, "max": 2**20},
            "server_blocked": 0,
            "blocked": 0,
        },
        "streams": {
            "allowed_at_first": {"min": 100, "max": 100},
            "limits_met": 0,
            "wait_ms": none,
            "moved_wait_ms": none,
            "rejected": 0,
            "answers_starved": 0,
        },
        "qpack": {
            "offered_bytes": 4096,
            "capacity_bytes": {"min": 4096, "max": 4096},
            "used_bytes": {"min": 0, "max": 120},
            "entries": 20,
            "heads": 5_000,
            "heads_with_entries": 4_990,
            "heads_blocked": 0,
        },
        "sockets": {
            "opened": 10,
            "receive_offload": 10,
            "send_offload": 0,
            "send_offload_refused": 0,
            "receive_buffer_asked_bytes": 2**22,
            "receive_buffer_granted_bytes": {"min": 425_984, "max": 425_984},
            "send_buffer_asked_bytes": 2**22,
            "send_buffer_granted_bytes": {"min": 425_984, "max": 425_984},
            "of_server": 2,
        },
        "datagrams": {
            "sends": 10_000,
            "sent": 10_000,
            "per_send": 1.0,
            "receives": 5_000,
            "received": 10_000,
            "per_receive": 2.0,
            "unattributed": 0,
            "sends_put_off": 0,
            "too_long": 0,
        },
        "dropped": {"by_client": 0, "by_server": 0},
        "ends": dict.fromkeys(
            (
                "announced",
                "closed",
                "application_errors",
                "transport_errors",
                "stateless_resets",
                "idle_timeouts",
                "other_versions",
                "path_challenges",
                "migration_refused",
            ),
            0,
        ),
        "bodies": {
            "compared": 5_000,
            "expected_bytes": 5_120_000,
            "received_bytes": 5_120_000,
            "other_length": 0,
        },
        "unknown": [{"field": "packets.spurious", "reason": "it counts a late packet as a lost one"}],
    }

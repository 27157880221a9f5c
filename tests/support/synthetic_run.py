"""A run folder with a known truth: three servers, three trials, eight connection counts, some mishaps.

Each server follows ``throughput(c) = peak * c / (c + half)``; its three trials measure 1 / 1.02, 1 and 1.02
times that, so the geometric mean over complete trials is the truth itself. Latencies follow a log-normal
distribution whose mean obeys Little's law.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

from hdrh.histogram import HdrHistogram

from loadcurve.result.folder import Run
from loadcurve.result.outcomes import FAILURES
from loadcurve.result.records import FailureRecord, PointRecord, RunRecord
from loadcurve.result.run_files import RUN_FILE, STUDY_FILE, TRIALS_FILE

CONNECTIONS = (1, 2, 5, 10, 25, 50, 100, 200)
TRIAL_FACTORS = (1 / 1.02, 1.00, 1.02)
REACH = math.exp(4.302653 * math.log(1.02) / 3**0.5)
"""How many times the truth an interval's upper end is: t(0.975, 2) = 4.302653, s = ln 1.02, three trials."""
DURATION_S = 2.0
WINDOW_START_S = 5_000.0
SIGMA = 0.45
SAMPLES = 500

ORDER = (("nginx", "apache", "tiny"), ("tiny", "nginx", "apache"), ("apache", "tiny", "nginx"))
"""The servers of each block in their order."""

SUSPECT = ("nginx", 1, 200)
"""Server, block and connections of the suspect point."""
INVALID = ("tiny", 2, 100)
"""Server, block and connections of the invalid point."""
FAILED = ("apache", 2)
"""Server and block of the failed trial."""
FAILED_BEFORE = 50
"""The failed trial measured the points below this one."""


@dataclass(frozen=True)
class Truth:
    """The curve of one synthetic server."""

    peak_rps: float
    half: float
    cpu_us: float
    """Processor time of each request."""

    def throughput_rps(self, connections: float) -> float:
        return self.peak_rps * connections / (connections + self.half)

    def memory_bytes(self, connections: float) -> float:
        return 2**20 * (16 + connections / 8)

    def latency_ms(self, connections: float, probability: float = 0.5) -> float:
        """The latency's quantile; by Little's law its mean is connections / throughput."""
        mean_ms = 1000 * connections / self.throughput_rps(connections)
        return mean_ms * math.exp(-(SIGMA**2) / 2 + SIGMA * NormalDist().inv_cdf(probability))


SERVERS = {"nginx": Truth(42_000, 9, 20), "apache": Truth(21_000, 6, 45), "tiny": Truth(30_000, 25, 30)}


@dataclass(frozen=True)
class Texts:
    """The free texts of the study; a test can put hostile ones here."""

    title: str = "One static file, three servers"
    question: str = "Which server keeps p99 under 10 ms up to 200 connections?"
    server_titles: dict[str, str] = field(
        default_factory=lambda: {
            "nginx": "nginx",
            "apache": "Apache httpd, event",
            "tiny": "tiny",
            "absent": "Absent",
        }
    )


def study_text(texts: Texts) -> str:
    return f"""title = '''{texts.title}'''
question = '''{texts.question}'''

[content]
"1k.txt" = "1KiB"

[load]
model = "closed"
requests = ["/1k.txt"]
duration = "2s"

[sweep]
connections = {list(CONNECTIONS)}

[trials]
count = 3

[servers.nginx]
[servers.apache]
[servers.tiny]
[servers.absent]
"""


def encode(samples_ns: list[int], digits: int = 3) -> str:
    histogram = HdrHistogram(1, 3_600_000_000_000, digits)
    for value in samples_ns:
        histogram.record_value(value)
    return histogram.encode().decode()


EMPTY_HISTOGRAM = encode([])


def distribution(samples_ms: list[float]) -> dict[str, Any]:
    """The summary of sorted samples; a percentile of so few is left out where they cannot bound it."""
    if not samples_ms:
        return dict.fromkeys(
            ("min", "mean", "stddev", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max")
        ) | {"count": 0}
    count = len(samples_ms)
    mean = math.fsum(samples_ms) / count

    def percentile(p: float) -> float:
        return samples_ms[math.ceil(p / 100 * count) - 1]

    return {
        "count": count,
        "min": samples_ms[0],
        "mean": mean,
        "stddev": math.sqrt(math.fsum((s - mean) ** 2 for s in samples_ms) / (count - 1))
        if count > 1
        else None,
        "p50": percentile(50),
        "p75": percentile(75),
        "p90": percentile(90),
        "p95": percentile(95),
        "p99": percentile(99) if count >= 368 else None,
        "p99_9": None,
        "p99_99": None,
        "max": samples_ms[-1],
    }


@functools.cache
def _latencies_ms(server: str, connections: int, factor: float) -> tuple[list[float], str, dict[str, Any]]:
    """The samples, their histogram and their summary, which are the same for thousands of records."""
    truth = SERVERS[server]
    quantiles = [truth.latency_ms(connections, (i + 0.5) / SAMPLES) / factor for i in range(SAMPLES)]
    return quantiles, encode([round(value * 1e6) for value in quantiles]), distribution(quantiles)


@functools.cache
def _series(server: str, connections: int, factor: float) -> list[dict[str, Any]]:
    """Two seconds with half of the samples each."""
    samples, _, _ = _latencies_ms(server, connections, factor)
    halves = (samples[0::2], samples[1::2])
    return [
        {
            "t_s": float(second),
            "width_s": 1.0,
            "answered": len(half),
            "failed": 0,
            "body_bytes": len(half) * 1024,
            "latency_ms": distribution(half),
            "latency_histogram": encode([round(value * 1e6) for value in half], digits=2),
        }
        for second, half in enumerate(halves)
    ]


def load_result(server: str, connections: int, factor: float = 1.0, **changes: Any) -> dict[str, Any]:
    """One load result as JSON data, at ``factor`` times the true throughput."""
    rate = SERVERS[server].throughput_rps(connections) * factor
    samples, encoded, summary = _latencies_ms(server, connections, factor)
    nothing = distribution([])
    count = SAMPLES
    return {
        "format": "loadcurve-load/2",
        "load": {
            "work": "http",
            "protocol": "http",
            "address": "127.0.0.1:18000",
            "http": "1.1",
            "requests": ["GET /1k.txt"],
            "pick": "in-order",
            "model": "closed",
            "connections": connections,
            "rate_rps": None,
            "connection_rate_cps": None,
            "arrivals": None,
            "pipeline": 1,
            "calls": None,
            "think_s": 0.0,
            "threads": 1,
            "cpus": [1],
            "warmup_s": 0.5,
            "duration_s": DURATION_S,
            "requests_total": None,
            "connections_total": None,
            "timeout_s": 5.0,
            "seed": 1,
            "io": "epoll",
        },
        "interrupted": False,
        "window_start_monotonic_s": WINDOW_START_S,
        "duration_s": DURATION_S,
        "requests": {
            "due": count,
            "sent": count,
            "answered": count,
            "ok": count,
            "failed": 0,
            "unanswered": 0,
            "never_sent": 0,
        },
        "rate_rps": {"asked": None, "sent": rate, "answered": rate},
        "latency_ms": dict(summary),
        "service_time_ms": dict(summary),
        "connect_ms": nothing,
        "first_byte_ms": nothing,
        "transfer_ms": nothing,
        "connections": {
            "opened": connections,
            "failed": 0,
            "reused": count - connections,
            "concurrent_max": connections,
            "rate_cps": None,
            "replies_per_connection": None,
            "lifetime_ms": nothing,
        },
        "bytes": {"sent": count * 80, "received": count * 1300, "header": count * 276, "body": count * 1024},
        "status": {"1xx": 0, "2xx": count, "3xx": 0, "4xx": 0, "5xx": 0},
        "errors": dict.fromkeys(FAILURES, 0),
        "generator": {
            "threads": 1,
            "io": "epoll",
            "cpu_user_s": 0.4,
            "cpu_system_s": 0.9,
            "cpu_spun_s": 0.0,
            "cpu_per_request_us": 6.5,
            "lateness_ms": None,
        },
        "kernel": {"syn_retransmits": 0, "retransmits": 0, "listen_overflows": None, "listen_drops": 0},
        "operations": [
            {"operation": "GET /1k.txt", "answered": count, "failed": 0, "latency_ms": dict(summary)}
        ],
        "slowest": [
            {
                "operation": "GET /1k.txt",
                "due_s": 0.5,
                "connect_ms": None,
                "first_byte_ms": samples[-1] / 2,
                "service_time_ms": samples[-1],
                "latency_ms": samples[-1],
                "error": None,
                "syn_retransmits": 0,
                "retransmits": 0,
                "connection": 0,
            }
        ],
        "silences": [{"start_s": 0.5, "length_ms": 3.0}],
        "series": _series(server, connections, factor),
        "histograms": {
            "latency": encoded,
            "service_time": encoded,
            "connect": EMPTY_HISTOGRAM,
            "first_byte": EMPTY_HISTOGRAM,
            "transfer": EMPTY_HISTOGRAM,
        },
        "verdict": {"status": "valid", "reasons": [], "notes": []},
    } | changes


def probe_record(server: str, connections: int, factor: float = 1.0) -> dict[str, Any]:
    """What the probe says of one load as JSON data; each request costs ``factor`` times the true CPU time."""
    truth = SERVERS[server]
    cpu_share = truth.throughput_rps(connections) * factor * truth.cpu_us * factor / 1e6
    memory_bytes = truth.memory_bytes(connections) * factor
    return {
        "cost": {"interval_s": 0.1, "cpu_share": 0.002},
        "server": {
            "cpu_source": "processes",
            "cpu_user_s": cpu_share * DURATION_S / 4,
            "cpu_system_s": cpu_share * DURATION_S * 3 / 4,
            "cpu_share": cpu_share,
            "cpu_per_request_us": truth.cpu_us * factor,
            "busiest_process": {"pid": 4000, "name": server, "cpu_share": cpu_share / 2},
            "busiest_thread": {"pid": 4000, "thread": 4001, "name": server, "cpu_share": cpu_share / 3},
            "memory_mean_bytes": memory_bytes,
            "memory_peak_bytes": round(memory_bytes * 1.1),
            "proportional_memory_bytes": None,
            "processes": {"min": 3, "max": 4},
            "threads": {"min": 3, "max": 5},
            "open_files_max": 40,
            "context_switches": {"voluntary": 1000, "involuntary": 10},
            "page_faults": {"minor": 500, "major": 0},
        },
        "cpus": [{"cpu": 0, "busy_share": 0.9, "softirq_share": 0.1, "steal_share": 0.0}],
        "pressure": None,
        "tcp": None,
        "sockets": None,
        "listen_queue": {"backlog": 511, "waiting_max": 3},
        "throttling": {"periods": 20, "throttled_periods": 1, "throttled_s": 0.05},
        "series": None,
        "caveats": [],
    }


def point_record(
    server: str = "nginx",
    connections: int = 10,
    trial: int = 0,
    block: int = 0,
    factor: float = 1.0,
    **load: Any,
) -> PointRecord:
    """One point of one trial at ``factor`` times the true throughput, with changes to its load result."""
    return PointRecord.model_validate(
        {"kind": "point", "trial": trial, "block": block, "server": server, "limit_use": None}
        | {"point": {"connections": connections}, "started_at": "2026-03-14T09:27:00Z"}
        | {"measurements": {"load": load_result(server, connections, factor, **load)}}
        | {"probe": probe_record(server, connections, factor)}
    )


def run_record(texts: Texts | None = None) -> RunRecord:
    texts = texts or Texts()
    found = [
        {"trial": block * 3 + place, "block": block, "server": server}
        for block, order in enumerate(ORDER)
        for place, server in enumerate(order)
    ]
    servers = {
        name: {
            "title": texts.server_titles[name],
            "catalog_entry": name,
            "status": "found",
            "version": "1.2.3",
            "binary": f"/usr/sbin/{name}",
            "settings": {"workers": 1, "keep_alive": True},
            "configuration": {f"{name}.conf": f"# {name}\nworkers 1;\nlisten 127.0.0.1:18000;\n"},
            "install": None,
            "documentation": f"https://example.org/{name}",
            "limits": None,
            "machine": None,
        }
        for name in SERVERS
    }
    servers["absent"] = {
        "title": texts.server_titles["absent"],
        "catalog_entry": "absent",
        "status": "missing",
        "version": None,
        "binary": None,
        "settings": {},
        "configuration": {},
        "install": "apt install absent",
        "documentation": None,
        "limits": None,
        "machine": None,
    }
    return RunRecord.model_validate(
        {
            "format": "loadcurve-run/3",
            "loadcurve_version": "0.1.0",
            "started_at": "2026-03-14T09:26:53Z",
            "seed": 1729,
            "options": ["--quick"],
            "study_name": "three-servers",
            "study": {
                "title": texts.title,
                "question": texts.question,
                "content": {"folder": None, "1k.txt": 1024},
                "load": {"work": "http", "model": "closed", "requests": ["/1k.txt"], "duration_s": 2.0},
                "sweep": {"connections": list(CONNECTIONS)},
                "trials": {"count": 3, "restart": "sweep"},
            },
            "order": found,
            "points": [{"connections": connections} for connections in CONNECTIONS],
            "host": {
                "kernel": "Linux 6.1.0",
                "cpu": "Example CPU at 3.0 GHz",
                "cpus": 2,
                "memory_bytes": 8_242_000_000,
                "listen_backlog_max": 4096,
                "governor": None,
            },
            "ceiling": None,
            "servers": servers,
            "content": {"1k.txt": {"bytes": 1024, "sha256": "0" * 64}},
        }
    )


def trial_records(
    record: RunRecord, failure_log: str = "AH00161: server reached MaxRequestWorkers\n"
) -> list[PointRecord | FailureRecord]:
    """Every record of the whole run, in the order of measuring."""
    records: list[PointRecord | FailureRecord] = []
    for planned in record.order:
        identity = {"trial": planned.trial, "block": planned.block, "server": planned.server}
        for connections in CONNECTIONS:
            at = {"point": {"connections": connections}, "started_at": "2026-03-14T09:27:00Z"}
            if (planned.server, planned.block) == FAILED and connections == FAILED_BEFORE:
                reason = {"code": "server_exited", "text": "the server ended with status 1 while under load"}
                failure = {"kind": "failure", **identity, **at, "reason": reason, "log_tail": failure_log}
                records.append(FailureRecord.model_validate(failure))
                break
            changes: dict[str, Any] = {}
            if (planned.server, planned.block, connections) == SUSPECT:
                reason = {"code": "unsettled", "text": "the latency rose by 12 % within the window"}
                changes["verdict"] = {"status": "suspect", "reasons": [reason], "notes": []}
            factor = TRIAL_FACTORS[planned.block]
            if (planned.server, planned.block, connections) == INVALID:
                reason = {"code": "errors", "text": "12 % of the requests failed (60 resets)"}
                changes["verdict"] = {"status": "invalid", "reasons": [reason], "notes": []}
                factor = 0.5
            records.append(point_record(connections=connections, **identity, factor=factor, **changes))
    return records


def write_points(folder: Path, *connections: int) -> Path:
    """Write a run whose sweep has these numbers of connections alone."""
    record = run_record()
    points = [point for point in record.points if point["connections"] in connections]
    records = [one for one in trial_records(record) if one.kind == "point" and one.point in points]
    return write_run(folder, record.model_copy(update={"points": points}), list(records))


def with_records(run: Run, records: Iterable[PointRecord | FailureRecord]) -> Run:
    return dataclasses.replace(run, records=list(records))


def with_load(record: PointRecord, **changes: Any) -> PointRecord:
    """The record with changes to the result of its load."""
    load = record.load.model_copy(update=changes)
    return record.model_copy(update={"measurements": {**record.measurements, "load": load}})


def spoiled(record: PointRecord) -> PointRecord:
    """The record with an invalid verdict."""
    return with_load(record, verdict=record.load.verdict.model_copy(update={"status": "invalid"}))


def with_throughput(record: PointRecord, factor: float) -> PointRecord:
    """The record with ``factor`` times the throughput; nothing else changes."""
    rates = record.load.rate_rps
    return with_load(record, rate_rps=rates.model_copy(update={"answered": (rates.answered or 0) * factor}))


def write_run(
    folder: Path,
    record: RunRecord | None = None,
    records: list[PointRecord | FailureRecord] | None = None,
    texts: Texts | None = None,
) -> Path:
    """Write a run folder with plain file operations, apart from the writer that is under test elsewhere."""
    record = record or run_record(texts)
    records = trial_records(record) if records is None else records
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RUN_FILE).write_text(record.model_dump_json(by_alias=True))
    lines = [one.model_dump_json(by_alias=True) + "\n" for one in records]
    (folder / TRIALS_FILE).write_text("".join(lines))
    (folder / STUDY_FILE).write_text(study_text(texts or Texts()))
    return folder


def write_renamed_run(folder: Path, old: str, new: str, texts: Texts | None = None, **changes: Any) -> Path:
    """Write the run with another name for one of its servers, and with changes to its record."""
    record = run_record(texts)
    servers = {new if name == old else name: server for name, server in record.servers.items()}
    renamed = record.model_copy(
        update={
            "servers": servers,
            "order": [_renamed(planned, old, new) for planned in record.order],
            **changes,
        }
    )
    return write_run(folder, renamed, [_renamed(one, old, new) for one in trial_records(record)], texts)


def _renamed(record: Any, old: str, new: str) -> Any:
    return record.model_copy(update={"server": new}) if record.server == old else record

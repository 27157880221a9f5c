"""A run on two databases with a known truth: reads and updates, along threads, after loading the records.

Each database answers ``per_thread * threads`` operations per second, three quarters of them reads; an update
takes twice as long as a read. The records are loaded at half of that throughput.
"""

from pathlib import Path
from typing import Any

from loadcurve.result.records import FailureRecord, PointRecord, RunRecord
from loadcurve.result.run_files import STUDY_FILE
from support import synthetic_run

THREADS = (1, 4, 16)
PER_THREAD_RPS = {"ferretdb": 100.0, "postgresql": 400.0}
READ_SHARE = 0.75
TRIALS = 3
STUDY = """title = "Two databases"

[load]
model = "ycsb"
workload = "a"
"""


def throughput_rps(server: str, threads: int) -> float:
    return PER_THREAD_RPS[server] * threads


def database_plan(server: str, threads: int, phase: str = "run") -> dict[str, Any]:
    return {
        "work": "ycsb",
        "protocol": "mongodb",
        "model": "ycsb",
        "address": "mongodb://127.0.0.1:27017",
        "namespace": "loadcurve",
        "table": "usertable",
        "settings": {},
        "workload": {
            "mix": {
                "read": READ_SHARE, "update": 1 - READ_SHARE, "insert": 0, "scan": 0, "read_modify_write": 0,
                "delete": 0,
            },
            "records": 1000,
            "insert_start": 0,
            "insert_count": None,
            "field_count": 10,
            "field_bytes": 100,
            "field_bytes_min": 1,
            "field_bytes_distribution": {"name": "constant"},
            "field_prefix": "field",
            "read_all_fields": True,
            "write_all_fields": False,
            "request_distribution": {"name": "zipfian", "constant": 0.99},
            "scan_records_min": 1,
            "scan_records_max": 1000,
            "scan_records_distribution": {"name": "uniform"},
            "insert_order": "hashed",
            "zero_padding": 1,
            "verify_values": False,
        },
        "workload_name": "mine",
        "phase": phase,
        "threads": threads,
        "connections": threads,
        "batch": 1,
        "rate_rps": None,
        "arrivals": None,
        "warmup_s": 0.0,
        "duration_s": synthetic_run.DURATION_S,
        "requests_total": None,
        "timeout_s": 5.0,
        "seed": 1,
        "cpus": [1],
        "io": "epoll",
    }  # fmt: skip


def load_result(server: str, threads: int, phase: str = "run", **changes: Any) -> dict[str, Any]:
    """One load result as JSON data."""
    rate = throughput_rps(server, threads) * (1.0 if phase == "run" else 0.5)
    count = synthetic_run.SAMPLES
    reads = round(count * READ_SHARE)
    read_ms = 1000 * threads / throughput_rps(server, threads)

    def operation(name: str, answered: int, latency_ms: float) -> dict[str, Any]:
        latency = synthetic_run.distribution([latency_ms] * answered)
        return {"operation": name, "answered": answered, "failed": 0, "latency_ms": latency}

    operations = (
        [operation("read", reads, read_ms), operation("update", count - reads, 2 * read_ms)]
        if phase == "run"
        else [operation("insert", count, read_ms)]
    )
    result = synthetic_run.load_result("nginx", threads)
    return (
        result
        | {
            "load": database_plan(server, threads, phase),
            "rate_rps": {"asked": None, "sent": rate, "answered": rate},
            "operations": operations,
            "bytes": None,
            "status": None,
            "error_messages": [],
        }
        | changes
    )


def point_record(server: str, threads: int, block: int = 0, **load: Any) -> PointRecord:
    return PointRecord.model_validate(
        {
            "kind": "point",
            "trial": block * len(PER_THREAD_RPS) + list(PER_THREAD_RPS).index(server),
            "block": block,
            "server": server,
            "point": {"threads": threads},
            "started_at": "2026-03-14T09:27:00Z",
            "measurements": {
                "loading": load_result(server, threads, "load"),
                "load": load_result(server, threads, **load),
            },
            "probe": synthetic_run.probe_record("nginx", threads),
            "limit_use": None,
        }
    )


def run_record() -> RunRecord:
    like = synthetic_run.run_record()
    servers = {
        name: like.servers["nginx"].model_copy(update={"title": name, "catalog_entry": name})
        for name in PER_THREAD_RPS
    }
    order = [
        {"trial": block * len(servers) + place, "block": block, "server": server}
        for block in range(TRIALS)
        for place, server in enumerate(servers)
    ]
    study = {
        "title": "Two databases",
        "question": "Which database answers more?",
        "content": None,
        "load": {"work": "ycsb", "model": "ycsb", "workload": "a", "rate_rps": None, "duration_s": 2.0},
        "sweep": {"threads": list(THREADS)},
        "trials": {"count": TRIALS, "restart": "sweep"},
    }
    return RunRecord.model_validate(
        like.model_dump()
        | {
            "study": study,
            "servers": {name: server.model_dump() for name, server in servers.items()},
            "order": order,
            "points": [{"threads": threads} for threads in THREADS],
            "content": {},
        }
    )


def records() -> list[PointRecord | FailureRecord]:
    return [
        point_record(server, threads, block)
        for block in range(TRIALS)
        for server in PER_THREAD_RPS
        for threads in THREADS
    ]


def write_run(folder: Path) -> Path:
    synthetic_run.write_run(folder, run_record(), records())
    (folder / STUDY_FILE).write_text(STUDY)
    return folder

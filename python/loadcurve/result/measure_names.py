"""What a study can call the measures, apart from how records give them: reading a study needs no record."""

from typing import Literal

RankedMeasureName = Literal[
    "throughput",
    "mean",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p99_9",
    "p99_99",
    "max",
    "cpu_per_request_us",
    "memory_mean_mib",
    "memory_peak_mib",
]
"""Measures with a better one of two values."""
PEAK = "peak"
"""What answers a question by the greatest throughput of each server along the sweep."""
AnswerName = Literal[RankedMeasureName, "peak"]
"""What may answer a question."""
MeasureName = Literal[
    RankedMeasureName,
    "cpu_share",
    "run_delay_per_request_us",
    "processes_max",
    "disk_read_mib_per_s",
    "page_cache_mib",
    "page_cache_refault_mib_per_s",
]
ConnectionMeasureName = Literal[
    "connection_rate",
    "connections_concurrent_max",
    "connection_time_min",
    "connection_time_mean",
    "connection_time_p50",
    "connection_time_max",
    "connection_time_stddev",
]
TransferMeasureName = Literal[
    "received_kib_per_s",
    "header_bytes",
    "load_duration_s",
    "connect_min",
    "connect_mean",
    "connect_p50",
    "connect_max",
    "connect_stddev",
    "first_byte_min",
    "first_byte_mean",
    "first_byte_p50",
    "first_byte_max",
    "first_byte_stddev",
]
PublishedMeasureName = Literal[MeasureName, ConnectionMeasureName, TransferMeasureName]
"""The measures that published figures and claims may name: they include what only those have."""

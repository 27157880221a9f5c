"""What a record says of wrk, where it has sent a load."""

from loadcurve.result.generator import ToolRecord

WRK = ToolRecord(
    name="wrk",
    version="4.1.0",
    command=["wrk"],
    latency_basis="send",
    resolution_ms=0.001,
    completeness="complete",
    warmup="separate",
    not_measured=[],
)

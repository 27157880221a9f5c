"""What records have of messages: of streamed answers, and of messages that many receive."""

from support.explained_run import Data
from support.synthetic_run import distribution

FIGURES = {
    "kind": "events",
    "first_event_ms": distribution([30.0, 50.0]),
    "first_event_from_sent_ms": distribution([30.0, 50.0]),
    "gap_ms": distribution([10.0] * 6),
    "received": 8,
    "received_per_s": 4.0,
    "data_bytes": 80,
    "together": 0,
    "delivered": 8,
    "expected": 10,
    "ended_by_client": 0,
}
"""Of two streams of four events."""


def deliveries(*, step_ms: float = 0.5, spread_ms: float = 20.0, expected: int = 400) -> Data:
    """Return the deliveries of a record: 400 came."""
    no_errors: dict[str, int] = {}
    return {
        "subscribers": {"asked": 100, "opened": 100, "refused": no_errors, "closed": no_errors},
        "expected": expected,
        "delivered": 400,
        "reach": 400 / expected,
        "delivered_per_s": 400.0,
        "delivered_bytes": 4000,
        "latency_ms": distribution([1.0] * 400),
        "late": 0,
        "duplicates": 0,
        "earlier": 0,
        "of_other_loads": 0,
        "unmarked": 0,
        "to_publishers": 0,
        "step": {"ahead": 10, "behind": 90, "step_ms": step_ms, "spread_ms": spread_ms},
    }

"""Limits on latency that held although the generator was late: the delay can only have added to them.

Latency counts from when a request was due. At a server that serves requests in the order in which they were
due, and turns none away, one that arrives later is never finished earlier, nor is any behind it (D. V.
Lindley, "The theory of queues with a single server", Mathematical Proceedings of the Cambridge Philosophical
Society 48, 1952; J. Kiefer and J. Wolfowitz, "On the theory of queues with many servers", Transactions of the
American Mathematical Society 78, 1955). So each latency, and with it each percentile, the mean and the
longest, is at most what was measured. That is not so of failures, because a delay can spread a burst that
would have overflowed a queue, nor of the rate kept, because what was late before the window is answered
within it.
"""

from loadcurve.result.distribution import PERCENTILES, WHOLE, merged_curve
from loadcurve.result.measures import wrong_answers
from loadcurve.result.records import PointRecord
from loadcurve.stats.slo import LATENCY_FIELDS, Limit, Objective

DELAYS = frozenset({"generator_late", "generator_paused", "generator_throttled"})
"""Reasons of an invalid verdict that say that requests were sent, or answers read, late."""
BESIDE_THEM = frozenset({"generator_saturated", "memory_pressure", "rig_ceiling", "unsettled"})
"""Reasons that make no point invalid, and say neither that less was sent than was due nor that less came."""


def is_late_alone(record: PointRecord) -> bool:
    """Say whether a point is invalid by the generator's delays alone, which left requests in their order.

    All requests were due on a schedule, whatever the server did, and one thread sent them.
    """
    load = record.load
    codes = {reason.code for reason in load.verdict.reasons}
    is_in_order = load.generator.threads == 1 and load.machines is None and load.tool is None
    return bool(codes & DELAYS) and codes <= DELAYS | BESIDE_THEM and load.load.is_open_loop and is_in_order


def why_undecided(record: PointRecord, objective: Objective, values: tuple[float | None, ...]) -> str | None:
    """Say why limits are not known to hold at a point of :func:`is_late_alone`; ``None`` where they held.

    ``values`` are those that were measured of the limits, in their order and units.
    """
    requests = record.load.requests
    # An answer that did not come, or was an error, may have spared the requests behind it some waiting.
    if requests.unanswered or wrong_answers(record):
        return "requests that failed might have been slow ones without that"
    for limit, value in zip(objective.limits, values, strict=True):
        if limit.measure not in LATENCY_FIELDS:
            return f"{limit.text} might have failed without that"
        at_most = None if value is None else _at_most(limit, record, value)
        if at_most is None:
            return f"with the requests that were never sent {limit.text} might have failed"
        if not limit.holds(at_most):
            return f"{limit.text} might have held without that"
    return None


def _at_most(limit: Limit, record: PointRecord, value_ms: float) -> float | None:
    """Return what a latency is at most if every request that was never sent were the slowest, in ms.

    These were the last ones due, so that no other waited for them. ``None`` where there is no bound.
    """
    requests, histogram = record.load.requests, record.load.histograms.latency
    if not requests.never_sent:
        return value_ms
    share = PERCENTILES.get(LATENCY_FIELDS[limit.measure])
    if share is None or limit.operation is not None or histogram is None:
        return None
    rank = -(-share * requests.due // WHOLE)
    if rank > requests.answered:
        return None
    curve = merged_curve([histogram], "a histogram of latency")
    return next(
        (time_ms for percentile, time_ms in curve if round(percentile * requests.answered / 100) >= rank),
        None,
    )

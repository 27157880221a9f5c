"""Limits held against records: whether they were kept at a load, and which keys are a load."""

from loadcurve.analysis.late import is_late_alone, why_undecided
from loadcurve.result.distribution import PERCENTILES, Distribution, samples_needed
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import (
    LATENCIES,
    MESSAGE_MEASURES,
    is_usable,
    statistic_of,
)
from loadcurve.result.operations import error_count, operation_of
from loadcurve.result.outcomes import REASONS, Reason
from loadcurve.result.records import FailureRecord, PointRecord
from loadcurve.stats.capacity import Observation
from loadcurve.stats.slo import (
    ERRORS,
    LATENCY_FIELDS,
    OF_MESSAGES,
    RATE_KEPT,
    STREAMED_ANSWERS,
    SUBSCRIBERS,
    Limit,
    Objective,
)

CLIENT_KEYS = ("connections", "threads")
"""The keys that count clients; one of a database is a thread, as YCSB calls it."""

GENERATOR_FAULTS = {code for code, row in REASONS.items() if row.invalid and row.origin == "generator"}
"""Reasons of an invalid verdict that are ours: such a point tells nothing about the server."""
SERVER_FAULTS = {code for code, row in REASONS.items() if row.invalid and row.origin} - GENERATOR_FAULTS
"""Reasons of an invalid verdict that are the server's doing: at such a point no limit holds."""
MACHINES_DOING = {code for code, row in REASONS.items() if row.invalid} - SERVER_FAULTS
"""Reasons of an invalid verdict that are ours or the machine's: such a point says nothing of the server."""
DEATHS = frozenset({"died", "out_of_memory"})
"""Reasons of a failure where the server did not survive."""


def servers_fault(record: PointRecord) -> Reason | None:
    """Return what the server did that makes a point invalid; ``None`` where that may be the generator."""
    reasons = record.load.verdict.reasons
    codes = {reason.code for reason in reasons}
    if is_usable(record) or codes & GENERATOR_FAULTS:
        return None
    return next((reason for reason in reasons if reason.code in SERVER_FAULTS), None)


def limited_value(limit: Limit, record: PointRecord) -> float | None:
    """Return what was measured of a limited measure, in the unit of its bound; ``None`` where it was not."""
    load = record.load
    if limit.measure == ERRORS:
        counted = error_count(record, limit.operation)
        return None if counted is None else counted[0] / counted[1]
    if limit.operation is not None:
        one = operation_of(load, limit.operation)
        return None if one is None else statistic_of(one.latency_ms, LATENCY_FIELDS[limit.measure])
    if limit.measure == RATE_KEPT:
        asked, answered = load.rate_rps.asked, load.rate_rps.answered
        return None if not asked or answered is None else answered / asked
    if limit.measure in OF_MESSAGES:
        return next(one for one in MESSAGE_MEASURES if one.name == limit.measure).value(record)
    return LATENCIES[LATENCY_FIELDS[limit.measure]].value(record)


def has_messages(load: LoadResult, required: str) -> bool:
    """Say whether a load's record has what is ``required`` for limits on messages."""
    if required == SUBSCRIBERS:
        return load.deliveries is not None
    if load.messages is None:
        return False
    return required == STREAMED_ANSWERS or load.messages.expected is not None


def observed(record: PointRecord, load: float, objective: Objective) -> Observation:
    """Judge one measured point.

    An invalid point fails where its reason is the server's doing. It cannot be judged otherwise, unless the
    generator alone was late and limits on latency held in spite of that. A null figure cannot be judged
    either, but one limit that is broken is enough for the whole.
    """
    values = tuple(limited_value(limit, record) for limit in objective.limits)
    rate = record.load.rate_rps.answered
    if not is_usable(record):
        said = dict.fromkeys(reason.code for reason in record.load.verdict.reasons)
        why = f"the point is invalid ({', '.join(said)})" if said else "the point is invalid"
        if servers_fault(record) is not None:
            return Observation(load, holds=False, values=values, throughput_rps=rate, why_failed=why)
        if is_late_alone(record):
            open_question = why_undecided(record, objective, values)
            if open_question is None:
                return Observation(load, holds=True, values=values, throughput_rps=rate, was_late=True)
            why += f"; {open_question}"
        return Observation(load, None, values, rate, why)
    kept = [
        None if value is None else limit.holds(value)
        for limit, value in zip(objective.limits, values, strict=True)
    ]
    holds = False if False in kept else None if None in kept else True
    if holds is not None:
        return Observation(load, holds, values, rate)
    lacking = [limit for limit, value in zip(objective.limits, values, strict=True) if value is None]
    whys, enough_s = zip(*(_lacking(limit, record) for limit in lacking), strict=True)
    lengths_s = [length_s for length_s in enough_s if length_s is not None]
    longest_s = max(lengths_s) if len(lengths_s) == len(enough_s) else None
    return Observation(load, None, values, rate, "; ".join(whys), longest_s)


def _lacking(limit: Limit, record: PointRecord) -> tuple[str, float | None]:
    """Say why a limited measure has no figure, and return the shortest duration that would give it one.

    That is at the rate at which answers came; ``None`` where no duration is known to be enough.
    """
    load = record.load
    times, statistic, unit = _times(limit, load)
    share = PERCENTILES.get(statistic)
    if share is None or times is None:
        return f"{limit.name} was not measured", None
    needed, came = samples_needed(share), times.known_count
    if came >= needed:
        return f"{limit.name} was not measured", None
    has_duration = load.load.duration_s is not None
    enough_s = load.duration_s * needed / came if came and has_duration else None
    return f"{limit.name} requires {needed:,} {unit}, and {came:,} came", enough_s


def _times(limit: Limit, load: LoadResult) -> tuple[Distribution | None, str, str]:
    """Return the times that a limit is on, if they were measured, their statistic, and what each is of."""
    what, _, statistic = limit.measure.rpartition("_")
    match what:
        case "first_event":
            return load.messages.first_event_ms if load.messages else None, statistic, "first events"
        case "event_gap":
            return load.messages.gap_ms if load.messages else None, statistic, "gaps"
        case "delivery":
            return load.deliveries.latency_ms if load.deliveries else None, statistic, "deliveries"
        case _:
            one = load if limit.operation is None else operation_of(load, limit.operation)
            return one.latency_ms if one else None, LATENCY_FIELDS.get(limit.measure, ""), "answers"


def observed_failure(failure: FailureRecord, load: float) -> Observation:
    """Judge a load that a server has failed under: it kept no limit if it did not survive."""
    if failure.reason.code in DEATHS:
        return Observation(load, holds=False, why_failed=f"the trial failed ({failure.reason.code})")
    return Observation(load, holds=None, why_unknown=f"the trial failed ({failure.reason.code})")

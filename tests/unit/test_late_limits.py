"""Limits at loads whose generator was late: the theory of queues behind them, and which count as kept."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.analysis.limits import observed
from loadcurve.result.records import PointRecord
from loadcurve.stats.capacity import Observation, capacity
from loadcurve.stats.slo import parse_objective
from support.synthetic_run import encode, point_record

SAMPLES = 500
TIMES = st.floats(0, 100)


def departures(arrivals: list[float], services: list[float], servers: int, room: float = math.inf):
    """When a queue, served in the order of arrival, is done with each; infinity for those without room."""
    free, done = [0.0] * servers, []
    for arrival, service in zip(arrivals, services, strict=True):
        inside = sum(1 for one in done if arrival < one < math.inf)
        if inside >= room:
            done.append(math.inf)
            continue
        free.sort()
        free[0] = max(free[0], arrival) + service
        done.append(free[0])
    return done


def sent_by_one_thread(dues: list[float], delays: list[float]) -> list[float]:
    """When requests leave that are each late by a delay, none before one that was due earlier."""
    sent, latest = [], 0.0
    for due, delay in zip(dues, delays, strict=True):
        latest = max(latest, due + delay)
        sent.append(latest)
    return sent


@given(
    requests=st.lists(st.tuples(TIMES, TIMES, st.one_of(st.just(0.0), TIMES)), min_size=1, max_size=60),
    servers=st.integers(1, 4),
)
def test_lateness_makes_no_latency_from_due_smaller_at_a_server_that_serves_in_order(requests, servers):
    gaps, services, delays = map(list, zip(*requests, strict=True))
    dues = [math.fsum(gaps[: place + 1]) for place in range(len(gaps))]
    punctual = departures(dues, services, servers)
    late = departures(sent_by_one_thread(dues, delays), services, servers)
    # Each one alone; so every percentile, the mean and the longest as well.
    assert all(one <= other for one, other in zip(punctual, late, strict=True))


def test_lateness_can_make_failures_fewer_so_a_limit_on_them_is_not_judged():
    # Three requests at once, and room for one: two are turned away, but none if they come one by one.
    dues, services = [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    assert departures(dues, services, 1, room=1).count(math.inf) == 2
    assert departures([0.0, 1.0, 2.0], services, 1, room=1).count(math.inf) == 0
    seen = observed(late_point(), 8_000, parse_objective("p99 < 10ms, errors < 1 %"))
    assert (seen.holds, seen.was_late) == (None, False)
    assert (
        seen.why_unknown
        == "the point is invalid (generator_late); errors < 1 % might have failed without that"
    )


def test_threads_that_overtake_each_other_can_make_latencies_smaller_so_one_thread_is_required():
    # One of 10 s before one of 1 s: in their order both take 10 s; late behind the other, one takes 1 s.
    in_order = departures([0.0, 1.0], [10.0, 1.0], 1)
    overtaken = departures([1.0, 5.0], [1.0, 10.0], 1)
    assert [in_order[0] - 0, in_order[1] - 1] == [10, 10]
    assert [overtaken[1] - 0, overtaken[0] - 1] == [15, 1]
    assert observed(late_point(threads=2), 8_000, P99).holds is None


P99 = parse_objective("p99 < 10ms")


def late_point(
    *codes: str,
    p99_ms: float = 9.0,
    never_sent: int = 0,
    failed: int = 0,
    threads: int = 1,
    latencies_ms: list[float] | None = None,
    **load: object,
) -> PointRecord:
    """A point at 8,000 requests per second that is invalid by these codes, or else by a late generator."""
    plain = point_record().load
    reasons = [{"code": code, "text": code} for code in codes or ("generator_late",)]
    due = SAMPLES + never_sent + failed
    requests = plain.requests.model_copy(update={"due": due, "never_sent": never_sent, "failed": failed})
    schedule = {"model": "open", "rate_rps": 8_000.0, "arrivals": "constant"} | load
    changes = {
        "load": plain.load.model_dump(by_alias=True) | schedule,
        "requests": requests.model_dump(),
        "latency_ms": plain.latency_ms.model_copy(update={"p99": p99_ms}).model_dump(),
        "generator": plain.generator.model_dump() | {"threads": threads},
        "verdict": {"status": "invalid", "reasons": reasons, "notes": []},
    }
    if failed:
        changes["errors"] = plain.errors.model_dump() | {"reset": failed}
    if latencies_ms is not None:
        times_ns = [round(time * 1e6) for time in latencies_ms]
        changes["histograms"] = plain.histograms.model_dump() | {"latency": encode(times_ns)}
    return point_record(**changes)


def test_a_latency_limit_that_held_although_the_generator_alone_was_late_is_kept():
    seen = observed(late_point(), 8_000, P99)
    assert (seen.holds, seen.was_late, seen.values) == (True, True, (9.0,))
    paused = late_point("generator_late", "generator_paused", "generator_saturated")
    assert observed(paused, 8_000, P99).was_late


def test_one_that_failed_then_is_not_judged_because_it_might_have_held():
    seen = observed(late_point(p99_ms=11.0), 8_000, P99)
    assert seen.holds is None
    assert (
        seen.why_unknown == "the point is invalid (generator_late); p99 < 10ms might have held without that"
    )


@pytest.mark.parametrize(
    "record",
    [
        # Whatever else may have changed what was measured, or what was sent.
        late_point("generator_late", "cpu_taken"),
        late_point("generator_late", "rate_not_sent"),
        late_point("generator_late", "errors"),
        late_point("generator_late", "code_of_a_later_version"),
        # One request that failed may have been spared the time that it would have taken.
        late_point(failed=1),
        # A request of a session is due when the one before it is answered, and a closed loop's at once.
        late_point(model="sessions", rate_rps=None, arrivals=None, connection_rate_cps=10.0),
        late_point(model="closed", rate_rps=None, arrivals=None),
    ],
)
def test_a_point_is_not_judged_where_more_than_the_delay_may_be_behind_its_latencies(record):
    assert observed(record, 8_000, P99).holds is None


@pytest.mark.parametrize(("slow", "never_sent", "holds"), [(2, 3, True), (2, 4, None), (0, 6, None)])
def test_requests_that_were_never_sent_count_as_the_slowest(slow, never_sent, holds):
    # Of 503 requests the p99 has the rank 498 (497.97), so 5 may be slower; so of 504 (499) and of 506 (501).
    times = [1.0] * (SAMPLES - slow) + [20.0] * slow
    record = late_point(never_sent=never_sent, latencies_ms=times, p99_ms=1.0)
    assert observed(record, 8_000, P99).holds is holds
    assert observed(record, 8_000, parse_objective("max < 30ms")).holds is None


def test_a_capacity_names_the_late_loads_that_it_rests_on_and_no_others():
    def trial(late: float, held: float, failed: float) -> list[Observation]:
        return [
            Observation(late, holds=True, values=(1.0,), was_late=True),
            Observation(held, holds=True, values=(1.0,)),
            Observation(failed, holds=False, values=(100.0,)),
        ]

    assert capacity([trial(100, 200, 300), trial(250, 200, 300)], P99).late_loads == (250,)
    assert capacity([trial(100, 200, 300)], P99).late_loads == ()

"""Limits as people write them, and whether a measured point keeps them."""

import pytest

from loadcurve.analysis.limits import limited_value, observed
from loadcurve.errors import BadInput
from loadcurve.stats.slo import Limit, parse_objective, unknown_operations
from support import requests_run
from support.synthetic_run import distribution, point_record


def only(text: str) -> Limit:
    [limit] = parse_objective(text).limits
    return limit


@pytest.mark.parametrize(
    ("text", "measure", "relation", "bound"),
    [
        ("p99 < 10ms", "p99", "<", 10),
        ("p99<10ms", "p99", "<", 10),
        ("p99.9 <= 1s", "p99.9", "<=", 1_000),
        ("p99_9 ≤ 1.5 s", "p99.9", "<=", 1_500),
        ("mean < 250us", "mean", "<", 0.25),
        ("errors < 0.1 %", "errors", "<", 0.001),
        ("errors <= 0%", "errors", "<=", 0),
        ("rate >= 99 %", "rate", ">=", 0.99),
        ("rate ≥ 99%", "rate", ">=", 0.99),
    ],
)
def test_a_limit_is_read_with_its_unit(text: str, measure: str, relation: str, bound: float):
    limit = only(text)
    assert (limit.measure, limit.relation, limit.bound) == (measure, relation, pytest.approx(bound))


@pytest.mark.parametrize("joined", ["p99 < 10ms, errors < 0.1 %", "p99 < 10ms and errors < 0.1 %"])
def test_limits_are_joined_by_commas_or_and(joined: str):
    objective = parse_objective(joined)
    assert [limit.measure for limit in objective.limits] == ["p99", "errors"]
    assert objective.text == "p99 < 10ms, errors < 0.1 %"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", '"" is not a limit; expected a measure, a relation and a number with its unit'),
        ("p99 10ms", '"p99 10ms" is not a limit'),
        ("p99 < 10ms,", '"" is not a limit'),
        ("p98 < 10ms", '"p98" cannot be limited; expected one of mean, p50'),
        ("error < 1 %", 'did you mean "errors"?'),
        ("p99 < 10", 'found "10"; expected a time with its unit, such as 10ms or 1s'),
        ("p99 < 1 %", 'found "1 %"; expected a time with its unit'),
        ("p99 < 0ms", "expected a time above 0"),
        ("errors < 1ms", 'found "1 ms"; expected a percentage'),
        ("errors < 0.01", "expected a percentage"),
        ("rate >= 101 %", "expected at most 100 %"),
        ("p99 > 10ms", "found >; expected < or <=, as the limit on p99 is one from above"),
        ("rate < 99 %", "found <; expected > or >=, as the limit on rate is one from below"),
        ("p99 < 10ms, p99 < 20ms", "the limit on p99 is set twice"),
    ],
)
def test_what_is_no_limit_is_refused_with_what_was_expected(text: str, complaint: str):
    with pytest.raises(BadInput) as refused:
        parse_objective(text)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ('p99 of "GET /json" < 50ms', "GET /json"),
        ("p99 of 'GET /json' < 50ms", "GET /json"),
        ("p99 of GET /json < 50ms", "GET /json"),
        ("p99 of read<50ms", "read"),
        ('p99 of "GET /a,b and c<d" < 50ms', "GET /a,b and c<d"),
    ],
)
def test_a_limit_may_be_on_one_request(text: str, operation: str):
    limit = only(text)
    assert (limit.measure, limit.operation, limit.bound) == ("p99", operation, 50)
    assert limit.name == f'p99 of "{operation}"'
    assert limit.text == text


def test_one_measure_may_be_limited_of_several_requests_and_of_all():
    text = 'p99 < 1s, p99 of "GET /a" < 10ms and errors of "POST /b" < 1 %'
    found = [(limit.measure, limit.operation) for limit in parse_objective(text).limits]
    assert found == [("p99", None), ("p99", "GET /a"), ("errors", "POST /b")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('p99 of "GET /a" < 1ms, p99 of GET /a < 2ms', 'the limit on p99 of "GET /a" is set twice'),
        ('rate of "GET /a" >= 99 %', "a rate is asked for of the whole load"),
        ('p99 of "GET /a < 1ms', "is not a limit"),
        ("p99 of < 1ms", "is not a limit"),
    ],
)
def test_what_is_no_limit_on_a_request_is_refused(text: str, complaint: str):
    with pytest.raises(BadInput) as refused:
        parse_objective(text)
    assert complaint in str(refused.value)


def test_the_figures_of_one_request_are_read_from_its_own():
    operations = requests_run.operations(5_000, wrong={"POST /echo": 250})
    record = point_record(operations=operations)
    assert limited_value(only('p99 of "POST /echo" < 10ms'), record) == 50
    assert limited_value(only('p99 of "GET /json" < 10ms'), record) == 2
    # 250 of its 1,000 were answered with another status.
    assert limited_value(only('errors of "POST /echo" < 1 %'), record) == pytest.approx(0.25)
    assert limited_value(only('errors of "GET /json" < 1 %'), record) == 0
    assert limited_value(only('p99 of "GET /absent" < 10ms'), record) is None


def test_a_request_that_nobody_sends_is_named_beside_those_that_are():
    [said] = unknown_operations(parse_objective('p99 of "GET /jason" < 1ms'), ["GET /json", "POST /echo"])
    assert 'expected one of "GET /json", "POST /echo"' in said
    assert 'did you mean "GET /json"?' in said
    assert not [*unknown_operations(parse_objective('p99 of "GET /json" < 1ms, p99 < 1s'), ["GET /json"])]


def test_a_percentile_of_too_few_answers_of_one_request_is_said_with_their_number():
    record = point_record(operations=requests_run.operations(100))
    seen = observed(record, 1, parse_objective('p99 of "POST /echo" < 10ms'))
    assert seen.holds is None
    assert seen.why_unknown == 'p99 of "POST /echo" requires 368 answers, and 20 came'


def test_a_latency_is_read_from_the_point():
    latency = distribution([float(n) for n in range(1, 501)])
    assert limited_value(only("p99 < 10ms"), point_record(latency_ms=latency)) == 495
    assert limited_value(only("p99.9 < 10ms"), point_record(latency_ms=latency)) is None


def test_errors_are_failed_requests_and_answers_of_400_and_more_among_those_due():
    requests = {"due": 1000, "sent": 990, "answered": 970, "ok": 950}
    requests |= {"failed": 10, "unanswered": 10, "never_sent": 10}
    assert limited_value(only("errors < 1 %"), point_record(requests=requests)) == pytest.approx(0.03)


def test_the_rate_kept_is_null_where_none_was_asked_for():
    assert limited_value(only("rate >= 99 %"), point_record()) is None
    rates = {"asked": 1_000, "sent": 1_000, "answered": 980}
    assert limited_value(only("rate >= 99 %"), point_record(rate_rps=rates)) == pytest.approx(0.98)


@pytest.mark.parametrize(
    ("text", "at_the_bound"),
    [("p99 < 10ms", False), ("p99 <= 10ms", True), ("rate > 50 %", False), ("rate >= 50 %", True)],
)
def test_a_value_at_the_bound_keeps_only_a_limit_that_includes_it(text: str, at_the_bound: bool):
    limit = only(text)
    assert limit.holds(limit.bound) is at_the_bound

"""Limits on the times of messages, on what is delivered and on the reach, in searches and in studies."""

import pytest

from loadcurve.analysis.limits import limited_value, observed
from loadcurve.errors import BadInput
from loadcurve.result.measures import MESSAGE_MEASURES
from loadcurve.stats.slo import OF_MESSAGES, parse_objective
from support.measured_messages import FIGURES, deliveries
from support.read_study import problems_of, read_study
from support.synthetic_run import distribution, point_record

STUDY = """\
title = "x"
limits = "{limits}"
[load]
model = "closed"
requests = ["/a"]
duration = "1s"
{load}
[sweep]
connections = [1, 2]
[servers.a]
use = "url"
url = "http://127.0.0.1:1"
version = "1"
"""
STREAMED = FIGURES | {
    "first_event_ms": distribution([30.0] * 400),
    "gap_ms": distribution([10.0] * 400),
    "received": 800,
}


def test_each_is_limited_by_the_name_of_its_measure():
    assert OF_MESSAGES.keys() <= {measure.name for measure in MESSAGE_MEASURES}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("first_event_p99 < 50ms", 30),
        ("event_gap_p50 < 50ms", 10),
        ("events_delivered_share >= 99 %", 0.8),
        ("delivery_p99 <= 5ms", 1),
        ("reach > 99.9 %", 0.5),
    ],
)
def test_a_limit_on_messages_is_held_against_the_figures_of_its_measure(text: str, value: float):
    [limit] = parse_objective(text).limits
    record = point_record(messages=STREAMED, deliveries=deliveries(expected=800))
    assert limited_value(limit, record) == pytest.approx(value, rel=0.01)
    assert limited_value(limit, point_record()) is None
    # A time is below its bound, and a share is below what it should be.
    assert observed(record, 1, parse_objective(text)).holds is (value >= 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("first_event_p99 > 5ms", "expected < or <="),
        ("first_event_p99 < 5 %", "expected a time with its unit"),
        ("reach < 99 %", "expected > or >=, as the limit on reach is one from below"),
        ("reach >= 1ms", "expected a percentage"),
        ("first_event < 5ms", 'did you mean "first_event_p50"?'),
        ('delivery_p99 of "GET /a" < 5ms', "delivery_p99 is measured of the whole load"),
    ],
)
def test_what_is_no_limit_on_messages_is_refused(text: str, complaint: str):
    with pytest.raises(BadInput) as refused:
        parse_objective(text)
    assert complaint in str(refused.value)


def test_a_percentile_of_too_few_first_events_is_said_with_their_number():
    seen = observed(point_record(messages=FIGURES), 1, parse_objective("first_event_p99 < 50ms"))
    assert seen.holds is None
    assert seen.why_unknown == "first_event_p99 requires 368 first events, and 2 came"


@pytest.mark.parametrize(
    ("load", "limit", "requires"),
    [
        ("", "first_event_p99 < 1s", "streamed answers"),
        ('messages = "websocket"\n', "event_gap_p99 < 1s", "streamed answers"),
        ('messages = "events"\n', "events_delivered_share > 99 %", "events_expected"),
        ('messages = "websocket"\n', "reach > 99 %", "subscribers"),
        ('messages = "events"\n', "first_event_p99 < 1s", None),
        ('messages = "events"\nevents_expected = 3\n', "events_delivered_share > 99 %", None),
        ('messages = "websocket"\nsubscribers = 3\n', "reach > 99 %, delivery_p99 < 1s", None),
    ],
)
def test_a_study_that_limits_messages_has_a_load_with_such(tmp_path, load, limit, requires):
    study = tmp_path / "s.toml"
    study.write_text(STUDY.format(limits=limit, load=load))
    if requires is None:
        read_study(study)
    else:
        [problem] = problems_of(study)
        assert f'limits: "{limit}" requires a load with {requires}' in problem

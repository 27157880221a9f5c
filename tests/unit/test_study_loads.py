"""The load models of a study file: their keys, and what the person is told when one of them is wrong."""

import pytest

from support.http_load_study import CLOSED, LOAD_LINE, OPEN, SESSIONS, load_of, problems_in


def test_a_closed_loop_has_these_defaults(tmp_path):
    load = load_of(tmp_path, CLOSED)
    assert (load.pipeline, load.calls, load.think_s) == (1, None, 0.0)
    assert (load.pick, load.weights, load.http) == ("in-order", None, "1.1")


def test_a_closed_loop_takes_its_conversation(tmp_path):
    assert load_of(tmp_path, f"{CLOSED}pipeline = 8\ncalls = 3\n").pipeline == 8
    assert load_of(tmp_path, f'{CLOSED}think = "5ms"\n').think_s == 0.005


def test_an_open_loop_takes_arrivals_a_conversation_and_a_number_of_requests(tmp_path):
    counted = OPEN.replace('duration = "1s"', "requests_total = 9")
    load = load_of(tmp_path, f'{counted}arrivals = "poisson"\npipeline = 2\ncalls = 3\n')
    assert (load.arrivals, load.pipeline, load.calls) == ("poisson", 2, 3)
    assert (load.requests_total, load.duration_s) == (9, None)


def test_sessions_take_their_numbers(tmp_path):
    load = load_of(tmp_path, f'{SESSIONS}burst = 2\nthink = "1s"\narrivals = "poisson"\n')
    assert (load.connection_rate_cps, load.connections_total, load.calls) == (100, 5, 4)
    assert (load.pipeline, load.think_s, load.arrivals) == (2, 1.0, "poisson")


def test_sessions_make_one_call_unless_the_study_says_otherwise(tmp_path):
    load = load_of(tmp_path, SESSIONS.replace("calls = 4\n", ""))
    assert (load.calls, load.pipeline, load.think_s, load.arrivals) == (1, 1, 0.0, "constant")


def test_sessions_may_end_after_a_duration(tmp_path):
    load = load_of(tmp_path, SESSIONS.replace("num_connections = 5", 'duration = "2s"'))
    assert (load.connections_total, load.duration_s) == (None, 2.0)


RATE_WORDS = (
    'a rate above 0 and up to 10⁹ per second, or stretches such as "100-1000:30s" (a ramp) or '
    '"500:10s, 1000:10s" (steps)'
)


@pytest.mark.parametrize(
    ("load", "line", "problem"),
    [
        (
            f"{CLOSED}pipeline = 0",
            4,
            "pipeline: found 0; expected a whole number of requests from 1 to 1024",
        ),
        (
            f"{CLOSED}pipeline = 1025",
            4,
            "pipeline: found 1025; expected a whole number of requests from 1 to 1024",
        ),
        (f"{CLOSED}calls = 0", 4, "calls: found 0; expected a positive whole number"),
        (
            f'{CLOSED}think = "25h"',
            4,
            'think: found "25h"; expected a duration of at most a day, such as "1ms" or "2s"',
        ),
        (
            f'{CLOSED}pipeline = 2\nthink = "1s"',
            5,
            "think: given with a pipeline of 2; expected one of 1, as a client thinks after each answer",
        ),
        (
            f'{CLOSED}http = "2"',
            4,
            'http: found "2"; expected "1.0" or "1.1"',
        ),
        (
            f'{CLOSED}pick = "randm"',
            4,
            'pick: found "randm"; expected "in-order", "random" or "weighted"; did you mean "random"?',
        ),
        (
            f'{CLOSED}pick = "weighted"',
            -1,
            'weights: missing; expected one for each request, as pick is "weighted"',
        ),
        (
            f"{CLOSED}weights = [1, 2]",
            4,
            'weights: given without pick = "weighted", which alone uses weights; expected both or none',
        ),
        (
            f'{CLOSED}pick = "weighted"\nweights = [1]',
            5,
            "weights: found 1 of them; expected 2, one for each request",
        ),
        (
            f'{CLOSED}pick = "weighted"\nweights = [0, 0]',
            5,
            "weights: found only zeros; expected at least one weight above 0",
        ),
        (
            f'{CLOSED}pick = "weighted"\nweights = [1,\n-1]',
            6,
            "weights: found -1; expected a number of 0 or more",
        ),
        (f"{CLOSED}seed = 1", 4, None),
        (OPEN.replace("rate = 100", "rate = -100"), 4, f"rate: found -100; expected {RATE_WORDS}"),
        (OPEN.replace("rate = 100", "rate = [100]"), 4, f"rate: found [100]; expected {RATE_WORDS}"),
        (
            OPEN.replace("rate = 100", 'rate = "100-0:1s"'),
            4,
            'rate: "100-0:1s" ends with a rate of 0, which would go on for ever; end above 0',
        ),
        (
            OPEN.replace("rate = 100", ""),
            -1,
            "rate: missing; expected a positive number here, or a list of them in [sweep]",
        ),
        (
            f'{OPEN}arrivals = "poison"',
            5,
            'arrivals: found "poison"; expected "constant" or "poisson"; did you mean "poisson"?',
        ),
        (
            OPEN.replace('duration = "1s"', ""),
            -1,
            'duration: missing; expected duration, such as "10s", or requests_total',
        ),
        (
            f"{OPEN}requests_total = 5",
            5,
            "requests_total: given beside a duration; keep one of the two, as a load ends in one way",
        ),
        (f'{OPEN}think = "1s"', 5, None),
        (
            SESSIONS.replace("connection_rate = 100", 'connection_rate = "fast"'),
            2,
            f'connection_rate: "fast" is not {RATE_WORDS}',
        ),
        (
            SESSIONS.replace("connection_rate = 100", ""),
            -1,
            "connection_rate: missing; expected a positive number here, or a list of them in [sweep]",
        ),
        (
            SESSIONS.replace("num_connections = 5", ""),
            -1,
            'duration: missing; expected duration, such as "10s", or num_connections',
        ),
        (
            f'{SESSIONS}duration = "1s"',
            3,
            "num_connections: given beside a duration; keep one of the two, as a load ends in one way",
        ),
        (
            f"{SESSIONS}burst = 5",
            5,
            "burst: found 5; expected no more than the calls of a connection, of which a point has 4",
        ),
        (
            f"{SESSIONS}threads = 6",
            5,
            "threads: found 6; expected no more threads than connections, of which a point has 5",
        ),
        (f"{SESSIONS}pipeline = 2", 5, None),
    ],
)
def test_a_problem_of_a_load_is_told_with_its_line_and_what_was_expected(tmp_path, load, line, problem):
    (found,) = problems_in(tmp_path, load)
    assert found.startswith(f":{LOAD_LINE + line}: load.")
    if problem is None:
        known = "model, warmup, duration, timeout, requests, pick, weights, method, headers, body, http, "
        assert f": unknown key; expected one of {known}" in found
    else:
        assert found == f":{LOAD_LINE + line}: load.{problem}"


@pytest.mark.parametrize(
    ("load", "sweep", "problem"),
    [
        (
            CLOSED,
            "pipeline = [1, 2000]",
            "sweep.pipeline: found 2000; expected a whole number of requests from 1 to 1024",
        ),
        (
            CLOSED,
            "pipeline = [1, 1.5]",
            "sweep.pipeline: found 1.5; expected a whole number of requests from 1 to 1024",
        ),
        (
            CLOSED,
            'timeout = ["2h"]',
            (
                "sweep.timeout: found 7200.0; expected a duration above 0 and of at most an hour, "
                'such as "500ms" or "5s"'
            ),
        ),
        (
            CLOSED,
            'think = ["soon"]',
            (
                'sweep.think: found "soon"; expected a duration such as "500ms", "1.5s" or "1m", '
                "or a number of seconds"
            ),
        ),
        (CLOSED, 'timeout = ["1s", 1]', "sweep.timeout: 1 stands twice in the list; keep one"),
        (CLOSED, 'calls = ["5"]', 'sweep.calls: found "5"; expected a number'),
        (
            f"{CLOSED}pipeline = 1\n",
            "pipeline = [1, 2]",
            "load.pipeline: given here and in [sweep]; keep one of the two",
        ),
        (
            CLOSED,
            'pipeline = [1, 2]\nthink = [0, "1s"]',
            (
                "sweep.think: given with a pipeline of 2; expected one of 1, "
                "as a client thinks after each answer"
            ),
        ),
        (
            CLOSED,
            'duration = ["1s"]',
            "load.duration: given here and in [sweep]; keep one of the two",
        ),
        (
            CLOSED.replace('duration = "1s"', "requests_total = 5"),
            'duration = ["1s"]',
            ("load.requests_total: given beside a duration; keep one of the two, as a load ends in one way"),
        ),
        (
            OPEN.replace("rate = 100", ""),
            "rate = [0, 5.5]",
            "sweep.rate: found 0; expected a rate above 0 and up to 10⁹ per second",
        ),
        (
            SESSIONS.replace("calls = 4\n", "burst = 2\n"),
            "calls = [1, 2]",
            "load.burst: found 2; expected no more than the calls of a connection, of which a point has 1",
        ),
    ],
)
def test_a_swept_value_must_be_one_that_its_key_takes(tmp_path, load, sweep, problem):
    (found,) = problems_in(tmp_path, load, sweep)
    assert found.split(": ", 1)[1] == problem

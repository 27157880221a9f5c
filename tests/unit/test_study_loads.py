"""The load models of a study file: their keys, and what the person is told when one of them is wrong."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.study.requests import LongList, paths_to_verify
from support.read_study import read_study

COMMON = 'requests = ["/a", "/b"]\n'
CLOSED = f'model = "closed"\n{COMMON}connections = 2\nduration = "1s"\n'
OPEN = f'model = "open"\n{COMMON}connections = 2\nduration = "1s"\nrate = 100\n'
SESSIONS = f'model = "sessions"\n{COMMON}connection_rate = 100\nnum_connections = 5\ncalls = 4\n'
LOAD_LINE = 5
"""The line of the first key of the load."""


def study_file(folder, load, sweep="timeout = [1]"):
    path = folder / "s.toml"
    head = 'title = "x"\ncontent.a = 1\ncontent.b = 1\n[load]\n'
    path.write_text(f"{head}{load}\n[sweep]\n{sweep}\n[servers.nginx]\n", encoding="utf-8")
    return path


def problems_in(folder, load, sweep="timeout = [1]"):
    path = study_file(folder, load, sweep)
    with pytest.raises(BadInput) as raised:
        read_study(path)
    return [line.removeprefix(str(path)) for line in str(raised.value).splitlines()]


def load_of(folder, load):
    return read_study(study_file(folder, load)).load_at({"timeout": 1})


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
    assert (load.connection_rate_cps, load.num_connections, load.calls) == (100, 5, 4)
    assert (load.burst, load.think_s, load.arrivals) == (2, 1.0, "poisson")


def test_sessions_make_one_call_unless_the_study_says_otherwise(tmp_path):
    load = load_of(tmp_path, SESSIONS.replace("calls = 4\n", ""))
    assert (load.calls, load.burst, load.think_s, load.arrivals) == (1, 1, 0.0, "constant")


def test_sessions_may_end_after_a_duration(tmp_path):
    load = load_of(tmp_path, SESSIONS.replace("num_connections = 5", 'duration = "2s"'))
    assert (load.num_connections, load.duration_s) == (None, 2.0)


def test_weights_belong_to_the_requests_in_their_order(tmp_path):
    load = load_of(tmp_path, f'{CLOSED}pick = "weighted"\nweights = [1, 0.5]\n')
    assert (load.requests, load.weights) == (["/a", "/b"], [1.0, 0.5])


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
            "requests_total: given beside load.duration; keep one of the two, as a load ends in one way",
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
            "num_connections: given beside load.duration; keep one of the two, as a load ends in one way",
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
            (
                "load.requests_total: given beside sweep.duration; keep one of the two, "
                "as a load ends in one way"
            ),
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


def with_file(folder, text, more="", requests="paths.txt"):
    (folder / "paths.txt").write_text(text, encoding="utf-8")
    return CLOSED.replace('["/a", "/b"]', f'"{requests}"') + more


def test_a_file_of_requests_counts_from_the_study_and_may_have_comments(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, "# the paths\n/a\n\n  /b?x=1  # with a query\r\n/a\n"))
    assert (load.requests, load.weights) == (["/a", "/b?x=1", "/a"], None)


def test_a_file_of_requests_may_give_weights_and_a_line_without_one_weighs_1(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, "/a 3\n/b\n", 'pick = "weighted"'))
    assert (load.requests, load.weights) == (["/a", "/b"], [3.0, 1.0])


def test_the_weights_of_a_file_without_any_may_stand_in_the_study(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, "/a\n/b\n", 'pick = "weighted"\nweights = [1, 2]'))
    assert load.weights == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "/a\nb\n/a x\n/a -1\n/a nan\n/a 1 2\n",
            [
                ':2: found "b"; expected a path that begins with "/" and has no spaces, such as "/1k.txt"',
                ':3: found the weight "x"; expected a number of 0 or more',
                ':4: found the weight "-1"; expected a number of 0 or more',
                ':5: found the weight "nan"; expected a number of 0 or more',
                ':6: found "/a 1 2"; expected a path and at most a weight behind it',
            ],
        ),
        ("# nothing\n\n", [": holds no request; expected a path such as /1k.txt on each line"]),
        (
            "/a\n\n/c\n",
            [':3: found "/c", which is not in [content]; expected one of /a, /b'],
        ),
    ],
)
def test_a_problem_in_a_file_of_requests_is_told_with_that_file_and_line(tmp_path, text, problems):
    found = problems_in(tmp_path, with_file(tmp_path, text))
    file = tmp_path / "paths.txt"
    place = f":{LOAD_LINE + 1}: load.requests: {file}"
    assert [problem.partition("; did you mean")[0] for problem in found] == [
        f"{place}{problem}" for problem in problems
    ]


def test_a_file_of_requests_that_is_not_there_is_told(tmp_path):
    (problem,) = problems_in(tmp_path, with_file(tmp_path, "", requests="none.txt"))
    assert problem == f":6: load.requests: {tmp_path / 'none.txt'}: there is no such file"


def test_a_folder_is_no_file_of_requests(tmp_path):
    (problem,) = problems_in(tmp_path, with_file(tmp_path, "", requests="."))
    assert problem.endswith(": this is a folder; expected a file with one path on each line")


def test_a_binary_file_is_no_file_of_requests(tmp_path):
    load = with_file(tmp_path, "")
    (tmp_path / "paths.txt").write_bytes(b"/a\n\xff\n")
    (problem,) = problems_in(tmp_path, load)
    assert problem.endswith("paths.txt:2: not UTF-8 text; expected a file with one path on each line")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (
            "",
            (
                ':4: load.pick: {file} gives weights, which only pick = "weighted" uses; '
                "expected this pick, or no weights"
            ),
        ),
        (
            'pick = "weighted"\nweights = [1]',
            ":10: load.weights: given beside the weights in {file}; keep one of the two",
        ),
    ],
)
def test_the_weights_of_a_file_are_used_or_refused(tmp_path, more, problem):
    found = problems_in(tmp_path, with_file(tmp_path, "/a 2\n", more))
    assert found == [problem.format(file=tmp_path / "paths.txt")]


LONG = "".join(f"/a?line={line}\n" for line in range(1000))


def test_a_list_of_a_hundred_requests_is_read_and_a_longer_one_stays_a_file(tmp_path):
    assert len(load_of(tmp_path, with_file(tmp_path, "/a\n" * 100)).requests) == 100
    load = load_of(tmp_path, with_file(tmp_path, "/a\n" * 101))
    assert isinstance(load.requests, LongList)
    assert load.model_dump(mode="json")["requests"] == {"file": str(tmp_path / "paths.txt"), "count": 101}


def test_a_seed_picks_the_paths_of_a_long_list_that_are_verified(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, LONG))
    picked = paths_to_verify(load.requests, seed=1)
    # Of 1000 paths 100 are picked, some of them perhaps twice; all but 17 of them once is as good as certain.
    assert 83 <= len(picked) == len(set(picked)) <= 100
    assert set(picked) <= set(LONG.split())
    assert picked == paths_to_verify(load.requests, seed=1)
    assert picked != paths_to_verify(load.requests, seed=2)


def test_a_long_list_that_changes_before_it_is_verified_is_bad_input(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, LONG))
    (tmp_path / "paths.txt").write_text("gone\n")
    with pytest.raises(BadInput, match="has changed since"):
        paths_to_verify(load.requests, seed=1)


def test_a_short_list_is_verified_whole(tmp_path):
    assert paths_to_verify(load_of(tmp_path, CLOSED).requests, seed=1) == ["/a", "/b"]


@pytest.mark.parametrize(
    ("text", "more", "problem"),
    [
        (
            LONG,
            'pick = "weighted"',
            ":6: load.requests: no line of {file} gives a weight; expected some, as the pick is weighted",
        ),
        (
            LONG,
            'pick = "weighted"\nweights = [1]',
            ":10: load.weights: given for the 1000 requests of {file}; expected the weights in that file",
        ),
        (
            LONG + "/a 2\n",
            "",
            (
                ':4: load.pick: {file} gives weights, which only pick = "weighted" uses; '
                "expected this pick, or no weights"
            ),
        ),
        (LONG + "a\n", "", None),
    ],
)
def test_a_problem_of_a_long_list_is_told(tmp_path, text, more, problem):
    (found,) = problems_in(tmp_path, with_file(tmp_path, text, more))
    file = tmp_path / "paths.txt"
    if problem is None:
        assert found.startswith(f':6: load.requests: {file}:1001: found "a"; expected a path')
    else:
        assert found == problem.format(file=file)


def test_the_weights_of_a_long_list_are_taken_from_its_file(tmp_path):
    load = load_of(tmp_path, with_file(tmp_path, LONG + "/b 2\n", 'pick = "weighted"'))
    assert isinstance(load.requests, LongList)
    assert (load.requests.listed.has_weights, load.weights) == (True, None)


def test_a_plain_get_is_sent_unless_the_study_says_otherwise(tmp_path):
    load = load_of(tmp_path, CLOSED)
    assert (load.method, load.headers, load.body) == ("GET", {}, "")


def test_method_headers_and_body_are_those_of_every_request(tmp_path):
    load = load_of(
        tmp_path, f'{CLOSED}method = "POST"\nheaders = {{ Accept = "*/*", X-Empty = "" }}\nbody = "grün"\n'
    )
    assert (load.method, load.headers, load.body) == ("POST", {"Accept": "*/*", "X-Empty": ""}, "grün")


def test_the_file_of_a_body_counts_from_the_study(tmp_path):
    (tmp_path / "body.bin").write_bytes(b"\xff")
    assert load_of(tmp_path, f'{CLOSED}body = "@body.bin"\n').body == f"@{tmp_path / 'body.bin'}"


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ('method = "GE T"', 'method: found "GE T"; expected a method such as "GET", "HEAD" or "POST"'),
        (
            'method = "CONNECT"',
            'method: found "CONNECT", which opens a tunnel; expected a method that gets an answer',
        ),
        (
            'headers = ["Accept: a"]',
            'headers: found ["Accept: a"]; expected a table of headers, such as { Accept = "text/html" }',
        ),
        (
            "headers = { Accept = 1 }",
            "headers.Accept: found 1; expected a text in quotes without line breaks",
        ),
        (
            'headers = { Accept = "a\\nb" }',
            'headers.Accept: found "a\\nb"; expected a text in quotes without line breaks',
        ),
        (
            'headers = { "Acc ept" = "a" }',
            'headers."Acc ept": found "Acc ept"; expected the name of a header, such as "Accept"',
        ),
        (
            'headers = { content-length = "1" }',
            'headers: found "content-length", which is set for the body; leave it out',
        ),
        ("body = 1", 'body: found 1; expected a text in quotes, or "@" and the name of a file with it'),
        ('body = "@nowhere"', "body: {folder}/nowhere: there is no such file"),
    ],
)
def test_what_cannot_be_sent_is_told(tmp_path, keys, problem):
    (found,) = problems_in(tmp_path, f"{CLOSED}{keys}\n")
    assert (
        found
        == f":{LOAD_LINE + 4}: load.{problem.format(folder=tmp_path) if 'folder' in problem else problem}"
    )

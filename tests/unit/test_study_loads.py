"""The load models of a study file: their keys, and what is reported when one of them is wrong."""

import pytest

from loadcurve.loads.verification import VERIFY_IN_WORDS, AnswerPattern
from support.cases import cases, changed
from support.http_load_study import CLOSED, OPEN, SESSIONS, load_of, problems_in


def test_a_closed_loop_has_these_defaults(tmp_path):
    load = load_of(tmp_path, CLOSED)
    assert (load.pipeline, load.calls, load.think_s) == (1, None, 0.0)
    assert (load.pick, load.weights, load.http) == ("in-order", None, "1.1")


def test_a_closed_loop_takes_its_conversation(tmp_path):
    assert load_of(tmp_path, f"{CLOSED}pipeline = 8\ncalls = 3\n").pipeline == 8
    assert load_of(tmp_path, f'{CLOSED}think = "5ms"\n').think_s == 0.005


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("", "content"),
        ('verify = "status"', "status"),
        ('verify = { pattern = "^Total" }', AnswerPattern("^Total")),
    ],
)
def test_a_load_says_what_answers_are_verified_to_be(tmp_path, written, rule):
    assert load_of(tmp_path, f"{CLOSED}{written}\n").verify == rule


def test_requests_are_files_of_the_content_unless_answers_are_not_compared_with_it(tmp_path):
    computed = CLOSED.replace('"/b"', '"/list?page=2"')
    (problem,) = problems_in(tmp_path, computed)
    assert 'found "/list?page=2", which is not in [content]' in problem
    assert load_of(tmp_path, f'{computed}verify = "status"\n').requests == ["/a", "/list?page=2"]


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


def test_a_socket_is_looked_for_from_the_folder_of_the_study(tmp_path):
    relative = load_of(tmp_path, CLOSED + 'unix_socket = "app.sock"')
    assert relative.unix_socket == str(tmp_path / "app.sock")
    assert load_of(tmp_path, CLOSED + 'unix_socket = "/run/app.sock"').unix_socket == "/run/app.sock"


RATE_WORDS = (
    'a rate above 0 and at most 10⁹ per second, or a profile such as "100-1000:30s" (a ramp) or '
    '"500:10s, 1000:10s" (steps)'
)


PROBLEMS = r"""
closed: pipeline = 0
    :9: load.pipeline: found 0; expected a whole number of requests from 1 to 1024
closed: pipeline = 1025
    :9: load.pipeline: found 1025; expected a whole number of requests from 1 to 1024
closed: calls = 0
    :9: load.calls: found 0; expected a positive whole number
closed: think = "25h"
    :9: load.think: found "25h"; expected a duration of at most a day, such as "1ms" or "2s"
closed: pipeline = 2\nthink = "1s"
    :10: load.think: cannot be combined with a pipeline of 2; expected a pipeline of 1, because a client
    thinks after each answer
closed: source_addresses = ["here"]
    :9: load.source_addresses: found "here"; expected an address of the client's machine, such as
    "10.0.0.5"
closed: source_addresses = ["::1", "0:0::1"]
    :9: load.source_addresses: "::1" is in the list twice; keep one
closed: http = "4"
    :9: load.http: found "4"; expected "1.0", "1.1", "2", "3" or "3-by-alt-svc"
closed: http = "3"\npipeline = 2
    :10: load.pipeline: cannot be combined with http = "3", which has no pipeline; expected streams
closed: http = "3"\nproxy = "http://127.0.0.1:3128"
    :10: load.proxy: cannot be combined with http = "3", since HTTP/3 goes straight to the server; remove
    it, or use another version
closed: http = "3"\nunix_socket = "/a"
    :10: load.unix_socket: cannot be combined with http = "3", since HTTP/3 goes straight to the server;
    remove it, or use another version
closed: http = "3"\nproxy_protocol = "2"
    :10: load.proxy_protocol: cannot be combined with http = "3", since HTTP/3 goes straight to the server;
    remove it, or use another version
closed: http = "3"\nhpack = "literal"
    :10: load.hpack: only used over HTTP/2, since HTTP/3 has QPACK; set http to 2, or remove it
closed: sockets = "thread"
    :9: load.sockets: only used over HTTP/3; set http to 3 as well, or remove it
closed: http = "3"\nsockets = "process"
    :10: load.sockets: found "process"; expected "connection" or "thread"
closed: http = "2"\npipeline = 2
    :10: load.pipeline: cannot be combined with http = "2", which has no pipeline; expected streams
closed: streams = 2
    :9: load.streams: only used over HTTP/2 and HTTP/3; set http to 2 or 3 as well, or remove it
closed: stream_for = "5s"
    :9: load.stream_for: only used with messages = "events" or "grpc"; set it as well, or remove it
closed: messages = "websocket"\ngrpc = { message = "{}" }
    :10: load.grpc: only used with messages = "grpc", and this load has "websocket"; remove it; body is
    what a WebSocket sends
closed: messages = "websocket"\nhttp = "3"
    :10: load.http: found 3, but a WebSocket is opened over "1.1" or "2"; expected one of them
closed: messages = "websocket"\nhttp = "2"\nsubscribers = 5
    :11: load.subscribers: only used over HTTP/1.1; set http to 1.1, or remove it
closed: messages = "events"\nmessage_type = "text"
    :10: load.message_type: only used with messages = "websocket", and this load has "events"; remove it
closed: messages = "events"\npipeline = 2
    :10: load.pipeline: cannot be combined with messages = "events", because a stream holds up what is behind
    it; remove it, or use streams over HTTP/2
closed: reconnect_after = "3s"
    :9: load.reconnect_after: only used with messages = "events"; set it as well, or remove it
closed: messages = "websocket"\nreconnect_after = "3s"
    :10: load.reconnect_after: only used with messages = "events", and this load has "websocket"; remove it
open: messages = "events"\nreconnect_after = "3s"
    :11: load.reconnect_after: unknown key; expected one of …
closed: messages = "events"\nevent_format = "lines"\nreconnect_after = "3s"
    :11: load.reconnect_after: cannot be combined with event_format = "lines", which has no ids and no retry;
    keep one
closed: messages = "events"\nhttp = "2"\nstreams = 4\nreconnect_after = "3s"
    :12: load.reconnect_after: cannot be combined with streams = 4; expected streams = 1, because a client has
    one
closed: messages = "events"\nheaders = { last-event-id = "7" }\nreconnect_after = "3s"
    :11: load.reconnect_after: cannot be combined with a header Last-Event-ID, which clients send by
    themselves; keep one
closed: messages = "events"\nreconnect_after = "0s"
    :10: load.reconnect_after: found "0s"; expected a duration above 0, up to 10⁶ s, such as "500ms" or "1m"
closed: messages = "telegrams"
    :9: load.messages: found "telegrams"; expected "events", "grpc" or "websocket"
open: hpack = "literal"
    :10: load.hpack: only used over HTTP/2; set http to 2 as well, or remove it
closed: http = "2"\nstreams = 1025
    :10: load.streams: found 1025; expected a whole number of streams from 1 to 1024
closed: http = "2"\nconnection_window = "1KiB"
    :10: load.connection_window: found "1KiB"; expected a size from 65,535 bytes to less than 2 GiB, such as
    "1MiB"
closed: http = "2"\nstreams = 2\nthink = "1s"
    :11: load.think: cannot be combined with streams = 2; expected streams = 1, because a client thinks after
    each answer
closed: pick = "randm"
    :9: load.pick: found "randm"; expected "in-order", "random" or "weighted"; did you mean "random"?
closed: pick = "weighted"
    :4: load.weights: missing; pick = "weighted" requires one weight per request
closed: weights = [1, 2]
    :9: load.weights: only used with pick = "weighted"; set both, or remove the weights
closed: pick = "weighted"\nweights = [1]
    :10: load.weights: found 1 weights; expected 2, one per request
closed: pick = "weighted"\nweights = [0, 0]
    :10: load.weights: all weights are 0; expected at least one above 0
closed: pick = "weighted"\nweights = [1,\n-1]
    :11: load.weights: found -1; expected a number of 0 or more
closed: verify = "statsu"
    :9: load.verify: found "statsu"; expected {verify}
closed: verify = { patern = "x" }
    :9: load.verify: found a table; expected {verify}
closed: verify = { pattern = "(" }
    :9: load.verify: "(" is not a regular expression: missing ), unterminated subpattern at position 0
closed: seed = 1
    :9: load.seed: unknown key; expected one of model, warmup, duration, timeout, messages,
    …
open: rate = 100 -> rate = -100
    :9: load.rate: found -100; expected {rate}
open: rate = 100 -> rate = [100]
    :9: load.rate: found [100]; expected {rate}
open: rate = 100 -> rate = "0:1s"
    :9: load.rate: "0:1s" is a rate of 0 throughout; expected a stretch with a rate above 0
open: duration = "1s"\nrate = 100 -> requests_total = 5\nrate = "100-0:3s"
    :8: load.requests_total: cannot be combined with a rate that ends at 0, at which nothing more falls
    due; expected a duration
open: rate = 100 -> rate = "100-0:3s, 0:1s"\nwarmup = 3
    :9: load.rate: the rate is 0 from 3 s on, within the warm-up of 3 s; expected a shorter warm-up, such
    as "0s"
closed: unix_socket = ""
    :9: load.unix_socket: found ""; expected a path of at most 107 bytes, such as "/run/app.sock"
closed: connect_to = "10.0.0.5"
    :9: load.connect_to: found "10.0.0.5"; expected a host and a port, such as "10.0.0.5:8443"
closed: connect_to = "[::1]:80"\nunix_socket = "a"
    :9: load.connect_to: cannot be combined with unix_socket; keep one of the two
closed: proxy = "https://10.0.0.5:3128"
    :9: load.proxy: found "https://10.0.0.5:3128"; expected the URL of an HTTP proxy with its port, such as
    "http://10.0.0.5:3128"
closed: proxy = "http://me:secret@10.0.0.5:3128"
    :9: load.proxy: user and password do not belong here, where others may read them: give them by
    proxy_credentials; expected the URL of an HTTP proxy with its port, such as "http://10.0.0.5:3128"
closed: proxy_credentials = { env = "NO_SUCH_VARIABLE" }
    :9: load.proxy_credentials: the environment has no variable NO_SUCH_VARIABLE; set it before the start
closed: proxy = "http://a:1"\nproxy_credentials = "me:secret"
    :10: load.proxy_credentials: a password does not belong in a study; expected { env = "VARIABLE" } or
    { file = "PATH" }, which holds USER:PASSWORD
closed: proxy = "http://a:1"\naddresses = "all"
    :10: load.addresses: cannot be combined with proxy; keep one of the two
closed: unix_socket = "a"\nsource_addresses = ["127.0.0.1"]
    :10: load.source_addresses: cannot be combined with unix_socket, which has no addresses; remove it
closed: proxy_protocol = "3"
    :9: load.proxy_protocol: found "3"; expected "1" or "2"
open: rate = 100 ->
    :4: load.rate: missing; expected a positive number here, or a list of them in [sweep]
open: arrivals = "poison"
    :10: load.arrivals: found "poison"; expected "constant", "poisson" or "recorded"; did you
    mean "poisson"?
open: duration = "1s" ->
    :4: load.duration: missing; expected duration, such as "10s", or requests_total
open: requests_total = 5
    :10: load.requests_total: cannot be combined with a duration; keep one of the two
open: think = "1s"
    :10: load.think: unknown key; expected one of model, warmup, duration, timeout, messages,
    …
sessions: connection_rate = 100 -> connection_rate = "fast"
    :7: load.connection_rate: "fast" is not {rate}
sessions: connection_rate = 100 ->
    :4: load.connection_rate: missing; expected a positive number here, or a list of them in [sweep]
sessions: num_connections = 5 ->
    :4: load.duration: missing; expected duration, such as "10s", or num_connections
sessions: duration = "1s"
    :8: load.num_connections: cannot be combined with a duration; keep one of the two
sessions: burst = 5
    :10: load.burst: found 5; expected no more than the calls per connection; the lowest point has 4
sessions: calls = 4 -> think = "1s"
    :9: load.think: not used: clients think between two bursts, and each connection makes one (burst = 1,
    calls = 1); set calls above burst, or remove it
sessions: threads = 6
    :10: load.threads: found 6; expected no more threads than connections; the lowest point has 5
sessions: pipeline = 2
    :10: load.pipeline: unknown key; expected one of model, warmup, duration, timeout, messages,
    …
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS, rate=RATE_WORDS, verify=VERIFY_IN_WORDS))
def test_a_problem_of_a_load_is_reported_with_its_line_and_what_was_expected(tmp_path, change, problem):
    (found,) = problems_in(tmp_path, load_with(change))
    beginning, left_out, _ = problem.partition("…")
    assert found.startswith(beginning) if left_out else found == problem


def load_with(change):
    """The load after ``BASE`` or ``BASE: CHANGE``."""
    base, _, how = change.partition(": ")
    load = {"closed": CLOSED, "open": OPEN, "sessions": SESSIONS}[base]
    return changed(load, how) if how else load


PROBLEMS_OF_A_SWEEP = r"""
closed | pipeline = [1, 2000]
    sweep.pipeline: found 2000; expected a whole number of requests from 1 to 1024
closed | pipeline = [1, 1.5]
    sweep.pipeline: found 1.5; expected a whole number of requests from 1 to 1024
closed | timeout = ["2h"]
    sweep.timeout: found 7200.0; expected a duration above 0 and of at most an hour, such as "500ms" or
    "5s"
closed | think = ["soon"]
    sweep.think: found "soon"; expected a duration such as "500ms", "1.5s" or "1m", or a number of
    seconds
closed | timeout = ["1s", 1]
    sweep.timeout: 1 is in the list twice; keep one
closed | calls = ["5"]
    sweep.calls: found "5"; expected a number
closed: pipeline = 1 | pipeline = [1, 2]
    load.pipeline: set here and in [sweep]; keep one of the two
closed | pipeline = [1, 2]\nthink = [0, "1s"]
    sweep.think: cannot be combined with a pipeline of 2; expected a pipeline of 1, because a client
    thinks after each answer
closed | duration = ["1s"]
    load.duration: set here and in [sweep]; keep one of the two
closed: duration = "1s" -> requests_total = 5 | duration = ["1s"]
    load.requests_total: cannot be combined with a duration; keep one of the two
open: rate = 100 -> | rate = [0, 5.5]
    sweep.rate: found 0; expected a rate above 0 and at most 10⁹ per second
sessions: calls = 4 -> burst = 2 | calls = [1, 2]
    load.burst: found 2; expected no more than the calls per connection; the lowest point has 1
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS_OF_A_SWEEP))
def test_a_swept_value_must_be_one_that_its_key_takes(tmp_path, change, problem):
    load, _, sweep = change.partition(" | ")
    (found,) = problems_in(tmp_path, load_with(load), sweep.replace("\\n", "\n"))
    assert found.split(": ", 1)[1] == problem

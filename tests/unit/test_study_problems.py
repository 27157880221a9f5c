"""What is reported when something is wrong in a study file."""

import pytest

from support.cases import cases, changed
from support.good_study import GOOD, problems_in

PROBLEMS = r"""
duration = "1s" -> duraton = "1s"
    :8: load.duraton: unknown key; expected one of model, warmup, duration, timeout, messages, event_format,
    events_expected, stream_for, grpc, message_type, extension, answer_id, message_size, subscribers,
    requests, pick, weights, method, headers, body, chunked, http, hpack, stream_window,
    connection_window, verify, tls, full_handshakes, early_data, source_addresses, addresses, connect_to,
    unix_socket, proxy, proxy_credentials, proxy_protocol, sockets, generator, threads, connections,
    requests_total, pipeline, streams, calls, think, reconnect_after; did you mean "duration"?
[trials] -> [trails]
    :11: trails: unknown key; expected one of title, question, answer_by, limits, catalog, content,
    load, sweep, trials, host, machines, published, servers, claims,
    require, quick; did you mean "trials"?
[content] -> answer_by = "cpu_share"\n[content]
    :2: answer_by: found "cpu_share"; expected "throughput", "mean", "p50", "p75", "p90", "p95", "p99",
    "p99_9", "p99_99", "max", "cpu_per_request_us", "memory_mean_mib", "memory_peak_mib" or "peak"
[content] -> limits = "p98 < 10ms"\n[content]
    :2: limits: "p98 < 10ms": "p98" cannot be limited; expected one of mean, p50, p75, p90, p95, p99, p99.9,
    p99.99, max, errors, rate, first_event_p50, first_event_p99, event_gap_p50, event_gap_p99, delivery_p50,
    delivery_p99, events_delivered_share, reach; did you mean "p99"?
[content] -> limits = 'p99 of "GET /nothing.txt" < 10ms'\n[content]
    :2: limits: p99 of "GET /nothing.txt" < 10ms: nothing that the load sends is "GET /nothing.txt"; expected
    one of "GET /1k.txt"; did you mean "GET /1k.txt"?
[content] -> limits = "p99 < 10ms, rate >= 99 %"\n[content]
    :2: limits: "rate" requires a load with a rate; limit a latency or the errors instead
count = 3 -> zzz = 3
    :12: trials.zzz: unknown key; expected one of count, every, restart, between_points, warmup, until,
    at_most, measure, until_drop, repeat_disturbed
count = 3 -> between_points = "stop"
    :12: trials.between_points: found "stop"; expected "pause" or "continue"
restart = "point" -> restart = "point"\nbetween_points = "continue"
    :14: trials.between_points: cannot be combined with restart = "point", which stops the server; remove
    one
\n[servers.nginx]\n[servers.other]\nuse = "nginx"\nworkers = 2 -> \n[servers.url]\nurl = "http://127.0.0.1:1"
    :13: trials.restart: found "point", but all servers run already (url), and a run starts and stops none;
    remove it
restart = "point" -> between_points = "continue"\nrepeat_disturbed = 2
    :14: trials.repeat_disturbed: found 2; a point cannot be repeated in its place among points without a
    pause; remove it
\n[trials]\ncount = 3\nrestart = "point" -> \npipeline = [1, 2]\n[trials]\nbetween_points = "continue"
    :11: sweep.pipeline: cannot change without a pause (between_points = "continue"); only connections and
    rate can
count = 3 -> until = "3"
    :12: trials.until: found "3"; expected a share in per cent, such as "3 %", below 100 %
count = 3 -> until = "100 %"
    :12: trials.until: found "100 %"; expected a share in per cent, such as "3 %", below 100 %
count = 3 -> count = 3\nuntil = "3 %"
    :12: trials.count: found 3; expected at least 8 with until: with fewer trials, an interval is too
    often narrow by chance
count = 3 -> until = "3 %"\nat_most = 7
    :13: trials.at_most: found 7; expected at least 8, the least number of trials
count = 3 -> at_most = 7
    :12: trials.at_most: requires until, such as "3 %"
count = 3 -> until = "3 %"\nmeasure = "p98"
    :13: trials.measure: found "p98"; expected "throughput", "mean", "p50", "p75", "p90", "p95", "p99",
    "p99_9", "p99_99", "max", "cpu_per_request_us", "memory_mean_mib", "memory_peak_mib", "cpu_share",
    "run_delay_per_request_us", "processes_max", "disk_read_mib_per_s", "page_cache_mib" or
    "page_cache_refault_mib_per_s"; did you mean "p99"?
count = 3 -> count = 3\nwarmup = "10s"
    :13: trials.warmup: found "10s"; expected a table with a rate and a duration, such as { rate = 15,
    duration = "10s" }
count = 3 -> count = 3\nwarmup = { rate = 0, duration = "10s" }
    :13: trials.warmup.rate: found 0; expected a rate above 0 and at most 10⁹ per second
count = 3 -> count = 3\nwarmup = { rate = 15 }
    :13: trials.warmup.duration: missing; expected a duration above 0, up to 10⁶ s, such as "500ms" or "1m"
count = 3 -> count = 3\nuntil_drop = "0 %"
    :13: trials.until_drop: found "0 %"; expected a share in per cent, such as "3 %", below 100 %
count = 3 -> until = "3 %"\nuntil_drop = "10 %"
    :13: trials.until_drop: cannot be combined with until: few trials reach the last points of the curves,
    so that their intervals stay wide
connections = [1, 10]\n[trials] -> connections = [10, 1]\n[trials]\nuntil_drop = "10 %"
    :12: trials.until_drop: requires rising values in [sweep]; those of connections do not rise
connections = [1, 10]\n[trials] -> connections = [10]\n[trials]\nuntil_drop = "10 %"
    :12: trials.until_drop: requires a [sweep] of one key with rising values; it has none with more than
    one value
connections = [1, 10]\n[trials] -> connections = [1, 10]\npipeline = [1, 2]\n[trials]\nuntil_drop = "9 %"
    :13: trials.until_drop: requires a [sweep] of one key with rising values; it has connections, pipeline
count = 3 -> count = "3"
    :12: trials.count: found "3"; expected a positive whole number
count = 3 -> count = 0
    :12: trials.count: found 0; expected a positive whole number
count = 3 -> count = true
    :12: trials.count: found true; expected a positive whole number
count = 3 -> count = 2.5
    :12: trials.count: found 2.5; expected a positive whole number
restart = "point" -> restart = "ponit"
    :13: trials.restart: found "ponit"; expected "sweep", "point" or "never"; did you mean "point"?
model = "closed" -> model = "close"
    :5: load.model: found "close"; expected "closed", "open", "sessions" or "ycsb"; did you mean
    "closed"?
model = "closed"\n ->
    :4: load.model: missing; expected "closed", "open", "sessions" or "ycsb"
title = "One file"\n ->
    : title: missing; expected a text in quotes, not empty
title = "One file" -> title = 5
    :1: title: found 5; expected a text in quotes, not empty
requests = ["/1k.txt"]\n ->
    :4: load.requests: missing; expected a list of at least one path, such as ["/1k.txt"], or the name of
    a file with paths or targets
requests = ["/1k.txt"] -> requests = ["/1k.txt",\n"1k.txt"]
    :7: load.requests: found "1k.txt"; expected a path that begins with "/" and has no spaces, such as
    "/1k.txt"
requests = ["/1k.txt"] -> requests = ["/1k.tx"]
    :6: load.requests: found "/1k.tx", which is not in [content]; expected one of /1k.txt; did you mean
    "/1k.txt"?
warmup = "500ms" -> warmup = "soon"
    :7: load.warmup: found "soon"; expected a duration of at most a day, such as "500ms" or "2s"
duration = "1s" -> duration = -1
    :8: load.duration: found -1; expected a duration above 0, up to 10⁶ s, such as "500ms" or "1m"
duration = "1s" -> duration = inf
    :8: load.duration: found inf; expected a duration above 0, up to 10⁶ s, such as "500ms" or "1m"
duration = "1s" ->
    :4: load.duration: missing; expected duration, such as "10s", or requests_total
duration = "1s" -> duration = "1s"\nrequests_total = 5
    :9: load.requests_total: cannot be combined with a duration; keep one of the two
connections = [1, 10] -> connections = []
    :10: sweep.connections: found an empty list; expected a list of numbers, such as [1, 10, 100]
connections = [1, 10] ->
    :9: sweep: found an empty table; expected at least one key, such as connections = [1, 10, 100]
connections = [1, 10] -> connections = 10
    :10: sweep.connections: found 10; expected a list of numbers, such as [1, 10, 100]
connections = [1, 10] -> connections = [1,\n\n-10]
    :12: sweep.connections: found -10; expected a positive whole number
connections = [1, 10] -> connections = [1, nan]
    :10: sweep.connections: found nan; expected a number
connections = [1, 10] -> connections = [1, 2, 1]
    :10: sweep.connections: 1 is in the list twice; keep one
connections = [1, 10] -> connections = [1, 1.5]
    :10: sweep.connections: found 1.5; expected a positive whole number
connections = [1, 10] -> connections = [1]\nthread = [1]
    :11: sweep.thread: unknown key; expected one of warmup, duration, timeout, events_expected, stream_for,
    message_size, subscribers, stream_window, connection_window, full_handshakes, early_data, threads,
    connections, requests_total, pipeline, streams, calls, think, reconnect_after; did you mean "threads"?
connections = [1, 10] -> connections = [1]\nrate = [1]
    :11: sweep.rate: unknown key; expected one of warmup, duration, timeout, events_expected, stream_for,
    message_size, subscribers, stream_window, connection_window, full_handshakes, early_data, threads,
    connections, requests_total, pipeline, streams, calls, think, reconnect_after
connections = [1, 10] -> threads = [1]
    :4: load.connections: missing; expected a positive number here, or a list of them in [sweep]
[sweep] -> connections = 5\n[sweep]
    :9: load.connections: set here and in [sweep]; keep one of the two
[sweep] -> threads = 2\n[sweep]
    :9: load.threads: found 2; expected no more threads than connections; the lowest point has 1
"1k.txt" = "1KiB" -> "1k.txt" = "1KB"
    :3: content."1k.txt": found "1KB"; expected a size such as "512B", "10kB" or "1KiB", or a whole
    number of bytes, or { text = "…" }; a folder of files is folder = "…"
"1k.txt" = "1KiB" -> "1k.txt" = { txt = "hello" }
    :3: content."1k.txt": found a table; expected a size such as "512B", "10kB" or "1KiB", or a whole
    number of bytes, or { text = "…" }; a folder of files is folder = "…"
"1k.txt" = "1KiB" ->
    :2: content: empty; expected files with sizes, such as "1k.txt" = "1KiB", or a folder
"1k.txt" = "1KiB" -> "1k.txt" = 1\n"../x" = 1
    :4: content."../x": found "../x"; expected a name of letters, digits, hyphens, underscores and dots
    that begins with a letter or a digit
"1k.txt" = "1KiB" -> "1k.txt" = "1KiB"\nfolder = "."
    :4: content.folder: cannot be combined with generated files; keep the folder, or the files
server_cpus = [0] -> server_cpus = [0, 0]
    :15: host.server_cpus: 0 is in the list twice; keep one
server_cpus = [0] -> server_cpus = []
    :15: host.server_cpus: found an empty list; expected a list of CPU numbers, such as [0, 1]
load_cpus = [1] -> load_cpus = [-1]
    :16: host.load_cpus: found -1; expected the number of a CPU, 0 or more
load_cpus = [1] -> probe_interval = "5ms"
    :16: host.probe_interval: found "5ms"; expected a duration between "10ms" and "1s", such as "100ms"
[servers.nginx] -> [servers."my server"]
    :17: servers."my server": found "my server"; expected a name of letters, digits, hyphens, underscores
    and dots that begins with a letter or a digit
workers = 2 -> workers = {}
    :20: servers.other.workers: found an empty table; expected a text in quotes, a number, true or false
use = "nginx" -> use = 5
    :19: servers.other.use: found 5; expected a text in quotes, not empty
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_a_problem_is_reported_with_its_line_its_key_and_what_was_expected(tmp_path, change, problem):
    assert problems_in(tmp_path, changed(GOOD, change)) == [problem]


def test_limits_require_a_sweep_over_a_load(tmp_path):
    limited = changed(GOOD, r'[content] -> limits = "p99 < 10ms"\n[content]')
    [problem] = problems_in(tmp_path, changed(limited, "connections = [1, 10] -> connections = [10]"))
    assert problem.startswith(":2: limits: requires a [sweep] over a load: connections, rate")


def test_a_peak_requires_a_sweep_over_a_load(tmp_path):
    asked = changed(GOOD, r'[content] -> answer_by = "peak"\n[content]')
    [problem] = problems_in(tmp_path, changed(asked, "connections = [1, 10] -> connections = [10]"))
    assert problem.startswith(':2: answer_by: "peak" requires a [sweep] over a load: connections, rate')


def test_every_problem_is_reported_in_the_order_of_the_file(tmp_path):
    text = (
        GOOD.replace("count = 3", "count = -3")
        .replace("warmup", "warmpu")
        .replace('title = "One file"', "titel = 1")
    )
    problems = problems_in(tmp_path, text)
    assert [problem.split(": ")[:2] for problem in problems] == [
        ["", "title"],
        [":1", "titel"],
        [":7", "load.warmpu"],
        [":12", "trials.count"],
    ]


def test_missing_tables_are_reported_with_an_example(tmp_path):
    problems = problems_in(tmp_path, 'title = "x"\n')
    assert ": servers: missing; expected at least one table [servers.NAME]" in problems
    assert ": sweep: missing; expected at least one key, such as connections = [1, 10, 100]" in problems


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    (problem,) = problems_in(tmp_path, changed(GOOD, '"1k.txt" = "1KiB" -> folder = "site"'))
    assert problem.startswith(f':3: content.folder: no such folder: "{tmp_path / "site"}"')

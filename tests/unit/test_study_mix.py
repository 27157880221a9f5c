"""A list of requests that are not alike: method, headers, body, weight, name and expectation of each."""

import tomllib

import pytest

from loadcurve.loads.asked import as_good_as
from loadcurve.loads.entries import ENTRY_IN_WORDS, STATUSES_IN_WORDS
from loadcurve.loads.requests import REQUEST_PATH_IN_WORDS
from loadcurve.loads.sent import BODY_IN_WORDS, BodyLines, header_fields
from loadcurve.loads.verification import AnswerPattern
from loadcurve.redaction import study_without_secrets
from loadcurve.study.inputs import files_of, renamed
from loadcurve.toml.document import TomlDocument
from support.cases import cases, changed
from support.http_load_study import CLOSED, load_of, problems_in, study_file

PATHS = 'requests = ["/a", "/b"]'


def asked(folder, requests, more=""):
    load = load_of(folder, CLOSED.replace(PATHS, f"requests = {requests}") + more)
    return load, load.asked


def test_paths_and_tables_may_be_in_one_list_and_what_a_table_leaves_out_is_the_loads(tmp_path):
    own = '{ path = "/b", method = "PUT", headers = { accept = "a/b", X-More = "1" }, body = "{}" }'
    common = 'method = "POST"\nheaders = { Accept = "*/*", Cookie = "a=1" }\nbody = "text"\n'
    load, (first, second) = asked(tmp_path, f'["/a", {own}]', common)
    assert load.paths_to_verify(0) == ["/a", "/b"]
    assert (first.line, header_fields(first.headers)) == ("POST /a", [("Accept", "*/*"), ("Cookie", "a=1")])
    assert (second.line, second.body, first.body) == ("PUT /b", "{}", "text")
    # A field of one's own replaces that of its name, however it is written.
    assert header_fields(second.headers) == [("Cookie", "a=1"), ("accept", "a/b"), ("X-More", "1")]


def test_an_array_of_tables_is_the_same_list(tmp_path):
    tables = '[[load.requests]]\npath = "/a"\n[[load.requests]]\npath = "/b"\nmethod = "HEAD"\n'
    load = load_of(tmp_path, CLOSED.replace(PATHS + "\n", "") + tables)
    assert [one.line for one in load.asked] == ["GET /a", "HEAD /b"]
    assert load.requests[0] == "/a"


def test_one_weight_makes_the_requests_be_picked_by_weight_and_the_others_weigh_1(tmp_path):
    load, requests = asked(tmp_path, '["/a", { path = "/b", weight = 2.5 }]')
    assert (load.pick, [one.weight for one in requests]) == ("weighted", [1.0, 2.5])
    assert asked(tmp_path, '["/a", { path = "/b", name = "b" }]')[0].pick == "in-order"


def test_weights_of_their_own_list_fit_tables_without_any(tmp_path):
    more = 'pick = "weighted"\nweights = [1, 3]\n'
    _, requests = asked(tmp_path, '["/a", { path = "/b", name = "b" }]', more)
    assert [one.weight for one in requests] == [1.0, 3.0]


def test_figures_go_by_the_name_or_else_by_method_and_path(tmp_path):
    _, requests = asked(tmp_path, '["/a", { path = "/b", name = "the second" }]')
    assert [one.label for one in requests] == ["GET /a", "the second"]


def test_what_a_request_expects_is_its_own_rule_and_no_file_of_the_content(tmp_path):
    expects = [
        ("{ status = 201 }", [(201, 201)], "status"),
        ("{ status = [200, 404] }", [(200, 200), (404, 404)], "status"),
        ('{ status = ["2xx", 300, 404] }', [(200, 300), (404, 404)], "status"),
        ('{ pattern = "^Total" }', None, AnswerPattern("^Total")),
    ]
    for table, ranges, rule in expects:
        _, (request,) = asked(tmp_path, f'[{{ path = "/not-there", expect = {table} }}]')
        assert (request.expected and request.expected.ranges) == ranges
        assert (request.rule, request.is_of_content) == (rule, False)


def test_a_recorded_status_is_met_by_those_that_are_as_good():
    # RFC 9110: what a condition led to may be 200 without it; 5xx was of that moment.
    assert as_good_as([404]) == {404}
    assert as_good_as([304, 404]) == {200, 304, 404}
    assert as_good_as([503]) == {*range(100, 400), 503}


def test_a_body_may_be_a_file_or_the_lines_of_one_from_the_folder_of_the_study(tmp_path):
    (tmp_path / "one.json").write_text("{}")
    (tmp_path / "many.txt").write_text("a\nb\n")
    listed = '[{ path = "/a", body = "@one.json" }, { path = "/b", body = { lines = "many.txt" } }]'
    load, (first, second) = asked(tmp_path, listed)
    assert (first.body, second.body) == (f"@{tmp_path}/one.json", BodyLines(tmp_path / "many.txt"))
    assert load.model_dump(mode="json")["requests"] == [
        {"path": "/a", "body": f"@{tmp_path}/one.json"},
        {"path": "/b", "body": {"lines": f"{tmp_path}/many.txt"}},
    ]


def test_bodies_are_sent_in_chunks_where_the_load_or_a_request_says_so(tmp_path):
    own = '["/a", { path = "/b", chunked = false }]'
    assert [one.chunked for one in asked(tmp_path, own, "chunked = true\n")[1]] == [True, False]
    assert [one.chunked for one in asked(tmp_path, own.replace("false", "true"))[1]] == [False, True]


SECRETS = (
    '[{ path = "/a", method = "POST", headers = { Authorization = "Bearer Xq7Vt", Accept = "*/*" }, '
    'body = "Jf4HmRb2" }, "/b"]'
)


def test_records_have_no_body_and_no_header_that_may_be_secret(tmp_path):
    load, _ = asked(tmp_path, SECRETS)
    recorded = load.model_dump(mode="json")["requests"]
    headers = {"Authorization": "(hidden)", "Accept": "*/*"}
    assert recorded == [{"path": "/a", "method": "POST", "headers": headers, "body": "(hidden)"}, "/b"]


@pytest.mark.parametrize("form", ["load.requests = {}\n", "[servers.x.load]\nrequests = {}\n"])
def test_the_text_of_a_study_loses_the_secrets_of_each_request(form):
    kept = study_without_secrets(form.replace("{}", SECRETS))
    assert "Xq7Vt" not in kept
    assert "Jf4Hm" not in kept
    assert tomllib.loads(kept)


def test_files_that_requests_name_are_inputs_of_a_run_wherever_they_are_in_the_list(tmp_path):
    requests = (
        '["/a", { path = "/b", body = "@b.json" }, { path = "/c", body = { lines = "c.txt" } }, '
        '{ path = "/d", headers = { Cookie = { file = "token" } } }]'
    )
    document = TomlDocument.read(study_file(tmp_path, CLOSED.replace(PATHS, f"requests = {requests}")))
    found = {(".".join(one.key), one.file.name, one.kind) for one in files_of(document)}
    assert found == {
        ("load.requests.1.body", "b.json", "input"),
        ("load.requests.2.body.lines", "c.txt", "input"),
        ("load.requests.3.headers.Cookie", "token", "secret"),
    }
    text = renamed(document.path.read_text(), files_of(document), lambda one: f"new-{one.file.name}")
    sent = tomllib.loads(text)["load"]["requests"]
    assert (sent[1]["body"], sent[2]["body"]) == ("@new-b.json", {"lines": "new-c.txt"})


PROBLEMS = r"""
["/a", { path = "b" }]
    :6: load.requests.path: found "b"; expected {PATH}
["/a", 5]
    :6: load.requests: found 5; expected {ENTRY}
[{ method = "POST" }]
    :6: load.requests.path: missing; expected {PATH}
[{ path = "/a", bdy = "x" }]
    :6: load.requests.bdy: unknown key; expected one of {KEYS}; did you mean "body"?
[{ path = "/a", method = "GE T" }]
    :6: load.requests.method: found "GE T"; expected a method such as "GET", "HEAD" or "POST"
[{ path = "/a", weight = -1 }]
    :6: load.requests.weight: found -1; expected a number of 0 or more
[{ path = "/a", weight = 0 }, { path = "/b", weight = 0 }]
    :6: load.requests: all weights are 0; expected at least one above 0
[{ path = "/a", expect = { status = 99 } }]
    :6: load.requests.expect.status: found 99; expected {STATUSES}
[{ path = "/a", expect = { status = ["2xx", "20x"] } }]
    :6: load.requests.expect.status: found "20x"; expected {STATUSES}
[{ path = "/a", expect = { status = [] } }]
    :6: load.requests.expect.status: found an empty list; expected {STATUSES}
[{ path = "/a", expect = { pattern = "(" } }]
    :6: load.requests.expect.pattern: "(" is not a regular expression: {REASON}
[{ path = "/a", body = "@nowhere" }]
    :6: load.requests.body: {folder}/nowhere: there is no such file
[{ path = "/a", body = { lines = "nowhere" } }]
    :6: load.requests.body: {folder}/nowhere: there is no such file
[{ path = "/a", body = { line = "x" } }]
    :6: load.requests.body: found a table; expected {BODY}
[{ path = "/c" }]
    :6: load.requests: found "/c", which is not in [content]; expected one of /a, /b
"""


@pytest.mark.parametrize(("requests", "problem"), cases(PROBLEMS))
def test_what_is_wrong_with_a_request_is_reported_with_its_line(tmp_path, requests, problem):
    words = {
        "folder": str(tmp_path),
        "ENTRY": ENTRY_IN_WORDS,
        "STATUSES": STATUSES_IN_WORDS,
        "PATH": REQUEST_PATH_IN_WORDS,
        "BODY": BODY_IN_WORDS,
        "KEYS": "path, method, headers, body, chunked, weight, name, expect",
        "REASON": "missing ), unterminated subpattern at position 0",
    }
    for place, text in words.items():
        problem = problem.replace(f"{{{place}}}", text)
    assert problems_in(tmp_path, CLOSED.replace(PATHS, f"requests = {requests}")) == [problem]


CONTRADICTIONS = r"""
chunked = true\nhttp = "1.0"
    load.chunked: HTTP/1.0 has no chunks; set http to 1.1 or 2, or remove chunked
pick = "random"
    load.pick: found requests with weights, which require "weighted"; set it, or remove the weights
weights = [1, 2]
    load.weights: set here and in requests; keep one of the two
"""


@pytest.mark.parametrize(("more", "problem"), cases(CONTRADICTIONS))
def test_what_contradicts_another_key_is_reported(tmp_path, more, problem):
    weighted = CLOSED.replace(PATHS, 'requests = ["/a", { path = "/b", weight = 2 }]')
    (found,) = problems_in(tmp_path, changed(weighted, more))
    assert found.endswith(problem)

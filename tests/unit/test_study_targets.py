"""Files of targets: requests as vegeta and HTTP archives have them, read as those of a load."""

import base64
import json
import tomllib

import pytest

from loadcurve.loads.sent import header_fields
from loadcurve.loads.targets.file import TARGETS_MAX
from loadcurve.loads.targets.target import Target
from loadcurve.study.inputs import files_of, renamed
from loadcurve.toml.document import TomlDocument
from support.http_load_study import CLOSED, load_of, problems_in, study_file

PATHS = 'requests = ["/a", "/b"]'
OF_TARGETS = CLOSED.replace(PATHS, 'requests = "targets"') + 'verify = "status"\n'
SHOP = "http://shop.example"
HOST = 'headers = { Host = "shop.example" }\n'


def given(folder, text, more=""):
    file = folder / "targets"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return OF_TARGETS + more


def asked(folder, text, more=""):
    return load_of(folder, given(folder, text, more)).asked


# As in the README of vegeta 12, "HTTP format".
TEXT = """\
# a comment
GET http://shop.example/goku
X-Account-ID: 8675309
X-Account-ID: 99

DELETE http://shop.example/item/1?really=yes#part
POST /orders
Content-Type: application/json
@order.json
"""


def test_a_target_as_text_is_a_line_with_its_headers_and_the_file_of_its_body(tmp_path):
    (tmp_path / "order.json").write_text("{}")
    get, delete, post = asked(tmp_path, TEXT, HOST)
    assert (get.line, get.body) == ("GET /goku", "")
    assert header_fields(get.headers)[1:] == [("X-Account-ID", "8675309"), ("X-Account-ID", "99")]
    assert delete.line == "DELETE /item/1?really=yes"
    assert (post.line, post.body) == ("POST /orders", f"@{tmp_path}/order.json")
    assert header_fields(post.headers) == [("Host", "shop.example"), ("Content-Type", "application/json")]


VEGETA = [
    # The examples of vegeta's README, "http format", with what its text says of each.
    ("GET http://shop.example/path/to/dragon?item=ball", "GET /path/to/dragon?item=ball", [], None),
    # 'Basic' and base64 of "user:password", which Go's client makes of the URL's user (RFC 7617).
    (
        "GET http://user:password@shop.example/path/to",
        "GET /path/to",
        [("Authorization", "Basic dXNlcjpwYXNzd29yZA==")],
        None,
    ),
    ("HEAD http://shop.example/path/to/success", "HEAD /path/to/success", [], None),
    (
        "GET http://user:password@shop.example/path/to\nX-Account-ID: 8675309",
        "GET /path/to",
        [("X-Account-ID", "8675309"), ("Authorization", "Basic dXNlcjpwYXNzd29yZA==")],
        None,
    ),
    (
        "DELETE http://shop.example/path/to/remove\nConfirmation-Token: 90215\nAuthorization: Token DEADBEEF",
        "DELETE /path/to/remove",
        [("Confirmation-Token", "90215"), ("Authorization", "Token DEADBEEF")],
        None,
    ),
    ("POST http://shop.example/things\n@newthing.json", "POST /things", [], "newthing.json"),
    (
        "PATCH http://shop.example/thing/71988591\n@newthing.json",
        "PATCH /thing/71988591",
        [],
        "newthing.json",
    ),
    (
        "POST http://shop.example/things\nX-Account-ID: 99\n@newthing.json",
        "POST /things",
        [("X-Account-ID", "99")],
        "newthing.json",
    ),
]


@pytest.mark.parametrize("example", VEGETA)
@pytest.mark.parametrize("around", ["{}", "\n\n{}\n\n", "# a comment\n  {}  \n"])
def test_a_target_is_what_the_documentation_of_vegeta_says(tmp_path, example, around):
    text, line, fields, body = example
    (tmp_path / "newthing.json").write_text("{}")
    (target,) = asked(tmp_path, around.format(text), HOST)
    assert target.line == line
    assert header_fields(target.headers) == [("Host", "shop.example"), *fields]
    assert target.body == ("" if body is None else f"@{tmp_path}/{body}")


@pytest.mark.parametrize(
    ("login", "sent"),
    [("us%65r:pass%20word", "Basic dXNlcjpwYXNzIHdvcmQ="), ("user", "Basic dXNlcjo=")],
)
def test_a_login_in_a_url_is_sent_as_vegeta_12_sends_it(tmp_path, login, sent):
    # What a server saw of vegeta 12.12.0.
    (target,) = asked(tmp_path, f"GET http://{login}@shop.example/", HOST)
    assert header_fields(target.headers)[1:] == [("Authorization", sent)]


def test_all_examples_in_one_file_are_as_many_targets(tmp_path):
    (tmp_path / "newthing.json").write_text("{}")
    targets = asked(tmp_path, "\n\n".join(text for text, *_ in VEGETA), HOST)
    assert [one.line for one in targets] == [line for _, line, *_ in VEGETA]


def test_a_password_in_a_url_that_others_may_read_is_refused(tmp_path):
    load = given(tmp_path, "GET http://me:Xq7Vt@shop.example/a\n", HOST)
    (tmp_path / "targets").chmod(0o644)
    (problem,) = problems_in(tmp_path, load)
    assert "has the header Authorization" in problem
    assert "Xq7Vt" not in problem


def test_a_target_as_json_may_have_a_weight_which_is_how_often_it_is_asked_for(tmp_path):
    lines = [{"method": "GET", "url": "/a", "weight": 3}, {"method": "GET", "url": "/b"}]
    load = load_of(tmp_path, given(tmp_path, "\n".join(map(json.dumps, lines))))
    assert load.pick == "weighted"
    assert [one.weight for one in load.asked] == [3, 1]


@pytest.mark.parametrize("weight", ["3", True, [], -1])
def test_what_is_no_weight_is_refused(tmp_path, weight):
    line = json.dumps({"method": "GET", "url": "/a", "weight": weight})
    (problem,) = problems_in(tmp_path, given(tmp_path, line))
    assert f"{tmp_path}/targets:1: " in problem


def test_a_target_as_json_is_an_object_a_line_with_the_bytes_of_its_body(tmp_path):
    body = base64.b64encode(b"\xff\x00@").decode()
    lines = [
        {"method": "GET", "url": "http://shop.example"},
        {"method": "POST", "url": "/orders", "body": body, "header": {"X-Tag": ["a", "b"]}},
    ]
    get, post = asked(tmp_path, "\n".join(map(json.dumps, lines)), HOST)
    assert (get.line, get.expected) == ("GET /", None)
    assert (post.line, post.body) == ("POST /orders", b"\xff\x00@")
    assert header_fields(post.headers)[1:] == [("X-Tag", "a"), ("X-Tag", "b")]


def entry(method, url, status, headers=(), **more):
    named = [{"name": name, "value": value} for name, value in headers]
    return {
        "request": {"method": method, "url": url, "headers": named, **more},
        "response": {"status": status},
    }


def archive(*entries):
    return json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1)


def test_an_archive_gives_its_requests_and_expects_what_was_answered(tmp_path):
    recorded = archive(
        entry("GET", f"{SHOP}/", 304, [("Host", "shop.example"), (":path", "/"), ("Accept", "*/*")]),
        entry("POST", "http://shop.example/a", 201, postData={"mimeType": "text/plain", "text": "grün"}),
        entry("GET", "http://shop.example/gone", 404),
        entry("GET", "http://shop.example/broken-off", 0),
    )
    page, post, gone, broken_off = asked(tmp_path, recorded, HOST)
    assert header_fields(page.headers) == [("Host", "shop.example"), ("Accept", "*/*")]
    assert post.body == "grün".encode()
    expected = [one.expected and one.expected.codes for one in (page, post, gone, broken_off)]
    # A server need not find again that a page is as it was.
    assert expected == [{200, 304}, {201}, {404}, None]


def page_of_three_servers():
    return archive(
        entry("GET", f"{SHOP}/", 200),
        entry("POST", "http://SHOP.example:80/a", 201, postData={"mimeType": "text/plain", "text": "x"}),
        entry("GET", "https://cdn.example/app.js", 200),
        entry("GET", "https://cdn.example/app.css", 200),
        entry("GET", "http://stats.example:8080/pixel", 204),
    )


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_host_chooses_its_requests_of_an_archive_and_what_is_left_out_is_said(tmp_path, mark):
    load = load_of(tmp_path, given(tmp_path, mark + page_of_three_servers(), HOST))
    assert [one.line for one in load.asked] == ["GET /", "POST /a"]
    assert load.requests_left_out == (
        f"{tmp_path}/targets: 3 of 5 requests are left out, which went elsewhere: cdn.example (2) and "
        "stats.example:8080 (1)"
    )
    whole = load_of(tmp_path, given(tmp_path, archive(entry("GET", f"{SHOP}/", 200)), HOST))
    assert whole.requests_left_out is None


def test_without_one_an_archive_of_several_servers_says_which_it_has_and_how_to_choose(tmp_path):
    (problem,) = problems_in(tmp_path, given(tmp_path, page_of_three_servers()))
    assert (
        "targets: names http://shop.example (2), https://cdn.example (2) and http://stats.example:8080 (1), "
        "but the load goes to the servers of the study; choose the requests of one of them by the header "
        "Host, and the others are left out (of a load -H 'Host: shop.example', in a study headers = { Host = "
        '"shop.example" })'
    ) in problem


def test_what_a_page_loads_without_http_is_no_request(tmp_path):
    recorded = archive(
        entry("GET", f"{SHOP}/", 200),
        entry("GET", "wss://shop.example/live", 101),
        entry("GET", "data:image/png;base64,AAAA", 200),
        entry("GET", "blob:https://shop.example/1b2c", 200),
    )
    load = load_of(tmp_path, given(tmp_path, recorded, HOST))
    assert [one.line for one in load.asked] == ["GET /"]
    assert load.requests_left_out == (
        f"{tmp_path}/targets: 3 of 4 requests are left out, which went elsewhere: wss: (1), data: (1) and "
        "blob: (1)"
    )


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://h", "/"),
        ("http://h:8080?x=1", "/?x=1"),
        ("http://[::1]:80/a?b=/c://d#e", "/a?b=/c://d"),
        ("/a?b#c", "/a?b"),
    ],
)
def test_what_is_asked_for_is_the_path_and_query_of_a_url(url, path):
    assert Target(":1", "GET", url).path == path


def test_records_have_the_file_of_targets_and_nothing_that_they_send(tmp_path):
    load = load_of(tmp_path, given(tmp_path, "GET /a\nAuthorization: Xq7Vt\n"))
    assert load.model_dump(mode="json")["requests"] == {"file": f"{tmp_path}/targets", "count": 1}
    assert "Xq7Vt" not in repr(load)


def test_a_secret_in_targets_that_others_may_read_is_refused(tmp_path):
    load = given(tmp_path, "GET /a\nAuthorization: Xq7Vt\n")
    (tmp_path / "targets").chmod(0o644)
    (problem,) = problems_in(tmp_path, load)
    assert problem.endswith(f"may be read or written by other users; run: chmod 600 {tmp_path}/targets")
    assert "Xq7Vt" not in problem
    given(tmp_path, "GET /a\nX-Tag: Xq7Vt\n")
    (tmp_path / "targets").chmod(0o644)
    assert [one.line for one in load_of(tmp_path, load).asked] == ["GET /a"]


def kinds(folder, text):
    document = TomlDocument.read(study_file(folder, given(folder, text)))
    return document, {(".".join(one.key), one.file.name, one.kind) for one in files_of(document)}


def test_a_run_keeps_targets_with_the_files_of_their_bodies_unless_they_may_hold_secrets(tmp_path):
    (tmp_path / "order.json").write_text("{}")
    document, found = kinds(tmp_path, "POST /a\nAccept: */*\n@order.json\nPOST /b\n@order.json\n")
    assert found == {("load.requests", "targets", "input"), ("load.requests", "order.json", "input")}
    text = renamed(document.path.read_text(), files_of(document), lambda one: f"inputs/{one.file.name}")
    assert tomllib.loads(text)["load"]["requests"] == "inputs/targets"
    body = json.dumps({"method": "POST", "url": "/a", "body": "e30="})
    for secret in ("GET /a\nCookie: a=1\n", body):
        assert kinds(tmp_path, secret)[1] == {("load.requests", "targets", "secret")}


PATH = "a path such as /orders, or a URL such as http://127.0.0.1:8080/orders"
OBJECT = 'an object such as {"method": "POST", "url": "http://127.0.0.1:8080/path", "body": "e30="}'


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("GET ftp://me:Xq7Vt@x/\n", [f":1: found a URL of ftp; expected {PATH}"]),
        ("GET http:///x\n", [f":1: found a URL of http; expected {PATH}"]),
        ("GET /a\n\nhello\n", [':3: found "hello"; expected a target such as GET ']),
        ("GET /a b\n", [':1: found "/a b"; expected it percent-encoded, "/a%20b" in UTF-8']),
        ("GET /a\nCookie\n", [':2: no header; expected "Name: value", @ and the file of the body']),
        ("GET /a\nX(Y: 1\n", [':1: found "X(Y"; expected the name of a header, such as "Accept"']),
        ("GET /a\n@nowhere\n", [":1: {folder}/nowhere: there is no such file"]),
        ("CONNECT http://a/\n", [':1: found "CONNECT", which opens a tunnel; expected']),
        ("POST /a\nContent-Length: 3\n", [':1: found "Content-Length", which is set from the body']),
        ("GET x\nGET y\n", [f':1: found "x"; expected {PATH}', f':2: found "y"; expected {PATH}']),
        ("GET x\n" * 12, [*[f":{line}: found" for line in range(1, 11)], "and 2 more"]),
        ('{"method": "GET"}\n', [f':1: no target with "method" and "url"; expected {OBJECT}']),
        ('{"method": "GET", \n', [f":1: not JSON; expected {OBJECT}"]),
        ('{"method": "GET", "url": "/", "body": "*"}', [':1: "body" is not base64']),
        ('{"method": "GET", "url": "/", "body": 1}', [':1: "body" is no text']),
        ('{"method": "GET", "url": "/", "header": ["a"]}', [':1: "header" is no object']),
        ('{"method": "GET", "url": "/", "header": {"a": 1}}', [':1: "header": a has no text']),
        (
            '{"method": "GET", "url": "/", "headers": {}}',
            [':1: found "headers"; expected body, header,'],
        ),
        ('{"log": {}}', [": no log.entries; expected an HTTP archive"]),
        ('{"log": {"entries": []}}', [": no target; expected at least one"]),
        ('{"log": {"entries": [{"request": {}}]}}', [", entry 1: no request with method, url and headers"]),
        ('{"log": [', [": not JSON ("]),
    ],
)
def test_what_cannot_be_a_target_is_reported_with_its_line(tmp_path, text, problems):
    found = problems_in(tmp_path, given(tmp_path, text))
    assert len(found) == len(problems)
    for problem, expected in zip(found, problems, strict=True):
        place = "" if expected.startswith("and ") else f"{tmp_path}/targets"
        assert f": load.requests: {place}{expected.replace('{folder}', str(tmp_path))}" in problem
        assert "Xq7Vt" not in problem


def test_there_are_at_most_so_many_targets(tmp_path):
    (problem,) = problems_in(tmp_path, given(tmp_path, "GET /a\n" * (TARGETS_MAX + 1)))
    assert "more than 10,000 targets" in problem
    assert len(asked(tmp_path, "GET /a\n" * TARGETS_MAX)) == TARGETS_MAX


def test_of_many_targets_a_seed_picks_the_paths_that_are_verified_each_by_one_request_of_a_method(tmp_path):
    text = "".join(f"GET /a{number}\nPOST /a{number}\n\nPOST /a{number}\n" for number in range(200))
    load = load_of(tmp_path, given(tmp_path, text))
    paths = load.paths_to_verify(1)
    assert len(set(paths)) == 100
    assert paths == load.paths_to_verify(1) != load.paths_to_verify(2)
    assert sorted(one.line for one in load.requests_for(paths[:1])) == [f"GET {paths[0]}", f"POST {paths[0]}"]


NAMES_ANOTHER = (
    "targets:2: names http://shop.example, but the load goes to {goes}; write the path alone, or, where "
    'these answer for it, set the header Host to "shop.example" (in a study headers = {{ Host = '
    "\"shop.example\" }}, of a load -H 'Host: shop.example')"
)


def test_load_goes_to_no_server_that_a_file_alone_names(tmp_path):
    text = "GET /a\nGET http://shop.example/a\nGET http://shop.example:80/b\n"
    load = given(tmp_path, text)
    (problem,) = problems_in(tmp_path, load)
    assert problem.endswith(NAMES_ANOTHER.format(goes="the servers of the study"))
    assert len(load_of(tmp_path, load + HOST).asked) == 3
    assert problems_in(tmp_path, load + HOST.replace("example", "example:8080"))

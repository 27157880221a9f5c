"""What a web server's answers are verified to be: the content, of status 200, or a text that matches."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count

import pytest

from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.verification import AnswerPattern
from loadcurve.result.records import ContentRecord
from loadcurve.server import signs
from loadcurve.server.answers import WebSite, location_of, verify_answers
from loadcurve.server.asked import Answer, Site
from loadcurve.server.failure import ServerFailure
from loadcurve.server.transport import CLEAR_TEXT, Transport

CONTENT = {"page": ContentRecord(bytes=6, sha256="0" * 64)}
TOTAL = AnswerPattern(r"^Total: \d+$")


@contextmanager
def answering(*texts: str, status: int = 200) -> Iterator[int]:
    """Answer each request with the next text, and all behind the last one with that; yield the port."""
    numbers = count()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = texts[min(next(numbers), len(texts) - 1)].encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def site_at(port: int) -> Site:
    address = f"127.0.0.1:{port}"
    return Site(address, address, CLEAR_TEXT, timeout_s=10)


def load(**keys) -> ClosedLoad:
    return ClosedLoad(model="closed", requests=["/page"], connections=1, requests_total=1, **keys)


def refusal(port, rule="content", path="/page"):
    with pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(port), [path], CONTENT, load(verify=rule))
    assert failure.value.code == "wrong_answer"
    return failure.value.text


@pytest.mark.parametrize("texts", [("Total: 1", "Total: 20"), ("total1", "total2")], ids=["length", "text"])
def test_a_page_that_changes_from_request_to_request_is_refused_with_what_to_set(texts):
    with answering(*texts) as port:
        text = refusal(port)
    assert text.startswith("GET /page is answered differently from request to request")
    assert '"status", or { pattern = "…" }' in text


def test_a_wrong_page_that_does_not_change_is_refused_as_wrong():
    with answering("Total: 1") as port:
        assert refusal(port) == "GET /page was answered with 8 bytes instead of 6."


def test_a_changing_page_passes_by_its_status_and_by_what_each_text_contains():
    with answering("Total: 1", "Total: 20", "Total: 300") as port:
        for rule in ("status", TOTAL):
            verify_answers(site_at(port), ["/page"], CONTENT, load(verify=rule))


@pytest.mark.parametrize("rule", ["status", TOTAL])
def test_a_path_need_lead_to_no_file_where_answers_are_not_compared_with_files(rule):
    with answering("Total: 1") as port:
        answers = verify_answers(site_at(port), ["/other?x=1"], CONTENT, load(verify=rule))
    assert answers["/other?x=1"].bytes == len("Total: 1")


def test_a_text_that_the_pattern_does_not_match_is_refused():
    with answering("Error: no total") as port:
        assert refusal(port, TOTAL) == (
            r'GET /page was answered with a text that "^Total: \\d+$" does not match.'
        )


@pytest.mark.parametrize("rule", ["status", TOTAL])
def test_another_status_is_refused_by_any_rule(rule):
    with answering("Total: 1", status=500) as port:
        assert refusal(port, rule).startswith("GET /page was answered with status 500, not 200.")


@contextmanager
def talking(answer) -> Iterator[tuple[int, list[tuple[str, str, bytes]]]]:
    """Answer as the function does, given the handler; yield the port, and what was asked so far."""
    asked: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.headers.get("X-Own", ""), body))
            status, text = answer(self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)

        def log_message(self, *_):
            pass

    for method in ("GET", "HEAD", "POST"):
        setattr(Handler, f"do_{method}", Handler.answer)
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


PAGE = {"page": ContentRecord(bytes=4, sha256=hashlib.sha256(b"page").hexdigest())}


def test_what_is_verified_is_the_request_of_the_load_with_its_method_headers_and_body():
    post = load(method="POST", headers={"X-Own": "yes"}, body="a=1", verify="status")
    with talking(lambda _: (201, b"made")) as (port, asked):
        answers = verify_answers(site_at(port), ["/page"], PAGE, post)
    assert asked == [("POST", "yes", b"a=1")]
    assert answers["/page"].bytes == len("made")


def test_an_error_is_refused_whatever_the_method():
    with talking(lambda _: (405, b"")) as (port, _), pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(port), ["/page"], PAGE, load(method="POST", verify="status"))
    assert failure.value.text.startswith("POST /page was answered with status 405, an error.")


@pytest.mark.parametrize("keys", [{"method": "HEAD"}, {"headers": {"Accept-Encoding": "gzip"}}])
def test_content_that_a_request_changes_is_verified_by_a_plain_one(keys):
    def answer(handler):
        return 200, b"zipped" if handler.headers.get("Accept-Encoding") else served

    for served in (b"page", b"gape"):
        with talking(answer) as (port, asked):
            if served == b"page":
                verify_answers(site_at(port), ["/page"], PAGE, load(**keys))
            else:
                with pytest.raises(ServerFailure, match="right length but other content"):
                    verify_answers(site_at(port), ["/page"], PAGE, load(**keys))
        assert [method for method, *_ in asked] == [keys.get("method", "GET"), "GET"]


def mix(*requests, **keys) -> ClosedLoad:
    return ClosedLoad(model="closed", requests=[*requests], connections=1, requests_total=1, **keys)


ORDER = {"path": "/orders", "method": "POST", "headers": {"X-Own": "yes"}, "body": "{}"}


def test_each_request_of_a_mix_is_asked_in_its_own_way_and_judged_by_what_it_expects():
    def answer(handler):
        if handler.command == "POST":
            return 201, b"order 17"
        return (404, b"nothing") if handler.path == "/gone" else (200, b"page")

    order = ORDER | {"expect": {"status": 201, "pattern": "order [0-9]+"}}
    requests = mix("/page", order, {"path": "/gone", "expect": {"status": [404, 410]}})
    with talking(answer) as (port, asked):
        verify_answers(site_at(port), requests.paths_to_verify(0), PAGE, requests)
    assert asked == [("GET", "", b""), ("POST", "yes", b"{}"), ("GET", "", b"")]


@pytest.mark.parametrize(
    ("expect", "refused"),
    [
        ({"status": 201}, "POST /orders was answered with status 200; its expect says 201."),
        ({"status": ["3xx", 404]}, "POST /orders was answered with status 200; its expect says 3xx or 404."),
        ({"pattern": "^no"}, 'POST /orders was answered with a text that "^no" does not match.'),
    ],
)
def test_an_answer_that_a_request_of_a_mix_does_not_expect_is_refused_with_both(expect, refused):
    requests = mix("/page", ORDER | {"expect": expect})
    with talking(lambda _: (200, b"page")) as (port, _), pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(port), ["/page", "/orders"], PAGE, requests)
    assert failure.value.text == refused


def test_the_targets_of_a_file_are_asked_as_it_has_them(tmp_path):
    targets = tmp_path / "targets"
    targets.write_text(
        '{"method": "POST", "url": "/page", "body": "/wBA", "header": {"X-Own": ["yes"]}}\n'
        '{"method": "GET", "url": "/gone"}\n'
    )
    load_of_file = ClosedLoad.model_validate(
        {"model": "closed", "requests": str(targets), "connections": 1, "requests_total": 1}
    )
    paths = load_of_file.paths_to_verify(0)
    answers = talking(lambda handler: (404 if handler.path == "/gone" else 200, b""))
    refused = pytest.raises(ServerFailure, match="GET /gone was answered with status 404, not 200")
    with answers as (port, asked), refused:
        verify_answers(site_at(port), paths, None, load_of_file)
    assert asked == [("POST", "yes", b"\xff\x00@"), ("GET", "", b"")]


def test_a_body_in_chunks_is_what_a_server_reads_from_them():
    def answer(handler):
        assert handler.headers.get("Transfer-Encoding") == "chunked"
        assert handler.headers.get("Content-Length") is None
        body = b""
        while size := int(handler.rfile.readline(), 16):
            body += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
        return (201 if body == b"{}" * 30 else 400), b""

    order = {"path": "/orders", "method": "POST", "chunked": True, "expect": {"status": 201}}
    requests = mix(order | {"body": "{}" * 30})
    with talking(answer) as (port, _):
        verify_answers(site_at(port), ["/orders"], None, requests)


def test_two_requests_for_one_path_are_both_verified():
    requests = mix("/page", {"path": "/page", "method": "POST", "expect": {"status": 405}})
    refused = pytest.raises(ServerFailure, match="POST /page was answered with status 500")
    answers = talking(lambda handler: (200 if handler.command == "GET" else 500, b"page"))
    with answers as (port, _), refused:
        verify_answers(site_at(port), ["/page"], PAGE, requests)


def test_what_the_engine_cannot_ask_is_a_failure_with_its_reason():
    with talking(lambda _: (200, b"page")) as (port, asked), pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(port), ["/page"], PAGE, load(http="2"))
    # The server takes it for a request of a version that it does not know, and answers without a status line.
    begin = f"HTTP/2 in clear text failed with 127.0.0.1:{port}: the server's first frame is not SETTINGS"
    assert failure.value.text.startswith(begin)
    assert not asked


def test_a_server_whose_setting_for_http2_is_off_is_refused_with_the_setting():
    off = Transport(http2_is_off=True)
    with answering("hello") as port, pytest.raises(ServerFailure, match="does not speak HTTP/2") as failure:
        verify_answers(replace(site_at(port), transport=off), ["/page"], PAGE, load(http="2"))
    assert failure.value.text.endswith("; `http2 = true` in its table of the study switches HTTP/2 on.")


def replayed(folder, text, **keys):
    (folder / "list.txt").write_text(text)
    table = {"model": "closed", "requests": "list.txt", "connections": 1, "requests_total": 1, **keys}
    return ClosedLoad.model_validate(table, context={"folder": str(folder)})


@pytest.mark.parametrize("rule", ["content", "status", TOTAL])
def test_a_status_that_the_list_expects_is_right(tmp_path, rule):
    with answering("Not Found", status=404) as port:
        verify_answers(site_at(port), ["/gone"], CONTENT, replayed(tmp_path, "/gone =404\n", verify=rule))


def test_another_status_than_the_list_expects_is_refused_with_both(tmp_path):
    listed = replayed(tmp_path, "/gone =200\n/gone =301\n", verify="status")
    with answering("Not Found", status=404) as port, pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(port), ["/gone"], None, listed)
    assert failure.value.text == (
        "GET /gone was answered with status 404; the list of requests expects 200 or 301. "
        'It says: "Not Found"'
    )


def test_where_the_list_expects_200_the_content_is_compared(tmp_path):
    listed = replayed(tmp_path, "/page =304\n/page =200\n")
    with answering("Total: 1") as port, pytest.raises(ServerFailure, match="8 bytes instead of 6"):
        verify_answers(site_at(port), ["/page"], CONTENT, listed)


@pytest.mark.parametrize(
    ("protocol", "status", "is_named"),
    [("1", 400, True), ("2", 400, True), ("1", 404, False), (None, 400, False)],
)
def test_a_bad_request_behind_a_proxy_header_is_said_to_be_one_that_the_server_does_not_expect(
    protocol, status, is_named, monkeypatch
):
    # A server's own reaction is tried with real ones; here it is as they describe theirs.
    answer = Answer(status, CONTENT["page"], "")
    monkeypatch.setattr("loadcurve.server.answers.answers_to", lambda *_: [answer])
    with pytest.raises(ServerFailure, match=f"answered with status {status}, not 200") as failure:
        verify_answers(site_at(9), ["/page"], CONTENT, load(proxy_protocol=protocol))
    assert ("accept-proxy" in failure.value.text) == is_named


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"detail":\n  "name is missing"}', '"{"detail": "name is missing"}"'),
        ("<!doctype html>\n<h1>Unsupported</h1>\n<p>Send JSON</p>", '"Unsupported Send JSON"'),
        ("now red \x1b[31m", '"now red \N{REPLACEMENT CHARACTER}[31m"'),
        ("x" * 200, f'"{"x" * 120}…"'),
    ],
)
def test_an_error_is_reported_with_the_start_of_its_body_on_one_line(body, said, monkeypatch):
    monkeypatch.setattr(
        "loadcurve.server.answers.answers_to", lambda *_: [Answer(415, CONTENT["page"], body)]
    )
    with pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(9), ["/page"], CONTENT, load())
    assert failure.value.text == f"GET /page was answered with status 415, not 200. It says: {said}"


@pytest.mark.parametrize(
    ("status", "helps"),
    [
        (308, "name the path that it leads to"),
        (401, 'Authorization = { env = "TOKEN" }'),
        (403, "a login or a token against forged requests"),
        (404, "Name paths that it has in `requests` of [load]."),
        (405, 'method = "POST"'),
        (415, 'headers = { Content-Type = "application/json" }'),
        (429, "limits how many requests a client may send"),
    ],
)
def test_what_helps_is_said_of_an_application_whose_paths_nobody_else_knows(status, helps, monkeypatch):
    answers = [Answer(status, CONTENT["page"], "so it is")]
    monkeypatch.setattr("loadcurve.server.answers.answers_to", lambda *_: answers)
    said = {}
    for content in (None, CONTENT):
        with pytest.raises(ServerFailure) as failure:
            verify_answers(site_at(9), ["/page"], content, load())
        said[content is None] = failure.value.text
    assert helps in said[True]
    assert helps not in said[False]


@pytest.mark.parametrize(
    ("location", "said", "with_proxy"),
    [
        ("/page/", 'It leads to "/page/": name the path', False),
        ("https://127.0.0.1/page", 'It leads to "https://127.0.0.1/page"', True),
    ],
)
def test_a_redirect_of_an_application_is_named_with_where_it_leads(monkeypatch, location, said, with_proxy):
    answers = [Answer(301, CONTENT["page"], "")]
    monkeypatch.setattr("loadcurve.server.answers.answers_to", lambda *_: answers)
    monkeypatch.setattr("loadcurve.server.answers.location_of", lambda *_: location)
    with pytest.raises(ServerFailure) as failure:
        verify_answers(site_at(9), ["/page"], None, load())
    assert said in failure.value.text
    assert ("X-Forwarded-Proto" in failure.value.text) == with_proxy


def test_the_place_that_a_path_leads_to_is_read_from_the_answer():
    answer = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def respond() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=respond)
        thread.start()
        assert location_of(site_at(listener.getsockname()[1]), "/page") == "/there"
        thread.join()
    assert location_of(site_at(9), "/page") is None


def test_a_server_that_hangs_up_on_a_proxy_header_is_told_of_it():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            listener.accept()[0].close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(ServerFailure, match="accept-proxy"):
            verify_answers(site_at(listener.getsockname()[1]), ["/page"], CONTENT, load(proxy_protocol="1"))
        thread.join()


def test_a_server_that_answers_no_http_1_is_ready_when_it_accepts_a_connection():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        site = WebSite("127.0.0.1", port, None, None, None)
        assert site.refusal(10) is None
        assert site.sign_of_life == f"accept a connection on port {port}"
    assert "refused" in site.refusal(10)


QUIC_ALONE = Transport("https", http_versions=frozenset({"3"}))


def test_a_server_that_speaks_http_3_alone_is_ready_when_quic_answers_on_its_port(monkeypatch):
    asked = []
    monkeypatch.setattr(signs, "speaks_quic", lambda *where: asked.append(where) or len(asked) > 1)
    site = WebSite("127.0.0.1", 443, None, None, None, QUIC_ALONE)
    assert site.sign_of_life == "answer QUIC on UDP port 443"
    assert site.refusal(10) == "the last attempt had no answer"
    assert site.refusal(10) is None
    assert asked == [("127.0.0.1", 443, 10)] * 2


def test_a_load_of_another_version_on_it_is_refused_with_the_one_to_set():
    site = replace(site_at(443), transport=QUIC_ALONE)
    with pytest.raises(ServerFailure, match=r'HTTP/3 alone.*HTTP/1\.1: set http = "3" in \[load\]'):
        verify_answers(site, ["/page"], CONTENT, load())

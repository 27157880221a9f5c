"""What a web server's answers are verified to be: the content, of status 200, or a text that matches."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count

import pytest

from loadcurve.loads.verification import AnswerPattern
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import verify_answers
from loadcurve.server.failure import ServerFailure

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


def refusal(port, rule="content", path="/page"):
    with pytest.raises(ServerFailure) as failure:
        verify_answers("127.0.0.1", port, [path], CONTENT, rule=rule)
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
            verify_answers("127.0.0.1", port, ["/page"], CONTENT, rule=rule)


@pytest.mark.parametrize("rule", ["status", TOTAL])
def test_a_path_need_lead_to_no_file_where_answers_are_not_compared_with_files(rule):
    with answering("Total: 1") as port:
        answers = verify_answers("127.0.0.1", port, ["/other?x=1"], CONTENT, rule=rule)
    assert answers["/other?x=1"].bytes == len("Total: 1")


def test_a_text_that_the_pattern_does_not_match_is_refused():
    with answering("Error: no total") as port:
        assert refusal(port, TOTAL) == (
            r'GET /page was answered with a text that "^Total: \\d+$" does not match.'
        )


@pytest.mark.parametrize("rule", ["status", TOTAL])
def test_another_status_is_refused_by_any_rule(rule):
    with answering("Total: 1", status=500) as port:
        assert refusal(port, rule) == "GET /page was answered with status 500, not 200."

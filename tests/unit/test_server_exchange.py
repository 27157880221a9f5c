"""A server that answers so slowly that it never ends is reported as not answering, in time."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import ONLY_OK, WebSite
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, Overrides, ReadyQuestion
from loadcurve.server.running import RunningServer, find_running_server
from support.dripping_server import HEAD, dripping_server

TIMEOUT_S = 0.2
"""Of what never ends; four drips long."""
PATIENCE_S = 5.0
"""With what answers at once."""
GRACE_S = 2.0
CATALOG = load_catalog([])

DRIPS = {
    "head": (HEAD, b"x"),
    "status": (b"HTTP/1.1 ", b"2"),
    "lines of a head": (HEAD, b"x: y\r\n"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}
BODIES = {
    "body": (HEAD + b"Content-Length: 100000\r\n\r\n", b"x"),
    "body without end": (HEAD + b"\r\n", b"x"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
}


@contextmanager
def ends_in_time() -> Iterator[None]:
    began_s = time.monotonic()
    yield
    assert time.monotonic() - began_s < TIMEOUT_S + GRACE_S


@pytest.mark.parametrize("drip", [DRIPS[name] for name in DRIPS], ids=list(DRIPS))
def test_a_dripping_head_is_not_waited_for_when_readiness_is_asked(drip: tuple[bytes, bytes]):
    with dripping_server(*drip) as port, ends_in_time():
        refusal = WebSite("127.0.0.1", port, ReadyQuestion("/", ONLY_OK), Path(), {}).refusal(TIMEOUT_S)
    assert refusal is not None
    assert "the last attempt failed with" in refusal


@pytest.mark.parametrize("drip", [DRIPS["head"], DRIPS["status"]], ids=["head", "status"])
def test_a_dripping_head_is_not_waited_for_when_the_version_is_looked_for(drip: tuple[bytes, bytes]):
    with dripping_server(*drip) as port, ends_in_time(), pytest.raises(ServerFailure) as failure:
        find_running_server(CATALOG["url"], {}, Overrides(url=f"http://127.0.0.1:{port}"), TIMEOUT_S)
    assert failure.value.code == "not_ready"
    assert (
        f"127.0.0.1:{port}: GET / was not answered: no complete answer within {TIMEOUT_S} s"
        in failure.value.text
    )


@pytest.mark.parametrize("drip", [*DRIPS.values(), *BODIES.values()], ids=[*DRIPS, *BODIES])
@pytest.mark.parametrize("content", [None, {"1k.txt": ContentRecord(bytes=1024, sha256="0" * 64)}])
def test_a_dripping_answer_is_not_waited_for_when_it_is_verified(drip, content):
    with dripping_server(*drip) as port:
        url = f"http://127.0.0.1:{port}"
        found = find_running_server(CATALOG["url"], {}, Overrides(url=url, version="1.0"), PATIENCE_S)
        assert isinstance(found, RunningServer)
        attached = AttachedServer(found, content, TIMEOUT_S)
        with ends_in_time(), pytest.raises(ServerFailure) as failure:
            attached.verify(["/1k.txt"])
    assert failure.value.code == "wrong_answer"
    assert f"{url}: GET /1k.txt was not answered" in failure.value.text


@contextmanager
def answering(*parts: bytes) -> Iterator[int]:
    """Answer every client with these bytes, and leave the connection open."""
    with dripping_server(b"".join(parts), drip=b"") as port:
        yield port


def test_interim_answers_are_passed_over():
    interim = [b"HTTP/1.1 %d Interim\r\nLink: </a>\r\n\r\n" % status for status in (100, 102, 103, 199)]
    with answering(*interim, HEAD, b"\r\n") as port:
        assert WebSite("127.0.0.1", port, ReadyQuestion("/", ONLY_OK), Path(), {}).refusal(PATIENCE_S) is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "switched protocols"),
        (b"\x15\x03\x03 is no HTTP\r\n", r"not HTTP/1.x: it begins with '\x15\x03\x03 is no HTTP"),
    ],
)
def test_an_answer_that_is_none_is_refused_in_words_that_can_be_shown(answer: bytes, words: str):
    with answering(answer) as port:
        refusal = WebSite("127.0.0.1", port, ReadyQuestion("/", ONLY_OK), Path(), {}).refusal(PATIENCE_S)
    assert refusal is not None
    assert words in refusal
    assert refusal.isprintable()


def test_clear_text_in_place_of_tls_is_said_in_words():
    with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, pytest.raises(ServerFailure) as failure:
        find_running_server(CATALOG["url"], {}, Overrides(url=f"https://127.0.0.1:{port}"), PATIENCE_S)
    assert failure.value.text.endswith(
        "GET / was not answered: the server did not answer in TLS; it may not support TLS on this port."
    )


def test_a_name_server_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    answered = threading.Event()

    def found_late(*_: object, **__: object) -> list[object]:
        answered.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", found_late)
    with ends_in_time():
        found = find_running_server(CATALOG["url"], {}, Overrides(url="http://slow.example"), TIMEOUT_S)
    answered.set()
    assert isinstance(found, MissingServer)
    assert f"no name server has answered within {TIMEOUT_S} s" in found.fault.text


SILENT_NAME_SERVER = """
import socket, sys, time
from loadcurve._engine import DatabaseError
from loadcurve.server.database import version_at
silent = socket.socket(type=socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
began_s = time.monotonic()
try:
    version_at(sys.argv[1] + "://slow.example/test", float(sys.argv[2]))
except DatabaseError as error:
    print(error.args[0], time.monotonic() - began_s)
"""


@pytest.mark.needs("unshare")
@pytest.mark.parametrize("scheme", ["mongodb", "postgresql"])
def test_a_silent_name_server_does_not_hold_up_a_database_driver(scheme: str, tmp_path: Path):
    """The resolver of the system would wait for 10 s, in a thread that nothing can interrupt."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    script = 'ip link set lo up && mount --bind resolv.conf /etc/resolv.conf && exec "$@"'
    asking = [sys.executable, "-c", SILENT_NAME_SERVER, scheme, str(TIMEOUT_S)]
    finished = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-c", script, "sh", *asking],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "Operation not permitted" in finished.stderr:
        pytest.skip("needs separate namespaces for a network and mounts, as root may make")
    failure, took_s = finished.stdout.split()
    assert failure == "connect_timeout"
    assert float(took_s) < TIMEOUT_S + GRACE_S


@pytest.mark.parametrize("scheme", ["mongodb", "postgresql"])
def test_a_dripping_database_is_not_waited_for(scheme: str):
    with dripping_server() as port, ends_in_time():
        url = f"{scheme}://127.0.0.1:{port}/test"
        found = find_running_server(CATALOG["url"], {}, Overrides(url=url), TIMEOUT_S)
    assert isinstance(found, MissingServer)
    assert found.fault.code == "not_ready"

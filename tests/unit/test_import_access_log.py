"""An access log becomes a list of requests that a load reads."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from loadcurve.errors import BadInput
from loadcurve.imported.access_log import RequestFilter
from loadcurve.imported.left_out import Reason
from loadcurve.imported.recording import write_recording
from loadcurve.imported.weighted import Weighted, write_requests
from loadcurve.loads.requests import open_requests
from support.command import Command

LOGS = Path("tests/data/tools/access-logs")
ASKED = {
    "/": 1.0, '/q?x="y"': 1.0, r"/back\slash": 1.0, "/stra%C3%9Fe": 2.0, "/stra%DFe": 1.0, "/frag": 1.0,
    "/moved": 1.0, "/none": 1.0, "/x": 1.0, "/index.html": 1.0, "/lt<&>'.html": 1.0, "/ctl%01%7F": 1.0,
}  # fmt: skip
"""What was sent to the servers whose logs these are, and answered by all."""
OF_NGINX = {"/a%20b": 1.0, "/tab%09here": 1.0}
"""What Apache logs without a version, and so as cut off."""
LOG = """127.0.0.1 - - [24/Nov/2026:02:30:20 +0000] "GET /a?x=1 HTTP/1.1" 200 1024
127.0.0.1 - ann [24/Nov/2026:02:30:21 +0000] "GET /b HTTP/1.1" 404 - "-" "curl/7.88.1" 0.004
::1 - - [24/Nov/2026:02:30:21 +0000] "GET /a?x=1 HTTP/2.0" 304 0 "http://x/" "a \\"quoted\\" agent"
127.0.0.1 - - [24/Nov/2026:02:30:22 +0000] "POST /form HTTP/1.1" 200 12 "-" "-"
127.0.0.1 - - [24/Nov/2026:02:30:23 +0000] "\\x16\\x03\\x01" 400 150 "-" "-"
"""


def without(*paths: str) -> dict[str, float]:
    return {path: weight for path, weight in ASKED.items() if path not in paths}


def logged(request: str, status: str = "200") -> str:
    return f'127.0.0.1 - - [24/Nov/2026:02:30:20 +0000] "{request}" {status} 12 "-" "-"\n'


def written(tmp_path: Path, log: str | bytes) -> tuple[Weighted, dict[str, float]]:
    """Return what a log gives, and the weights of the list as a load reads it."""
    (tmp_path / "access.log").write_bytes(log.encode() if isinstance(log, str) else log)
    (tmp_path / "requests.txt").unlink(missing_ok=True)
    weighted = write_requests(tmp_path / "access.log", tmp_path / "requests.txt", RequestFilter())
    listed = open_requests(tmp_path / "requests.txt")
    return weighted, {path: weight or 1.0 for path, weight, _ in listed.short or []}


def test_paths_are_weighed_by_how_often_they_were_asked_for(tmp_path: Path):
    weighted, listed = written(tmp_path, LOG)
    assert (weighted.requests, weighted.paths) == (3, 2)
    assert weighted.left_out.counts == {Reason.METHOD: 1, Reason.NO_PATH: 1}
    assert listed == {"/a?x=1": 2.0, "/b": 1.0}


def test_a_path_has_the_status_that_it_had_most_often_and_of_equals_the_least(tmp_path: Path):
    statuses = {"/a": [404, 200, 404], "/b": [301, 200], "/c": [503]}
    log = "".join(
        logged(f"GET {path} HTTP/1.1", str(code)) for path, codes in statuses.items() for code in codes
    )
    written(tmp_path, log)
    assert (tmp_path / "requests.txt").read_text() == "/a 3 =404\n/b 2 =200\n/c 1 =503\n"


def test_what_switched_protocols_is_left_out(tmp_path: Path):
    log = logged("GET /socket HTTP/1.1", "101") + logged("GET /a HTTP/1.1")
    weighted, listed = written(tmp_path, log)
    assert listed == {"/a": 1.0}
    assert weighted.left_out.counts == {Reason.SWITCHED: 1}


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ([], ["/a?x=1 2 =200", "/b 1 =404"]),
        (["--status", "2xx"], ["/a?x=1 1 =200"]),
        (["--status", "304, 4XX"], ["/a?x=1 1 =304", "/b 1 =404"]),
        (["--method", "post"], ["/form 1 =200"]),
    ],
)
def test_requests_of_a_log_are_taken_by_method_and_by_status(
    tmp_path: Path, options: list[str], lines: list[str]
):
    command = Command(tmp_path)
    command.write("access.log", LOG)
    done = command.run("import", "access.log", "--as", "requests", "--out", "list.txt", *options)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "list.txt").read_text().splitlines() == lines
    assert ('method = "POST"' in done.stderr) == ("post" in options)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--as", "requests", "--status", "2x"], "--status 2x: expected statuses such as 404 or 2xx"),
        (["--as", "requests", "--status", "600"], "--status 600: expected statuses"),
        (["--as", "requests", "--method", "G T"], "--method G T: expected a method such as GET"),
        (["--as", "requests", "--status", "5xx"], "no GET request; expected at least one"),
        (["--status", "2xx"], "--method and --status: expected --as requests or --as recording"),
    ],
)
def test_what_is_no_method_or_status_is_refused(tmp_path: Path, options: list[str], found: str):
    command = Command(tmp_path)
    command.write("access.log", LOG)
    done = command.run("import", "access.log", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert found in " ".join(done.stderr.split())
    assert not (tmp_path / "requests.txt").exists()


def test_the_command_writes_the_list_and_prints_its_name(tmp_path: Path):
    command = Command(tmp_path)
    command.write("access.log", LOG)
    done = command.run("import", "access.log", "--as", "requests", "--out", "list.txt")
    assert (done.returncode, done.stdout) == (0, "list.txt\n")
    again = command.run("import", "access.log", "--as", "requests", "--out", "list.txt")
    assert again.returncode == 2
    assert "never overwritten" in again.stderr
    other = command.run("import", "access.log", "--as", "requests", "--point", "rate=1")
    assert other.returncode == 2


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        # What nginx 1.22 and Apache 2.4 log of the same bytes, and nginx with escape=json.
        (r"/q?x=\x22y\x22", '/q?x="y"'),
        (r"/q?x=\"y\"", '/q?x="y"'),
        (r"/back\x5Cslash", r"/back\slash"),
        (r"/back\\slash", r"/back\slash"),
        (r"/stra\xC3\x9Fe", "/stra%C3%9Fe"),
        (r"/stra\xc3\x9fe", "/stra%C3%9Fe"),
        ("/straße", "/stra%C3%9Fe"),
        (r"/stra\xdfe", "/stra%DFe"),
        ("/stra%C3%9Fe", "/stra%C3%9Fe"),
        (r"/tab\there", "/tab%09here"),
        (r"/ctl\x01\x7F", "/ctl%01%7F"),
        (r"/ctl\u0001", "/ctl%01"),
        ("/a b", "/a%20b"),
        # Both servers answer with what is at /frag.
        ("/frag#ment", "/frag"),
        ("/lt<&>'.html", "/lt<&>'.html"),
    ],
)
def test_the_path_that_was_asked_for_is_in_the_list(tmp_path: Path, asked: str, listed: str):
    assert written(tmp_path, logged(f"GET {asked} HTTP/1.1"))[1] == {listed: 1.0}


@pytest.mark.parametrize(
    ("log", "asked"),
    [
        ("nginx-1.22.log", ASKED | OF_NGINX),
        ("nginx-1.22-escape-json.log", ASKED | OF_NGINX),
        ("apache-2.4.log", ASKED),
        # It says what nginx took for the path, also of HTTP/0.9 and of an absolute address.
        ("nginx-1.22.jsonl", without("/ctl%01%7F") | {"/old": 1.0, "/absolute": 1.0}),
    ],
)
def test_the_logs_of_servers_give_what_they_were_asked_for(tmp_path: Path, log: str, asked: dict[str, float]):
    weighted, listed = written(tmp_path, (LOGS / log).read_bytes())
    assert listed == asked
    assert weighted.left_out.counts.keys() == {Reason.NO_PATH, Reason.METHOD}


def test_a_log_of_caddy_gives_what_it_was_asked_for_but_paths_whose_bytes_it_replaces(tmp_path: Path):
    weighted, listed = written(tmp_path, (LOGS / "caddy-2.6.jsonl").read_bytes())
    # To Caddy a "#" is a character of the path, and it refuses control characters before it logs.
    asked = without("/frag", "/stra%DFe", "/ctl%01%7F") | {"/frag%23ment": 1.0}
    assert listed == asked
    assert weighted.left_out.counts == {Reason.METHOD: 2, Reason.NO_PATH: 1, Reason.LOST_BYTES: 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", Reason.NO_LINE),
        ("[" * 100_000, Reason.NO_LINE),
        ("[]", Reason.NO_LINE),
        ('{"level":"info","msg":"started"}', Reason.NO_LINE),
        ('{"status":200,"request":"GET /\\ud800 HTTP/1.1"}', Reason.NO_LINE),
        ('{"status":200,"msec":1' + 400 * "0" + ',"request":"GET /a HTTP/1.1"}', Reason.NO_LINE),
        ('{"status":"-","request":"GET /a HTTP/1.1"}', Reason.NO_STATUS),
        ('{"status":0,"request":{"method":"GET","uri":"/a"}}', Reason.NO_STATUS),
        ('{"status":true,"request":{"method":"GET","uri":"/a"}}', Reason.NO_STATUS),
        ('{"status":200,"request":{"method":"GET","uri":"http://x/"}}', Reason.NO_PATH),
        ('{"status":200,"request":null}', Reason.NO_PATH),
        ('{"status":200,"request":{"method":1,"uri":2}}', Reason.NO_PATH),
        ("", Reason.BLANK),
    ],
)
def test_an_odd_line_of_json_is_left_out_and_counted(tmp_path: Path, line: str, reason: Reason):
    good = '{"status":200,"request":{"method":"GET","uri":"/a"}}\n'
    weighted, listed = written(tmp_path, f"{good}{line}\n{good}")
    assert listed == {"/a": 2.0}
    assert weighted.left_out.counts == {reason: 1}


def test_bytes_that_apache_escapes_within_json_are_those_that_were_sent(tmp_path: Path):
    # LogFormat "{\"request\":\"%r\",\"status\":%>s}" of Apache 2.4; \\x41 is a backslash and x41.
    log = r"""{"request":"GET /stra\xc3\x9fe\x41?q=\"y\" HTTP/1.1","status":200}""" + "\n"
    assert written(tmp_path, log)[1] == {'/stra%C3%9FeA?q="y"': 1.0}
    log = r"""{"request":"GET /a\\x41 HTTP/1.1","status":200}""" + "\n"
    assert written(tmp_path, log)[1] == {r"/a\x41": 1.0}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ("\n", Reason.BLANK),
        ("Segmentation fault\n", Reason.NO_LINE),
        (logged("GET /a HTTP/1.1", "-"), Reason.NO_STATUS),
        (logged("GET /a HTTP/1.1", "000"), Reason.NO_STATUS),
        (logged("GET /a HT", "400"), Reason.NO_PATH),
        (logged("GET /a", "200"), Reason.NO_PATH),
        (logged("GET http://x/ HTTP/1.1"), Reason.NO_PATH),
        (logged(r"\x16\x03\x01\x02\x00\x01\xFC\x03\x03\x22\x5C", "400"), Reason.NO_PATH),
        (logged("", "400"), Reason.NO_PATH),
        (logged("-", "408"), Reason.NO_PATH),
        (logged(f"GET /{'y' * 70_000} HTTP/1.1", "414"), Reason.LONG),
        (LOG.splitlines()[0][:40] + "\n", Reason.NO_LINE),
    ],
)
def test_an_odd_line_is_left_out_counted_and_shown(tmp_path: Path, odd: str, reason: Reason):
    weighted, listed = written(tmp_path, logged("GET /a HTTP/1.1") + odd + logged("GET /b HTTP/1.1"))
    assert listed == {"/a": 1.0, "/b": 1.0}
    assert weighted.left_out.counts == {reason: 1}
    said = list(weighted.left_out.words())
    assert said[0] == f"1 line left out, {reason.value}"
    assert reason is Reason.BLANK or said[1].startswith(f"  line 2: {ascii(odd[:10])[:-1]}")


def test_the_command_shows_the_first_lines_that_it_leaves_out(tmp_path: Path):
    command = Command(tmp_path)
    command.write("access.log", LOG + "Segmentation fault\n" + 4 * "?\n" + 9 * LOG)
    done = command.run("import", "access.log", "--as", "requests", "--out", "list.txt")
    assert done.returncode == 0
    assert "5 lines left out, not of an access log" in done.stderr
    assert re.findall(r"line \d+: '(?:Seg.*|\?)'", done.stderr) == [
        "line 6: 'Segmentation fault'",
        "line 7: '?'",
        "line 8: '?'",
    ]


def test_a_last_line_without_its_end_is_read(tmp_path: Path):
    assert written(tmp_path, (logged("GET /a HTTP/1.1") + logged("GET /b HTTP/1.1"))[:-1])[1].keys() == {
        "/a",
        "/b",
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            logged("GET /a HTTP/1.1") + 2 * "Segmentation fault\n",
            r"2 of 3 lines cannot be read, more than 50 %; line 2: 'Segmentation fault'; .*expected a line",
        ),
        (LOG.replace("GET", "PUT"), "no GET request"),
        ("", "no GET request"),
        ("\n\n", "no GET request"),
    ],
)
def test_what_is_no_access_log_is_refused(tmp_path: Path, text: str, found: str):
    (tmp_path / "access.log").write_text(text)
    with pytest.raises(BadInput, match=found):
        write_requests(tmp_path / "access.log", tmp_path / "requests.txt", RequestFilter())
    assert not (tmp_path / "requests.txt").exists()


parts = some.sampled_from(
    [b"/", b"#", b" ", b'"', b"\\", b"\\x", b"\\x22", b"\\u", b"\\u00e9", b"\xc3\x9f", b"\0", b"%", b"?"]
) | some.binary(min_size=1, max_size=3)  # fmt: skip
targets = some.lists(parts, max_size=8).map(b"".join)


@some.composite
def lines(draw: some.DrawFn) -> bytes:
    """Draw a line of a log with any target, perhaps cut off or with any bytes in its place."""
    asked = b"GET /" + draw(targets) + draw(some.sampled_from([b" HTTP/1.1", b" HTTP/2.0", b""]))
    status = draw(some.sampled_from([b"200", b"404", b"-", b"000", b"999"]))
    line = b'::1 - - [24/Nov/2026:02:30:20 +0000] "%b" %b 12' % (asked, status)
    if draw(some.booleans()):
        line = line[: draw(some.integers(0, len(line)))] + draw(some.binary(max_size=5))
    return line.replace(b"\n", b"")


@some.composite
def lines_of_json(draw: some.DrawFn) -> bytes:
    """Draw the same as JSON, in the form of Caddy or of nginx."""
    asked = "/" + draw(some.text(max_size=8))
    request = draw(some.sampled_from([{"method": "GET", "uri": asked}, f"GET {asked} HTTP/1.1", None, asked]))
    members = {"status": draw(some.sampled_from([200, "404", 0, "-", None])), "ts": 1.5, "request": request}
    line = json.dumps(members, ensure_ascii=draw(some.booleans())).encode(errors="surrogatepass")
    if draw(some.booleans()):
        line = line[: draw(some.integers(0, len(line)))] + draw(some.binary(max_size=5))
    return line.replace(b"\n", b"")


GOOD = logged("GET /good HTTP/1.1").encode()
GOOD_JSON = b'{"status":200,"ts":1795777094,"request":{"method":"GET","uri":"/good"}}\n'


@settings(max_examples=25)
@given(
    some.tuples(some.just(GOOD), some.lists(lines(), min_size=1, max_size=8))
    | some.tuples(some.just(GOOD_JSON), some.lists(lines_of_json(), min_size=1, max_size=8))
)
def test_any_line_is_a_request_that_a_load_accepts_or_is_left_out_and_counted(
    log: tuple[bytes, list[bytes]],
):
    with tempfile.TemporaryDirectory() as folder:
        require_each_line_counted(Path(folder), *log)


def require_each_line_counted(folder: Path, good: bytes, drawn: list[bytes]) -> None:
    # Enough others that the share of the odd ones is below what is refused.
    log = good + b"".join(line + b"\n" for line in drawn) + 8 * good
    weighted, listed = written(folder, log)
    assert weighted.requests + weighted.left_out.total == len(drawn) + 9
    assert sum(listed.values()) == weighted.requests
    recorded = write_recording(folder / "access.log", folder / "recording.txt", RequestFilter())
    assert recorded.requests + recorded.left_out.total == len(drawn) + 9
    assert open_requests(folder / "recording.txt").count == recorded.requests


def test_every_byte_of_a_path_is_written_so_that_a_load_accepts_it(tmp_path: Path):
    log = "".join(logged(f"GET /{byte}\\x{byte:02x}b HTTP/1.1") for byte in range(256))
    (tmp_path / "access.log").write_text(log)
    weighted = write_requests(tmp_path / "access.log", tmp_path / "requests.txt", RequestFilter())
    assert (weighted.paths, weighted.left_out.total) == (256, 0)
    assert open_requests(tmp_path / "requests.txt").count == 256


def test_an_access_log_in_place_of_a_list_of_requests_is_named_with_the_command_that_makes_one(tmp_path):
    log = tmp_path / "my access.log"
    log.write_text('192.0.2.1 - - [29/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5\n' * 20)
    with pytest.raises(BadInput) as refused:
        open_requests(log)
    said = str(refused.value)
    assert f"loadcurve import '{log}' --as recording" in said
    assert "\n" not in said


def test_requests_that_are_left_out_for_their_method_name_the_option_that_takes_it(tmp_path):
    log = tmp_path / "access.log"
    lines = [
        f'192.0.2.1 - - [29/Nov/2026:10:00:00 +0000] "{one} /a HTTP/1.1" 200 5\n' for one in ("GET", "POST")
    ]
    log.write_text("".join(lines * 10))
    ended = Command(tmp_path).run("import", "access.log", "--as", "requests")
    assert "10 lines left out, by another method (--method takes it)" in ended.stderr

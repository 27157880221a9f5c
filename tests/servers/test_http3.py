"""Servers with `http3 = true`, asked by gtlsclient and Chromium, which share no code with ours, and by us."""

import base64
import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from server_support import CATALOG

from loadcurve.loads.http import ClosedLoad
from loadcurve.protocol import BY_ALT_SVC, HTTP3
from loadcurve.result.load import LoadResult
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.plan import plan_at_point
from loadcurve.runs.web_server import WebServerUnderLoad
from loadcurve.server.content import content_of_folder, make_content
from loadcurve.server.found import FoundServer, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.server.installed.place import installed_server
from loadcurve.server.settings import UnusableSetting

SPEAKING = [entry for entry in CATALOG if "http3" in entry.description.settings]
BOTH = {"tls": True, "http3": True}
ANSWER_TIMEOUT_S = 20


def speaking(name: str, place: str) -> FoundServer:
    """Return a server of PATH, or one that ``loadcurve servers install`` has brought; skip where none is."""
    entry = CATALOG[name]
    installed = installed_server(name)
    if place == "installed" and entry.description.recipe is None:
        pytest.skip(f"{name} has no installation of its own")
    if place == "installed" and installed is None:
        pytest.skip(f"needs {name} by: loadcurve servers install {name}")
    try:
        found = find_server(
            entry, BOTH, Overrides(binary=installed.program if place == "installed" else None)
        )
    except UnusableSetting as refused:
        pytest.skip(str(refused))
    if not isinstance(found, FoundServer):
        pytest.skip(found.reason)
    return found


def by_http3(port: int, paths: list[str], folder: Path) -> list[bytes]:
    """Fetch files over HTTP/3 and return their bytes; the client ends with 0 even where nobody answers."""
    folder.mkdir()
    command = ["gtlsclient", "--quiet", "--no-quic-dump", "--exit-on-all-streams-close", "--sni=localhost"]
    command += [f"--timeout={ANSWER_TIMEOUT_S}s", f"--download={folder}", "127.0.0.1", str(port)]
    command += [f"https://localhost:{port}{path}" for path in paths]
    subprocess.run(command, capture_output=True, check=False, timeout=3 * ANSWER_TIMEOUT_S)
    files = [folder / path.rpartition("/")[2] for path in paths]
    return [file.read_bytes() if file.is_file() else b"" for file in files]


@pytest.mark.needs("gtlsclient")
@pytest.mark.parametrize("place", ["path", "installed"])
@pytest.mark.parametrize(
    "name", ["bun-http", "caddy", "nginx", "envoy", "gtlsserver", "hyper", "hypercorn", "limit"]
)
def test_a_server_with_http3_answers_on_the_udp_port_of_the_same_number(
    name, place, content_folder, tmp_path
):
    found = speaking(name, place)
    with Server(found, content_folder, content_of_folder(content_folder)) as server:
        answers = by_http3(server.port, ["/1k.txt", "/deep/64k.txt"], tmp_path / "got")
    assert answers == [(content_folder / path).read_bytes() for path in ("1k.txt", "deep/64k.txt")]


def shown_by_chromium(port: int, path: str, profile: Path) -> str:
    """Return the page that Chromium shows of a server, which it may speak to over HTTP/3 alone."""
    trusted = ssl.get_server_certificate(("127.0.0.1", port))
    key = subprocess.run(
        "openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary",
        shell=True,
        input=trusted.encode(),
        capture_output=True,
        check=True,
    ).stdout
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += [f"--user-data-dir={profile}", f"--origin-to-force-quic-on=127.0.0.1:{port}"]
    # It makes an exception for a key that it is given, and trusts no authority of ours.
    command += [f"--ignore-certificate-errors-spki-list={base64.b64encode(key).decode()}"]
    command += ["--dump-dom", f"https://127.0.0.1:{port}{path}"]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout


PAGE = """<!doctype html><title>spoken</title><body><script>
document.body.textContent = performance.getEntriesByType("navigation")[0].nextHopProtocol
</script></body>
"""


@pytest.mark.needs("openssl")
@pytest.mark.needs("chromium")
@pytest.mark.parametrize("place", ["path", "installed"])
@pytest.mark.parametrize("name", ["caddy", "nginx", "envoy", "hyper", "limit"])
def test_a_browser_shows_a_page_of_a_server_over_http3(name, place, state, tmp_path):
    found = speaking(name, place)
    content = state / "pages"
    content.mkdir(exist_ok=True)
    (content / "page.html").write_text(PAGE)
    with Server(found, content, content_of_folder(content)) as server:
        shown = shown_by_chromium(server.port, "/page.html", tmp_path / "profile")
    assert "<body>h3" in shown


@pytest.mark.long
@pytest.mark.parametrize("place", ["path", "installed"])
@pytest.mark.parametrize(("name", "is_fair"), [("caddy", True), ("envoy", False)])
def test_answers_that_a_server_leaves_behind_are_counted(name, is_fair, place, state):
    found = speaking(name, place)
    folder = state / "long"
    folder.mkdir(exist_ok=True)
    content = make_content(folder, {"20k.bin": 20 << 10}, seed=1)
    with Server(found, folder, content) as server:
        load = ClosedLoad.model_validate(
            {
                "model": "closed",
                "http": HTTP3,
                "connections": 10,
                "streams": 64,
                "duration": "10s",
                "requests": ["/20k.bin"],
            }
        )
        plan = plan_at_point(load, server.address, content, [0], seed=0, transport=server.transport)
        result = CHOSEN.run(plan, lambda _: None)
    assert result.http3 is not None
    starved = result.http3.streams.answers_starved
    if not is_fair:
        # It sends what is new before the rest of what it has begun, as long as a connection is full.
        assert starved
    elif result.http3.dropped.by_client == 0:
        # What is lost here is sent again behind later answers.
        assert starved == 0


@pytest.mark.needs("ss")
@pytest.mark.parametrize("place", ["path", "installed"])
def test_the_receive_buffer_of_nginx_is_what_a_study_asks_for(place, content_folder):
    bytes_asked = 64 << 10
    found = speaking("nginx", place)
    settings = found.settings | {"udp_receive_buffer": bytes_asked}
    content = content_of_folder(content_folder)
    with Server(replace(found, settings=settings), content_folder, content) as server:
        command = ["ss", "--udp", "--all", "--memory", "--numeric", f"sport = :{server.port}"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # The kernel doubles what is asked for, for its own bookkeeping (socket(7)).
    assert f",rb{2 * bytes_asked}," in shown


@pytest.mark.parametrize("place", ["path", "installed"])
@pytest.mark.parametrize("name", ["bun-http", "caddy", "nginx", "envoy", "gtlsserver", "hyper", "limit"])
def test_a_load_over_http3_gets_every_answer_whole_whatever_has_a_socket(name, place, content_folder):
    found = speaking(name, place)
    content = content_of_folder(content_folder)
    with Server(found, content_folder, content) as server:
        for sockets, opened in (("connection", 4), ("thread", 1)):
            load = ClosedLoad.model_validate(
                {
                    "model": "closed",
                    "http": HTTP3,
                    "sockets": sockets,
                    "connections": 4,
                    "streams": 8,
                    "requests_total": 1000,
                    # More than 1,000 requests on a connection make nginx end it.
                    "warmup": 0,
                    "requests": ["/1k.txt"],
                }
            )
            plan = plan_at_point(load, server.address, content, [0], seed=0, transport=server.transport)
            result = CHOSEN.run(plan, lambda _: None)
            assert result.load.sockets == sockets
            assert result.http3 is not None
            assert (result.http3.sockets.opened, result.http3.sockets.receive_offload) == (opened, opened)
            every_answer_is_whole(result)


def every_answer_is_whole(result: LoadResult) -> None:
    """Check the result of 1,000 requests on four connections."""
    assert (result.load.http, result.requests.answered, result.requests.failed) == ("3", 1000, 0)
    assert result.bytes.body == 1000 * 1024
    assert result.tls is not None
    assert (result.tls.protocol, result.tls.handshakes.full) == ("h3", 4)
    http3 = result.http3
    assert (http3.bodies.compared, http3.bodies.expected_bytes) == (1000, result.bytes.body)
    assert (http3.handshakes_ms.full.count, http3.handshakes_ms.resumed.count) == (4, 0)
    assert http3.certificate_bytes is not None
    assert http3.sockets.of_server is not None
    # Each datagram that one side's calls moved is one of QUIC's.
    assert http3.datagrams.sent >= http3.packets.datagrams_sent
    # None that arrives is longer than the client allows, which is what a frame of Ethernet holds.
    assert http3.packets.datagrams_received * 1472 > result.bytes.body
    assert http3.dropped.by_server is not None
    assert {one.field for one in http3.unknown} == {
        "packets.spurious",
        "congestion.server_control",
        "congestion.server_initial_window_bytes",
    }


@pytest.mark.parametrize("place", ["path", "installed"])
def test_caddy_announces_by_itself_where_it_speaks_http3_and_a_load_follows(place, content_folder):
    found = speaking("caddy", place)
    content = content_of_folder(content_folder)
    table = {"model": "closed", "http": BY_ALT_SVC, "connections": 2, "streams": 4, "requests_total": 100}
    load = ClosedLoad.model_validate(table | {"requests": ["/1k.txt"]})
    with Server(found, content_folder, content) as server:
        server.verify(["/1k.txt"], load)
        under_load = WebServerUnderLoad(server, load, content, [0])
        result = CHOSEN.run(under_load.plan({}, seed=0), lambda _: None)
        address, port = server.address, server.port
    assert (result.load.http, result.requests.answered, result.requests.failed) == ("3", 100, 0)
    announced = result.load.announced
    assert (announced.request, announced.address) == ("GET /1k.txt", address)
    assert announced.said == f'h3=":{port}"; ma=2592000'


@pytest.mark.parametrize("place", ["path", "installed"])
@pytest.mark.parametrize("name", ["caddy", "nginx", "envoy", "hyper"])
def test_bodies_of_many_datagrams_arrive_whatever_a_server_joins(name, place, content_folder):
    found = speaking(name, place)
    content = content_of_folder(content_folder)
    upload = {"path": "/1k.txt", "method": "POST", "body": "x" * 100_000}
    with Server(found, content_folder, content) as server:
        table = {
            "model": "closed",
            "http": HTTP3,
            "connections": 2,
            "requests_total": 40,
            "requests": [upload],
        }
        load = ClosedLoad.model_validate(table)
        plan = plan_at_point(load, server.address, content, [0], seed=0, transport=server.transport)
        result = CHOSEN.run(plan, lambda _: None)
    # What servers of files answer to it is theirs.
    assert (result.requests.answered, result.requests.failed) == (40, 0)


def udp_ports() -> set[int]:
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    return {int(line.split()[1].rpartition(":")[2], 16) for line in lines}


@pytest.mark.parametrize("place", ["path", "installed"])
@pytest.mark.parametrize("name", ["caddy", "nginx", "envoy", "hyper", "hypercorn", "limit"])
def test_a_server_has_its_udp_port_only_with_http3(name, place, content_folder):
    found = speaking(name, place)
    has_port = {}
    for http3 in (True, False):
        set_so = replace(found, settings={**found.settings, "http3": http3})
        with Server(set_so, content_folder, content_of_folder(content_folder)) as server:
            has_port[http3] = server.port in udp_ports()
    assert has_port == {True: True, False: False}


# Those with packages beside them are refused for these first, where they are not installed; one has
# HTTP/3 alone.
@pytest.mark.parametrize(
    "entry",
    [one for one in SPEAKING if not one.description.folders and not one.description.ready.quic],
    ids=lambda entry: entry.name,
)
def test_http3_without_tls_is_refused_with_what_is_missing(entry):
    with pytest.raises(UnusableSetting, match=r"HTTP/3 is always encrypted\. Add tls = true\."):
        find_server(entry, {"http3": True}, Overrides(version="9.0", binary=Path("/bin/true")))


def resumed_load(settings, load, content_folder):
    """Return the result of a load on `limit` with these settings, of two requests on each connection."""
    found = find_server(CATALOG["limit"], {**BOTH, **settings}, Overrides())
    content = content_of_folder(content_folder)
    table = {"model": "closed", "http": HTTP3, "connections": 1, "calls": 2, "requests_total": 120}
    load = ClosedLoad.model_validate({**table, "full_handshakes": 0, "requests": ["/1k.txt"], **load})
    with Server(found, content_folder, content) as server:
        plan = plan_at_point(load, server.address, content, [0], seed=0, transport=server.transport)
        return CHOSEN.run(plan, lambda _: None)


def counts_by_class(result):
    assert (result.requests.ok, result.requests.failed) == (120, 0)
    handshakes = result.http3.handshakes_ms
    return {name: getattr(handshakes, name).count for name in type(handshakes).model_fields}


def test_early_data_is_accepted_or_refused_and_every_request_answered(content_folder):
    counted = counts_by_class(resumed_load({"early_data": 1}, {"early_data": 1}, content_folder))
    # The first has no session to resume. Connections of the warm-up are counted, too.
    assert counted["early_accepted"] >= 59, counted
    assert counted["early_rejected"] == counted["after_retry"] == 0, counted
    asked_of_some = counts_by_class(resumed_load({"early_data": 0.5}, {"early_data": 1}, content_folder))
    assert min(asked_of_some["early_accepted"], asked_of_some["early_rejected"]) >= 5, asked_of_some


def test_handshakes_after_a_retry_are_counted_as_such(content_folder):
    counted = counts_by_class(resumed_load({"retry": True}, {}, content_folder))
    assert counted["after_retry"] == sum(counted.values()) >= 60, counted

"""Web servers belong to one kind of load and databases to the other; what is another's is left alone."""

import pytest

from loadcurve.errors import BadInput
from loadcurve.runs import database as database_module
from loadcurve.runs import fitting
from loadcurve.runs.fitting import require_own_tables
from loadcurve.runs.prepare import find_servers, require_fitting
from loadcurve.server.catalog import load_catalog
from loadcurve.server.running import RunningServer
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support.fake_database import FakeEngine

ON_DATABASES = 'model = "ycsb"\nworkload = "a"\nthreads = 4\noperations = 5\n'
ON_WEB_SERVERS = 'model = "closed"\nrequests = ["/a"]\nconnections = 1\nrequests_total = 5\n'
SERVERS_LINE = 9


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    fake = FakeEngine()
    fake.install(monkeypatch, database_module, fitting)
    return fake


def document_of(folder, load, servers, head=""):
    path = folder / "s.toml"
    path.write_text(f'title = "x"\n{head}\n[load]\n{load}[sweep]\ntimeout = [1]\n{servers}\n')
    return TomlDocument.read(path)


def problems_in(folder, load, servers, head=""):
    document = document_of(folder, load, servers, head)
    with pytest.raises(BadInput) as raised:
        find_servers(document.to_model(Study), document, load_catalog(), lambda _: None)
    return [line.removeprefix(f"{document.path}:") for line in str(raised.value).splitlines()]


def test_a_web_server_is_refused_under_a_load_on_databases(tmp_path):
    [problem] = problems_in(tmp_path, ON_DATABASES, "[servers.limit]")
    assert problem.startswith(f"{SERVERS_LINE + 1}: servers.limit: ")
    models = '"closed" or "open" or "sessions"'
    assert problem.endswith(f"is a web server; expected model = {models} in [load], or a database here")


@pytest.mark.parametrize("name", ["ferretdb", "postgresql", "mongodb"])
def test_a_database_is_refused_under_a_load_on_web_servers(tmp_path, name):
    [problem] = problems_in(tmp_path, ON_WEB_SERVERS, f"[servers.{name}]", head="content.a = 1")
    assert problem.startswith(f"{SERVERS_LINE + 1}: servers.{name}: ")
    assert problem.endswith('is a database; expected model = "ycsb" in [load], or a web server here')


def test_an_unknown_setting_of_the_driver_is_reported_with_its_line(tmp_path):
    servers = "[servers.ferretdb]\ndriver = { wrong = 1 }"
    assert problems_in(tmp_path, ON_DATABASES, servers) == [
        f"{SERVERS_LINE + 2}: servers.ferretdb.driver: mongodb has no setting wrong"
    ]


def test_a_driver_means_nothing_to_a_web_server(tmp_path):
    servers = "[servers.limit]\ndriver = { write_concern = 1 }"
    assert problems_in(tmp_path, ON_WEB_SERVERS, servers, head="content.a = 1") == [
        f"{SERVERS_LINE + 2}: servers.limit.driver: not used by a load on web servers; remove it"
    ]


def running(url="mongodb://127.0.0.1:1"):
    return RunningServer(load_catalog()["url"], url, "127.0.0.1:1", "127.0.0.1:1", "7.0", {}, "mongodb")


def own_tables(folder, keys=""):
    document = document_of(folder, ON_DATABASES + keys, '[servers.url]\nurl = "mongodb://127.0.0.1:1"')
    require_own_tables(document.to_model(Study), document, {"url": running()})


def test_a_running_database_whose_table_is_anothers_is_refused_with_the_line(engine, tmp_path):
    engine.tables = {"loadcurve.usertable": 5}
    with pytest.raises(
        BadInput, match=r"loadcurve\.usertable already exists and was not created by Loadcurve"
    ):
        own_tables(tmp_path)
    assert engine.tables == {"loadcurve.usertable": 5}


def test_another_table_or_one_of_ours_is_no_obstacle(engine, tmp_path):
    engine.tables, engine.ours = {"loadcurve.usertable": 5, "mine.usertable": 1}, {"mine.usertable"}
    own_tables(tmp_path, 'table = "other"\n')
    own_tables(tmp_path, 'namespace = "mine"\n')


def test_a_database_that_lets_nobody_in_is_left_to_its_trials(engine, tmp_path):
    engine.refuses = "needs a password"
    own_tables(tmp_path)


def over(http, servers, folder):
    load = f'{ON_WEB_SERVERS}http = "{http}"\n'
    document = document_of(folder, load, servers, head="content.a = 1")
    return [line.removeprefix(f"{document.path}:") for line in _refused(document).splitlines()]


def _refused(document):
    try:
        require_fitting(document.to_model(Study), document, load_catalog())
    except BadInput as error:
        return str(error)
    return ""


BECAUSE = 'because http = "{}" in [load]'


@pytest.mark.parametrize(
    ("http", "servers", "missing"),
    [
        ("3", "[servers.nginx]", ["tls: missing", "http3: missing"]),
        ("3", "[servers.nginx]\ntls = true", ["http3: missing"]),
        ("3", "[servers.caddy]\nhttp3 = true", ["tls: missing"]),
        ("3-by-alt-svc", "[servers.nginx]", ["tls: missing"]),
        ("2", "[servers.h2o]", ["http2: missing"]),
        ("3", "[servers.a]\nuse = 'command'\nstart = 'a {port}'\nversion = '1'", ["tls: missing"]),
    ],
)
def test_a_server_that_is_not_set_to_speak_the_loads_http_is_refused_by_that_setting(
    http, servers, missing, tmp_path
):
    name = servers.splitlines()[0].strip("[]")
    expected = [f"11: {name}.{one}; expected true, {BECAUSE.format(http)}" for one in missing]
    assert over(http, servers, tmp_path) == expected


def test_a_setting_that_is_swept_is_refused_with_the_line_of_the_sweep(tmp_path):
    text = f"10: sweep.http3: found false; expected true, {BECAUSE.format('3')}"
    document = document_of(
        tmp_path, f'{ON_WEB_SERVERS}http = "3"\n', "[servers.nginx]\ntls = true", "content.a = 1"
    )
    document.path.write_text(document.path.read_text().replace("timeout = [1]", "http3 = [true, false]"))
    document = TomlDocument.read(document.path)
    assert _refused(document) == f"{document.path}:{text}"


def test_a_server_without_tls_is_refused_under_http_3(tmp_path):
    title = "simple (Loadcurve's own)"
    text = f"11: servers.simple: {title} has no TLS; expected a server that has it, {BECAUSE.format('3')}"
    assert over("3", "[servers.simple]", tmp_path) == [text]
    url = "[servers.a]\nuse = 'url'\nurl = 'http://127.0.0.1:1'\nversion = '1'"
    text = f"13: servers.a.url: HTTP/3 has no clear text; expected a URL of https://, {BECAUSE.format('3')}"
    assert over("3", url, tmp_path) == [text]


def test_a_server_of_http_3_alone_is_refused_under_another_version(tmp_path):
    text = '11: servers.gtlsserver: gtlsserver (ngtcp2) speaks HTTP/3 alone; expected http = "3" in [load]'
    assert over("1.1", "[servers.gtlsserver]", tmp_path) == [text]


@pytest.mark.parametrize(
    ("http", "servers"),
    [
        ("3", "[servers.nginx]\ntls = true\nhttp3 = true"),
        ("3", "[servers.gtlsserver]"),
        ("3", "[servers.a]\nuse = 'url'\nurl = 'https://127.0.0.1:1'\nversion = '1'"),
        ("3-by-alt-svc", "[servers.nginx]\ntls = true"),
        # A program of the study may speak nothing but HTTP/2, without being set to it.
        ("2", "[servers.a]\nuse = 'command'\nstart = 'a {port}'\nversion = '1'"),
        ("1.1", "[servers.nginx]\ntls = true\nhttp2 = true"),
    ],
)
def test_a_server_that_speaks_the_loads_http_is_left_alone(http, servers, tmp_path):
    assert over(http, servers, tmp_path) == []


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (
            'http = "2"',
            'a proxy passes on no HTTP/2 in clear text; expected https://, or http = "1.1"',
        ),
        (
            'messages = "websocket"\nbody = "x"',
            "a WebSocket in clear text goes through no proxy here; expected a URL of wss://",
        ),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_a_proxy_does_not_pass_on_in_clear_text_is_refused_there_alone(load, why, scheme, tmp_path):
    url = f"[servers.a]\nuse = 'url'\nurl = '{scheme}://127.0.0.1:1'\nversion = '1'"
    proxied = f"{ON_WEB_SERVERS}proxy = 'http://127.0.0.1:3128'\n{load}\n"
    document = document_of(tmp_path, proxied, url, head="content.a = 1")
    expected = f"{document.path}:8: load.proxy: not used: {why}" if scheme == "http" else ""
    assert _refused(document) == expected


IN_VAIN = "only used with TLS, which no server here has; expected tls = true in its table, or https://"
WITH_TLS = "[servers.nginx]\ntls = true\n"


@pytest.mark.parametrize(
    ("load", "sweep", "servers", "where"),
    [
        ("full_handshakes = 0.5", "timeout = [1]", "[servers.nginx]", "8: load.full_handshakes"),
        ('tls = { versions = ["1.3"] }', "timeout = [1]", "[servers.nginx]", "8: load.tls"),
        ("calls = 1", "full_handshakes = [0, 1]", "[servers.nginx]", "10: sweep.full_handshakes"),
        (
            "calls = 1",
            "timeout = [1]",
            f"{WITH_TLS}[servers.caddy]\nload = {{ full_handshakes = 0 }}",
            "14: servers.caddy.load.full_handshakes",
        ),
        (
            "full_handshakes = 0.5",
            "timeout = [1]",
            "[servers.a]\nuse = 'url'\nurl = 'http://127.0.0.1:1'\nversion = '1'",
            "8: load.full_handshakes",
        ),
    ],
)
def test_options_of_tls_are_refused_where_every_server_that_gets_them_has_clear_text(
    load, sweep, servers, where, tmp_path
):
    document = document_of(tmp_path, f"{ON_WEB_SERVERS}{load}\n", servers, head="content.a = 1")
    document.path.write_text(document.path.read_text().replace("timeout = [1]", sweep))
    assert _refused(TomlDocument.read(document.path)) == f"{document.path}:{where}: {IN_VAIN}"


@pytest.mark.parametrize(
    ("sweep", "servers"),
    [
        ("timeout = [1]", WITH_TLS),
        ("timeout = [1]", f"{WITH_TLS}[servers.caddy]"),
        # Of the arms of one server, those with TLS use what all of them are given.
        ('certificate = ["rsa", "ecdsa"]', WITH_TLS),
        ("timeout = [1]", "[servers.a]\nuse = 'url'\nurl = 'https://127.0.0.1:1'\nversion = '1'"),
    ],
)
def test_options_of_tls_beside_servers_in_clear_text_are_for_the_others(sweep, servers, tmp_path):
    load = f"{ON_WEB_SERVERS}full_handshakes = 0.5\n"
    document = document_of(tmp_path, load, servers, head="content.a = 1")
    document.path.write_text(document.path.read_text().replace("timeout = [1]", sweep))
    assert _refused(TomlDocument.read(document.path)) == ""


def test_http_3_does_not_go_to_a_server_that_listens_on_a_socket(tmp_path):
    server = "[servers.a]\nuse = 'command'\nstart = 'sh {socket}'\ntls = true\nversion = '1'"
    [problem] = problems_in(tmp_path, f'{ON_WEB_SERVERS}http = "3"\n', server, head="content.a = 1")
    assert problem == "8: load.http: found 3; a listens on a socket, which has no UDP port: give it {port}"


@pytest.mark.parametrize(
    ("requests", "keys", "why"),
    [
        ('["/a", "/b"]', "", '5: load.requests: found "/b"; all messages of a load go to one WebSocket'),
        ('["/a", { path = "/a", headers = { X = "1" } }]', "", 'expected its path, "/a", and its headers'),
        ('["/a"]', "chunked = true\n", "load.chunked: messages of a WebSocket are sent without chunks"),
        ('[{ path = "/a", body = "1" }, { path = "/a", body = "2" }]', "", ""),
    ],
)
def test_all_messages_of_a_load_go_to_one_websocket(requests, keys, why, tmp_path):
    load = ON_WEB_SERVERS.replace('["/a"]', requests) + f'messages = "websocket"\n{keys}'
    url = "[servers.a]\nuse = 'url'\nurl = 'http://127.0.0.1:1'\nversion = '1'"
    refused = _refused(document_of(tmp_path, load, url))
    assert why in refused
    assert bool(refused) == bool(why)


@pytest.mark.parametrize(
    ("addresses", "refused"),
    [('["127.0.0.2", "::1"]', True), ('["127.0.0.2"]', False)],
)
def test_addresses_of_ipv6_do_not_reach_a_server_that_is_started(addresses, refused, tmp_path):
    load = f"{ON_WEB_SERVERS}source_addresses = {addresses}\n"
    document = document_of(tmp_path, load, "[servers.nginx]", head="content.a = 1")
    assert ("8: load.source_addresses: a server that is started listens on" in _refused(document)) == refused
    running = "[servers.a]\nuse = 'url'\nurl = 'http://[::1]:1'\nversion = '1'"
    assert _refused(document_of(tmp_path, load, running, head="content.a = 1")) == ""

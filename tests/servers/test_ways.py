"""Ways to real servers: a Unix socket, behind PROXY headers, and through a proxy's tunnel."""

import shutil
import socket
import subprocess
from contextlib import contextmanager

import pytest
from server_support import wait_until

from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from support.certificates import NAME, make_authority

REQUESTS = 60
CONNECTIONS, CALLS = 4, 3
# The last connection of each place may end the load with all but one of its calls unused.
UNUSED = CONNECTIONS * (CALLS - 1)
MODULES = "/usr/lib/apache2/modules"


def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program(name):
    """Return where a server is, or skip the test."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if found is None:
        pytest.skip(f"needs {name}, which is not installed")
    return found


@contextmanager
def running(command, is_ready):
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        try:
            wait_until(is_ready)
            yield
        finally:
            server.terminate()


def accepts(place):
    def is_ready():
        with socket.socket(socket.AF_INET if isinstance(place, tuple) else socket.AF_UNIX) as client:
            return client.connect_ex(place) == 0

    return is_ready


def loaded(address, authority="shop.test", scheme="http", **options):
    load = ClosedLoad.model_validate(
        {
            "model": "closed",
            "requests": ["/1k.txt"],
            "connections": CONNECTIONS,
            "requests_total": REQUESTS,
            "calls": CALLS,
            "warmup": 0,
        }
        | options
    )
    host = authority.partition(":")[0]
    plan = HttpPlan(load=load, address=address, authority=authority, scheme=scheme, host=host, threads=1)
    return ENGINE.run(plan, lambda *_: None)


@contextmanager
def nginx(tmp_path, *listens, more=""):
    """Run nginx with one server for each of some `listen`; it logs the client that the PROXY header names."""
    binary = program("nginx")
    servers = "".join(f"server {{ listen {listen}; return 200 hello; {more} }}\n" for listen in listens)
    config = tmp_path / "nginx.conf"
    config.write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}\n"
        "http { log_format seen '$proxy_protocol_addr $proxy_protocol_port $remote_port $http_host';\n"
        f"access_log {tmp_path}/log seen;\n{servers} }}",
        encoding="ascii",
    )
    address, _, rest = listens[0].split()[0].partition(":")
    ready = rest if address == "unix" else (address, int(rest))
    with running([binary, "-p", tmp_path, "-c", config], accepts(ready)):
        yield


def test_nginx_is_loaded_over_its_unix_socket(tmp_path):
    with nginx(tmp_path, f"unix:{tmp_path}/s.sock"):
        result = loaded(f"unix:{tmp_path}/s.sock")
    assert result.requests.ok == REQUESTS
    assert CALLS * result.connections.opened - UNUSED <= REQUESTS <= CALLS * result.connections.opened
    assert result.kernel.retransmits is None
    log = (tmp_path / "log").read_text(encoding="ascii").splitlines()
    assert [line.split()[-1] for line in log] == ["shop.test"] * REQUESTS


@pytest.mark.parametrize("version", ["1", "2"])
def test_nginx_reads_the_ends_of_each_connection_from_its_proxy_header(tmp_path, version):
    there = port()
    with nginx(tmp_path, f"127.0.0.1:{there} proxy_protocol"):
        result = loaded(f"127.0.0.1:{there}", proxy_protocol=version)
        assert result.requests.ok == REQUESTS
    log = [line.split() for line in (tmp_path / "log").read_text(encoding="ascii").splitlines()]
    named = [(address, named_port) for address, named_port, seen_port, _ in log if named_port == seen_port]
    assert [address for address, _ in named].count("127.0.0.1") == REQUESTS


@pytest.mark.parametrize("version", ["1", "2"])
def test_haproxy_reads_the_client_from_the_proxy_header_of_each_connection(tmp_path, version):
    there = port()
    config = tmp_path / "haproxy.cfg"
    config.write_text(
        "defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n"
        f"frontend one\n bind 127.0.0.1:{there} accept-proxy\n"
        " http-request return status 200 content-type text/plain string hello\n",
        encoding="ascii",
    )
    is_ready = accepts(("127.0.0.1", there))
    with running([program("haproxy"), "-db", "-f", config], is_ready):
        with_header = loaded(f"127.0.0.1:{there}", proxy_protocol=version)
        without = loaded(f"127.0.0.1:{there}", timeout="2s")
    assert (with_header.requests.ok, with_header.requests.failed) == (REQUESTS, 0)
    assert CALLS * with_header.connections.opened - UNUSED <= REQUESTS
    # It closes a connection that does not begin with a header, so that nothing else is what was understood.
    assert without.requests.ok == 0


@pytest.mark.parametrize("http", ["1.1", "2"])
def test_https_goes_through_the_tunnel_that_apache_opens_and_nowhere_else(tmp_path, http):
    apache = program("apache2")
    certificate = make_authority(tmp_path, "authority").issue(NAME)
    there, proxy = port(), port()
    tls = f"ssl_certificate {certificate.certificate}; ssl_certificate_key {certificate.key};"
    config = tmp_path / "apache.conf"
    modules = ("mpm_event", "authz_core", "proxy", "proxy_connect")
    loads = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in modules)
    config.write_text(
        f"ServerRoot {tmp_path}\nServerName localhost\nListen 127.0.0.1:{proxy}\n"
        f"PidFile {tmp_path}/apache.pid\n"
        f"{loads}ProxyRequests On\nAllowCONNECT {there}\nErrorLog {tmp_path}/apache.log\n",
        encoding="ascii",
    )
    load = {
        "http": http,
        "proxy": f"http://127.0.0.1:{proxy}",
        "tls": {"verify": "none", "server_name": NAME},
    }
    with (
        nginx(tmp_path, f"127.0.0.1:{there} ssl http2", more=tls),
        running([apache, "-f", config, "-DFOREGROUND"], accepts(("127.0.0.1", proxy))),
    ):
        through = loaded(f"127.0.0.1:{proxy}", f"127.0.0.1:{there}", "https", **load)
        assert (through.requests.ok, through.requests.failed) == (REQUESTS, 0)
        with pytest.raises(
            Exception, match=f"the proxy .* does not lead to 127.0.0.1:{proxy}: .* status 403"
        ):
            loaded(f"127.0.0.1:{proxy}", f"127.0.0.1:{proxy}", "https", **load)

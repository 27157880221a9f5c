"""`loadcurve load`: by which ways a server is reached."""

import json
import socketserver
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from support.recording_server import recording_server


class _LocalHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "a Unix socket"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers["Host"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def local_server(path):
    """Serve on a Unix socket, and keep what was asked for."""
    with socketserver.ThreadingUnixStreamServer(str(path), _LocalHandler) as server:
        server.daemon_threads, server.seen = True, []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def test_a_name_below_localhost_leads_to_this_machine_and_the_server_is_told_it(sandbox):
    with recording_server() as server:
        url = f"http://shop.localhost:{server.server_port}/cart"
        finished = sandbox.run("load", url, "-n", 3, "-c", 1)
        assert finished.returncode == 0, finished.stderr
        hosts = [seen.header("host") for seen in server.seen]
    assert hosts == [[f"shop.localhost:{server.server_port}"]] * 3
    assert f"GET /cart at 127.0.0.1:{server.server_port}" in finished.stdout


def test_a_unix_socket_is_loaded_by_either_spelling_and_has_no_figures_of_tcp(sandbox, tmp_path):
    path = tmp_path / "app.sock"
    for arguments, host in [
        ([f"unix:{path}:/cart"], "localhost"),
        (["http://shop.test/cart", "--unix-socket", path], "shop.test"),
    ]:
        with local_server(path) as server:
            finished = sandbox.run("load", *arguments, "-n", 4, "-c", 2, "--json")
            assert finished.returncode == 0, finished.stderr
            assert server.seen == [("/cart", host)] * 4
        path.unlink()
        result = json.loads(finished.stdout)
        assert result["requests"]["ok"] == 4
        assert set(result["kernel"].values()) == {None}
        assert "unix_socket" in [note["code"] for note in result["verdict"]["notes"]]
        assert result["load"]["address"] == f"unix:{path}"


def test_a_socket_at_which_nobody_listens_is_named(sandbox, tmp_path):
    finished = sandbox.run("load", f"unix:{tmp_path}/none.sock:/", "-n", 1)
    assert finished.returncode == 4
    assert f"{tmp_path}/none.sock: no connection" in finished.stderr


def test_a_connection_goes_elsewhere_and_the_server_is_told_the_host_of_the_url(sandbox):
    with recording_server() as server:
        url = "http://shop.test:81/cart"
        finished = sandbox.run("load", url, "--connect-to", server.authority, "-n", 2, "-c", 1)
        assert finished.returncode == 0, finished.stderr
        assert [(seen.target, seen.header("host")) for seen in server.seen] == [
            ("/cart", ["shop.test:81"])
        ] * 2


def test_an_http_proxy_is_asked_for_whole_urls_whatever_the_environment_says(sandbox, tmp_path):
    paths = tmp_path / "paths.txt"
    paths.write_text("".join(f"/{number}\n" for number in range(150)), encoding="ascii")
    with recording_server() as proxy, recording_server() as other:
        variables = {"http_proxy": f"http://{other.authority}", "LOGIN": "Aladdin:open sesame"}
        ask = ["load", "http://shop.test/cart", "--proxy", f"http://{proxy.authority}", "-c", 1]
        ask += ["--proxy-credentials-env", "LOGIN"]
        for more in (["-n", 1], ["-n", 2, "--urls", paths]):
            finished = sandbox.run(*ask, *more, **variables)
            assert finished.returncode == 0, finished.stderr
        targets = [seen.target for seen in proxy.seen]
        assert targets == [f"http://shop.test{path}" for path in ("/cart", "/0", "/1")]
        assert {seen.header("host")[0] for seen in proxy.seen} == {"shop.test"}
        # The example of RFC 7617, section 2.
        credentials = {seen.header("proxy-authorization")[0] for seen in proxy.seen}
        assert credentials == {"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}
        direct = sandbox.run("load", f"http://{proxy.authority}/direct", "-n", 1, "-c", 1, **variables)
        assert direct.returncode == 0, direct.stderr
        assert proxy.seen[-1].target == "/direct"
        assert other.seen == []

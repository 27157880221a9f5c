"""`loadcurve load`: by which ways a server is reached."""

from support.recording_server import recording_server


def test_a_name_below_localhost_leads_to_this_machine_and_the_server_is_told_it(sandbox):
    with recording_server() as server:
        url = f"http://shop.localhost:{server.server_port}/cart"
        finished = sandbox.run("load", url, "-n", 3, "-c", 1)
        assert finished.returncode == 0, finished.stderr
        hosts = [seen.header("host") for seen in server.seen]
    assert hosts == [[f"shop.localhost:{server.server_port}"]] * 3
    assert f"GET /cart at 127.0.0.1:{server.server_port}" in finished.stdout

"""`loadcurve load`: what it tells of the slowest requests."""

import json

import pytest

from support.deafened_server import deafened_server
from support.sandbox import finish, wait_until

pytestmark = pytest.mark.alone

LEAST_TIMEOUT_MS = 200
"""Linux sends no segment a second time sooner, unless the other end hints at a loss."""


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_a_request_that_had_to_be_sent_again_shows_it_apart_from_its_connections_syns(io, sandbox):
    with deafened_server() as server:
        url = f"http://127.0.0.1:{server.port}/"
        options = ["-c", 1, "-n", 3, "--warmup", "0s", "--timeout", "60s", "--io", io, "--json"]
        load = sandbox.start("load", url, *options)
        wait_until(
            lambda: server.retransmits() > 0 or load.poll() is not None, "the second request is sent again"
        )
        if load.poll() is not None and "io_uring is not available" in (refusal := finish(load).stderr):
            pytest.skip(refusal)
        at_least = server.retransmits()
        server.hear_again()
        result = json.loads(finish(load).stdout)
    assert result["requests"]["answered"] == 3
    first, second, third = sorted(result["slowest"], key=lambda slow: slow["due_s"])
    assert (first["syn_retransmits"], first["retransmits"]) == (0, 0)
    assert second == result["slowest"][0]
    assert second["service_time_ms"] >= second["first_byte_ms"] >= LEAST_TIMEOUT_MS
    assert second["syn_retransmits"] == 0
    # The kernel's own count holds what anyone on this machine has sent again meanwhile.
    assert at_least <= second["retransmits"] <= result["kernel"]["retransmits"]
    # The third request was quick. What is reported is a count of the connection, so it shows the same.
    assert third["latency_ms"] < second["latency_ms"]
    assert third["retransmits"] == second["retransmits"]

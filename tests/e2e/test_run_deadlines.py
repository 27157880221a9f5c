"""A study of calls of gRPC with a deadline, on a server that works for each of them: is its queue found?"""

import pytest

from loadcurve.explain.all import findings
from support.planted_run import run_study

pytestmark = pytest.mark.alone

STUDY = """\
title = "Deadlines"
content.page = 1
[load]
model = "closed"
messages = "grpc"
requests = ["/h.Hello/Say"]
connections = 1
timeout = "500ms"
warmup = "0s"
requests_total = 200
[load.grpc]
deadline = true
[sweep]
streams = [1, 100]
[trials]
count = 1
[servers.works]
use = "limit"
http2 = true
work = "10ms"
[servers.idles]
use = "limit"
http2 = true
"""


def test_calls_that_wait_for_a_server_beyond_their_deadline_are_explained_by_its_queue(sandbox):
    # A hundred calls of 10 ms take a second together, where the server has one thread.
    run = run_study(sandbox, "deadlines", STUDY)
    found = [one for one in findings(run) if one.code == "deadline_missed_in_queue"]
    assert [(one.server, one.points) for one in found] == [("works", [{"streams": 100}])]
    figures = {one.name: one.value for one in found[0].evidence}
    assert figures["deadline"] == 500
    assert 10 <= figures["median service time where hardly any missed it"] <= 50
    assert figures["calls under way, at most"] == 100

"""Several loads on one machine, whose interference is known by arithmetic."""

import math
import os

import pytest
from scipy.special import stdtrit

from support.together import together_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"),
]

LOAD = """\
[loads.{name}]
model = "closed"
requests = ["/1k.txt"]
warmup = "300ms"
duration = "2s"
{more}
"""
STUDY = """\
title = "Two servers, each of which uses one CPU and no more"
[content]
"1k.txt" = "1KiB"
{loads}
[sweep]
first.connections = [4]
second.connections = [4]
[trials]
count = 5
repeat_disturbed = 0
{host}
[servers.one]
use = "python-http"
load = "first"
{one}
[servers.other]
use = "python-http"
load = "second"
{other}
"""


def ratios(sandbox, first="", second="", **tables):
    """Return by server the throughput beside the other over that alone."""
    loads = LOAD.format(name="first", more=first) + LOAD.format(name="second", more=second)
    sandbox.write("study.toml", STUDY.format(loads=loads, **({"host": "", "one": "", "other": ""} | tables)))
    finished = sandbox.run("run", "study.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    together = together_of(sandbox.work / "run")
    return {load.load.server: load.over_curve["throughput"].ratio for load in together.loads}


def test_two_servers_on_one_cpu_have_half_of_it_each(sandbox):
    # The kernel's scheduler is fair: of two that always have work, each runs half of the time.
    found = ratios(sandbox, host="[host]\nserver_cpus = [0]\nload_cpus = [1]")
    for ratio in found.values():
        assert ratio.value == pytest.approx(0.5, rel=0.15)


def test_servers_that_share_no_cpu_do_nothing_to_each_other(sandbox):
    found = ratios(
        sandbox, first="load_cpus = [0]", second="load_cpus = [1]", one="cpus = [0]", other="cpus = [1]"
    )
    # Of two intervals of 95 % one would leave 1 out in 10 % of all runs, and of 99.9 % in 0.2 %.
    for ratio in found.values():
        freedom = ratio.n - 1
        wider = stdtrit(freedom, 0.9995) / stdtrit(freedom, 0.975)
        assert abs(math.log(ratio.value)) <= wider * math.log(ratio.high / ratio.value)

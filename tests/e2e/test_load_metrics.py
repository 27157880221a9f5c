"""A load under way that another system scrapes."""

import json
import time
import urllib.request

import pytest

from support.limit_server import limit_server
from support.sandbox import Sandbox, finish

PATIENCE_S = 30.0


def test_prometheus_scrapes_a_load_while_it_runs(sandbox: Sandbox, tmp_path):
    parser = pytest.importorskip("prometheus_client.parser")
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    with limit_server(tmp_path) as address:
        url = f"http://{address}/1k.txt"
        options = ("-c", 2, "-d", "1500ms", "--json", "--metrics", "127.0.0.1:0")
        load = sandbox.start("load", url, *options)
        assert load.stderr is not None
        page = load.stderr.readline().removeprefix("metrics: ").strip()
        until_s = time.monotonic() + PATIENCE_S
        counted: list[float] = []
        while len(set(counted)) < 2 and time.monotonic() < until_s:
            with urllib.request.urlopen(page, timeout=PATIENCE_S) as answer:
                families = parser.text_string_to_metric_families(answer.read().decode())
            found = {family.name: family.samples for family in families}
            counted += [one.value for one in found.get("loadcurve_answered", [])]
        finished = finish(load)
    assert finished.returncode == 0
    assert counted == sorted(counted), "a counter grows"
    assert counted[-1] <= json.loads(finished.stdout)["requests"]["answered"]

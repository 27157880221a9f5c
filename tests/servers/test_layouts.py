"""The layouts of other load generators, line by line beside what they themselves print."""

import re
import subprocess
from collections.abc import Callable

import pytest

from loadcurve.cli.report_layout import LAYOUTS
from loadcurve.report.layouts.figures import web_point
from support import synthetic_run as synthetic
from support.limit_server import limit_server


def lines_from(said: str, first: str) -> list[str]:
    """The lines from one that begins so, each number written as N, and spaces as one.

    What ab thinks of times that spread, which it says in two lines, is left out: it depends on the machine.
    """
    lines = re.sub(r"(WARNING|ERROR): The median and mean .*\n.*\n", "", said).splitlines()
    begins = next(place for place, line in enumerate(lines) if line.startswith(first))
    return [" ".join(re.sub(r"\d+(\.\d+)?", "N", line).split()) for line in lines[begins:]]


def ab(host: str, port: str) -> list[str]:
    return ["ab", "-q", "-n", "200", "-c", "5", f"http://{host}:{port}/1k.txt"]


def httperf(host: str, port: str) -> list[str]:
    sessions = ["--num-conns", "20", "--num-calls", "5", "--rate", "100"]
    return ["httperf", "--server", host, "--port", port, "--uri", "/1k.txt", *sessions]


@pytest.mark.parametrize(
    ("tool", "first", "command"),
    [
        pytest.param("ab", "Server Hostname", ab, marks=pytest.mark.needs("ab")),
        pytest.param("httperf", "Total:", httperf, marks=pytest.mark.needs("httperf")),
    ],
)
def test_a_layout_has_the_lines_of_the_tool_itself(
    tmp_path, tool: str, first: str, command: Callable[[str, str], list[str]]
):
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    with limit_server(tmp_path) as address:
        host, _, port = address.rpartition(":")
        printed = subprocess.run(command(host, port), capture_output=True, text=True, check=True, timeout=60)
    # As ab and httperf were asked: connections end after some requests, and nothing fails.
    record = synthetic.point_record("nginx", 5)
    asked = {**record.load.model_dump(by_alias=True)["load"], "calls": 5}
    record = synthetic.point_record("nginx", 5, load=asked)
    ours = "\n".join(LAYOUTS[tool](web_point(record, "nginx 1.22.1")))
    assert lines_from(ours, first) == lines_from(printed.stdout, first)

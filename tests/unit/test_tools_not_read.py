"""Files of tools that are not read are refused with what is read in their place."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

GOB = (
    b"\xff\x96\x7f\x03\x01\x01\x06Result\x01\xff\x80\x00\x01\x0c\x01\x06Attack\x01\x0c\x00\x01\x03Seq\x01\x06\x00"
    b"\x01\x04Code\x01\x06\x00\x01\x09Timestamp\x01\xff\x82\x00\x01\x07Latency\x01\x04\x00\x01\x08BytesOut\x01"
)
"""The start of what ``vegeta attack`` of 12.12.0 wrote."""
UNFINISHED_H2LOAD = b"""starting benchmark...
spawning thread #0: 4 total client(s). Timing-based test with 0s of warm-up time and 2s of main \
duration for measurements.
Warm-up started for thread #0.
progress: 100% of clients started
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0
h2load: ev_epoll.c:134: epoll_modify: Assertion `("libev: I/O watcher with invalid fd found in epoll_ctl", \
errno != EBADF && errno != ELOOP && errno != EINVAL)' failed.
"""
"""What 1.52.0 wrote, without some lines, of a server that had not answered when the duration was over."""
ARTILLERY = Path(__file__).parents[1] / "data" / "tools" / "artillery"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (GOB, "import what vegeta encode -to csv makes of them"),
        ((ARTILLERY / "1.7.9-half.txt").read_bytes(), r"import its report \(artillery run --output FILE\)"),
        (b"unable to connect to 127.0.0.1:18479 Connection refused\n", "could not connect to the server"),
        (UNFINISHED_H2LOAD, "h2load's text ends before its figures: it was interrupted"),
        ((ARTILLERY.parent / "fortio/1.63.10.txt").read_bytes(), r"its JSON \(fortio load -json FILE\)"),
        (
            b"Ended after 1.0s : 8 calls. qps=8\nAggregated Function Time : count 8 avg 0.001 +/- 0",
            r"its JSON \(fortio load -json FILE\)",
        ),
        (
            b'var stats = {\n    type: "GROUP",\nstats: {\n    "numberOfRequests": {',
            r"import js/stats\.json or js/global",
        ),
        (b"\nSummary:\n  Count:\t20\n  Total:\t50.1 ms\n", r"ghz's text is not read; import its JSON"),
        (b"duration (ms),status,error\n1.5,OK,\n", r"ghz's CSV does not say when .* \(ghz -O json\)"),
        (
            b"      Date & Time,  Trans,  Elap Time,  Data Trans,  Resp Time\n2026-11-28 10:00:01",
            r"siege's log has a line for each of many loads; import the text .*\(siege -j\)",
        ),
        ((ARTILLERY / "2.0.21-half.txt").read_bytes(), r"import its report \(artillery run --output FILE\)"),
    ],
)
def test_what_is_read_in_its_place_is_named(data: bytes, said: str, tmp_path: Path):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(BadInput, match=said):
        read_figures(Source(tmp_path / "file"), None)

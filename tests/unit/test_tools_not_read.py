"""Files of tools that are not read are refused with what is read in their place."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

SIEGE = """\
Transactions:                     40 hits
Availability:                 100.00 %
Elapsed time:                   0.01 secs
Data transferred:               0.04 MB
Response time:                  0.00 secs
Transaction rate:            4000.00 trans/sec
Throughput:                     3.91 MB/sec
Concurrency:                    0.00
Successful transactions:          40
Failed transactions:               0
Longest transaction:            0.00
Shortest transaction:           0.00
"""
GOB = (
    b"\xff\x96\x7f\x03\x01\x01\x06Result\x01\xff\x80\x00\x01\x0c\x01\x06Attack\x01\x0c\x00\x01\x03Seq\x01\x06\x00"
    b"\x01\x04Code\x01\x06\x00\x01\x09Timestamp\x01\xff\x82\x00\x01\x07Latency\x01\x04\x00\x01\x08BytesOut\x01"
)
"""The start of what ``vegeta attack`` of 12.12.0 wrote."""
ARTILLERY = (
    '{"aggregate": {"counters": {"http.requests": 40}, "summaries": {"http.response_time": {"p99": 3}}}}'
)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SIEGE.encode(), r"siege's summary is not read: .* wrk --latency or hey"),
        (GOB, "import what vegeta encode -to csv makes of them"),
        (ARTILLERY.encode(), r"artillery's report is not read\. .* k6 run --out csv=FILE"),
    ],
)
def test_what_is_read_in_its_place_is_named(data: bytes, said: str, tmp_path: Path):
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(BadInput, match=said):
        read_figures(Source(tmp_path / "file"), None)

"""What of a load may leave before a handshake is over (0-RTT)."""

from collections.abc import Iterator, Sequence
from typing import Final

from loadcurve.loads.asked import AskedRequest
from loadcurve.loads.table import Swept
from loadcurve.protocol import HTTP3, HttpVersion
from loadcurve.toml.problems import Problem

KEY: Final = "early_data"
REPLAYABLE: Final = ("GET", "HEAD")
"""The methods of requests that may reach a server twice."""


def problems_of_early_data(at: Swept, http: HttpVersion, asked: Sequence[AskedRequest]) -> Iterator[Problem]:
    """Yield what cannot be sent as early data, where a load sends any: whoever hears it can repeat it."""
    if max(at.values(KEY), default=0) <= 0:
        return
    if http != HTTP3:
        yield Problem(at.place(KEY), f"only sent over HTTP/3; set http to {HTTP3} as well, or remove it")
    if max(at.values("full_handshakes"), default=1) >= 1:
        text = "sent by connections that resume a session; set full_handshakes below 1 as well, or remove it"
        yield Problem(at.place(KEY), text)
    for method in sorted({one.method for one in asked} - {*REPLAYABLE}):
        text = (
            f"{method} requests cannot be sent as early data, which whoever has recorded it can send to the "
            f"server again (RFC 8470); expected {' or '.join(REPLAYABLE)}, or remove it"
        )
        yield Problem(at.place(KEY), text)
    if any(one.body for one in asked):
        yield Problem(at.place(KEY), "requests with a body are not sent as early data; remove one of the two")

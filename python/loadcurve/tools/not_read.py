"""Files that are recognised and not read, each with what is read in its place."""

from collections.abc import Callable, Sequence

from loadcurve.tools.ab import reader as ab
from loadcurve.tools.autocannon import reader as autocannon
from loadcurve.tools.hdr import reader as hdr

_NAMES_OF_GOB = (b"Result", b"Timestamp", b"Latency", b"BytesOut")
"""The names of the fields in the start of vegeta's results, which are in an encoding of Go's."""
_GOB_HEAD = 200


def what_instead(head: bytes) -> str | None:
    """Return why a file that begins so is not read, and what is; ``None`` where it is of another kind."""
    return next((said for recognises, said in _NOT_READ if recognises(head)), None)


def _is_gob(head: bytes) -> bool:
    return head.startswith(b"\xff") and all(name in head[:_GOB_HEAD] for name in _NAMES_OF_GOB)


def _is_of_siege(head: bytes) -> bool:
    in_text = b"Transaction rate:" in head and b"Longest transaction:" in head
    return in_text or (b'"transaction_rate":' in head and b'"longest_transaction":' in head)


def _is_of_artillery(head: bytes) -> bool:
    return b"http.response_time" in head and b"http.requests" in head


_LOG = (
    "a log of HdrHistograms does not record the unit of its times; give it with --as: hlog (nanoseconds), "
    "hlog-us, hlog-ms"
)
_PERCENTILES_OF_AB = (
    "ab's table of percentiles (-e) says neither how many requests there were nor in what time; import ab's "
    "text, or its table of requests (-g)"
)
_TEXT_OF_AUTOCANNON = "autocannon's text rounds its counts to thousands; import its JSON (autocannon -j)"
_GOB = "vegeta's results are in an encoding of Go; import what vegeta encode -to csv makes of them"
_SIEGE = (
    "siege's summary is not read: it has neither percentiles nor statuses. Send the load with a tool that "
    "has them, such as wrk --latency or hey, or with loadcurve load"
)
_ARTILLERY = (
    "artillery's report is not read. Send the load with a tool whose requests are, such as k6 run --out "
    "csv=FILE, or with loadcurve load"
)
_NOT_READ: Sequence[tuple[Callable[[bytes], bool], str]] = (
    (hdr.is_log, _LOG),
    (ab.is_percentiles, _PERCENTILES_OF_AB),
    (autocannon.is_text, _TEXT_OF_AUTOCANNON),
    (_is_gob, _GOB),
    (_is_of_siege, _SIEGE),
    (_is_of_artillery, _ARTILLERY),
)

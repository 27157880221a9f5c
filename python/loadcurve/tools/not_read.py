"""Files that are recognised and not read, each with what is read in its place."""

from collections.abc import Callable, Sequence

from loadcurve.tools.ab import reader as ab
from loadcurve.tools.artillery import reader as artillery
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


def _is_program_of_gatling(head: bytes) -> bool:
    return head.lstrip().startswith(b"var stats = {") and b"numberOfRequests" in head


def _is_refused_by_wrk(head: bytes) -> bool:
    return head.startswith(b"unable to connect to ")


def _is_unfinished_h2load(head: bytes) -> bool:
    return head.startswith(b"starting benchmark...") and b"spawning thread #" in head


def _is_text_of_fortio(head: bytes) -> bool:
    return head.startswith(b"Fortio ") or b"\nFortio " in head


def _is_table_of_hdr(head: bytes) -> bool:
    return b"1/(1-Percentile)" in head and b"TotalCount" in head


_LOG = (
    "a log of HdrHistograms does not record the unit of its times; give it with --as: hlog (nanoseconds), "
    "hlog-us, hlog-ms"
)
_PERCENTILES_OF_AB = (
    "ab's table of percentiles (-e) says neither how many requests there were nor in what time; import ab's "
    "text, or its table of requests (-g)"
)
_TEXT_OF_AUTOCANNON = "autocannon's text rounds its counts to thousands; import its JSON (autocannon -j)"
_TABLE_OF_HDR = (
    "a table of percentiles of an HdrHistogram does not say in what time its requests were made; import the "
    "log of its tool (hlog), or the text or report that the table was made with"
)
_GOB = "vegeta's results are in an encoding of Go; import what vegeta encode -to csv makes of them"
_TEXT_OF_ARTILLERY = (
    "artillery's text does not say how long the load took; import its report (artillery run --output FILE)"
)
_PROGRAM_OF_GATLING = (
    "this is the program that draws the tables of Gatling's report; import js/stats.json or "
    "js/global_stats.json beside it, or simulation.log"
)
_REFUSED_BY_WRK = "wrk could not connect to the server, and put no load on it"
_UNFINISHED_H2LOAD = (
    "h2load's text ends before its figures: it was interrupted, is still running, or has crashed (what it "
    "prints last says so)"
)
_TEXT_OF_FORTIO = "fortio's text is not read; import its JSON (fortio load -json FILE)"
_NOT_READ: Sequence[tuple[Callable[[bytes], bool], str]] = (
    (hdr.is_log, _LOG),
    (ab.is_percentiles, _PERCENTILES_OF_AB),
    (autocannon.is_text, _TEXT_OF_AUTOCANNON),
    (_is_gob, _GOB),
    (_is_table_of_hdr, _TABLE_OF_HDR),
    (artillery.is_text, _TEXT_OF_ARTILLERY),
    (_is_program_of_gatling, _PROGRAM_OF_GATLING),
    (_is_refused_by_wrk, _REFUSED_BY_WRK),
    (_is_unfinished_h2load, _UNFINISHED_H2LOAD),
    (_is_text_of_fortio, _TEXT_OF_FORTIO),
)

"""Files that are recognised and not read, each with what is read in its place."""

import json
import re
from collections.abc import Callable, Sequence

from loadcurve.tools.ab import reader as ab
from loadcurve.tools.artillery import reader as artillery
from loadcurve.tools.autocannon import reader as autocannon
from loadcurve.tools.ghz import reader as ghz
from loadcurve.tools.hdr import reader as hdr
from loadcurve.tools.siege import reader as siege

_NAMES_OF_GOB = (b"Result", b"Timestamp", b"Latency", b"BytesOut")
"""The names of the fields in the start of vegeta's results, which are in an encoding of Go's."""
_GOB_HEAD = 200
_ACCESS_LOG_BYTES = 4096
_ACCESS_LINE = re.compile(
    rb"\S{1,300} \S{1,300} [^\[\n]{1,200}\[[^\]\n]{1,40}\] "
    rb'"[A-Z]{1,20} /[^"\\\n]{0,3000}(?:\\[^\n][^"\\\n]{0,3000}){0,99}" \d{3} '
)
_ASKED_IN_JSON = frozenset({"request", "request_uri", "uri", "path"})


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


def _is_histogram_of_vegeta(head: bytes) -> bool:
    return re.search(rb"^Bucket +# +% +Histogram", head, re.MULTILINE) is not None


def _is_page_of_vegeta(head: bytes) -> bool:
    return b"<title>Vegeta Plot" in head


def _is_text_of_gatling(head: bytes) -> bool:
    return b"---- Global Information ---" in head and b"> request count" in head


def _is_text_of_locust(head: bytes) -> bool:
    return re.search(rb"^ ?(?:Type +)?Name +# reqs +# fails", head, re.MULTILINE) is not None


def _is_other_table_of_locust(head: bytes) -> bool:
    first = head.replace(b'"', b"")
    return first.startswith((b"Method,Name,Error,Occurrences", b"Count,Message,Traceback"))


def _is_json_of_locust(head: bytes) -> bool:
    return head.lstrip().startswith(b"[") and b'"num_none_requests"' in head and b'"num_requests"' in head


def _is_table_of_jmeter_without_moments(head: bytes) -> bool:
    names = re.split(rb"[,;\t|]", head.split(b"\n", 1)[0].strip())
    return {b"elapsed", b"responseCode", b"success"} <= {*names} and b"timeStamp" not in names


def _is_plan_of_jmeter(head: bytes) -> bool:
    return b"<jmeterTestPlan" in head


def _is_access_log(head: bytes) -> bool:
    begin = head.lstrip()
    if begin.startswith(b"{"):
        return _is_logged_in_json(begin.split(b"\n", 1)[0])
    return _ACCESS_LINE.match(begin[:_ACCESS_LOG_BYTES]) is not None


def _is_logged_in_json(line: bytes) -> bool:
    """Say whether a line is an object by itself with a request and its status, as servers log them."""
    try:
        members = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return False
    return isinstance(members, dict) and "status" in members and not _ASKED_IN_JSON.isdisjoint(members)


def _is_text_of_fortio(head: bytes) -> bool:
    begins = head.startswith(b"Fortio ") or b"\nFortio " in head
    return begins or b"\nAggregated Function Time : count " in head


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
_HISTOGRAM_OF_VEGETA = (
    "vegeta's histogram says neither when its requests were made nor which failed; import what vegeta report "
    "-type json or vegeta encode -to csv makes of the same results"
)
_PAGE_OF_VEGETA = (
    "this is a page that vegeta plot made; import what vegeta encode -to csv makes of the results"
)
_TEXT_OF_GATLING = (
    "Gatling's text is not read; import js/stats.json of its report, or simulation.log, which are in the "
    "folder that it names at its end"
)
_TEXT_OF_LOCUST = "locust's text is not read; import PREFIX_stats.csv, which locust --csv PREFIX writes"
_OTHER_TABLE_OF_LOCUST = (
    "this is locust's table of failures or exceptions; import PREFIX_stats.csv, which is beside it"
)
_JSON_OF_LOCUST = "locust's JSON is not read; import PREFIX_stats.csv, which locust --csv PREFIX writes"
_NO_MOMENTS_OF_JMETER = (
    "JMeter's CSV has no column timeStamp, so that it is not known how long the load took; save it with "
    "jmeter.save.saveservice.timestamp_format=ms, which is the default"
)
_PLAN_OF_JMETER = (
    "this is JMeter's test plan, which holds no results; import what jmeter -n -t PLAN -l FILE writes to FILE"
)
_ACCESS_LOG = (
    "this is an access log, which says what was asked of a server and no results of a load; --as requests or "
    "--as recording makes a list of it that loadcurve load --urls and studies send"
)
_TEXT_OF_FORTIO = "fortio's text is not read; import its JSON (fortio load -json FILE)"
_TEXT_OF_GHZ = "ghz's text is not read; import its JSON (ghz -O json)"
_CSV_OF_GHZ = "ghz's CSV does not say when its calls were made; import its JSON (ghz -O json)"
_LOG_OF_SIEGE = (
    "siege's log has a line for each of many loads; import the text that siege prints of one, or its JSON "
    "(siege -j)"
)
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
    (ghz.is_text, _TEXT_OF_GHZ),
    (ghz.is_csv, _CSV_OF_GHZ),
    (siege.is_log, _LOG_OF_SIEGE),
    (_is_histogram_of_vegeta, _HISTOGRAM_OF_VEGETA),
    (_is_page_of_vegeta, _PAGE_OF_VEGETA),
    (_is_text_of_gatling, _TEXT_OF_GATLING),
    (_is_text_of_locust, _TEXT_OF_LOCUST),
    (_is_other_table_of_locust, _OTHER_TABLE_OF_LOCUST),
    (_is_json_of_locust, _JSON_OF_LOCUST),
    (_is_table_of_jmeter_without_moments, _NO_MOMENTS_OF_JMETER),
    (_is_plan_of_jmeter, _PLAN_OF_JMETER),
    (_is_access_log, _ACCESS_LOG),
)

"""The formats of other load generators' files: how each is recognised by its content, and read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.result.outcomes import VerdictNote
from loadcurve.toml.expected import nearest
from loadcurve.tools.ab import reader as ab
from loadcurve.tools.artillery import reader as artillery
from loadcurve.tools.autocannon import reader as autocannon
from loadcurve.tools.bombardier import reader as bombardier
from loadcurve.tools.copies import NotOneError
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.fortio import reader as fortio
from loadcurve.tools.gatling import binary as gatling_binary
from loadcurve.tools.gatling import reader as gatling
from loadcurve.tools.gatling import stats as gatling_stats
from loadcurve.tools.ghz import reader as ghz
from loadcurve.tools.go_ycsb import reader as go_ycsb
from loadcurve.tools.h2load import reader as h2load
from loadcurve.tools.hdr import reader as hdr
from loadcurve.tools.hey import reader as hey
from loadcurve.tools.httperf import reader as httperf
from loadcurve.tools.jmeter import reader as jmeter
from loadcurve.tools.jmeter import report as jmeter_report
from loadcurve.tools.jmeter import statistics as jmeter_statistics
from loadcurve.tools.jmeter import summary as jmeter_summary
from loadcurve.tools.jmeter import xml as jmeter_xml
from loadcurve.tools.k6 import reader as k6
from loadcurve.tools.k6 import summary as k6_summary
from loadcurve.tools.k6 import text as k6_text
from loadcurve.tools.locust import reader as locust
from loadcurve.tools.not_read import what_instead
from loadcurve.tools.oha import reader as oha
from loadcurve.tools.oha import text as oha_text
from loadcurve.tools.own import reader as own
from loadcurve.tools.pasted import LINES_BEFORE_MAX, Around, changed, changes_of, is_command, without_end
from loadcurve.tools.percentiles import ImpossibleTimeError
from loadcurve.tools.possible import impossible
from loadcurve.tools.siege import reader as siege
from loadcurve.tools.source import Source, shown
from loadcurve.tools.terminal import without_colours
from loadcurve.tools.vegeta import reader as vegeta
from loadcurve.tools.vegeta import text as vegeta_text
from loadcurve.tools.wrk import reader as wrk
from loadcurve.tools.ycsb import reader as ycsb
from loadcurve.tools.zrk import reader as zrk


@dataclass(frozen=True, slots=True)
class Format:
    """One format of one tool."""

    name: str
    tool: str
    what: str
    """What it is and how the tool is asked for it."""
    recognises: Callable[[bytes], bool]
    """Whether a file may be of it, by its start; no two formats recognise the same file."""
    read: Callable[[Source], ToolFigures]


FORMATS: Sequence[Format] = (
    Format("loadcurve-json", own.TOOL, "loadcurve load --json", own.is_json, own.read_json),
    Format("wrk-text", "wrk", "wrk, best with --latency", wrk.is_text, wrk.read_text),
    Format("wrk2-text", "wrk2", "wrk2 --latency", wrk.is_text_of_wrk2, wrk.read_text_of_wrk2),
    Format("ab-text", "ab", "ab", ab.is_text, ab.read_text),
    Format("ab-html", "ab", "ab -w", ab.is_html, ab.read_html),
    Format("ab-requests", "ab", "ab -g FILE", ab.is_requests, ab.read_requests),
    Format("httperf-text", "httperf", "httperf", httperf.is_text, httperf.read_text),
    Format("h2load-text", "h2load", "h2load", h2load.is_text, h2load.read_text),
    Format("h2load-json", "h2load", "h2load --output-file FILE", h2load.is_json, h2load.read_json),
    Format("h2load-log", "h2load", "h2load --log-file FILE", h2load.is_log, h2load.read_log),
    Format("hey-csv", "hey", "hey -o csv", hey.is_csv, hey.read_csv),
    Format("hey-text", "hey", "hey", hey.is_text, hey.read_text),
    Format("oha-json", "oha", "oha --output-format json", oha.is_json, oha.read_json),
    Format("oha-csv", "oha", "oha --output-format csv", oha.is_csv, oha.read_csv),
    Format("oha-text", "oha", "oha", oha_text.is_text, oha_text.read_text),
    Format("vegeta-csv", "vegeta", "vegeta encode -to csv", vegeta.is_csv, vegeta.read_csv),
    Format("vegeta-json", "vegeta", "vegeta encode -to json", vegeta.is_json, vegeta.read_json),
    Format("vegeta-report", "vegeta", "vegeta report -type json", vegeta.is_report, vegeta.read_report),
    Format("vegeta-text", "vegeta", "vegeta report", vegeta_text.is_text, vegeta_text.read_text),
    Format("bombardier-json", "bombardier", "bombardier -o json", bombardier.is_json, bombardier.read_json),
    Format("bombardier-text", "bombardier", "bombardier -l", bombardier.is_text, bombardier.read_text),
    Format("autocannon-json", "autocannon", "autocannon -j", autocannon.is_json, autocannon.read_json),
    Format(
        "artillery-json",
        "artillery",
        "artillery run --output FILE",
        artillery.is_report,
        artillery.read_report,
    ),
    Format("siege-text", "siege", "siege", siege.is_text, siege.read_text),
    Format("siege-json", "siege", "siege -j", siege.is_json, siege.read_json),
    Format("k6-csv", "k6", "k6 run --out csv=FILE", k6.is_csv, k6.read_csv),
    Format("k6-json", "k6", "k6 run --out json=FILE", k6.is_json, k6.read_json),
    Format(
        "k6-summary",
        "k6",
        "k6 run --summary-export FILE, or handleSummary",
        k6_summary.is_summary,
        k6_summary.read_summary,
    ),
    Format("k6-text", "k6", "the text of k6 run at its end", k6_text.is_text, k6_text.read_text),
    Format("jmeter-csv", "jmeter", "jmeter -n -l FILE (JTL in CSV)", jmeter.is_csv, jmeter.read_csv),
    Format("jmeter-xml", "jmeter", "the same as XML", jmeter_xml.is_xml, jmeter_xml.read_xml),
    Format(
        "jmeter-statistics",
        "jmeter",
        "statistics.json of JMeter's dashboard (jmeter -e)",
        jmeter_statistics.is_statistics,
        jmeter_statistics.read_statistics,
    ),
    Format(
        "jmeter-summary",
        "jmeter",
        "the summary that jmeter -n prints",
        jmeter_summary.is_summary,
        jmeter_summary.read_summary,
    ),
    Format(
        "jmeter-report",
        "jmeter",
        "the table of JMeter's Aggregate Report or Summary Report, saved in CSV",
        jmeter_report.is_report,
        jmeter_report.read_report,
    ),
    Format("fortio-json", "fortio", "fortio load -json FILE", fortio.is_json, fortio.read_json),
    Format("ghz-json", "ghz", "ghz -O json", ghz.is_json, ghz.read_json),
    Format("zrk-json", "zrk", "zrk --format json", zrk.is_json, zrk.read_json),
    Format("hlog", "hdr", "a log of HdrHistograms in nanoseconds", hdr.is_in_ns, hdr.read_ns),
    Format("hlog-us", "hdr", "the same in microseconds", lambda _: False, hdr.read_us),
    Format("hlog-ms", "hdr", "the same in milliseconds", lambda _: False, hdr.read_ms),
    Format("ycsb-text", "ycsb", "ycsb run", ycsb.is_text, ycsb.read_text),
    Format("ycsb-hdr", "ycsb", "ycsb run -p hdrhistogram.fileoutput=true", hdr.is_of_ycsb, hdr.read_ycsb),
    Format(
        "go-ycsb-summary",
        "go-ycsb",
        "go-ycsb run, in text or with outputstyle=json",
        go_ycsb.is_summary,
        go_ycsb.read_summary,
    ),
    Format(
        "go-ycsb-csv", "go-ycsb", "go-ycsb run with measurementtype=csv", go_ycsb.is_csv, go_ycsb.read_csv
    ),
    Format("locust-csv", "locust", "locust --csv PREFIX: PREFIX_stats.csv", locust.is_csv, locust.read_csv),
    Format(
        "locust-history",
        "locust",
        "locust --csv PREFIX: PREFIX_stats_history.csv",
        locust.is_history,
        locust.read_history,
    ),
    Format("gatling-log", "gatling", "Gatling's simulation.log until 3.12", gatling.is_log, gatling.read_log),
    Format(
        "gatling-stats",
        "gatling",
        "stats.json or global_stats.json of Gatling's report",
        gatling_stats.is_stats,
        gatling_stats.read_stats,
    ),
    Format(
        "gatling-binary",
        "gatling",
        "Gatling's simulation.log from 3.13 on",
        gatling_binary.is_binary_log,
        gatling_binary.read_binary_log,
    ),
)
"""All formats that are read."""
TESTED: Mapping[str, Sequence[str]] = {
    name: versions
    for reader in (
        wrk, ab, httperf, h2load, hey, oha, vegeta, bombardier, autocannon, artillery, siege, k6, jmeter,
        fortio, ghz, zrk, ycsb, go_ycsb, locust, gatling,
    )
    for name, versions in reader.TESTED.items()
}  # fmt: skip
"""By format, the versions whose real output it is tested with; formats of no single tool have none."""
_FIGURES = "the figures of a load"
_SHOWN = 3
"""Lines of other programs that a note has."""


def read_figures(source: Source, named: str | None) -> tuple[ToolFigures, Format]:
    """Return the figures of a file, and its format: the one that is recognised among those of ``named``.

    ``named`` is a format or a tool; with ``None`` every format may be recognised.

    Raises:
        Unreadable: it is not what its format expects.
        BadInput: it cannot be opened, or its format is not known.

    """
    source = pasted(source)
    found = format_of(source, named)
    try:
        figures = found.read(source)
    except ImpossibleTimeError as error:
        raise source.unreadable(None, str(error), _FIGURES) from error
    except ValidationError as error:
        # Records hold no figure that is impossible by itself, whatever a reader makes of a file.
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise source.unreadable(None, f"{place} = {shown(str(first['input']))}", _FIGURES) from error
    if figure := impossible(figures):
        raise source.unreadable(None, figure, _FIGURES)
    return replace(figures, notes=[*figures.notes, *source.around.notes]), found


def pasted(source: Source) -> Source:
    """Return a file without what a terminal, a page or a log has around it.

    Raises as :meth:`Source.head`, and ``Unreadable`` where it seems to hold the output of several loads.
    """
    try:
        return _pasted(source)
    except NotOneError as error:
        raise source.unreadable(error.line, error.found, error.expected) from error


def _pasted(source: Source) -> Source:
    head = source.head()
    changes = changes_of(head, _format_in)
    for change in changes:
        head = change(head)
    before = _lines_before(head.split(b"\n"))
    if (changes or before) and source.is_short():
        changes = (*changes, without_end)
    if not changes:
        return replace(source, around=Around(before))
    with source.opened() as file:
        rest, others = changed(source.name, file, changes)
    notes = [VerdictNote.of("rows_left_out", _others_in_words(others))] if others else []
    return replace(source, around=Around(before, rest, notes))


def _others_in_words(lines: Sequence[tuple[int, bytes]]) -> str:
    some = "; ".join(
        f"line {number:,} has {shown(line.decode(errors='replace'))}" for number, line in lines[:_SHOWN]
    )
    more = f"; and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
    return (
        f"{len(lines):,} lines without what the others of the log have in front were taken for those of "
        f"other programs: {some}{more}"
    )


def _format_in(head: bytes) -> str | None:
    """Return the format of a start, behind what other programs said; ``None`` where it is not known."""
    lines = head.split(b"\n")
    return _known(lines[_lines_before(lines) :])


def _lines_before(lines: Sequence[bytes]) -> int:
    """Return how many lines are of other programs: a prompt with a command, warnings, blank ones."""
    blank = next((place for place, line in enumerate(lines) if line.strip()), 0)
    begins = range(blank + 1, min(blank + 1 + LINES_BEFORE_MAX, len(lines)))
    if _is_log_entry(lines[blank:]):
        behind = (place for place in begins if _is_begin(lines[place:]))
        return next((place for place in behind if not _is_log_entry(lines[place:])), blank)
    if is_command(lines[blank].decode(errors="replace")):
        behind = (place for place in begins if lines[place].strip())
        return next((place for place in behind if _is_known_from(lines[place:])), blank)
    if not _begins(lines[blank]) and _known(lines[blank:]) in {None, *_WITH_BEGIN}:
        behind = (place for place in begins if lines[place].strip())
        return next((place for place in behind if _is_begin(lines[place:])), blank)
    return blank


_BEGINS = (
    b"{", b"<?xml", b"<testResults", b"response-time,", b"request-start,", b"metric_name,", b"timeStamp",
    b"Type,Name", b"Timestamp,", b'"Type","Name', b'"Method","Name', b'"Timestamp"',
    b"operation,timestamp_us", b"starttime\t", b"RUN\t", b"ASSERTION\t", b"REQUEST\t", b"#[",
)  # fmt: skip
"""How documents, and tables with the names of their columns, begin."""
_DOCUMENTS = frozenset(
    {
        "loadcurve-json", "h2load-json", "oha-json", "vegeta-report", "bombardier-json", "autocannon-json",
        "artillery-json", "k6-summary", "jmeter-statistics", "fortio-json", "zrk-json", "gatling-stats",
        "siege-json",
    }
)  # fmt: skip
"""Formats of one JSON object."""
_FOUND_ANYWHERE = frozenset({"h2load-json", "bombardier-json", "siege-json", "jmeter-xml", "gatling-log"})
"""Formats that are recognised behind other lines, too."""
_WITH_BEGIN = _DOCUMENTS | frozenset(
    {
        "jmeter-xml", "hey-csv", "oha-csv", "k6-csv", "jmeter-csv", "locust-csv", "locust-history",
        "k6-json", "vegeta-json", "go-ycsb-csv", "ab-requests", "gatling-log", "ycsb-hdr",
    }
)  # fmt: skip
"""Formats that begin so. In front of a row, or of a text, a line may be one of its tool."""


def _is_log_entry(lines: Sequence[bytes]) -> bool:
    """Say whether the first line is an object by itself in front of a document of a tool, which it is not."""
    if not lines[0].lstrip().startswith(b"{") or _known(lines) not in _DOCUMENTS:
        return False
    try:
        return isinstance(json.loads(lines[0]), dict) and _known(lines[:1]) is None
    except (ValueError, RecursionError):
        return False


def _is_begin(lines: Sequence[bytes]) -> bool:
    return _begins(lines[0]) and _known(lines) in _WITH_BEGIN


def _is_known_from(lines: Sequence[bytes]) -> bool:
    """Say whether a format begins with the first of these lines."""
    name = _known(lines)
    return name is not None and (name not in _FOUND_ANYWHERE or _begins(lines[0]))


def _begins(line: bytes) -> bool:
    return line.lstrip().startswith(_BEGINS) or b"\tRUN\t" in line


def _known(lines: Sequence[bytes]) -> str | None:
    """Return the format that recognises these lines; ``None`` where none does, or several do."""
    head = _shown(b"\n".join(lines))
    found = [one.name for one in FORMATS if one.recognises(head)]
    return found[0] if len(found) == 1 else None


def _shown(head: bytes) -> bytes:
    """Return a start as formats are recognised: without colours, and with the line ends of Unix."""
    text = without_colours(head.decode("latin-1"))
    return text.replace("\r\n", "\n").encode("latin-1")


def format_of(source: Source, named: str | None) -> Format:
    """Return the format of a file, as :func:`read_figures`."""
    known = FORMATS if named is None else _named(named)
    if len(known) == 1:
        return known[0]
    head = _shown(source.head())
    if not head.strip():
        raise source.unreadable(None, "nothing: the file is empty", "the output of a load generator")
    found = [one for one in known if one.recognises(head)]
    if len(found) == 1:
        return found[0]
    of_tool = "" if named is None else f" of {named}"
    if found:
        names = " and ".join(one.name for one in found)
        raise BadInput(f"{source.name}: may be {names}; choose one with --as {found[0].name}")
    if instead := what_instead(head):
        raise BadInput(f"{source.name}: {instead}")
    raise BadInput(
        f"{source.name}: its format{of_tool} is not recognised by its content. Known are:\n"
        + "\n".join(f"  {one.name:<16} {one.what}" for one in known)
        + "\nIf it is one of these, name it with --as FORMAT, and the message says what is wrong."
    )


def _named(name: str) -> Sequence[Format]:
    formats = [one for one in FORMATS if name in {one.name, one.tool}]
    if not formats:
        names = sorted({one.tool for one in FORMATS} | {one.name for one in FORMATS})
        raise BadInput(
            f"--as {name}: no such tool or format; expected one of {', '.join(names)}{nearest(name, names)}"
        )
    exact = [one for one in formats if one.name == name]
    return exact or formats

"""The table of JMeter's Aggregate Report or Summary Report, as its button or a plugin saves it in CSV.

Each line has a name's samples, their times in whole ms, the share of errors, and a rate per second; numbers
have the decimal sign of the machine's language. The last line is that of all. Sums of transaction controllers
are samples there, and nothing tells them apart.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadcurve.result.load import Operation
from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.delimited import header_of
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.jmeter.summary import NO_TIMES
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed
from loadcurve.tools.source import Source, shown

_LABEL, _SAMPLES, _MEAN, _SHORTEST, _LONGEST = "Label", "# Samples", "Average", "Min", "Max"
_MEDIAN, _STDDEV, _ERRORS, _RATE = "Median", "Std. Dev.", "Error %", "Throughput"
_NEEDED = (_LABEL, _SAMPLES, _MEAN, _SHORTEST, _LONGEST, _ERRORS, _RATE)
_TOTAL = "TOTAL"
_WHAT = "a line of JMeter's Aggregate Report or Summary Report"
_KEYS = {
    "sampler_label": _LABEL, "aggregate_report_count": _SAMPLES, "average": _MEAN,
    "aggregate_report_median": _MEDIAN, "aggregate_report_90%_line": "90% Line",
    "aggregate_report_95%_line": "95% Line", "aggregate_report_99%_line": "99% Line",
    "aggregate_report_min": _SHORTEST, "aggregate_report_max": _LONGEST, "aggregate_report_error%": _ERRORS,
    "aggregate_report_rate": _RATE, "aggregate_report_stddev": _STDDEV,
}  # fmt: skip
"""What the plugin that makes the table of a JTL (JMeterPluginsCMD) calls the columns."""
_BEGIN = re.compile(
    rb'"?(?:Label"?[,;\t]"?# Samples"?[,;\t]"?Average|'
    rb'sampler_label"?[,;\t]"?aggregate_report_count"?[,;\t]"?average)"?[,;\t]'
)
_RATE_STEP_MAX = 0.1
"""Of a rate: with a wider step its time is not known."""
_LINE = re.compile(r"(\d{1,3}(?:\.\d{1,3})?)% Line")
_NUMBER = re.compile(r"\d{0,15}(?:[.,]\d{1,15})?%?")
_PERCENTILES = {"90": "p90", "95": "p95", "99": "p99", "99.9": "p99_9"}
_COUNT_MAX = 10**12


@dataclass(frozen=True, slots=True)
class _Row:
    """One name's line, or that of all."""

    source: Source
    line: int
    fields: Mapping[str, str]

    def printed(self, name: str, unit: float = 1) -> Printed:
        """Return a number of 0 or more; raises ``Unreadable``."""
        text = self.fields[name]
        if not text.strip("%") or not _NUMBER.fullmatch(text):
            raise self.source.unreadable(self.line, f"{name} = {shown(text)}", f"a number, in {_WHAT}")
        return Printed.of(text.rstrip("%").replace(",", "."), unit)

    def samples(self) -> int:
        """Return how many there were."""
        count = self.printed(_SAMPLES).value
        if count != int(count) or count > _COUNT_MAX:
            found = f"{_SAMPLES} = {shown(self.fields[_SAMPLES])}"
            raise self.source.unreadable(self.line, found, f"a whole number, in {_WHAT}")
        return int(count)

    def time_ms(self, name: str) -> float | None:
        """Return a time; ``None`` where it is below a ms, so that the table has 0, or is not there."""
        return self.printed(name).value or None if name in self.fields else None

    def failed(self) -> tuple[int, int]:
        """Return the count that is nearest to the share of errors, and by how much it may be off."""
        samples, share = self.samples(), self.printed(_ERRORS, 0.01)
        if share.value > 1:
            found = f"{_ERRORS} = {shown(self.fields[_ERRORS])}"
            raise self.source.unreadable(self.line, found, f"100% at most, in {_WHAT}")
        return round(samples * share.value), int(samples * share.step / 2 + 0.5)

    def times(self, count: int) -> Times:
        """Return the figures of its times."""
        stddev = self.time_ms(_STDDEV)
        lines = {name: found[1] for name in self.fields if (found := _LINE.fullmatch(name))}
        percentiles = {
            "p50": self.time_ms(_MEDIAN),
            **{
                _PERCENTILES[share]: self.time_ms(name)
                for name, share in lines.items()
                if share in _PERCENTILES
            },
        }
        known = {name: time_ms for name, time_ms in percentiles.items() if time_ms is not None}
        return Times(
            distribution=distribution(
                count,
                minimum=self.time_ms(_SHORTEST),
                mean=self.time_ms(_MEAN),
                # JMeter divides by the number of samples, and not by one less.
                stddev=stddev and stddev * (count / max(count - 1, 1)) ** 0.5,
                maximum=self.time_ms(_LONGEST),
                percentiles=known,
            ),
            completeness="percentiles" if known else "summary",
            resolution_ms=1.0,
        )


def is_report(head: bytes) -> bool:
    """Say whether a file begins as the table of one of the two reports."""
    return _BEGIN.match(head) is not None


def read_report(source: Source) -> ToolFigures:
    """Return the figures of the line of all samples, and of each name; raises ``Unreadable``."""
    *rows, total = _rows(source)
    if total.fields[_LABEL] != _TOTAL:
        found = f"{shown(total.fields[_LABEL])} as the last line"
        raise source.unreadable(total.line, found, f"that of all samples ({_TOTAL}): the table is cut off")
    samples, rate = total.samples(), total.printed(_RATE)
    of_names = sum(row.samples() for row in rows)
    if samples != of_names:
        found = f"{samples:,} samples of all, and {of_names:,} by name"
        raise source.unreadable(total.line, found, "the same of both: the table was changed")
    if not samples or not rate.value:
        found = f"{samples:,} samples at {rate.value:g}/s"
        raise source.unreadable(total.line, found, "the samples of a load, and their rate")
    if rate.uncertainty / 2 > _RATE_STEP_MAX:
        found = f"a rate of {rate.value:g}/s, in steps of {rate.step:g}/s"
        raise source.unreadable(total.line, found, "one that is known within a tenth; import the JTL file")
    failed, off = _failed(rows, total)
    return ToolFigures(
        tool="jmeter",
        basis="send",
        duration_s=samples / rate.value,
        answered=samples - failed,
        failed=failed,
        ok=samples - failed,
        latency=None if failed or off else total.times(samples),
        operations=[_operation(row) for row in rows],
        notes=_notes(off),
        not_measured=[NO_TIMES] if failed or off else [],
    )


def _failed(rows: list[_Row], total: _Row) -> tuple[int, int]:
    """Return the number of all errors, and by how much it may be off: fewer samples show theirs exactly."""
    of_names = [row.failed() for row in rows]
    failed, off = total.failed()
    if any(off_of_name for _, off_of_name in of_names):
        return failed, off
    exact = sum(failed_of_name for failed_of_name, _ in of_names)
    if abs(exact - failed) > off:
        found = f"{failed:,} errors of all, and {exact:,} by name"
        raise total.source.unreadable(total.line, found, "the same of both: the table was changed")
    return exact, 0


def _rows(source: Source) -> list[_Row]:
    """Return all lines, of which the last one is that of all; raises ``Unreadable``."""
    text = source.text()
    separator = next((one for one in ",;\t" if one in text.split("\n", 1)[0]), ",")
    header = header_of(source, separator)
    names = [_KEYS.get(name, name) for name in header]
    if missing := [name for name in _NEEDED if names.count(name) != 1]:
        expected = f"the names of JMeter's columns, each once, among them {', '.join(_NEEDED)}"
        raise source.unreadable(1, f"no column {missing[0]}, or two", expected)
    rows = list(_lines(source, text, separator, header, names))
    if not rows:
        raise source.unreadable(None, "names of columns alone", f"{_WHAT}, and one of all samples")
    return rows


def _lines(source: Source, text: str, separator: str, header: list[str], names: list[str]) -> Iterator[_Row]:
    lines = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        next(lines)
        for fields in lines:
            if not fields:
                continue
            if fields == header:
                expected = "the table of one load; split the file into one per load"
                raise source.unreadable(lines.line_num, "names of columns once more", expected)
            if len(fields) != len(names):
                expected = f"the {len(names)} that have names, in {_WHAT}"
                raise source.unreadable(lines.line_num, f"{len(fields)} columns", expected)
            yield _Row(source, lines.line_num, dict(zip(names, fields, strict=True)))
    except csv.Error as error:
        raise source.unreadable(lines.line_num, f"what is no CSV ({error})", _WHAT) from error


def _operation(row: _Row) -> Operation:
    samples = row.samples()
    failed, off = row.failed()
    times = None if failed or off or not samples else row.times(samples)
    return Operation(
        operation=row.fields[_LABEL],
        answered=samples - failed,
        failed=failed,
        latency_ms=distribution(0) if times is None else times.distribution,
    )


def _notes(off: int) -> list[VerdictNote]:
    text = (
        "JMeter's report counts sums of transaction controllers as samples and does not tell them apart, so "
        "where its test plan has such controllers, requests are counted twice; the file of jmeter -n -l "
        "tells them apart"
    )
    texts = [text]
    if off:
        texts.append(f"it has errors as a share, so their number may be off by {off:,}")
    return [VerdictNote.of("figures_left_out", one) for one in texts]

"""How the lines of a JTL are laid out, which JMeter's properties set: columns, separator, form of the times.

Source: ``SampleSaveConfiguration.java`` and ``CSVSaveService.java`` of JMeter 5.6.3.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars

from loadcurve.tools.delimited import ANY_TEXT, WHOLE_NUMBER, Column, header_of, require_each_once
from loadcurve.tools.source import Source, shown

REQUIRED = ("timeStamp", "elapsed", "responseCode", "success")
_NAMED = re.compile(rb"(?:^|\W)timeStamp([^\w\r\n])|([^\w\r\n])timeStamp\r?\n", re.ASCII)
_DEFAULT = (
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success",
    "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime",
    "Connect",
)  # fmt: skip
_LATER: Sequence[frozenset[str]] = (
    frozenset(),
    frozenset({"URL"}),
    frozenset({"URL", "sentBytes"}),
    frozenset({"URL", "sentBytes", "failureMessage"}),
    frozenset({"URL", "sentBytes", "failureMessage", "grpThreads", "allThreads", "IdleTime", "Connect"}),
)
"""Columns that are no defaults of 5.x, 4.0, 3.0, and two of 2.x."""
_KINDS = {
    "timeStamp": r"\d{10,14}",
    "elapsed": r"\d+",
    "success": "true|false",
    "bytes": r"\d+",
    "sentBytes": r"\d+",
    "grpThreads": r"\d+",
    "allThreads": r"\d+",
    "Latency": r"\d+",
    "IdleTime": r"\d+",
    "Connect": r"\d+",
}
_SEPARATORS = ",;\t|"
_FORMS = (
    (r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}", "%Y/%m/%d %H:%M:%S%.3f", 1.0),
    (r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d", "%Y/%m/%d %H:%M:%S", 1e3),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", "%Y-%m-%d %H:%M:%S%.3f", 1.0),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "%Y-%m-%d %H:%M:%S", 1e3),
    (r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d", "%m/%d/%y %H:%M:%S", 1e3),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}", "%Y-%m-%dT%H:%M:%S%.3f", 1.0),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "%Y-%m-%dT%H:%M:%S", 1e3),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:?\d\d", "%Y-%m-%dT%H:%M:%S%.3f%z", 1.0),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:?\d\d", "%Y-%m-%dT%H:%M:%S%z", 1e3),
)
"""Times that JMeter reads itself, and those of ISO 8601, with their step in ms; others may be of any form."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file are laid out."""

    names: Sequence[str]
    separator: str
    has_header: bool
    form: str | None
    """Of the times of day; ``None`` for ms since 1970."""
    step_ms: float

    @property
    def moments(self) -> Column:
        """What is in the column of moments."""
        return WHOLE_NUMBER if self.form is None else ANY_TEXT

    def in_ms(self, samples: polars.DataFrame) -> polars.DataFrame:
        """Return samples whose moments are in ms, by whatever clock; null where one is of another form."""
        if self.form is None:
            return samples
        return samples.with_columns(_in_ms(samples["timeStamp"], self.form))


def _in_ms(times: polars.Series, form: str) -> polars.Series:
    """Return times of day of a form in ms; null for what no clock shows, such as a thirteenth month."""
    return times.str.to_datetime(form, time_unit="ms", strict=False).cast(polars.Int64)


def is_laid_out(head: bytes) -> bool:
    """Say whether a file begins with names of JMeter's columns, or as a line of samples without them."""
    return _separator_of_names(head) is not None or _unnamed(head) is not None


def layout_of(source: Source) -> Layout:
    """Return the layout of a file; raises ``Unreadable`` where it is not JMeter's."""
    head = source.head()
    separator = _separator_of_names(head)
    if separator is None and (unnamed := _unnamed(head)):
        separator, names = unnamed
        return Layout(names, separator, has_header=False, form=None, step_ms=1.0)
    names = header_of(source, separator or ",")
    if missing := [name for name in REQUIRED if name not in names]:
        raise source.unreadable(
            1,
            f"no column {' and no column '.join(missing)}",
            f"the names of JMeter's columns, among them {', '.join(REQUIRED)}",
        )
    require_each_once(source, names, "JMeter")
    form, step_ms = _form_of_moments(source, head, names, separator or ",")
    return Layout(names, separator or ",", has_header=True, form=form, step_ms=step_ms)


def _separator_of_names(head: bytes) -> str | None:
    found = _NAMED.search(head.split(b"\n", 1)[0] + b"\n")
    if found is None:
        return None
    separator = (found[1] or found[2]).decode("latin-1")
    names = head.split(b"\n", 1)[0].strip().split(separator.encode("latin-1"))
    return separator if b"elapsed" in names else None


def _unnamed(head: bytes) -> tuple[str, Sequence[str]] | None:
    """Return the separator and columns of a file without names, if its first line has those of a version."""
    line = head.split(b"\n", 1)[0].decode("utf-8-sig", "replace").rstrip("\r")
    for separator in _SEPARATORS:
        try:
            fields = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            continue
        for later in _LATER:
            names = [name for name in _DEFAULT if name not in later]
            if len(fields) == len(names) and all(
                re.fullmatch(_KINDS.get(name, ".*"), field, re.ASCII | re.DOTALL)
                for name, field in zip(names, fields, strict=True)
            ):
                return separator, names
    return None


def _form_of_moments(
    source: Source, head: bytes, names: Sequence[str], separator: str
) -> tuple[str | None, float]:
    """Return the form of the times of day of the first line of samples, and their step in ms."""
    line = [*head.decode("utf-8-sig", "replace").split("\n")[1:], ""][0]
    place = names.index("timeStamp")
    try:
        text = next(csv.reader([line], delimiter=separator), [])[place:][:1]
    except csv.Error:
        text = []
    if not text or text[0].isdecimal():
        return None, 1.0
    for pattern, form, step_ms in _FORMS:
        if re.fullmatch(pattern, text[0], re.ASCII) and not _in_ms(polars.Series(text), form).has_nulls():
            return form, step_ms
    if not re.search(r"\d\D\d", text[0]):
        return None, 1.0
    raise source.unreadable(
        2,
        f"timeStamp {shown(text[0])}",
        "ms since 1970, or a time of day as JMeter reads it itself, such as 2026/03/03 09:00:00.250 "
        "(jmeter.save.saveservice.timestamp_format)",
    )

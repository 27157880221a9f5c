"""Gatling's ``simulation.log`` in text, as versions 2 and 3.0 to 3.12 write it; later ones write a binary.

Source of the form of 2.0 and 2.1, which have a record's kind behind its scenario and user:
``FileDataWriter.scala`` of Gatling 2.0.3 and 2.1.7, Apache License 2.0.
"""

import re
from collections.abc import Iterator

from loadcurve.tools.blocks import blocks
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.gatling.requests import MOMENTS_MS, Requests, figures_of_requests
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.source import Source, shown

TESTED = {
    "gatling-log": ("2.3.1", "3.0.3", "3.4.2", "3.11.5", "3.12.0"),
    "gatling-binary": ("3.13.5", "3.15.1"),
    "gatling-stats": ("2.3.1", "3.4.2", "3.11.5"),
}
"""By format, the versions whose real output it is tested with."""
_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.\S{1,20})?", re.ASCII)
"""The last column of a line RUN."""
_FORMS = ((2, 0, 3), (3, 0, 2), (3, 4, 1))
"""From which version on, and how many columns a request has before its name: scenario, user, groups."""
_KIND_UNTIL_2_1 = 2
"""The column of a record's kind; a line RUN has the simulation and its id before it."""
_LAST = (3, 12)
_KINDS = {"RUN", "USER", "REQUEST", "GROUP", "ERROR", "ASSERTION"}
_LINE = "a line of Gatling's log, which begins with its kind"
_MOMENT = re.compile(r"\d{1,15}", re.ASCII)


def is_log(head: bytes) -> bool:
    """Say whether a file begins as Gatling's log in text."""
    return any(
        line.startswith(b"RUN\t") or line.split(b"\t")[_KIND_UNTIL_2_1:][:1] == [b"RUN"]
        for line in head.split(b"\n")[:50]
    )


def read_log(source: Source) -> ToolFigures:
    """Return the figures of Gatling's log."""
    log = _Log(source)
    for number, line in _lines(source):
        log.add(number, line)
    return log.figures()


def _lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers, each with its end."""
    with source.opened() as file:
        for first, block in blocks(source, file, 1, _LINE, ends_lines=False, has_quotes=False):
            yield from enumerate(block.splitlines(keepends=True), start=first)


class _Log:
    """What was read of a log so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.version: str | None = None
        self.columns_before = 0
        self.place_of_kind = 0
        self.requests = Requests()
        self.left_out = LeftOut(source)

    def add(self, number: int, line: bytes) -> None:
        try:
            self._record(number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n"))
        except UnicodeDecodeError:
            self._leave_out(self._unreadable(number, "bytes that are not UTF-8 text", _LINE), line)
        except Unreadable as problem:
            if self.version is None:
                raise
            self._leave_out(problem, line)

    def figures(self) -> ToolFigures:
        return figures_of_requests(self.source, self._known_version(), self.requests, self.left_out)

    def _leave_out(self, problem: Unreadable, line: bytes) -> None:
        if line.endswith(b"\n"):
            self.left_out.line(problem)
        else:
            self.left_out.end(problem)

    def _record(self, number: int, line: str) -> None:
        if not line.strip():
            return
        fields = line.split("\t")
        if self.version is None and fields[_KIND_UNTIL_2_1:][:1] == ["RUN"]:
            self.place_of_kind = _KIND_UNTIL_2_1
        kind = next(iter(fields[self.place_of_kind :]), "")
        if kind not in _KINDS and fields[0] != "ASSERTION":
            raise self._unreadable(number, shown(line), f"{_LINE}: one of {', '.join(sorted(_KINDS))}")
        if kind == "RUN":
            self._run(number, line)
        elif kind == "REQUEST":
            self._request(number, line, fields)
        else:
            self.left_out.rows += 1

    def _run(self, number: int, line: str) -> None:
        found = _VERSION.fullmatch(line.rpartition("\t")[2])
        if found is None or self.version is not None:
            self.version = None
            raise self._unreadable(number, shown(line), "Gatling's line RUN once, with its version")
        version = (int(found[1]), int(found[2]))
        before = [columns for *since, columns in _FORMS if version >= tuple(since)]
        if not before or version > _LAST:
            raise self._unreadable(
                number, f"version {found[1]}.{found[2]}", "a log in text of Gatling 2.0 to 3.12"
            )
        # What all versions of Gatling 2 write there is the version of the form, 2.0.
        self.version = "2" if version < (3, 0) else f"{version[0]}.{version[1]}"
        self.columns_before = before[-1]

    def _request(self, number: int, line: str, fields: list[str]) -> None:
        version = self._known_version(number)
        if self.place_of_kind:
            # The groups, and then four moments: when the request and its answer began and ended.
            _, name, begin, _, _, end, status, message, *_ = [*fields[self.place_of_kind + 1 :], *[""] * 8]
        else:
            name, begin, end, status, message, *_ = [*fields[1 + self.columns_before :], *[""] * 5]
        if not (_is_moment(begin) and _is_moment(end) and status in {"OK", "KO"}):
            expected = f"a request of Gatling {version}: name, begin, end (ms), OK or KO"
            raise self._unreadable(number, shown(line), expected)
        self.left_out.rows += 1
        self.requests.add(int(begin), int(end), name, message, is_ok=status == "OK")

    def _known_version(self, number: int | None = None) -> str:
        if self.version is None:
            raise self._unreadable(
                number, "no line RUN until then", "Gatling's line RUN, with its version, before any request"
            )
        return self.version

    def _unreadable(self, number: int | None, found: str, expected: str) -> Unreadable:
        read = None if number is None else f"{number - 1:,} lines"
        return self.source.unreadable(number, found, expected, read)


def _is_moment(text: str) -> bool:
    return _MOMENT.fullmatch(text) is not None and int(text) in MOMENTS_MS

"""A file of targets: which form it has, and the requests of a load that it gives.

A list of paths is no such file, whatever its length: the engine reads it while it sends.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadcurve.errors import BadInput
from loadcurve.loads.entries import ReadFrom, RequestEntry
from loadcurve.loads.sent import FILE_MARK
from loadcurve.loads.targets import har, json_lines
from loadcurve.loads.targets import text as as_text
from loadcurve.loads.targets.target import BadTarget, NotHttp, Target
from loadcurve.redaction import may_be_secret, names_secret
from loadcurve.toml.problems import problems_of
from loadcurve.toml.secret import given_in, open_to_others

BYTES_MAX = 64 << 20
TARGETS_MAX = 10_000
PROBLEMS_MAX = 10
"""More of them are not reported at once."""
_SNIFFED_BYTES = 64 * 1024
_TARGET_LINE = re.compile(rb"[A-Z]+[ \t]+\S")
_BYTE_ORDER_MARK = "\ufeff"
Form = Literal["text", "json"]


@dataclass(frozen=True)
class TargetFile:
    """A file of targets as it was read."""

    path: Path
    targets: Sequence[Target]
    open_to_others: bool
    """Whether other users may read or write it."""
    is_archive: bool = False
    """Whether it is an HTTP archive, which has all that a page loads, from whatever server."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many entries of an archive are no part of the load, by the server or scheme that they name."""

    def of_hosts(self, hosts: Sequence[str]) -> "TargetFile":
        """Return what of an archive is for these values of ``Host``; all of it where none of it is."""
        if not self.is_archive:
            return self
        kept = [one for one in self.targets if one.origin is None or any(map(one.origin.is_named_by, hosts))]
        if not kept:
            return self
        others = Counter(one.origin.authority for one in self.targets if one.origin and one not in kept)
        return replace(self, targets=kept, left_out={**others, **self.left_out})

    @property
    def body_files(self) -> list[tuple[str, Path]]:
        """The files that hold bodies, each once: the name that the targets have for it, and where it is."""
        names = (one.body_file for one in self.targets if one.body_file is not None)
        return [(name, self.path.parent / name) for name in dict.fromkeys(names)]

    @property
    def may_hold_secrets(self) -> bool:
        """Whether it has bodies, or headers that may be secret: records hold neither."""
        return any(one.body or any(may_be_secret(name) for name, _ in one.fields) for one in self.targets)


def form_of(file: Path) -> Form | None:
    """Return the form of a file of targets, by its first line that is neither blank nor a comment.

    ``None`` for a list of paths, and for what cannot be read.
    """
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            start = opened.read(_SNIFFED_BYTES)
    except OSError:
        return None
    lines = (line.strip() for line in start.removeprefix(_BYTE_ORDER_MARK.encode()).split(b"\n"))
    first = next((line for line in lines if line and not line.startswith(b"#")), b"")
    if first.startswith(b"{"):
        return "json"
    return "text" if _TARGET_LINE.match(first) else None


def read_targets(file: Path) -> TargetFile:
    """Read a file of targets.

    Raises:
        BadInput: it cannot be read, is too large, or has a target that cannot be one; the text has one line
            for each problem, as ``file:line: what was found; what was expected``.

    """
    given = given_in(file, BYTES_MAX)
    text = given.text.removeprefix(_BYTE_ORDER_MARK)
    form = form_of(file)
    is_archive = form == "json" and har.is_archive(text)
    found: list[Target] = []
    problems: list[str] = []
    left_out: Counter[str] = Counter()
    try:
        for one in _reader(form, is_archive=is_archive)(text):
            if isinstance(one, Target):
                found.append(one)
            elif isinstance(one[1], NotHttp):
                left_out[f"{one[1]}:"] += 1
            else:
                place, bad = one
                problems.append(f"{file}{place}: {bad}")
            if len(found) > TARGETS_MAX:
                break
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None
    if problems:
        raise BadInput(_shortened(problems))
    if len(found) > TARGETS_MAX:
        too_many = (
            f"{file}: more than {TARGETS_MAX:,} targets; expected at most that many, or a list of paths"
        )
        raise BadInput(f"{too_many}, which may have any length")
    if not found:
        raise BadInput(f"{file}: no target; expected at least one")
    return TargetFile(file, found, given.open_to_others, is_archive, left_out)


def entries_of(targets: TargetFile) -> list[RequestEntry]:
    """Return the requests of a file of targets.

    Raises:
        BadInput: one cannot be sent, or other users may read the file, which names a secret; the text is as
            that of :func:`read_targets`.

    """
    secret = next((name for one in targets.targets for name, _ in one.fields if names_secret(name)), None)
    if secret is not None and targets.open_to_others:
        raise BadInput(f"{targets.path}: it has the header {secret}; {open_to_others(targets.path)}")
    entries: list[RequestEntry] = []
    problems: list[str] = []
    for one in targets.targets:
        place = f"{targets.path}{one.place}"
        try:
            source = ReadFrom(targets.path, place, one.origin, one.body, one.status, targets.is_archive)
            entries.append(RequestEntry.read_from(source, _table(one), targets.path.parent))
        except ValidationError as error:
            problems += [f"{place}: {problem.text}" for problem in problems_of(error, RequestEntry)]
    if problems:
        raise BadInput(_shortened(problems))
    return entries


def _table(target: Target) -> dict[str, object]:
    """Return a target as a study has a request; a body that is not in a file is left out."""
    headers: dict[str, list[str]] = {}
    for name, value in target.fields:
        headers.setdefault(name, []).append(value)
    body = {} if target.body_file is None else {"body": f"{FILE_MARK}{target.body_file}"}
    weight = {} if target.weight is None else {"weight": target.weight}
    return {"path": target.path, "method": target.method, "headers": headers, **body, **weight}


def _reader(
    form: Form | None, *, is_archive: bool
) -> Callable[[str], Iterator[Target | tuple[str, BadTarget]]]:
    if form == "text":
        return as_text.targets_in
    return har.targets_in if is_archive else json_lines.targets_in


def _shortened(problems: Sequence[str]) -> str:
    shown = [*islice(problems, PROBLEMS_MAX)]
    left = len(problems) - len(shown)
    return "\n".join([*shown, *([f"and {left} more"] if left else [])])

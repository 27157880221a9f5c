"""Targets as vegeta reads them as text (``-format=http``).

A target is a line with a method and a URL, then one header a line, and perhaps ``@`` and the name of the file
with its body. A blank line, or the next target, ends it; ``#`` begins a comment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from loadcurve.loads.sent import FILE_MARK
from loadcurve.loads.targets.target import BadTarget, Target, require_url

TARGET_LINE = re.compile(r"(?P<method>[A-Z]+)[ \t]+(?P<url>\S.*)")
WHAT = "a target such as GET http://127.0.0.1:8080/path, or POST /path"


@dataclass
class _Begun:
    """A target whose lines are being read."""

    place: str
    method: str
    url: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body_file: str | None = None

    def take(self, line: str) -> None:
        """Add a line behind the first one; raises ``BadTarget`` where that cannot be."""
        if self.body_file is not None:
            raise BadTarget("behind the body of a target; expected a blank line or the next target")
        if line.startswith(FILE_MARK):
            self.body_file = line.removeprefix(FILE_MARK)
            return
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not name:
            # What was found is not repeated: it may be a secret.
            raise BadTarget('no header; expected "Name: value", @ and the file of the body, or a blank line')
        self.headers.append((name, value))

    def target(self) -> Target:
        return Target(self.place, self.method, self.url, self.headers, None, self.body_file)


def _begun(place: str, begins: re.Match[str] | None, line: str) -> _Begun:
    """Return the target that a line begins; raises ``BadTarget`` for one that begins none."""
    if begins is None:
        raise BadTarget(f'found "{line.split(maxsplit=1)[0][:60]}"; expected {WHAT}')
    return _Begun(place, begins["method"], require_url(begins["url"]))


def targets_in(text: str) -> Iterator[Target | tuple[str, BadTarget]]:
    """Yield the targets of a text; where a line cannot be one, its place and why."""
    begun: _Begun | None = None
    for number, given in enumerate(text.split("\n"), start=1):
        line, place = given.strip(), f":{number}"
        begins = TARGET_LINE.fullmatch(line)
        if begun is not None and (not line or begins):
            yield begun.target()
            begun = None
        if not line or line.startswith("#"):
            continue
        try:
            if begun is None:
                begun = _begun(place, begins, line)
            else:
                begun.take(line)
        except BadTarget as bad:
            yield place, bad
    if begun is not None:
        yield begun.target()

"""Files of requests: one path on each line, followed by a weight or a time if there is one."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from loadcurve._engine import RequestList
from loadcurve.errors import BadInput
from loadcurve.files import sha256_of

REQUEST_PATH_PATTERN = r"""^/[!"$-~]*$"""
"""A path, with its query, as it is in the first line of a request."""
REQUEST_PATH_IN_WORDS = 'a path that begins with "/" and has no spaces, such as "/1k.txt"'
_AS_IT_IS = "".join(map(chr, range(ord("!"), ord("~") + 1))).replace("#", "")
"""What is in the first line of a request as it is; a ``#`` would begin a fragment, which is not sent."""
ACCESS_LOG_LINE = re.compile(rb'\S+ \S+ \S+ \[[^\]]{10,40}\] "')
"""How a line of the common log format begins: client, identity, user, time and request."""
LINE_BYTES_MAX = 64 * 2**10
VERIFIED_PATHS_MAX = 100
"""How many paths of a long list a trial verifies."""


def encoded_path(path: str | bytes) -> str:
    """Return a path with what cannot be in a request percent-encoded, a text as UTF-8 (RFC 3986, 2.5)."""
    return quote(path, safe=_AS_IT_IS)


@dataclass(frozen=True)
class LongList:
    """A file that stays one, which the engine reads while it sends its requests.

    These are lists of more than 100 requests, all that are replayed, and those that expect statuses.
    """

    file: Path
    listed: RequestList
    sha256: str | None = None
    """The digest of a list that is replayed."""

    def statuses_of(self, paths: Sequence[str]) -> dict[str, frozenset[int]]:
        """Return which statuses the list expects of these paths, of those of which it expects one.

        Raises:
            BadInput: the file has changed since it was read.

        """
        try:
            expected = self.listed.statuses_of(list(paths))
        except ValueError as error:
            raise BadInput(f"{self.file}: {error}") from None
        return {path: frozenset(found) for path, found in zip(paths, expected, strict=True) if found}

    def summary(self) -> dict[str, object]:
        """Return what a record of the study says of the list."""
        summary: dict[str, object] = {"file": str(self.file), "count": self.listed.count}
        if self.sha256 is not None:
            summary |= {"recorded_s": self.listed.recorded_s, "sha256": self.sha256}
        return summary


def open_requests(file: Path) -> RequestList:
    """Open a file of requests: on each line a path and, after white space, a weight of 0 or more.

    In place of the weight there may be a time: ``@`` and the seconds from the start of a recording. Behind it
    there may be the status that is expected, as ``=404``. From a word that begins with ``#`` on, a line is a
    comment; lines without a path are skipped.

    Raises:
        BadInput: the file cannot be read or holds no path, or a line is not of this form; the text has one
            line per problem, as ``file:line: what was found; what was expected``.

    """
    try:
        return RequestList(file)
    except ValueError as error:
        raise BadInput(_of_access_log(file) or str(error)) from None


def _of_access_log(file: Path) -> str | None:
    """Return what makes a list of an access log; ``None`` where a file does not begin as one does."""
    try:
        with file.open("rb") as source:
            first = source.readline(LINE_BYTES_MAX)
    except OSError:
        return None
    if ACCESS_LOG_LINE.match(first) is None:
        return None
    return (
        f"{file}: this is an access log, and no list of requests; to make one with the times of the log: "
        f"loadcurve import {shlex.quote(str(file))} --as recording; or by how often each path was asked for: "
        "--as requests"
    )


def list_digest(file: Path) -> str:
    """Return the digest of a file of requests; raises ``BadInput`` where it cannot be read."""
    try:
        return sha256_of(file)
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from error


def sampled_paths(requests: LongList, seed: int) -> list[str]:
    """Return the paths of 100 requests of a long list that ``seed`` picks, each once.

    Raises:
        BadInput: the file of the list has changed since it was read.

    """
    try:
        sample = requests.listed.sample(VERIFIED_PATHS_MAX, seed)
    except ValueError as error:
        raise BadInput(f"{requests.file}: {error}") from None
    return list(dict.fromkeys(sample))

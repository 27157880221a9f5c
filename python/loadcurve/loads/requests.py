"""Files of requests: one path on each line, with a weight behind it where the person gives one."""

from dataclasses import dataclass
from pathlib import Path

from loadcurve._engine import RequestList
from loadcurve.errors import BadInput

REQUEST_PATH_PATTERN = r"^/[!-~]*$"
"""A path, with its query, as it stands in the first line of a request."""
REQUEST_PATH_IN_WORDS = 'a path that begins with "/" and has no spaces, such as "/1k.txt"'
VERIFIED_PATHS_MAX = 100
"""How many paths of a long list a trial verifies."""


@dataclass(frozen=True)
class LongList:
    """A file with more than 100 requests: it stays a file, which the engine reads while it sends them."""

    file: Path
    listed: RequestList

    def summary(self) -> dict[str, object]:
        """Return what a record of the study says of the list."""
        return {"file": str(self.file), "count": self.listed.count}


def open_requests(file: Path) -> RequestList:
    """Open a file of requests: on each line a path and, after white space, a weight of 0 or more.

    From a word that begins with ``#`` on, a line is a comment; lines without a path are skipped.

    Raises:
        BadInput: the file cannot be read or holds no path, or a line is not of this form; the text has one
            line per problem, as ``file:line: what was found; what was expected``.

    """
    try:
        return RequestList(file)
    except ValueError as error:
        raise BadInput(str(error)) from None


def paths_to_verify(requests: list[str] | LongList, seed: int) -> list[str]:
    """Return the paths of the requests; of a long list, those of 100 requests that ``seed`` picks, each once.

    Raises:
        BadInput: the file of the list has changed since it was read.

    """
    if not isinstance(requests, LongList):
        return requests
    try:
        sample = requests.listed.sample(VERIFIED_PATHS_MAX, seed)
    except ValueError as error:
        raise BadInput(f"{requests.file}: {error}") from None
    return list(dict.fromkeys(sample))

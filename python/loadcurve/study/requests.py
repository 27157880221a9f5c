"""Files of requests: one path on each line, with a weight behind it where the person gives one."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.study.expected import show
from loadcurve.study.text_file import read_text

REQUEST_PATH_PATTERN = r"^/[!-~]*$"
"""A path, with its query, as it stands in the first line of a request."""
REQUEST_PATH_IN_WORDS = 'a path that begins with "/" and has no spaces, such as "/1k.txt"'


@dataclass(frozen=True, slots=True)
class ListedRequest:
    """One request of a file; ``weight`` is ``None`` where its line gives none."""

    path: str
    weight: float | None
    line: int


def read_requests(file: Path) -> list[ListedRequest]:
    """Read a file of requests: on each line a path and, after white space, a weight of 0 or more.

    From a word that begins with ``#`` on, a line is a comment; lines without a path are skipped.

    Raises:
        BadInput: the file cannot be read or holds no path, or a line is not of this form; the text has one
            line per problem, as ``file:line: what was found; what was expected``.

    """
    requests, problems = [], []
    for number, text in enumerate(read_text(file, "a file with one path on each line").split("\n"), start=1):
        words = _words(text)
        if not words:
            continue
        try:
            requests.append(_request(words, number))
        except ValueError as error:
            problems.append(f"{file}:{number}: {error}")
    if problems:
        raise BadInput("\n".join(problems))
    if not requests:
        raise BadInput(f"{file}: holds no request; expected a path such as /1k.txt on each line")
    return requests


def _words(line: str) -> list[str]:
    words = line.split()
    comment = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def _request(words: list[str], line: int) -> ListedRequest:
    """Read the words of one line; raises ValueError with what was found and expected."""
    path, *rest = words
    if not re.fullmatch(REQUEST_PATH_PATTERN, path):
        raise ValueError(f"found {show(path)}; expected {REQUEST_PATH_IN_WORDS}")
    if len(rest) > 1:
        raise ValueError(f"found {show(' '.join(words))}; expected a path and at most a weight behind it")
    return ListedRequest(path, _weight(rest[0]) if rest else None, line)


def _weight(word: str) -> float:
    try:
        weight = float(word)
    except ValueError:
        weight = math.nan
    if not (weight >= 0 and math.isfinite(weight)):
        raise ValueError(f"found the weight {show(word)}; expected a number of 0 or more")
    return weight

"""What a load consists of, in words: a web server is asked by requests, a database by operations."""

import re
from dataclasses import dataclass

_REQUEST = re.compile(r"(?<![\w.-])(?:([Aa]) )?([Rr])equest(s?)(?![\w-])")


@dataclass(frozen=True, slots=True)
class Words:
    """Says our own texts, which speak of requests, as they are said of one kind of load."""

    of_database: bool

    def __call__(self, text: str) -> str:
        """Return a text of ours; of a database it speaks of operations."""
        return _REQUEST.sub(_operation, text) if self.of_database else text


OF_WEB_SERVERS = Words(of_database=False)


def words_of_model(model: object) -> Words:
    """Return the words for loads of a model, such as ``closed``."""
    return Words(of_database=model == "ycsb")


def _operation(found: re.Match[str]) -> str:
    article = f"{found[1]}n " if found[1] else ""
    return f"{article}{'O' if found[2] == 'R' else 'o'}peration{found[3]}"

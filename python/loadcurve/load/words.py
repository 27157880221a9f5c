"""What a load consists of, in words: a web server is asked by requests, a database by operations."""

import re
from dataclasses import dataclass

_REQUEST = re.compile(r"(?<![\w.-])(?P<article>[Aa] )?(?P<first>[Rr])equest(?P<plural>s?)(?![\w-])")


@dataclass(frozen=True, slots=True)
class Words:
    """Says our own texts, which speak of requests, as they are said of one kind of load."""

    of_database: bool

    def __call__(self, text: str) -> str:
        """Return a text of ours; of a database it speaks of operations."""
        return _REQUEST.sub(_operation, text) if self.of_database else text


def _operation(found: re.Match[str]) -> str:
    article = f"{found['article'][0]}n " if found["article"] else ""
    return f"{article}{'O' if found['first'] == 'R' else 'o'}peration{found['plural']}"

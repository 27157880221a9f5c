"""The files that a plan names, as the engine reads it, and the same plan with other places for them."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

READ: Final = frozenset({"file", "certificate", "key"})
"""The keys whose texts name files that the engine reads."""
WRITTEN: Final = "key_log"


def files_read(plan: str) -> list[str]:
    """Return the files that the engine reads for a plan, each once."""
    return [*dict.fromkeys(text for key, text in _named(json.loads(plan)) if key in READ)]


def files_written(plan: str) -> list[str]:
    """Return the files to which the engine appends for a plan."""
    return [text for key, text in _named(json.loads(plan)) if key == WRITTEN]


def with_files_at(plan: str, places: Mapping[str, str]) -> str:
    """Return a plan whose files that are read lie elsewhere; raises KeyError for one that has no place."""
    return json.dumps(_replaced(json.loads(plan), places.__getitem__))


def _named(written: object) -> Iterator[tuple[str, str]]:
    if isinstance(written, dict):
        for key, value in written.items():
            if isinstance(value, str):
                yield key, value
            else:
                yield from _named(value)
    elif isinstance(written, list):
        for value in written:
            yield from _named(value)


def _replaced(written: Any, place: Callable[[str], str]) -> Any:  # noqa: ANN401 -- JSON
    if isinstance(written, dict):
        return {
            key: place(value) if key in READ and isinstance(value, str) else _replaced(value, place)
            for key, value in written.items()
        }
    if isinstance(written, list):
        return [_replaced(value, place) for value in written]
    return written

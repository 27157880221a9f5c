"""What a run folder records of the files that its study names, and of the catalogues that it was run with."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from loadcurve.record import Count, Record

CATALOG_OPTION = "--catalog"
LeftOutReason = Literal["program", "image", "private key", "secret", "too large", "unreadable", "not used"]
_IN_WORDS: Mapping[LeftOutReason, str] = {
    "program": "a program",
    "image": "an image of a container",
    "private key": "a private key",
    "secret": "a secret",
    "too large": "too large to keep",
    "unreadable": "it could not be read",
}


class InputRecord(Record):
    """A file or a folder that a run was given beside its study."""

    key: str
    """What names it: a key of the study, such as ``load.body``, or ``--catalog``."""
    name: str
    """As the study or the option has it."""
    kept_as: str | None
    """Its copy, by its path from the run folder; ``None`` where it has none."""
    left_out: LeftOutReason | None = None
    """Why it has no copy."""
    bytes: Count | None = None
    """Its length, or that of all files of a folder; ``None`` of what has no copy."""
    sha256: str | None = None
    """Its digest, or that of the names and digests of all files of a folder."""


def with_kept_catalogs(options: Sequence[str], inputs: Sequence[InputRecord]) -> list[str]:
    """Return the options of a run with the copies of catalogues; one that was not used is left out."""
    of_catalogs = {one.name: one for one in inputs if one.key == CATALOG_OPTION}
    words: list[str] = []
    for place, word in enumerate(options):
        one = of_catalogs.get(word) if place and options[place - 1] == CATALOG_OPTION else None
        if one is None or one.kept_as is not None:
            words.append(word if one is None or one.kept_as is None else one.kept_as)
        elif one.left_out == "not used":
            words.pop()
        else:
            words.append(word)
    return words


def missing_in_words(inputs: Sequence[InputRecord]) -> list[str]:
    """Say what the folder lacks of its run's inputs, one sentence each."""
    return [
        f"{one.key}: {one.name} ({_IN_WORDS[one.left_out]})"
        for one in inputs
        if one.left_out is not None and one.left_out in _IN_WORDS
    ]


def digests_of(inputs: Sequence[InputRecord]) -> dict[str, str]:
    """Return the digest of each input that has one, by what names it."""
    return {f"{one.key} {one.kept_as}": one.sha256 for one in inputs if one.sha256 and one.kept_as}


def with_kept_names(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - any value that JSON has
    """Return a value in which each text that names a file of these has the name of its copy."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: with_kept_names(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [with_kept_names(one, names) for one in value]
    return value

"""Texts that differ in their numbers alone, as one text with ranges."""

import re
from collections.abc import Iterable, Sequence

_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_NUMBERS = re.compile(
    # A list of things by number, such as ``process 12, process 15 and process 99``, or a number by itself.
    rf"(?<![A-Za-z])(?P<word>[A-Za-z]+) {_NUMBER}(?:(?:, | and )(?P=word) {_NUMBER})+(?!\w|[.,]\d)"
    rf"|(?<![\w.,]){_NUMBER}(?!\w|[.,]\d)"
)


def grouped_alike(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return texts by what they have in common: each with those that differ from it in numbers alone.

    The key is the one text that stands for all: a number that differs is a range, and of things that are
    listed by their numbers, such as processes, it says how many there were in all.
    """
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        skeleton = _NUMBERS.sub(lambda found: f"{found['word']} #" if found["word"] else "#", text)
        groups.setdefault(skeleton, []).append(text)
    return {_merged(group): group for group in groups.values()}


def _merged(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    found = [list(_NUMBERS.finditer(text)) for text in texts]
    # A thing by its number and a list of several are alike, and the list has the words for many.
    fullest = max(range(len(texts)), key=lambda place: sum(one["word"] is not None for one in found[place]))
    ranges = map(_range, zip(found[fullest], zip(*found, strict=True), strict=True))
    return _NUMBERS.sub(lambda _: next(ranges), texts[fullest])


def _range(place: tuple[re.Match[str], Sequence[re.Match[str]]]) -> str:
    """Return the range of the numbers that texts have at one place, in the form of the first."""
    form, found = place
    every = sorted({number for one in found for number in re.findall(_NUMBER, one[0])}, key=_value)
    ends = every[0] if len(every) == 1 else f"{every[0]} to {every[-1]}"
    return ends if form["word"] is None else f"{form['word']} {ends}, {len(every)} in all"


def _value(number: str) -> float:
    return float(number.replace(",", ""))

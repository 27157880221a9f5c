"""Which of two versions of a server is the older one."""

import re

_LEADING_NUMBER = re.compile(r"\d+(?:\.\d+)*")


def is_before(version: str, other: str) -> bool:
    """Say whether a version is older than another by its numbers; one without any counts as the newest.

    What follows the numbers, such as the name of a distribution, is not compared.
    """
    numbers = _numbers(version)
    return bool(numbers) and numbers < _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    found = _LEADING_NUMBER.search(version)
    return tuple(map(int, found[0].split("."))) if found else ()

"""Which server, point and trial each file is of: by options, by patterns, or by the order of files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.loads.kinds import KINDS
from loadcurve.loads.values import Point
from loadcurve.toml.expected import nearest

SERVER, TRIAL = "server", "trial"
SWEPT = tuple(
    dict.fromkeys([*(key for kind in KINDS for key in kind.load_keys), "pipeline", "streams", "calls"])
)
"""The keys that a point may have."""
FILES_MAX = 20_000
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,9})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Named:
    """A file, and what its name says; ``None`` is what it does not."""

    path: Path
    server: str | None
    trial: str | None
    point: Point


def named_files(given: Sequence[str], prefix: str) -> list[Named]:
    """Return the files of names and patterns, each pattern's in the order of its values.

    ``prefix`` precedes each. A pattern has names in braces: ``{server}``, ``{trial}``, a key of a load.

    Raises:
        BadInput: a pattern names something else, matches no file, or a value is no number.

    """
    files: list[Named] = []
    for text in given:
        pattern = prefix + text
        files += sorted(_matching(pattern), key=_place) if _PLACEHOLDER.search(pattern) else [_plain(pattern)]
        if len(files) > FILES_MAX:
            raise BadInput(f"more than {FILES_MAX:,} files: import them in several runs")
    return files


def _plain(text: str) -> Named:
    return Named(Path(text), None, None, {})


def _place(one: Named) -> tuple[str, tuple[tuple[str, float], ...], list[str | int], str]:
    numbers: list[str | int] = [
        int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", one.trial or "")
    ]
    return one.server or "", tuple(sorted(one.point.items())), numbers, str(one.path)


def _matching(pattern: str) -> Iterator[Named]:
    names = _PLACEHOLDER.findall(pattern)
    for name in names:
        known = (SERVER, TRIAL, *SWEPT)
        if name not in known:
            raise BadInput(
                f"{pattern}: {{{name}}} is unknown; expected one of "
                f"{', '.join(f'{{{one}}}' for one in known)}{nearest(name, list(known))}"
            )
    if len(set(names)) < len(names):
        raise BadInput(f"{pattern}: a name in braces occurs twice; expected each once")
    parts = _PLACEHOLDER.split(pattern)
    expression = "".join(
        re.escape(part) if place % 2 == 0 else "([^/]+?)" for place, part in enumerate(parts)
    )
    root, glob = _glob("".join(part if place % 2 == 0 else "*" for place, part in enumerate(parts)))
    whole = re.compile(expression)
    found = 0
    for path in root.glob(glob):
        matched = whole.fullmatch(str(path)) or whole.fullmatch(f"./{path}")
        if matched is not None:
            found += 1
            yield _named(pattern, path, dict(zip(names, matched.groups(), strict=True)))
    if not found:
        raise BadInput(f"{pattern}: no file matches this pattern")


def _glob(pattern: str) -> tuple[Path, str]:
    """Return where to look, and for what from there."""
    path = Path(pattern)
    return (
        (Path(path.anchor), str(path.relative_to(path.anchor))) if path.is_absolute() else (Path(), pattern)
    )


def _named(pattern: str, path: Path, values: Mapping[str, str]) -> Named:
    point = {}
    for key, value in values.items():
        if key in {SERVER, TRIAL}:
            continue
        if not _NUMBER.fullmatch(value):
            raise BadInput(f"{path}: {key} is {value!r} by the pattern {pattern}; expected a number")
        point[key] = float(value)
    return Named(path, values.get(SERVER), values.get(TRIAL), point)


def point_of(given: Sequence[str]) -> Point:
    """Read the KEY=VALUE of ``--point``; raises ``BadInput``."""
    point: Point = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not _NUMBER.fullmatch(value):
            raise BadInput(f"--point {text}: expected KEY=NUMBER, such as connections=50")
        if key not in SWEPT:
            raise BadInput(f"--point {text}: expected one of {', '.join(SWEPT)}{nearest(key, list(SWEPT))}")
        if key in point:
            raise BadInput(f"--point {text}: {key} was already given")
        point[key] = float(value)
    return point

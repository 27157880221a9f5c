"""Paths of an own application as its source names them, to ask for: routes of the usual web frameworks."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUFFIXES: Final = frozenset(
    [".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".ru", ".go", ".java", ".kt", ".php", ".rs"]
)
FILES_MAX: Final = 200
BYTES_MAX: Final = 256 * 2**10
"""Of one file: what is larger was made by a program."""
NOT_ITS_OWN: Final = frozenset(
    ["node_modules", "site-packages", "target", "vendor", "dist", "build", "venv", "env", "test", "tests"]
)
"""Folders of what others wrote or a program made, and of tests, whose paths need not be there."""
ROUTE: Final = re.compile(
    r"""
    (?: \.(?:get|route|add_url_rule|add_api_route|add_route)\s*\(   # Flask, FastAPI, Express, Fastify, axum
      | \b(?:HandleFunc|Handle|GET|GetMapping|RequestMapping)\s*\(   # Go, Gin, Spring
      | ^\s*(?:get|root\s+to:)\s*\(?\s*                              # Rails, Sinatra
      | (?P<relative>\b(?:re_)?path\()                                # Django
    )
    \s*(?:(?:value|path)\s*=\s*)?
    (?P<quote>["'`])(?:GET\s+)?(?P<path>[^"'`\s]*)(?P=quote)
    """,
    re.VERBOSE | re.MULTILINE,
)
PLAIN: Final = re.compile(r"/[\w.~/-]*")
"""A path without parameters, such as ``<id>``, ``:id``, ``{id}`` and ``*``."""


@dataclass(frozen=True)
class SourcePath:
    """A path, and the file that names it."""

    path: str
    file: Path


def source_paths(folder: Path) -> Iterator[SourcePath]:
    """Yield the paths without parameters that the source in a folder has routes for, each once.

    They are guesses by the look of the text: a prefix that is set elsewhere is not in them, and a path that
    is asked of another service may be. Files that cannot be read are left out.
    """
    found: set[str] = set()
    for file in _files(folder):
        for path in routes_of(_text(file)):
            if path not in found:
                found.add(path)
                yield SourcePath(path, file.relative_to(folder))


def routes_of(text: str) -> Iterator[str]:
    """Yield the paths without parameters that a text has routes for."""
    for route in ROUTE.finditer(text):
        path = f"/{route['path']}" if route["relative"] else route["path"]
        if PLAIN.fullmatch(path) and path != "/":
            yield path


def _files(folder: Path) -> Iterator[Path]:
    seen = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in NOT_ITS_OWN and not one.startswith("."))
        for name in sorted(files):
            file = Path(place, name)
            if file.suffix in SUFFIXES and file.is_file():
                seen += 1
                if seen > FILES_MAX:
                    return
                yield file


def _text(file: Path) -> str:
    try:
        with file.open("rb") as source:
            content = source.read(BYTES_MAX + 1)
    except OSError:
        return ""
    return content.decode("utf-8", "replace") if len(content) <= BYTES_MAX else ""

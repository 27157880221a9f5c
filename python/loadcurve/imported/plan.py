"""What was read, laid out as a run: servers, points and trials."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from threading import Event

from loadcurve.errors import BadInput
from loadcurve.imported.pattern import Named
from loadcurve.loads.values import Point
from loadcurve.result.measures import PointKey, point_key
from loadcurve.toml.expected import show
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source
from loadcurve.units import setting

_BLOCK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Imported:
    """One file that was read."""

    path: Path
    bytes: int
    sha256: str
    format: str
    server: str
    point: Point
    trial: int
    """Of its server, from 0."""
    figures: ToolFigures


def read_files(files: Sequence[Named], named: str | None, server: str | None, point: Point) -> list[Imported]:
    """Read all files; nothing of them is kept where one cannot be read.

    ``server`` and ``point`` are of those whose names do not say more. Files of one point of one server are
    its trials, in the order in which they are given, or by the trials that their names say.

    Raises:
        BadInput: a file cannot be read, or it is not known of which point it is.

    """
    read = [_read(one, named, server, point) for one in files]
    _require_same_keys(read)
    return _numbered(read, [one.trial for one in files])


def _read(one: Named, named: str | None, server: str | None, point: Point) -> Imported:
    source = Source(one.path)
    with _digest_beside(source) as digested:
        figures, form = read_figures(source, named)
        digest, size = digested.result()
    if twice := sorted(one.point.keys() & point.keys()):
        raise BadInput(
            f"{source.name}: {twice[0]} is set by its name and by --point; expected one of the two"
        )
    if one.server is not None and server is not None:
        raise BadInput(f"{source.name}: its name already gives the server; remove --server")
    return Imported(
        path=one.path,
        bytes=size,
        sha256=digest,
        format=form.name,
        server=one.server or server or form.tool,
        point=_point(source, figures, {**point, **one.point}),
        trial=0,
        figures=figures,
    )


@contextmanager
def _digest_beside(source: Source) -> Iterator[Future[tuple[str, int]]]:
    """Find the SHA-256 and the length of a file in a second thread, which ends with the block."""
    is_over = Event()
    with ThreadPoolExecutor(max_workers=1) as executor:
        try:
            yield executor.submit(_digest, source, is_over)
        finally:
            is_over.set()


def _digest(source: Source, is_over: Event) -> tuple[str, int]:
    found, size = sha256(), 0
    with source.as_it_is() as file:
        while not is_over.is_set() and (block := file.read(_BLOCK_BYTES)):
            found.update(block)
            size += len(block)
    return found.hexdigest(), size


def _point(source: Source, figures: ToolFigures, given: Point) -> Point:
    """Return the point of a file: what was said of it, or else what it says itself."""
    asked = figures.asked
    said = {
        "connections": asked.connections,
        "rate": asked.rate_rps,
        "connection_rate": asked.connection_rate_cps,
        "threads": asked.threads,
        "streams": asked.streams,
    }
    for key, value in given.items():
        own = said.get(key)
        if own is not None and own != value:
            raise BadInput(
                f"{source.name}: the file says {key} = {setting(own)}, and {setting(value)} was given; give "
                "what the file says, or nothing, as it is then taken from the file"
            )
    if given:
        return given
    for key in ("connection_rate", "rate", "connections", "threads", "streams"):
        if (known := said[key]) is not None:
            return {key: float(known)}
    raise BadInput(
        f"{source.name}: the file does not record its load; give it, for example with --point connections=50 "
        "or --point rate=1000"
    )


def _require_same_keys(read: Sequence[Imported]) -> None:
    """Refuse points that cannot lie along one curve."""
    first = read[0]
    for other in read[1:]:
        if other.point.keys() != first.point.keys():
            raise BadInput(
                f"{first.path} is at {_words(first.point)} and {other.path} at {_words(other.point)}: "
                "expected the same keys for all; give them with --point, or import them in two runs"
            )


def _words(point: Point) -> str:
    return ", ".join(f"{key} = {show(value)}" for key, value in point.items())


def _numbered(read: Sequence[Imported], names: Sequence[str | None]) -> list[Imported]:
    """Return the files with the numbers of their trials."""
    order = list(dict.fromkeys(name for name in names if name is not None))
    counts: dict[tuple[str, PointKey], int] = {}
    places: dict[tuple[str, PointKey, int], Path] = {}
    numbered = []
    for one, name in zip(read, names, strict=True):
        key = one.server, point_key(one.point)
        trial = counts.get(key, 0) if name is None else order.index(name)
        counts[key] = counts.get(key, 0) + 1
        if before := places.get((*key, trial)):
            raise BadInput(
                f"{before} and {one.path} are both trial {name} of {one.server} at {_words(one.point)}: "
                "expected one file for each"
            )
        places[(*key, trial)] = one.path
        numbered.append(replace(one, trial=trial))
    return numbered

"""Building a site: which pages there are, and which of them have to be written anew."""

import functools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from loadcurve.errors import LoadcurveError
from loadcurve.files import make_folder
from loadcurve.report.files import write_part
from loadcurve.report.page import rendered, strict_script, template_text
from loadcurve.report.site.lists import front_values, machine_values, study_values
from loadcurve.report.site.prices import PriceTable, read_prices
from loadcurve.report.site.result_page import EMPTY, result_values
from loadcurve.report.site.server_page import server_values
from loadcurve.result.checksum import digest
from loadcurve.result.publication import (
    MACHINES_FOLDER,
    RESULTS_FOLDER,
    SERVERS_FOLDER,
    files_of,
    read_published,
)
from loadcurve.result.site_index import (
    INDEX_FILE,
    IndexedRun,
    SiteIndex,
    index_of,
    index_text,
    joined,
    read_index,
)
from loadcurve.stats.interval import CONFIDENCE, quantile
from loadcurve.version import VERSION

_STYLES: Final = ["report.css", "site.css"]
_SCRIPTS: Final = ["long_table.js", "tables.js", "site.js"]
_TEMPLATES: Final = ("base", "elements", "front", "result", "study", "server", "machine")
_HEAD_BYTES: Final = 512
"""Within these a page says what it was made of, and where it belongs."""
_PAGES: Final = (
    *("*/index.html", f"*/{RESULTS_FOLDER}/*/*.html"),
    *(f"{SERVERS_FOLDER}/*.html", f"{MACHINES_FOLDER}/*.html"),
)
"""Where the pages of a site are, but for the front page, which it always has."""
DEGREES_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site."""

    place: str
    made_of: str
    """The digest of all that decides what it says."""
    text: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Built:
    """What was built."""

    runs: int
    pages: int
    written: int
    removed: int
    """Pages of results that are published no more."""


def build_site(site: Path, languages: Mapping[str, str] = EMPTY, *, afresh: bool = False) -> Built:
    """Write the pages and the index of a site's published files; pages that are as they would be, stay.

    A page that the site made of results which are no longer there is removed; nothing else is.

    ``languages`` are those of servers by their slugs, by which lists are filtered. With ``afresh``, nothing
    of an earlier index is believed.

    Raises ``LoadcurveError`` where a file cannot be read as a published result, or a page not be written.
    """
    files = files_of(site)
    index = index_of(site, files, {} if afresh else read_index(site))
    shown = index.model_copy(update={"runs": joined(index.runs)})
    pages = list(pages_of(site, shown, read_prices(site), languages))
    written = 0
    for page in pages:
        if afresh or not _is_there(site / page.place, page.made_of):
            make_folder((site / page.place).parent)
            write_part(site / page.place, page.text().encode())
            written += 1
    write_part(site / INDEX_FILE, index_text(index))
    removed = _remove(_outdated(site, {page.place for page in pages}))
    return Built(len(index.listed), len(pages), written, removed)


def pages_of(
    site: Path, index: SiteIndex, prices: PriceTable | None = None, languages: Mapping[str, str] = EMPTY
) -> Iterator[Page]:
    """Yield the pages of a site: of all runs, studies, servers and machines, and the front page."""
    of_prices = "" if prices is None else prices.model_dump_json()
    of_languages = json.dumps(sorted(languages.items()))
    page = partial(_page, of_languages=of_languages)
    yield page("front", "index.html", 0, index.listed, partial(front_values, index, languages))
    by_place = {run.place: run for run in index.runs}
    for run in index.runs:
        later = by_place.get(run.superseded_by or "")
        values = partial(_of_result, site, run, prices, languages, later=later)
        yield page("result", run.page, 3, [run, *([later] if later else [])], values, of_prices=of_prices)
    for subject, runs in _by(index, lambda run: [run.subject]).items():
        values = partial(study_values, subject, runs, languages)
        yield page("study", f"{subject}/index.html", 1, runs, values)
    for slug, runs in _by(index, _servers).items():
        yield page("server", f"{SERVERS_FOLDER}/{slug}.html", 1, runs, partial(server_values, slug, runs))
    for slug, runs in _by(index, lambda run: [run.machine.slug]).items():
        values = partial(machine_values, runs, languages)
        yield page("machine", f"{MACHINES_FOLDER}/{slug}.html", 1, runs, values)


def _servers(run: IndexedRun) -> Iterable[str]:
    return {server.slug for server in run.servers}


def _by(index: SiteIndex, keys: Callable[[IndexedRun], Iterable[str]]) -> dict[str, list[IndexedRun]]:
    found: dict[str, list[IndexedRun]] = {}
    for run in index.listed:
        for key in sorted(keys(run)):
            found.setdefault(key, []).append(run)
    return found


def _of_result(
    site: Path,
    run: IndexedRun,
    prices: PriceTable | None,
    languages: Mapping[str, str],
    *,
    later: IndexedRun | None,
) -> dict[str, Any]:
    values = result_values(read_published(site, run.place), run.sha256, prices, languages)
    return values | {"later": later and later.page}


def _page(
    kind: str,
    place: str,
    depth: int,
    runs: Sequence[IndexedRun],
    values: Callable[[], dict[str, Any]],
    *,
    of_languages: str,
    of_prices: str = "",
) -> Page:
    of_runs = [(run.place, run.sha256) for run in runs]
    made_of = digest(json.dumps([VERSION, _look(), kind, of_runs, of_languages, of_prices]).encode())

    def text() -> str:
        return rendered(
            f"site/{kind}.html.jinja",
            _STYLES,
            [strict_script(*_SCRIPTS)],
            {
                **values(),
                "place": place,
                "made_of": made_of,
                "root": "../" * depth,
                "t_quantiles": _t_quantiles(),
            },
        )

    return Page(place, made_of, text)


def _is_there(path: Path, made_of: str) -> bool:
    return made_of.encode() in _head(path)


def _outdated(site: Path, places: Collection[str]) -> list[Path]:
    """Return the pages that the site has made and that are not among ``places`` any more.

    Each says in its head where it belongs, which leaves out a copy elsewhere, and a page of another site
    whose folder is in this one. Links are not followed.
    """
    found = {path for pattern in _PAGES for path in site.glob(pattern)}
    return [
        path
        for path in sorted(found)
        if (place := path.relative_to(site)).as_posix() not in places
        and not any((site / part).is_symlink() for part in [place, *place.parents][:-1])
        and _opening(place.as_posix()).encode() in _head(path)
    ]


def _opening(place: str) -> str:
    """Return the words in the head of a page that say where it belongs, as its template has them."""
    return f"<!-- {place} made of "


def _remove(pages: Sequence[Path]) -> int:
    for path in pages:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise LoadcurveError(
                f"{path} is of a result that is published no more, and cannot be removed: {error.strerror}."
            ) from error
    return len(pages)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


@functools.cache
def _look() -> str:
    """Return the digest of what makes pages of values."""
    names = [*_STYLES, *_SCRIPTS, *(f"site/{name}.html.jinja" for name in _TEMPLATES)]
    return digest("".join(map(template_text, names)).encode())


@functools.cache
def _t_quantiles() -> list[float]:
    """Return the quantiles of Student's t by which a 95 % interval is made, from one degree of freedom on."""
    return [round(quantile(degrees, CONFIDENCE), 4) for degrees in range(1, DEGREES_MAX + 1)]

"""``loadcurve publish``: runs are added to a folder of published results, and its pages are built."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.publication import Publication, published_run
from loadcurve.analysis.published_check import problems_of
from loadcurve.cli.console import new_console
from loadcurve.errors import BadInput
from loadcurve.report.site.build import build_site
from loadcurve.report.site.prices import read_prices
from loadcurve.result.publication import PublishedRun, files_of, publish_run, read_published
from loadcurve.result.run_files import is_of_suite
from loadcurve.server.catalog import documentation_addresses, languages, load_catalog

SHOWN_MAX = 20
"""More problems than this are counted and not shown."""


def publish_command(runs: Sequence[Path], site: Path, publication: Publication) -> None:
    """Add runs to a site and build its pages; print the path of each result, and that of the front page.

    All are read before any is added. A run of a suite that cannot be published is left out and said so, where
    another one can. Raises ``LoadcurveError`` where one cannot be read or published, or a
    page not be written.
    """
    talk = new_console(stderr=True)
    names = frozenset(entry.name.lower() for entry in load_catalog())
    publication = replace(publication, public=documentation_addresses(), words=names)
    for run, folder in list(_published(runs, publication, talk)):
        state = publish_run(site, run)
        ranked = {one.server for ranking in run.rankings for one in ranking.ranks}
        talk.print(Text(f"{state}: {folder}, {units.plural(len(ranked), 'server')} ranked"))
        for one in run.unranked:
            talk.print(Text(f"  {one.server} is in no ranking: {one.reason}"))
        if run.study is None:
            talk.print(Text("  without its study, which names folders, machines or addresses"))
        typer.echo(site / run.place)
    pages_command(site)


def pages_command(site: Path) -> None:
    """Build the pages of what is published in a site; print the path of the front page.

    Raises ``LoadcurveError`` where a published file cannot be read, or a page not be written.
    """
    built = build_site(site, languages())
    said = (
        f"{units.plural(built.runs, 'run')}, {built.written} of {units.plural(built.pages, 'page')} written"
    )
    said += f", {built.removed} removed" if built.removed else ""
    new_console(stderr=True).print(Text(said))
    typer.echo(site / "index.html")


def _published(
    runs: Sequence[Path], publication: Publication, talk: Console
) -> Iterator[tuple[PublishedRun, Path]]:
    """Yield runs as they are published, each with its folder; raises ``BadInput`` where one cannot be."""
    refused: list[BadInput] = []
    for folder in runs:
        try:
            yield published_run(folder, publication), folder
        except BadInput as error:
            refused.append(error)
            if len(refused) == len(runs) or not is_of_suite(folder.parent):
                raise
            talk.print(Text(f"left out: {error}"), soft_wrap=True)


def check_command(site: Path) -> None:
    """Check every published file of a site; nothing is written.

    Raises ``BadInput`` with what is wrong.
    """
    read_prices(site)
    problems: list[str] = []
    kept: list[Path] = []
    public = documentation_addresses()
    files = files_of(site)
    places: dict[str, str] = {}
    for file in files:
        try:
            run = read_published(site, file.place)
        except BadInput as error:
            problems.append(str(error))
            continue
        if (first := places.setdefault(run.run, file.place)) != file.place:
            problems.append(
                f"{site / file.place} is the same run as {first}, under another name: remove one of the two"
            )
        problems += [f"{site / file.place}: {words}" for words in problems_of(run, public)]
        kept += [site / file.place] if run.private_facts else []
    if problems:
        more = len(problems) - SHOWN_MAX
        shown = [*problems[:SHOWN_MAX], *([f"and {units.plural(more, 'more problem')}"] if more > 0 else [])]
        raise BadInput("\n".join(shown))
    for path in kept:
        said = Text(f"{path} has private facts, which were kept on purpose")
        new_console(stderr=True).print(said, soft_wrap=True)
    new_console().print(f"{units.plural(len(files), 'published result')}: all in order")

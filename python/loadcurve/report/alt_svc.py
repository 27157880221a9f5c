"""Where servers announced HTTP/3, by which request, and what that took."""

from collections.abc import Callable, Sequence

from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.alt_svc import AnnouncementOfServer
from loadcurve.analysis.analysis import Analysis
from loadcurve.report.range_words import range_in_words
from loadcurve.report.section import Grid, Section, grid_in_markdown
from loadcurve.report.terminal_tables import lines_by_server

CAPTION = (
    "The loads went where the server said in its Alt-Svc. It was asked by HTTP/1.1 over TLS, outside of all "
    "loads and figures: a client that learns of HTTP/3 in this way pays that time, from connecting by TCP to "
    "the header of the answer, before its first request over HTTP/3. What a server has said is asked again "
    "after the time for which it said so, and after a start."
)


def announcements_table(analysis: Analysis) -> Grid | None:
    """Return what each server announced; ``None`` where no load followed such a thing."""
    if not analysis.announcements:
        return None
    columns = {"server": _server, **_COLUMNS}
    return Grid.of("Where HTTP/3 was announced (Alt-Svc)", analysis.announcements, columns, CAPTION)


def announcements_in_terminal(analysis: Analysis) -> Table:
    """Return a few lines for each server, which fit 80 columns."""
    return lines_by_server(
        (one.server, "\n".join(f"{title}: {words(one)}" for title, words in _COLUMNS.items()))
        for one in analysis.announcements
    )


def _server(one: AnnouncementOfServer) -> str:
    return one.server


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(texts)


def _asked(one: AnnouncementOfServer) -> str:
    return f"{units.plural(one.asked, 'time')} for {units.plural(one.loads, 'load')}: {_listed(one.requests)}"


_COLUMNS: dict[str, Callable[[AnnouncementOfServer], str]] = {
    "said": lambda one: _listed(one.said),
    "loaded at": lambda one: _listed(one.addresses),
    "asked": _asked,
    "took": lambda one: f"{range_in_words(one.took_ms)} ms",
    "good for": lambda one: f"{range_in_words(one.max_age_s, units.setting)} s",
}
"""The words of each column by its title."""

ALT_SVC: Section[Grid | None] = Section(
    "announced",
    "where HTTP/3 was announced",
    lambda report: announcements_table(report.analysis),
    None,
    page="grid",
    terminal=lambda report, _: [
        Text("\nWhere HTTP/3 was announced (Alt-Svc)", style="bold"),
        announcements_in_terminal(report.analysis),
    ],
    markdown=grid_in_markdown,
)

"""Where servers announced HTTP/3, by which request, and what that took."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.alt_svc import AnnouncementOfServer
from loadcurve.analysis.analysis import Analysis
from loadcurve.report.column import Column
from loadcurve.report.section import Grid, Section, grid_in_markdown
from loadcurve.report.terminal_tables import lines_by_server
from loadcurve.report.text import range_in_words

HEADING = "Where HTTP/3 was announced (Alt-Svc)"
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
    columns = [Column[AnnouncementOfServer]("server", lambda one: one.server), *_COLUMNS]
    return Grid.of(analysis.announcements, columns, CAPTION)


def announcements_in_terminal(analysis: Analysis) -> Table:
    """Return a few lines for each server, which fit 80 columns."""
    return lines_by_server(
        (one.server, "\n".join(f"{column.heading}: {column.cell(one)}" for column in _COLUMNS))
        for one in analysis.announcements
    )


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(texts)


def _asked(one: AnnouncementOfServer) -> str:
    return f"{units.plural(one.asked, 'time')} for {units.plural(one.loads, 'load')}: {_listed(one.requests)}"


_COLUMNS: Sequence[Column[AnnouncementOfServer]] = (
    Column("said", lambda one: _listed(one.said)),
    Column("loaded at", lambda one: _listed(one.addresses)),
    Column("asked", _asked),
    Column("took", lambda one: f"{range_in_words(one.took_ms)} ms"),
    Column("good for", lambda one: f"{range_in_words(one.max_age_s, units.setting)} s"),
)

ALT_SVC: Section[Grid | None] = Section(
    "announced",
    "where HTTP/3 was announced",
    lambda report: announcements_table(report.analysis),
    None,
    page="grid",
    terminal=lambda report, _: [
        Text(f"\n{HEADING}", style="bold"),
        announcements_in_terminal(report.analysis),
    ],
    markdown=grid_in_markdown,
    heading=HEADING,
)

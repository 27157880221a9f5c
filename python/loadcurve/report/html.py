"""The report: one HTML file that needs no network and no other file."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.columns import with_columns
from loadcurve.report.files import write_own_page
from loadcurve.report.findings import CAUSE_TITLES, MOST_SERVERS, WEIGHT_TITLES, figure, where
from loadcurve.report.long_table import MOST_ROWS
from loadcurve.report.page import figure_scripts, rendered, templates
from loadcurve.report.section import Report, Section
from loadcurve.report.sections import SECTIONS, everything, summary_words
from loadcurve.report.tools import arms_counted_from_sending
from loadcurve.report.trials import trial_titles
from loadcurve.result.cpu_time import PARTS
from loadcurve.result.run_files import REPORT_FILE

MOST_NAMED = 3
"""The first screen names at most this many causes."""
MOST_DESCRIBED = 6
"""The curves of at most this many servers are described unfolded; the table above has the figures of all."""
MOST_LOGS = 3
"""The ends of at most this many servers' logs stand unfolded."""


def write_page(report: Report) -> Path:
    """Write ``report.html`` into the folder of a run, finished or not, and return its path.

    Every text of the run is escaped, and the page's content security policy names the digests of its own
    scripts, so that nothing else in it can run or load.

    Raises ``LoadcurveError`` where it cannot be written.
    """
    path = report.run.folder / REPORT_FILE
    write_own_page(path, render_page(report))
    return path


def render_page(report: Report) -> str:
    """Return the page."""
    values = _values(report)
    elements = templates().get_template("report/elements.html.jinja").make_module(values)
    values |= {name: getattr(elements, name) for name in ELEMENTS}
    # The first one names what a fault has left out of the others.
    sections = [_section(report, one, values) for one in reversed(SECTIONS) if one.page is not None]
    return rendered(
        "report.html.jinja",
        ["report.css", "first_screen.css", "contents.css"],
        figure_scripts(),
        {**values, "sections": sections[::-1]},
    )


ELEMENTS = ("body", "chart", "figures", "heads", "legend", "main_curves", "phrases", "symbol")
"""What several sections are made of."""


def _section(report: Report, section: Section[Any], values: dict[str, Any]) -> Markup:
    """Return a section of the page; nothing where the run has nothing of it."""
    data = report.of(section)
    if not data:
        return Markup()
    path = f"report/{section.page}.html.jinja"
    return report.sections.get(
        section.title,
        # Templates of this package escape every value.
        lambda: Markup(templates().get_template(path).render(values, **_own(report, section))),  # noqa: S704
        Markup('<p class="notice">{} is missing because of an error in Loadcurve.</p>').format(
            section.title.capitalize()
        ),
    )


def _own(report: Report, section: Section[Any]) -> dict[str, Any]:
    """Return what is given to the template of one section alone."""
    return {"data": report.of(section), "heading": section.headed(report), "name": section.name}


def _values(report: Report) -> dict[str, Any]:
    """Return what the templates of all sections share."""
    run, servers = report.run, report.run.run.servers
    failed = {failure.server for failure in run.failures}
    return {
        "content": everything(report),
        "summary_words": lambda: summary_words(report),
        "analysis": report.analysis,
        "run": run,
        "looks": report.looks,
        "missing": {name: server for name, server in servers.items() if server.status == "missing"},
        "failed": failed,
        "unmeasured": set(servers) - {point.server for point in run.points},
        "cpu_parts": PARTS,
        "absent": units.ABSENT,
        "moment": text.moment,
        "key_title": text.key_title,
        "setting": lambda point, key: text.point_values(point, [key]),
        "plural": units.plural,
        "trial_titles": trial_titles(run.kind),
        "load_kind": run.kind,
        "sent_arms": arms_counted_from_sending(run.points),
        "with_columns": with_columns,
        "most_rows": MOST_ROWS,
        "most_logs": MOST_LOGS,
        "most_described": MOST_DESCRIBED,
        "where": where,
        "most_named": MOST_NAMED,
        "most_servers": MOST_SERVERS,
        "evidence_figure": figure,
        "weight_titles": WEIGHT_TITLES,
        "cause_titles": CAUSE_TITLES,
    }

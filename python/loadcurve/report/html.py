"""The report: one HTML file that needs no network and no other file."""

from pathlib import Path

from loadcurve.report import text
from loadcurve.report.charts.sweep import SHOWN_RESOURCES
from loadcurve.report.columns import with_columns
from loadcurve.report.content import Content
from loadcurve.report.files import write_own_page
from loadcurve.report.findings import CAUSE_TITLES, MOST_SERVERS, WEIGHT_TITLES, figure, where
from loadcurve.report.long_table import MOST_ROWS
from loadcurve.report.page import figure_scripts, rendered
from loadcurve.report.shape_words import cost_titles
from loadcurve.report.tools import arms_counted_from_sending
from loadcurve.report.trials import trial_titles
from loadcurve.result.measures import measures
from loadcurve.result.run_files import REPORT_FILE

MOST_NAMED = 3
"""The first screen names at most this many causes."""
MOST_DESCRIBED = 6
"""The curves of at most this many servers are described unfolded; the table above has the figures of all."""
MOST_LOGS = 3
"""The ends of at most this many servers' logs stand unfolded."""


def write_page(content: Content) -> Path:
    """Write ``report.html`` into the folder of a run, finished or not, and return its path.

    Every text of the run is escaped, and the page's content security policy names the digests of its own
    scripts, so that nothing else in it can run or load.

    Raises ``LoadcurveError`` where it cannot be written.
    """
    path = content.run.folder / REPORT_FILE
    write_own_page(path, render_page(content))
    return path


def render_page(content: Content) -> str:
    """Return the page."""
    run = content.run
    values = {
        "content": content,
        "run": run,
        "resource_titles": [measures(run.kind)[name].heading for name in SHOWN_RESOURCES],
        "cost_titles": cost_titles(run.kind),
        "absent": text.ABSENT,
        "paused_mark": text.PAUSED_MARK,
        "paused_words": text.PAUSED_WORDS,
        "moment": text.moment,
        "key_title": text.key_title,
        "plural": text.plural,
        "trial_titles": trial_titles(run.kind),
        "load_kind": run.kind,
        "sent_arms": arms_counted_from_sending(run.points),
        "with_columns": with_columns,
        "most_rows": MOST_ROWS,
        "most_logs": MOST_LOGS,
        "most_described": MOST_DESCRIBED,
        "where": where,
        "finding_groups": content.finding_groups,
        "most_named": MOST_NAMED,
        "most_servers": MOST_SERVERS,
        "evidence_figure": figure,
        "weight_titles": WEIGHT_TITLES,
        "cause_titles": CAUSE_TITLES,
    }
    return rendered(
        "report.html.jinja", ["report.css", "first_screen.css", "contents.css"], figure_scripts(), values
    )

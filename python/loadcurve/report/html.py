"""The report: one HTML file that needs no network and no other file."""

import base64
import functools
import hashlib
from importlib.resources import files
from pathlib import Path

import altair
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loadcurve.report import text
from loadcurve.report.charts import RESOURCE_TITLES
from loadcurve.report.content import SHOWN_STATISTICS, content_of
from loadcurve.report.files import write_whole
from loadcurve.report.findings import CAUSE_TITLES, WEIGHT_TITLES, figure, where
from loadcurve.report.shape_words import COST_TITLES
from loadcurve.result.folder import read_run
from loadcurve.stats.slo import Objective

REPORT_FILE = "report.html"


def write_report(folder: Path, objective: Objective | None = None) -> Path:
    """Write ``report.html`` into a run folder, finished or not, and return its path.

    With ``objective`` it says up to which load these limits hold.

    Only what lies in the folder is read. Every text of the run is escaped, and the page's content security
    policy names the digests of its own scripts, so that nothing else in it can run or load.

    Raises ``BadInput`` where the folder cannot be read as a run or the limits do not apply to it, and
    ``LoadcurveError`` where the report cannot be written.
    """
    page = render_report(folder, objective)
    path = folder / REPORT_FILE
    write_whole(path, page.encode())
    return path


def render_report(folder: Path, objective: Objective | None = None) -> str:
    """Return the page for a run folder; raises as :func:`write_report`."""
    content = content_of(read_run(folder), objective)
    scripts = [_vega_bundle(), _template_text("report.js")]
    environment = Environment(
        loader=PackageLoader("loadcurve.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(
        content=content,
        run=content.run,
        statistics=list(SHOWN_STATISTICS.values()),
        resource_titles=list(RESOURCE_TITLES.values()),
        cost_titles=COST_TITLES,
        absent=text.ABSENT,
        key_title=text.key_title,
        plural=text.plural,
        where=where,
        evidence_figure=figure,
        weight_titles=WEIGHT_TITLES,
        cause_titles=CAUSE_TITLES,
        style=Markup(_template_text("report.css")),  # noqa: S704 - a file of this package
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - a file of this package, and Vega
        script_digests=[_digest(script) for script in scripts],
    )


@functools.cache
def _vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, in the version that Altair writes for."""
    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return bundle


def _template_text(name: str) -> str:
    return (files("loadcurve.report") / "templates" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Return a script's digest as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

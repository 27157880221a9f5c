"""A page: one HTML file that needs no network and no other file."""

import base64
import contextlib
import functools
import hashlib
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loadcurve.errors import sentence
from loadcurve.files import write_whole
from loadcurve.host.state import cache_folder
from loadcurve.report.text import unbroken

SCRIPTS = (
    "figures.js", "main_curves.js", "curves.js", "long_table.js", "tables.js", "moments.js", "trials.js",
    "contents.js",
)  # fmt: skip
"""Our own scripts, which run as one, in this order; what a page has no elements for, they leave alone."""


def rendered(template: str, styles: list[str], scripts: list[str], values: dict[str, Any]) -> str:
    """Return a page from a template of this package, with its styles (by file name) and scripts (texts).

    Every value is escaped. The template gets ``style``, ``scripts`` and ``script_digests``, for a content
    security policy under which nothing but these scripts can run or load.
    """
    page = templates().get_template(template)
    return page.render(
        **values,
        style=Markup("\n".join(map(template_text, styles))),  # noqa: S704 - files of this package
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - files of this package, and Vega
        script_digests=[_digest(script) for script in scripts],
    )


@functools.cache
def templates() -> Environment:
    """Return the templates of this package, each of which is compiled once."""
    found = Environment(
        loader=PackageLoader("loadcurve.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"sentence": sentence, "unbroken": unbroken}
    return found


def figure_scripts(*more: str) -> list[str]:
    """Return the scripts of a page with figures: Vega, and our own, ``more`` of them by file name."""
    return [_vega_bundle(), strict_script(*SCRIPTS, *more)]


def strict_script(*names: str) -> str:
    """Return scripts of ours, by their file names, as one."""
    own = "\n".join(map(template_text, names))
    return f'"use strict";\n{own}'


@functools.cache
def _vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, in the version that Altair writes for.

    Making it takes a second and gives the same for the same versions, so it is kept in the user's cache.
    """
    import altair  # noqa: PLC0415 - a page without figures does not wait for it

    vega_lite = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    kept = cache_folder() / "figures" / f"vega-lite-{vega_lite}-{version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")

    import vl_convert  # noqa: PLC0415 - only who has not kept the bundle waits for it

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite)
    # Without a cache that can be written, it is made again next time.
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, bundle.encode())
    return bundle


def template_text(name: str) -> str:
    """Return the text of a file among the templates."""
    return (files("loadcurve.report") / "templates" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Return a script's digest as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

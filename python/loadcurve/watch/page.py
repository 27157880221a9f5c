"""The page itself, as it is before its first message arrives, and where it can run no script."""

from typing import Any

from loadcurve.report.page import figure_scripts, rendered

SECTIONS = {
    "throughput": "Throughput",
    "latency": "Latency",
    "errors": "Errors",
    "resources": "CPU and memory of the server",
}
"""The places of the figures, and their headings."""


def page(status: dict[str, Any]) -> str:
    """Return the page with what it says at this moment."""
    values = {"status": status, "sections": SECTIONS}
    return rendered("watch.html.jinja", ["report.css", "watch.css"], figure_scripts("watch.js"), values)

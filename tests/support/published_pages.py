"""A site of two published runs of one study, on one machine that is known."""

from pathlib import Path

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.report.site.build import build_site
from loadcurve.result.publication import PublishedRun, publish_run


def two_published_runs(folder: Path) -> tuple[PublishedRun, PublishedRun]:
    """Return a run as it is published, and the same as if it had been measured six days later."""
    run = published_run(folder, Publication())
    run = run.model_copy(update={"machine": run.machine.model_copy(update={"fingerprint": "a" * 64})})
    return run, run.model_copy(update={"run": "f" * 64, "started_at": "2026-03-20T10:00:00Z"})


def published_site(folder: Path, site: Path) -> Path:
    """Publish both into a site and build its pages."""
    for run in two_published_runs(folder):
        publish_run(site, run)
    build_site(site)
    return site

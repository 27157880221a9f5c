"""A site of two published runs of one study, on one machine that is known."""

from pathlib import Path

from loadcurve.analysis.publication import Publication, published_run
from loadcurve.report.site.build import build_site
from loadcurve.result.publication import PublishedRun, PublishedServer, publish_run


def two_published_runs(folder: Path) -> tuple[PublishedRun, PublishedRun]:
    """Return a run as it is published, and the same as if it had been measured six days later.

    By then one of its servers, nginx, has another version and other settings.
    """
    run = published_run(folder, Publication())
    run = run.model_copy(update={"machine": run.machine.model_copy(update={"fingerprint": "a" * 64})})
    servers = [with_settings(one, "1.26.3", workers=2) if one.slug == "nginx" else one for one in run.servers]
    later = {"run": "f" * 64, "started_at": "2026-03-20T10:00:00Z", "servers": servers}
    return run, run.model_copy(update=later)


def with_settings(server: PublishedServer, version: str, **settings: object) -> PublishedServer:
    """Return a server of another version, with other settings."""
    own = server.settings.get("settings", {}) | settings
    return server.model_copy(update={"version": version, "settings": server.settings | {"settings": own}})


def published_site(folder: Path, site: Path) -> Path:
    """Publish both into a site and build its pages."""
    for run in two_published_runs(folder):
        publish_run(site, run)
    build_site(site, {"nginx": "C", "apache": "C", "tiny": "Rust"})
    return site

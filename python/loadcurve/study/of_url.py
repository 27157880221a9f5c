"""A study of one server that runs already, made of its URL, for a search of its capacity."""

import json
import re
from urllib.parse import urlsplit

LOWEST, HIGHEST = 100.0, 100_000.0
"""Requests per second, where nothing else is asked for."""
SCHEMES = ("http://", "https://")
STUDY = """\
# What `loadcurve capacity URL` has made of the URL; `loadcurve capacity study.toml` searches again.
title = {title}
question = "How many requests per second does it take?"
limits = {limits}

# Requests are due at a rate, whatever the server does.
[load]
model = "open"
requests = [{path}]
connections = 100
warmup = "0.5s"
duration = "4s"             # p99 needs 368 answers: 92 per second

# The ends of the search.
[sweep]
rate = [{low:.16g}, {high:.16g}]

[trials]
count = 3

[quick]
duration = "2s"

# It runs already, so trials are no fresh starts. Its CPUs are shown where it is on this machine.
[servers."{name}"]
use = "url"
url = {url}
"""
UNKNOWN_VERSION = 'version = "unknown"         # its answers name none: write the one that it has\n'


def is_web_url(argument: str) -> bool:
    """Say whether an argument is the URL of a web server, and not a file or a study's name."""
    return argument.startswith(SCHEMES)


def study_of_url(
    url: str,
    limits: str,
    low: float | None = None,
    high: float | None = None,
    *,
    names_its_version: bool = True,
) -> str:
    """Return the text of a study that asks the server of a web URL for its path, from low to high rates.

    The version of one that does not name it is unknown, as nobody has written the study who could know it.
    """
    parts = urlsplit(url)
    path = parts.path or "/"
    study = STUDY.format(
        limits=_quoted(limits),
        title=_quoted(f"Capacity of {url}"),
        low=LOWEST if low is None else low,
        high=HIGHEST if high is None else high,
        path=_quoted(f"{path}?{parts.query}" if parts.query else path),
        name=name_of_url(url),
        url=_quoted(f"{parts.scheme}://{parts.netloc}"),
    )
    return study if names_its_version else study + UNKNOWN_VERSION


def name_of_url(url: str) -> str:
    """Return what the server of a URL is called: its host and port, in the characters of a server's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", urlsplit(url).netloc).strip("-.") or "server"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

"""How a run and the program that measured it are cited, as entries of BibTeX."""

import datetime
import re

from loadcurve.result.records import RunRecord

PROGRAM_TITLE = "Loadcurve: load curves of real servers, with an interval on every number"
AUTHORS = "The Loadcurve developers"
"""As CITATION.cff has them."""
_SPECIAL = re.compile(r"[\\{}%#$&_~^]")


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def bibliography(run: RunRecord) -> str:
    """Return the entries of a run and of the version of Loadcurve that measured it.

    Nobody is named as the author of a run: who measured it is in no record.
    """
    version = _plain(run.loadcurve_version)
    title, begun = str(run.study.get("title") or "A run"), _begun(run)
    date = [] if begun is None else [f"  year = {{{begun.year}}},", f"  month = {_MONTHS[begun.month - 1]},"]
    on = "" if begun is None else f" on {begun.date()}"
    return "\n".join(
        [
            f"@misc{{{_key(title, begun)},",
            f"  title = {{{{{_plain(title)}}}}},",
            f"  key = {{{_plain(title)}}},",
            *date,
            f"  note = {{Measured{on} with Loadcurve {version}, seed {run.seed}}}",
            "}",
            "",
            f"@misc{{loadcurve-{_key_part(version)},",
            f"  author = {{{{{AUTHORS}}}}},",
            f"  title = {{{{{PROGRAM_TITLE}}}}},",
            "  key = {Loadcurve},",
            *date[:1],
            f"  note = {{Version {version}}}",
            "}",
        ]
    )


def _begun(run: RunRecord) -> datetime.datetime | None:
    """Return when a run began; ``None`` where a folder from elsewhere does not say it."""
    try:
        return datetime.datetime.fromisoformat(run.started_at)
    except ValueError:
        return None


def _key(title: str, begun: datetime.datetime | None) -> str:
    words = [_key_part(title)[:40].strip("-") or "run", *([] if begun is None else [f"{begun:%Y-%m-%d}"])]
    return "-".join(words)


def _key_part(words: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")


def _plain(words: str) -> str:
    """Return words without what means something to TeX."""
    return " ".join(_SPECIAL.sub(" ", words).split())

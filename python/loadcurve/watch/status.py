"""What the page says in words: what is running, how far the run is, verdicts and failures."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from loadcurve.analysis.analysis import servers_of
from loadcurve.analysis.curves import VERDICTS
from loadcurve.analysis.ending import ending
from loadcurve.analysis.sections import Sections
from loadcurve.report import text
from loadcurve.report.appearance import appearances
from loadcurve.report.arms import arms_in_words
from loadcurve.result.folder import Run
from loadcurve.result.which_count import until_drop
from loadcurve.watch.progress import KeptProgress, RunProgress

Phase = Literal["preparing", "going", "killed", "interrupted", "over"]
ENDED: tuple[Phase, ...] = ("killed", "interrupted", "over")


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a look at a run folder shows."""

    folder: Path
    run: Run | None
    """``None`` as long as there is no run folder."""
    kept: KeptProgress | None
    has_report: bool
    problem: str | None = None
    """Why the folder cannot be read further than until here."""

    @property
    def phase(self) -> Phase:
        """Whether the run is in progress, and if not, how it ended."""
        if self.run is None:
            return "preparing"
        if self.kept is not None:
            return "going" if self.kept.run_lives else "killed"
        return "interrupted" if ending(self.run).reason == "unfinished" else "over"

    @property
    def progress(self) -> RunProgress | None:
        """How far the run is, if it is in progress."""
        return self.kept.progress if self.kept is not None and self.phase == "going" else None


def status(seen: Seen, now_s: float) -> dict[str, Any]:
    """Return what the page says, as JSON data; every text in it is to be shown as it is."""
    run, sections = seen.run, Sections()
    phase: Phase = sections.get("how the run ended", lambda: seen.phase, "over")
    progress = seen.progress if phase == "going" else None
    sentence = sections.get("the current activity", lambda: _sentence(seen, phase, progress), "")
    load = sections.get("the load under way", lambda: _load(progress, now_s), None)
    done = sections.get("how far the run is", lambda: _progress(run, progress, now_s), None)
    verdicts: dict[str, int] = sections.get("the verdicts", lambda: _verdicts(run), {})
    failures = sections.several("the trials that failed", lambda: _failures(run))
    servers = sections.several("the servers", lambda: _servers(run))
    faults = [{"place": "Loadcurve", "reason": one.words} for one in sections.not_computed]
    return {
        "phase": phase,
        "ended": phase in ENDED,
        "title": _title(run) or seen.folder.name,
        "question": str(run.run.study.get("question") or "") if run else "",
        "sentence": sentence,
        "load": load,
        "progress": done,
        "verdicts": verdicts,
        "failures": [*faults, *failures],
        "servers": servers,
        "report": seen.has_report,
    }


def _title(run: Run | None) -> str:
    return str(run.run.study.get("title") or run.run.study_name) if run else ""


def _sentence(seen: Seen, phase: Phase, progress: RunProgress | None) -> str:
    """Say the current activity, but not each point of it: the sentence is read aloud when it changes."""
    if seen.problem is not None:
        return seen.problem
    if progress is not None:
        # Curves that may end early leave the number of trials as it is.
        has_all_trials = seen.run is not None and until_drop(seen.run.run.study) is not None
        at_most = "at most " if progress.at_most and not has_all_trials else ""
        place = f"Trial {progress.trial.trial + 1} of {at_most}{progress.trials_planned}, block "
        return f"{place}{progress.trial.block + 1}: {progress.trial.server}."
    match phase:
        case "preparing":
            return (
                "The run has not started measuring: it is checking the servers and starts each of them once."
            )
        case "killed":
            return (
                "The run was killed. What it measured until then is kept; `loadcurve report "
                f"{seen.folder}` writes its report."
            )
        case "interrupted":
            return "The run was interrupted. What it measured until then is kept."
        case _:
            return "The run is over."


def _load(progress: RunProgress | None, now_s: float) -> dict[str, str | float | None] | None:
    """Return where the load is, how long it has lasted, and how long its parts are; ``None`` without one."""
    if progress is None or progress.point is None:
        return None
    return {
        "point": text.point(progress.point)
        + (f", attempt {progress.attempt}: the machine was disturbed" if progress.attempt > 1 else ""),
        "elapsed_s": max(0.0, now_s - progress.since_monotonic_s),
        "warmup_s": progress.warmup_s or 0.0,
        "measured_s": progress.duration_s,
    }


def _progress(run: Run | None, progress: RunProgress | None, now_s: float) -> dict[str, Any] | None:
    """Return what is done of what is planned; of a run that does not go on, as its records show."""
    if progress is not None:
        since_s = max(0.0, now_s - progress.since_monotonic_s)
        left_s = None if progress.left_s is None else max(0.0, progress.left_s - since_s)
        at_most = "at most " if progress.at_most else ""
        words = f"{progress.over:,} of {at_most}{progress.planned:,} {progress.counted}"
        about = at_most or "about "
        return {
            "over": progress.over,
            "planned": progress.planned,
            "words": words,
            "left_s": left_s,
            "about": about,
        }
    if run is None or not run.points_expected:
        return None
    over, planned = len(run.points) + run.points_lost, ending(run).points_expected
    words = f"{len(run.points):,} of {planned:,} points measured"
    return {"over": over, "planned": planned, "words": words, "left_s": None, "about": ""}


def _verdicts(run: Run | None) -> dict[str, int]:
    counts = Counter(point.load.verdict.status for point in run.points) if run else Counter()
    return {status: counts[status] for status in VERDICTS}


def _failures(run: Run | None) -> list[dict[str, str]]:
    if run is None:
        return []
    damage = [{"place": "Run folder", "reason": sentence} for sentence in run.damage]
    return damage + [
        {
            "place": f"Trial {failure.trial}, {failure.server}, {text.point(failure.point)}",
            "reason": failure.reason.text,
        }
        for failure in run.failures
    ]


def _servers(run: Run | None) -> list[dict[str, str | None]]:
    if run is None:
        return []
    looks = appearances(run.run.servers)
    differing = arms_in_words(run.load_model, servers_of(run))
    return [
        {
            "name": name,
            "load": differing.get(name, ""),
            "colour": looks[name].colour,
            "outline": looks[name].outline,
            "missing": (server.problem or "not found here") if server.status == "missing" else None,
        }
        for name, server in run.run.servers.items()
    ]

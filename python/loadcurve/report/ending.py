"""How many trials there were and why, in words."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.errors import clause
from loadcurve.report import text
from loadcurve.report.section import Section
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES
from loadcurve.result.which_count import Gap
from loadcurve.stats.stopping import UntilNarrow, WidePoint

MOST_NAMED = 3
"""Wide intervals are named up to this many."""


def trials_in_words(analysis: Analysis) -> list[str]:
    """Say where a run was resumed, what it repeated, why it ended, and what has no interval."""
    sentences = [sentence for gap in analysis.gaps for sentence in _gap_in_words(gap)]
    repeated = analysis.repeated
    if repeated.points:
        sentences.append(
            f"{units.plural(repeated.points, 'point')} of a trial "
            f"{'was' if repeated.points == 1 else 'were'} measured again because the machine was disturbed: "
            f"the least disturbed attempt counts, and {units.plural(repeated.attempts, 'other')} "
            f"{'does' if repeated.attempts == 1 else 'do'} not."
        )
    if analysis.is_search:
        return sentences
    ended = analysis.ending
    rule = ended.rule
    if rule is not None and ended.reason in {"narrow", "at_most"}:
        why = "because" if ended.reason == "narrow" else "the most that the study allows;"
        sentences.append(
            f"It ended after {units.plural(ended.blocks, 'trial')} of each server, {why} "
            f"{wide_in_words(ended.wide, rule)}."
        )
    sentences += _curve_ends_in_words(analysis)
    measured = [point for curve in analysis.curves for point in curve.points if point.usable]
    single = [point for point in measured if len(point.usable) == 1]
    if single and len(single) == len(measured):
        sentences.append("With one usable trial of each server there is no interval, and no ranking.")
    elif single:
        sentences.append(
            f"{units.plural(len(single), 'point')} of a server with one usable trial "
            f"{'has' if len(single) == 1 else 'have'} no interval."
        )
    return sentences


def _curve_ends_in_words(analysis: Analysis) -> Iterator[str]:
    """Say where curves ended because throughput had fallen, and what that means for the points beyond."""
    ended = analysis.ending
    if ended.drop_share is None or not analysis.measured_servers:
        return
    fall = units.percent(ended.drop_share)
    if not ended.curve_ends:
        yield f"In no trial did throughput fall by {fall}, so every curve continues to the end of the sweep."
        return
    by_server: dict[str, list[str]] = {}
    for end in ended.curve_ends:
        count = units.plural(len(end.trials), "trial")
        ends = by_server.setdefault(end.server, [])
        is_short = ends and len(end.point) == 1
        point = units.setting(*end.point.values()) if is_short else text.point(end.point)
        ends.append(f"{point} ({count})")
    places = "; ".join(f"{server} at {units.listing(words)}" for server, words in by_server.items())
    yield f"Curves ended where throughput was {fall} or more below the greatest before it: {places}."
    if others := [name for name in analysis.measured_servers if name not in by_server]:
        yield f"{units.listing(others)} continued to the end of the sweep in every trial."
    if any(at.trials and at.ended_before for curve in analysis.curves for at in curve.points):
        yield (
            "Beyond the first end of a server's curves, its figures are of the remaining trials only, in "
            "which throughput had not yet fallen."
        )


def _gap_in_words(gap: Gap) -> Iterator[str]:
    resumed_at = text.moment(gap.resumed_at)
    if gap.last_started_at is None:
        yield f"The run was interrupted before its first record, and resumed at {resumed_at}."
    else:
        not_used = (
            f"; {units.plural(gap.abandoned, 'record')} of its first attempt "
            f"{'is' if gap.abandoned == 1 else 'are'} not used"
            if gap.abandoned
            else ""
        )
        yield (
            f"The run was interrupted after its last record ({text.moment(gap.last_started_at)}), and "
            f"resumed at {resumed_at} with block {gap.block} from its start{not_used}."
        )
    for caveat in gap.caveats:
        yield f"From then on {caveat.text}."


def wide_in_words(wide: Sequence[WidePoint], rule: UntilNarrow) -> str:
    """Say which intervals are wider than the study wants."""
    goal = f"± {units.percent(rule.share)}"
    if not wide:
        return f"every interval of the {MEASURES[rule.measure].title} is within {goal}"
    named = units.listing(
        f"{one.server} at {text.point(one.point)} "
        + ("(no interval)" if one.half_width is None else f"(± {units.percent(one.half_width)})")
        for one in wide[:MOST_NAMED]
    )
    more = f", and {len(wide) - MOST_NAMED:,} more" if len(wide) > MOST_NAMED else ""
    return f"the interval of the {MEASURES[rule.measure].title} is not within {goal} for {named}{more}"


def _summary(run: Run, analysis: Analysis) -> list[str]:
    """Say in plain sentences what was measured, what failed and what is missing."""
    record, ended = run.run, analysis.ending
    servers = sum(1 for server in record.servers.values() if server.status == "found")
    counts = ", ".join(f"{count:,} {status}" for status, count in analysis.verdicts.items())
    of_how_many = f" of {ended.points_expected:,}" if record.search is None else ""
    points, is_one = len(run.points), len(run.points) == 1
    noun = "point" if is_one and not of_how_many else "points"
    measured = f"{points:,}{of_how_many} {noun} {'was' if is_one else 'were'} measured"
    sentences = [
        f"{units.plural(servers, 'server')} in {units.plural(ended.trials_expected, 'trial')} over "
        f"{units.plural(len(run.sweep_points), 'setting')} of the sweep: {measured}"
        + (f" ({counts})." if run.points else ".")
    ]
    if run.failures:
        reasons = "; ".join(
            f"{failure.server} {text.at_point(failure.point)}: {clause(failure.reason.text)}"
            for failure in run.failures[:3]
        )
        more = f"; and {len(run.failures) - 3:,} more" if len(run.failures) > 3 else ""  # noqa: PLR2004
        failed = len({failure.trial for failure in run.failures})
        sentences.append(f"{units.plural(failed, 'trial')} failed ({reasons}{more}).")
    if ended.reason == "unfinished":
        cut = " The last record was cut off and is ignored." if run.cut_off else ""
        sentences.append(
            f"The run was interrupted before its end; what it measured until then is shown.{cut}"
        )
    return [*sentences, *run.damage]


MEASURED: Section[list[str]] = Section(
    "measured",
    "what was measured in words",
    lambda report: _summary(report.run, report.analysis),
    [],
    words=lambda _, sentences: sentences,
)
TRIALS_IN_WORDS: Section[list[str]] = Section(
    "trials_in_words",
    "how many trials there were in words",
    lambda report: trials_in_words(report.analysis),
    [],
    words=lambda _, sentences: sentences,
    terminal=lambda _, sentences: map(Text, sentences),
)

"""The ranking, what it leaves out and what it could have seen, in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.noise import RunNoise
from loadcurve.analysis.ranking import LeftOut, RunRanking
from loadcurve.analysis.works import works
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.answer import ANSWER
from loadcurve.report.arms import ranking_caution, work_in_words
from loadcurve.report.column import MARKDOWN, PAGE, Column, Tabulated
from loadcurve.report.inconclusive import difference_words, inconclusive_words
from loadcurve.report.markdown import escaped, listed, tabulated
from loadcurve.report.ranking_words import in_words, places_words
from loadcurve.report.section import Report, Section
from loadcurve.report.shown import Shown
from loadcurve.result.distribution import PERCENTILES
from loadcurve.result.measures import MEASURES, RANKED_BY, Measure, measures
from loadcurve.result.rig import Noise
from loadcurve.stats.noise import Spread, visible_difference
from loadcurve.stats.power import TRIALS_MAX
from loadcurve.stats.ranking import Ranking

MORE_TRIALS = 20
"""The number of trials for which the report says, beside the run's own, which difference would be seen."""
MOST_POINTS = 4
"""Points that share a reason are named up to this many."""
MOST_PAIRS = 4
"""Pairs that are not told apart are named up to this many."""
TITLE_WIDTH = 12
MOST_LEFT_OUT = 5
"""In the terminal, what the ranking leaves out takes at most this many lines."""


@dataclass(frozen=True, slots=True)
class PointSentence:
    """The ranking at one point, in words."""

    measure: str
    point: str
    words: str


@dataclass(frozen=True, slots=True)
class RankingContent:
    """Everything that a report says about which server is better."""

    extent: str
    """How many blocks and points the ranking over the curve rests on."""
    caution: str | None
    """What must be known before servers are compared: that their loads differ."""
    measures: list[str]
    ranks: dict[str, dict[str, str]]
    """By server: its range of ranks over the curve by the title of each measure."""
    over_curve: dict[str, str]
    """By measure: the ranking over the curve in words."""
    at_points: list[PointSentence]
    left_out: list[str]
    visible: list[str]
    """Sentences on the smallest difference that can be seen."""
    inconclusive: str | None = None
    """Why nothing can be compared; then there is nothing else but what is left out."""

    @property
    def table(self) -> Tabulated[str]:
        """The ranks of each server."""
        columns: list[Column[str]] = [
            Column("rank over the curve", str, on_page="server", forms=PAGE),
            Column("server", str, forms=MARKDOWN),
            *(Column(title, partial(self._rank, title)) for title in self.measures),
        ]
        return Tabulated(columns, [*self.ranks])

    def _rank(self, title: str, server: str) -> str:
        """Return a server's rank; absent where its workload has too few answers for the measure."""
        return self.ranks[server].get(title, units.ABSENT)

    @property
    def at_each_point(self) -> Tabulated[PointSentence]:
        """The rankings at the points."""
        columns: list[Column[PointSentence]] = [
            Column("measure", lambda at: at.measure, on_page="row"),
            Column("point", lambda at: at.point, on_page="words"),
            Column("ranking", lambda at: f"{at.words}.", on_page="prose"),
        ]
        return Tabulated(columns, self.at_points)

    @property
    def sentences(self) -> list[str]:
        """The ranking over the curve, a sentence for each measure, or why there is none."""
        if self.inconclusive is not None:
            return [self.inconclusive]
        return [f"By {measure}: {words}." for measure, words in self.over_curve.items()]


def ranking_content(analysis: Analysis) -> RankingContent | None:
    """Return what a report says about which server is better; ``None`` where there are no two to compare.

    A gate compares its two servers itself, by a test that looks after each block: the ranking, which looks
    once, would tell them apart where the gate does not.
    """
    if analysis.gate is not None:
        return None
    whole, divided = _of_servers(analysis), works(analysis)
    if whole is None or not divided or whole.inconclusive is not None:
        return whole
    of_works = [(work_in_words(analysis, one), _of_servers(one.analysis)) for one in divided]
    ranked = [(what, one) for what, one in of_works if one is not None and one.inconclusive is None]
    return replace(
        whole,
        caution="Servers are ranked among those that were asked for the same.",
        ranks={server: ranks for _, one in ranked for server, ranks in one.ranks.items()},
        over_curve={
            f"{title}, {what}": words for what, one in ranked for title, words in one.over_curve.items()
        },
        at_points=[
            replace(at, measure=f"{at.measure}, {what}") for what, one in ranked for at in one.at_points
        ],
        visible=_visible_of_works({what: one.visible for what, one in ranked}),
    )


def _visible_of_works(visible: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what each work says of differences, and once what all of them say, which is of the rig."""
    first = next(iter(visible.values())) if len(visible) > 1 else ()
    of_all = [one for one in first if all(one in said for said in visible.values())]
    of_each = [f"With {what}: {one}" for what, said in visible.items() for one in said if one not in of_all]
    return [*of_each, *of_all]


def _of_servers(analysis: Analysis) -> RankingContent | None:
    """Return the same where all servers are ranked together."""
    said = measures(analysis.load_kind)
    answering = next(name for name, measure in said.items() if measure.column == analysis.ranked_by)
    names = dict.fromkeys([*RANKED_BY, answering])
    found = [(said[name], analysis.ranking(said[name])) for name in names]
    rankings = [(measure, one) for measure, one in found if one is not None and len(one.over_curve.ranks) > 1]
    if not rankings:
        return None
    inconclusive = inconclusive_words(analysis, analysis.measure(analysis.ranked_by))
    if inconclusive:
        return RankingContent(
            extent=_extent(rankings),
            caution=None,
            measures=[],
            ranks={},
            over_curve={},
            at_points=[],
            left_out=_left_out_in_words(rankings),
            visible=[],
            inconclusive=" ".join(inconclusive),
        )
    over_curve = {
        measure.title: in_words(one.over_curve, measure, Shown.of(analysis, measure))
        for measure, one in rankings
    }
    if not any(one.over_curve.decides for _, one in rankings):
        over_curve = {"every measure": next(iter(over_curve.values()))}
    return RankingContent(
        extent=_extent(rankings),
        caution=ranking_caution(analysis, (rank.server for rank in rankings[0][1].over_curve.ranks)),
        measures=[measure.title for measure, _ in rankings],
        ranks={
            rank.server: {measure.title: _rank_of(rank.server, one.over_curve) for measure, one in rankings}
            for rank in rankings[0][1].over_curve.ranks
        },
        over_curve=over_curve,
        at_points=[
            PointSentence(
                measure.title,
                text.point(at.point),
                in_words(at.ranking, measure, Shown.of(analysis, measure, [at.point])),
            )
            for measure, one in rankings
            for at in one.at_points
            if len(one.at_points) > 1 and at.ranking.ranks
        ],
        left_out=_left_out_in_words(rankings),
        visible=list(_visible_in_words(analysis, rankings)),
    )


Rankings = Sequence[tuple[Measure, RunRanking]]


def _extent(rankings: Rankings) -> str:
    ranked = rankings[0][1]
    points, compared = len(ranked.at_points), len(ranked.compared_points)
    part = f"{compared} of " if compared < points else ""
    return f"{units.plural(_blocks(rankings), 'block')}, {part}{units.plural(points, 'point')}"


def _blocks(rankings: Rankings) -> int:
    return max(one.over_curve.blocks for _, one in rankings)


def _rank_of(server: str, ranking: Ranking) -> str:
    found = [rank for rank in ranking.ranks if rank.server == server]
    return places_words(found[0].best, found[0].worst) if found and ranking.decides else units.ABSENT


def _left_out_in_words(rankings: Rankings) -> list[str]:
    """Say which points of which server are in no ranking, each reason once for all measures and points."""
    points: dict[tuple[str, str, str], list[Point]] = {}
    for measure, ranking in rankings:
        for one in ranking.left_out:
            # A point with other figures was measured, and lacks a percentile alone.
            is_measured = measure.name in PERCENTILES and any(
                one not in other.left_out for _, other in rankings
            )
            reason = _reason(one, measured=is_measured)
            points.setdefault((one.server, reason, measure.title), []).append(one.point)
    measures: dict[tuple[str, str, str], list[str]] = {}
    for (server, reason, title), at in points.items():
        measures.setdefault((server, _places(at), reason), []).append(title)
    return [
        f"{server} at {places}{_of_measures(titles, rankings)}: {reason}"
        for (server, places, reason), titles in measures.items()
    ]


def _of_measures(titles: Sequence[str], rankings: Rankings) -> str:
    """Name the measures, unless they are all."""
    return "" if len(titles) == len(rankings) else f", {units.listing(titles)}"


def _reason(left_out: LeftOut, *, measured: bool) -> str:
    absent = "with too few answers for a figure" if measured else "not measured"
    return ", ".join(
        f"{'block' if len(blocks) == 1 else 'blocks'} {units.listing(map(str, blocks))} {what}"
        for blocks, what in ((left_out.invalid, "invalid"), (left_out.absent, absent))
        if blocks
    )


def _places(points: Sequence[Point]) -> str:
    """Name some points, such as ``connections = 50, 100 and 3 more points``."""
    shown = [text.point(point) for point in points[:MOST_POINTS]]
    if all(len(point) == 1 for point in points):
        shown = [shown[0], *(units.setting(*point.values()) for point in points[1:MOST_POINTS])]
    more = len(points) - len(shown)
    return units.listing([*shown, units.plural(more, "more point")] if more else shown)


def _visible_in_words(analysis: Analysis, rankings: Rankings) -> Iterable[str]:
    """Yield the smallest differences that this run could see over the curve, and that this rig could."""
    blocks = _blocks(rankings)
    servers = max(len(one.over_curve.ranks) for _, one in rankings)
    by_column = {noise.measure: noise for noise in analysis.noise}
    noises = {measure.title: by_column[measure.column] for measure, _ in rankings}
    spreads = {title: noise.spread for title, noise in noises.items() if noise.spread is not None}
    if spreads:
        source = _source(next(iter(noises.values())))
        yield (
            f"The smallest difference over the curve that is detected with a probability of 80 %, {source}: "
            f"{_differences(spreads, blocks, servers)}."
        )
    more = _more_trials_in_words(rankings)
    if more:
        yield more
    if analysis.rig_noise is not None and blocks > 1:
        yield from _rig_in_words(analysis.rig_noise, blocks)


def _more_trials_in_words(rankings: Rankings) -> str | None:
    """Say how many trials would tell the servers apart that these do not; ``None`` where none is missing."""
    numbers: dict[str, list[str]] = {}
    for measure, one in rankings:
        for pair in one.over_curve.pairs:
            if pair.p_value is None or pair.told_apart:
                continue
            trials = pair.trials_to_show
            said = f"more than {TRIALS_MAX}" if trials is None else str(trials)
            numbers.setdefault(f"{pair.first} and {pair.second}", []).append(f"{said} in {measure.title}")
    if not numbers:
        return None
    named = [f"{pair} {units.listing(said)}" for pair, said in numbers.items()]
    unnamed = len(named) - MOST_PAIRS
    more = [f"{units.plural(unnamed, 'more pair')} likewise"] if unnamed > 0 else []
    return (
        "Trials required to tell the remaining pairs apart, with a probability of 80 %, if the servers "
        f"differ as measured: {'; '.join([*named[:MOST_PAIRS], *more])}."
    )


def _source(noise: RunNoise) -> str:
    if noise.source == "pairs":
        return "from the spread of this run's pairs"
    return "from " + units.listing(
        f"{units.listing(group)}, which are the same server" for group in noise.groups
    )


def _rig_in_words(noise: Noise, trials: int) -> Iterable[str]:
    """Yield what the rig could see; nothing where its noise is known by none of today's measures."""
    spreads = {
        MEASURES[name].title: Spread(spread.log_ratio_sd, spread.degrees_of_freedom)
        for name, spread in noise.spreads.items()
        if name in MEASURES
    }
    if spreads:
        yield (
            f"This rig's noise, {noise.server} against itself at one point, loads of "
            f"{units.number(noise.duration_s, 2)} s: {_differences(spreads, trials, servers=2)}."
        )


def _differences(spreads: dict[str, Spread], trials: int, servers: int) -> str:
    numbers = [trials] if trials >= MORE_TRIALS else [trials, MORE_TRIALS]
    return "; ".join(
        f"with {units.plural(number, 'trial')} "
        + units.listing(
            f"{_difference(visible_difference(spread, number, servers).value)} in {title}"
            for title, spread in spreads.items()
        )
        for number in numbers
    )


def _difference(share: float | None) -> str:
    return "none" if share is None else difference_words(share)


def _in_terminal(report: Report, ranking: RankingContent | None) -> Iterable[RenderableType]:
    if ranking is None:
        return []
    parts: list[RenderableType] = [Text(f"\nranking over the curve: {ranking.extent}", style="bold")]
    parts += [Text(ranking.caution, style="yellow")] if ranking.caution else []
    if ranking.inconclusive is not None:
        is_answer = ranking.inconclusive in report.of(ANSWER).text
        reason = "none, as the answer above says" if is_answer else ranking.inconclusive
        parts.append(Text(reason, style="yellow"))
    words = Table.grid(padding=(0, 2))
    words.add_column(style="dim", max_width=TITLE_WIDTH)
    words.add_column()
    for title, sentence in ranking.over_curve.items():
        words.add_row(title, Text(sentence))
    parts += [words] if ranking.over_curve else []
    left_out = ranking.left_out[:MOST_LEFT_OUT]
    if len(ranking.left_out) > len(left_out):
        left_out.append(f"{len(ranking.left_out) - len(left_out):,} more, which the report names")
    parts += [Text(f"left out: {sentence}", style="dim") for sentence in left_out]
    return parts + [Text(sentence) for sentence in ranking.visible]


def _in_markdown(_report: Report, ranking: RankingContent | None) -> Iterable[str]:
    if ranking is None:
        return []
    extent = f"Ranks over the curve ({escaped(ranking.extent)})."
    left_out = listed(f"Left out: {escaped(sentence)}." for sentence in ranking.left_out)
    if ranking.inconclusive is not None:
        return [escaped(ranking.inconclusive), *left_out]
    return [
        *([escaped(ranking.caution)] if ranking.caution else []),
        f"{extent} A range contains every rank that the trials do not rule out.",
        tabulated(ranking.table),
        *listed(map(escaped, ranking.sentences)),
        *left_out,
    ]


RANKING: Section[RankingContent | None] = Section(
    "ranking",
    "the ranking in words",
    lambda report: ranking_content(report.analysis),
    None,
    page="ranking",
    terminal=_in_terminal,
    markdown=_in_markdown,
    heading="Ranking",
)

"""The claims of a study's authors, held against what a run has measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from loadcurve.analysis.limits import GENERATOR_FAULTS
from loadcurve.analysis.shape import capacity_of
from loadcurve.analysis.sweep import Slice, TrialCurves, slices, trial_curves
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import PUBLISHED_MEASURES, THROUGHPUT, is_usable
from loadcurve.stats import claims as judge
from loadcurve.stats.claims import Outcome, Region
from loadcurve.stats.complete import Rows, complete_rows
from loadcurve.stats.interval import Estimate
from loadcurve.stats.paired import Array, block_means, paired_ratios
from loadcurve.stats.peak import Greatest, greatest
from loadcurve.stats.slo import parse_objective
from loadcurve.study.claims import (
    BestValueClaim,
    CheapestClaim,
    Claim,
    PairClaim,
    PeakClaim,
    RatioClaim,
    TrendClaim,
    claims_of,
)

Obstacle = Literal[
    "not_measured", "generator_limit", "too_few_trials", "undecided", "no_machine", "sweep_ends"
]
"""Why a claim can neither be confirmed nor refuted."""

LoadsClaim = RatioClaim | PairClaim | TrendClaim | BestValueClaim
"""Claims about the curves from one load to another."""

_TRENDS = {"rises": judge.rising, "falls": judge.falling, "level": judge.level}
TRIALS_MIN = 2
"""A single trial has no spread, so that it decides nothing."""


@dataclass(frozen=True, slots=True)
class JudgedOffer:
    """The capacity and the price of one server, for a claim about the cheapest."""

    server: str
    usd_per_hour: float
    safe_load: float
    """The limits hold up to here."""
    greatest_load: float | None
    """They do not hold above; ``None`` where the sweep has not found an end."""


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """What another server costs, and how many times as much the claimed one answers for its price."""

    server: str
    usd_per_hour: float
    ratio: Estimate


@dataclass(frozen=True, slots=True)
class ContraryStep:
    """A step of a trend that goes the other way."""

    first: str
    """The server or the load before it."""
    second: str
    ratio: Estimate


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim and what the run says of it, on one slice of the sweep."""

    text: str
    """The authors' conclusion."""
    kind: str
    servers: list[str]
    measure: str | None
    """Its name; ``None`` of claims about prices."""
    key: str | None
    """Along which the curves run."""
    fixed: Point
    expected: float | None
    """The load of a peak or of limits, or the ratio; ``None`` of other claims."""
    within: float | None
    """The margin, a share."""
    outcome: Outcome
    obstacle: Obstacle | None = None
    """Set where the outcome is ``cannot_tell``."""
    missing: list[str] = field(default_factory=list)
    """The servers that lack figures."""
    loads: list[float] = field(default_factory=list)
    """Those that were used."""
    ratio: Estimate | None = None
    """What decides of ratios, and of a trend the last place over the first; ``None`` of other claims."""
    ends: tuple[str, str] | None = None
    """Of a trend the first and the last server or load that it was judged by."""
    peak: Greatest | None = None
    grid: tuple[float, float] | None = None
    """The measured loads around the claimed peak."""
    contrary_step: ContraryStep | None = None
    limits: str | None = None
    offers: list[JudgedOffer] = field(default_factory=list)
    values: list[JudgedValue] = field(default_factory=list)
    """What decides of a claim about the best value."""


def judged_claims(run: Run) -> list[JudgedClaim]:
    """Return the claims of the run's study, each judged on every slice of the sweep along its key."""
    claims = claims_of(run.run.study)
    if not claims or run.run.search is not None:
        return []
    found = []
    for claim in claims:
        for part in slices(run.sweep_points, claim.over):
            curves = {curve.server: curve for curve in trial_curves(run, part)} if part.key else {}
            found.append(_Judge(run, part, curves).judge(claim))
    return found


@dataclass(frozen=True)
class _Judge:
    """Judges claims by the curves of one slice."""

    run: Run
    part: Slice
    curves: Mapping[str, TrialCurves]

    def judge(self, claim: Claim) -> JudgedClaim:
        base = JudgedClaim(
            text=claim.text,
            kind=claim.kind,
            servers=claim.named_servers,
            measure=None if isinstance(claim, CheapestClaim | BestValueClaim) else claim.measure,
            key=self.part.key,
            fixed=self.part.fixed,
            expected=_expected(claim),
            within=None if isinstance(claim, PeakClaim | CheapestClaim) else claim.within,
            outcome="cannot_tell",
        )
        open_claim = self._not_measured(base, claim)
        if open_claim is not None:
            return open_claim
        match claim:
            case PeakClaim():
                return self._peak(base, claim)
            case CheapestClaim():
                return self._cheapest(base, claim)
            case BestValueClaim():
                return self._best_value(base, claim)
            case TrendClaim():
                return self._trend(base, claim)
            case _:
                return self._compared(base, claim)

    def _not_measured(self, base: JudgedClaim, claim: Claim) -> JudgedClaim | None:
        """Say which servers, or that the loads of the claim, were not measured; ``None`` where all were."""
        missing = [name for name in claim.named_servers if not self._has_figures(name)]
        if missing:
            return replace(base, obstacle="not_measured", missing=missing)
        if isinstance(claim, LoadsClaim) and len(self._loads(claim)) < _fewest_loads(claim):
            return replace(base, obstacle="sweep_ends", loads=next(iter(self.curves.values())).loads)
        return None

    def _has_figures(self, server: str) -> bool:
        curve = self.curves.get(server)
        return curve is not None and bool(curve.blocks)

    def _figures(self, claim: PeakClaim | RatioClaim | PairClaim | TrendClaim, server: str) -> Rows:
        return self.curves[server].figures(PUBLISHED_MEASURES[claim.measure].value)

    def _without(self, base: JudgedClaim) -> JudgedClaim:
        """Say why there are too few figures: the generator's limit, or too few trials."""
        records = [
            record
            for server in base.servers
            for row in self.curves[server].records
            for record in row
            if record is not None
        ]
        reasons = {
            reason.code
            for record in records
            if not is_usable(record)
            for reason in record.load.verdict.reasons
        }
        return replace(base, obstacle="generator_limit" if reasons & GENERATOR_FAULTS else "too_few_trials")

    def _peak(self, base: JudgedClaim, claim: PeakClaim) -> JudgedClaim:
        loads, rows = complete_rows(self.curves[claim.server].loads, self._figures(claim, claim.server))
        top = greatest(loads, rows)
        if top is None or top.alike is None:
            return self._without(replace(base, peak=top))
        base = replace(base, peak=top, loads=list(loads))
        grid = judge.grid_around(loads, claim.near)
        if grid is None:
            return replace(base, obstacle="sweep_ends")
        outcome = judge.peak_between(top, *grid)
        if outcome == "replicated" and judge.may_lie_beyond(top, loads):
            return replace(base, obstacle="sweep_ends", grid=grid)
        return _decided(replace(base, grid=grid), outcome)

    def _compared(self, base: JudgedClaim, claim: RatioClaim | PairClaim) -> JudgedClaim:
        first, second = claim.servers
        log_ratios = self._log_ratios(first, second, claim.measure, claim)
        found = paired_ratios(log_ratios[None, :])[0] if len(log_ratios) else None
        ratio = None if found is None else found.estimate
        base = replace(base, loads=self._loads(claim), ratio=ratio)
        if ratio is None or ratio.n < TRIALS_MIN:
            return self._without(base)
        return _decided(base, _compared_outcome(claim, ratio))

    def _loads(self, claim: LoadsClaim) -> list[float]:
        return [load for load in next(iter(self.curves.values())).loads if claim.takes(load)]

    def _log_ratios(self, first: str, second: str, measure: str, claim: LoadsClaim) -> Array:
        """Return the log ratio of two servers in each of their common blocks, over the loads of a claim."""
        curves = [self.curves[name] for name in (first, second)]
        blocks = [block for block in curves[0].blocks if block in curves[1].blocks]
        places = [place for place, load in enumerate(curves[0].loads) if claim.takes(load)]
        if not blocks or not places:
            return np.empty(0)
        logs = []
        for curve in curves:
            by_block = dict(zip(curve.blocks, curve.figures(PUBLISHED_MEASURES[measure].value), strict=True))
            logs.append(_logs([by_block[block] for block in blocks], places))
        return block_means(logs[0] - logs[1])

    def _trend(self, base: JudgedClaim, claim: TrendClaim) -> JudgedClaim:
        loads = next(iter(self.curves.values())).loads
        taken = [place for place, load in enumerate(loads) if claim.takes(load)]
        base = replace(base, loads=self._loads(claim))
        if len(claim.servers) == 1:
            names = [f"{loads[place]:,.10g}" for place in taken]
            table = [[row[place] for place in taken] for row in self._figures(claim, claim.servers[0])]
        else:
            names = claim.servers
            table = self._means_by_block(claim, taken)
        kept, rows = complete_rows(range(len(names)), table)
        is_short = len(kept) < len(names) if len(claim.servers) > 1 else len(kept) < _fewest_loads(claim)
        if len(rows) < TRIALS_MIN or is_short:
            return self._without(base)
        trend = _TRENDS[claim.kind](rows, claim.within)
        step = trend.contrary_step
        named = [names[int(place)] for place in kept]
        return _decided(
            replace(
                base,
                ratio=trend.ratio,
                ends=(named[0], named[-1]),
                contrary_step=None
                if step is None
                else ContraryStep(named[step[0]], named[step[0] + 1], step[1]),
            ),
            trend.outcome,
        )

    def _means_by_block(self, claim: TrendClaim, places: Sequence[int]) -> Rows:
        """Return each block's geometric mean over the loads, a column for each server of the claim."""
        blocks = sorted({block for name in claim.servers for block in self.curves[name].blocks})
        columns = []
        for name in claim.servers:
            curve = self.curves[name]
            means = np.exp(block_means(_logs(self._figures(claim, name), places)))
            by_block = dict(zip(curve.blocks, means.tolist(), strict=True))
            columns.append(
                [value if math.isfinite(value := by_block.get(block, math.nan)) else None for block in blocks]
            )
        return [list(row) for row in zip(*columns, strict=True)]

    def _cheapest(self, base: JudgedClaim, claim: CheapestClaim) -> JudgedClaim:
        objective = parse_objective(claim.limits)
        base = replace(base, limits=claim.limits)
        offers = {}
        for name, curve in self.curves.items():
            machine = self.run.run.servers[name].machine
            found = capacity_of(self.run, curve, objective) if machine is not None else None
            if machine is None or found is None:
                continue
            end = found.greatest_load
            offers[name] = JudgedOffer(
                name, machine.price_usd_per_hour, found.safe_load, None if math.isinf(end) else end
            )
            if len(found.trials) < TRIALS_MIN:
                return self._without(base)
        base = replace(base, offers=list(offers.values()))
        if claim.server not in offers:
            return replace(base, obstacle="no_machine")
        chosen = offers[claim.server]
        cheaper = [one for one in offers.values() if one.usd_per_hour < chosen.usd_per_hour]
        decided = _decided(base, _cheapest_outcome(chosen, cheaper, claim.up_to))
        loads = self.curves[claim.server].loads
        if decided.obstacle == "undecided" and not loads[0] <= claim.up_to <= loads[-1]:
            return replace(decided, obstacle="sweep_ends", loads=loads)
        return decided

    def _best_value(self, base: JudgedClaim, claim: BestValueClaim) -> JudgedClaim:
        """Compare the answers for one dollar: the ratio of throughputs, times that of the prices."""
        prices = {
            name: machine.price_usd_per_hour
            for name, curve in self.curves.items()
            if (machine := self.run.run.servers[name].machine) is not None and curve.blocks
        }
        others = [name for name in prices if name != claim.server]
        base = replace(base, loads=self._loads(claim))
        if claim.server not in prices or not others:
            return replace(base, obstacle="no_machine")
        of_prices = {name: math.log(prices[name] / prices[claim.server]) for name in others}
        log_ratios = []
        for name in others:
            by_block = self._log_ratios(claim.server, name, THROUGHPUT.name, claim)
            known = by_block[np.isfinite(by_block)] + of_prices[name]
            if len(known) < TRIALS_MIN:
                return self._without(base)
            log_ratios.append(known.tolist())
        outcome, ratios = judge.above_all(log_ratios, claim.within)
        values = [JudgedValue(name, prices[name], ratio) for name, ratio in zip(others, ratios, strict=True)]
        return _decided(replace(base, values=values), outcome)


def _fewest_loads(claim: LoadsClaim) -> int:
    """Return of how many loads the claim must have figures: a trend along the sweep of two."""
    return 2 if isinstance(claim, TrendClaim) and len(claim.servers) == 1 else 1


def _cheapest_outcome(chosen: JudgedOffer, cheaper: Sequence[JudgedOffer], up_to: float) -> Outcome:
    def fails(offer: JudgedOffer) -> bool:
        return offer.greatest_load is not None and offer.greatest_load < up_to

    if fails(chosen) or any(one.safe_load >= up_to for one in cheaper):
        return "not_replicated"
    return "replicated" if chosen.safe_load >= up_to and all(map(fails, cheaper)) else "cannot_tell"


def _compared_outcome(claim: RatioClaim | PairClaim, ratio: Estimate) -> Outcome:
    match claim:
        case RatioClaim():
            return judge.within(ratio, Region.around(claim.ratio, claim.within))
        case PairClaim(kind="alike"):
            return judge.within(ratio, Region.around(1, claim.within))
        case PairClaim():
            return judge.above_one(ratio, claim.within)


def _decided(base: JudgedClaim, outcome: Outcome) -> JudgedClaim:
    return replace(base, outcome=outcome, obstacle="undecided" if outcome == "cannot_tell" else None)


def _expected(claim: Claim) -> float | None:
    match claim:
        case PeakClaim():
            return claim.near
        case RatioClaim():
            return claim.ratio
        case CheapestClaim():
            return claim.up_to
        case _:
            return None


def _logs(rows: Rows, places: Sequence[int]) -> Array:
    """Return the logarithms at some places; NaN where there is no positive figure."""
    return np.array(
        [[math.log(value) if (value := row[place]) else math.nan for place in places] for row in rows]
    ).reshape(len(rows), len(places))

"""The analysis of a run: everything that reports, lists and comparisons say in numbers, computed once."""

import shlex
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from loadcurve.analysis.alt_svc import AnnouncementOfServer, announcements_in
from loadcurve.analysis.claims import JudgedClaim, judged_claims
from loadcurve.analysis.connections import ConnectionsOfServer, connections_of
from loadcurve.analysis.cpu_time import DividedCpus, cpu_times
from loadcurve.analysis.crosscheck import CrossChecked, cross_check
from loadcurve.analysis.curves import (
    VERDICTS,
    Curve,
    VerdictStatus,
    curves,
    labels_in,
    measures_of,
    protocol_measures_in,
)
from loadcurve.analysis.disturbance import Disturbance, disturbance_of, unknown_disturbance
from loadcurve.analysis.division import DividedTime, divided_times
from loadcurve.analysis.ending import Ending, ending, gate_of, unknown_ending
from loadcurve.analysis.gated import GatedRun
from loadcurve.analysis.noise import RunNoise, noise_of, unknown_noise
from loadcurve.analysis.published import PublishedMatch, published_matches
from loadcurve.analysis.quic import QuicOfServer, quic_of
from loadcurve.analysis.ranking import RunRanking, rank_run, unranked
from loadcurve.analysis.reasons import MainReason, main_reason
from loadcurve.analysis.requirements import JudgedRequirement, judged_requirements
from loadcurve.analysis.sections import NotComputed, Sections
from loadcurve.analysis.shape import SliceShapes, shapes
from loadcurve.analysis.trial_faults import TrialFault, trial_faults
from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.loads.kinds import LoadKind, WorkName, kind_of_work
from loadcurve.loads.values import Point
from loadcurve.result.differences import Aspect, conditions_of, server_facts
from loadcurve.result.folder import Run
from loadcurve.result.inputs import LeftOut, missing_in_words
from loadcurve.result.measures import MEASURES, Measure
from loadcurve.result.records import FailureRecord
from loadcurve.result.rig import Noise
from loadcurve.result.which_count import Gap, place_of
from loadcurve.stats.slo import Objective

RANKED = [measure for measure in MEASURES.values() if measure.better is not None]
"""The measures that servers are ranked by."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Which server was measured."""

    title: str
    version: str | None
    status: Literal["found", "missing"]
    facts: dict[str, Any]
    """What of it may differ between runs."""
    load: dict[str, Any] = field(default_factory=dict)
    """The options of its load that differ from the study's."""
    documentation: str | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Which run is analysed, on what machine, and how to repeat it."""

    title: str
    question: str | None
    load_work: WorkName
    load_model: str | None
    started_at: str
    loadcurve_version: str
    seed: int | None
    repeat: str
    """The command that repeats it with the same order of trials, in the run folder."""
    inputs_missing: list[str]
    """What the run folder lacks for that: private keys, secrets, programs, and what is too large."""
    host: dict[str, Any]
    servers: dict[str, ServerFacts]
    conditions: dict[Aspect, dict[str, Any]]
    """What must be the same before two runs can be compared."""
    left_out: LeftOut | None = None
    """The optional servers that were not installed."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """Points of single trials that were measured again, because the machine was disturbed."""

    points: int
    attempts: int
    """Those that do not count; of each point one does."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A run in numbers. Absence is ``None``; what a search does not have is empty."""

    run: RunFacts
    ending: Ending
    labels: list[str]
    """Of the operations that have curves: kinds of those on databases, or requests of a load with several."""
    points: list[Point]
    """The settings along the curves."""
    curves: list[Curve]
    """Of every server that was found, in the order of the study."""
    ranked_by: str
    """The column of the measure that answers the run's question."""
    rankings: list[RunRanking]
    noise: list[RunNoise]
    rig_noise: Noise | None
    """The rig's own, where it was measured before the run."""
    disturbance: Disturbance
    shapes: list[SliceShapes]
    published: list[PublishedMatch]
    findings: list[Finding]
    """The weightiest first."""
    failures: list[FailureRecord]
    faults: list[TrialFault] = field(default_factory=list)
    """What trials have lost, by a fault of a server's or the machine's; nothing of a search."""
    claims: list[JudgedClaim] = field(default_factory=list)
    """What the authors of a publication concluded, each judged."""
    requirements: list[JudgedRequirement] = field(default_factory=list)
    """What the study requires, judged at each point of each server that it is about."""
    crosschecks: list[CrossChecked] = field(default_factory=list)
    """Each arm of another generator beside the same server under our engine."""
    connections: list[ConnectionsOfServer] = field(default_factory=list)
    """Of every server whose connections were encrypted or carried streams, in the order of the study."""
    quic: list[QuicOfServer] = field(default_factory=list)
    """Of every server that was loaded over HTTP/3, in the order of the study."""
    announcements: list[AnnouncementOfServer] = field(default_factory=list)
    """Where every server announced HTTP/3 whose loads followed that, in the order of the study."""
    divided: list[DividedTime] = field(default_factory=list)
    """How the time of a request was divided among the programs of every server that has several."""
    cpu_times: list[DividedCpus] = field(default_factory=list)
    """Whose the time of each side's CPUs was, at every point where that is known."""
    gate: GatedRun | None = None
    """What a gate comes to; ``None`` of other runs."""
    gaps: tuple[Gap, ...] = ()
    """Where the run was interrupted and resumed."""
    repeated: Repeated = Repeated(points=0, attempts=0)
    damage: list[str] = field(default_factory=list)
    """What of the run folder was changed since it was written, in sentences."""
    main_reason: MainReason | None = None
    """The most frequent reason where all points are invalid; ``None`` where one can be used."""
    not_computed: list[NotComputed] = field(default_factory=list)
    """Sections that a fault of Loadcurve's left out; theirs above are empty."""

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.ending.reason != "unfinished"

    @property
    def measured_servers(self) -> list[str]:
        """The servers with a measured point, in the order of the study."""
        return [curve.server for curve in self.curves if any(at.trials for at in curve.points)]

    @property
    def is_search(self) -> bool:
        """Whether its points were searched for, so that there is no sweep to compare along."""
        return not self.rankings

    @property
    def keys(self) -> list[str]:
        """The keys of all points, in the order in which they first appear."""
        return list(dict.fromkeys(key for point in self.points for key in point))

    @property
    def load_kind(self) -> LoadKind:
        """What kind of load the run's is."""
        return kind_of_work(self.run.load_work)

    @property
    def measures(self) -> list[Measure]:
        """What the run is measured by, in the words of its loads."""
        return [*measures_of(self.load_kind, self.labels), *protocol_measures_in(self.curves)]

    @property
    def verdicts(self) -> dict[VerdictStatus, int]:
        """How many points of trials have each verdict."""
        counts = Counter(one for curve in self.curves for at in curve.points for one in at.verdicts)
        return {status: counts[status] for status in VERDICTS}

    def measure(self, column: str) -> Measure:
        """Return a measure by its column, in the words of the run's loads."""
        return next(measure for measure in self.measures if measure.column == column)

    def ranking(self, measure: Measure) -> RunRanking | None:
        """Return the rankings by a measure; ``None`` of a search."""
        return next((one for one in self.rankings if one.measure == measure.column), None)


def analyse(run: Run, objective: Objective | None = None) -> Analysis:
    """Compute everything that is said of a run in numbers; no file is read and nothing is measured here.

    With limits, the capacities that keep them are among the shapes. A search compares nothing, for each of
    its trials measures other points.

    Raises ``BadInput`` where there are limits that do not apply to the run, and where a histogram cannot be
    decoded.
    """
    ranked = RANKED if run.run.search is None else []
    sections = Sections()
    # Limits that do not apply are the first to be said.
    shaped = sections.several("the shapes of the curves", partial(shapes, run, objective))
    found = sections.several("the curves", partial(curves, run))
    ranking_by = partial(rank_run, found, at_rates=run.is_at_rates)
    rankings: list[RunRanking] = [
        sections.get(f"the ranking by {one.title}", partial(ranking_by, one), unranked(one)) for one in ranked
    ]
    noise: list[RunNoise] = [
        sections.get(f"the noise of {one.title}", partial(noise_of, run, found, one), unknown_noise(one))
        for one in ranked
    ]
    published = sections.several("the published figures", partial(published_matches, run))
    explained = sections.several("the findings", partial(findings, run))
    return Analysis(
        run=_facts(run),
        ending=sections.get("how the run ended", partial(ending, run), unknown_ending(run)),
        labels=labels_in(run),
        points=run.sweep_points,
        curves=found,
        ranked_by=MEASURES[run.default_measure].column,
        rankings=rankings,
        noise=noise,
        rig_noise=run.run.noise,
        disturbance=sections.get(
            "what disturbed the machine", partial(disturbance_of, run), unknown_disturbance(run)
        ),
        shapes=shaped,
        published=published,
        findings=explained,
        claims=sections.several("the claims", partial(judged_claims, run)),
        requirements=sections.several("the requirements", partial(judged_requirements, run, found)),
        crosschecks=sections.several("the comparison of generators", partial(cross_check, run, found)),
        failures=run.failures,
        faults=sections.several("what trials have lost", partial(trial_faults, run)),
        connections=sections.several("the connections", partial(connections_of, run)),
        quic=sections.several("HTTP/3", partial(quic_of, run)),
        announcements=sections.several("where HTTP/3 was announced", partial(announcements_in, run)),
        divided=sections.several("the time of a request by program", partial(divided_times, run)),
        cpu_times=sections.several("whose CPU time it was", partial(cpu_times, run)),
        gate=sections.get("the gate", partial(gate_of, run), None),
        gaps=run.gaps,
        repeated=Repeated(points=len(set(map(place_of, run.repeated))), attempts=len(run.repeated)),
        damage=list(run.damage),
        main_reason=sections.get("the most frequent reason", partial(main_reason, run), None),
        not_computed=sections.not_computed,
    )


def servers_of(run: Run) -> dict[str, ServerFacts]:
    """Return which servers a run measures, by name, in the order of the study."""
    return {
        name: ServerFacts(
            server.title,
            server.version,
            server.status,
            server_facts(server, run.run.study.get("servers", {}).get(name)),
            run.own_load(name),
            server.documentation,
        )
        for name, server in run.run.servers.items()
    }


def _facts(run: Run) -> RunFacts:
    record = run.run
    question = record.study.get("question")
    return RunFacts(
        title=str(record.study.get("title") or record.study_name),
        question=str(question) if question else None,
        load_work=run.kind.work,
        load_model=record.study.get("load", {}).get("model"),
        started_at=record.started_at,
        loadcurve_version=record.loadcurve_version,
        seed=record.seed,
        repeat=shlex.join(record.repeating),
        inputs_missing=missing_in_words(record.inputs),
        host=record.host,
        servers=servers_of(run),
        conditions=conditions_of(run),
        left_out=record.left_out,
    )

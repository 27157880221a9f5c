"""What a comparison says to a gate: which changes fail it, and which it cannot decide."""

from dataclasses import dataclass

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change, Outcome
from loadcurve.analysis.comparison import RunComparison
from loadcurve.analysis.faults import FaultsCompared, compared_faults
from loadcurve.analysis.gated import GatedRun
from loadcurve.analysis.missing import MissingFigure, Side, missing_figure
from loadcurve.analysis.operation_errors import OperationErrors, errors_of_load
from loadcurve.analysis.requirements import JudgedRequirement
from loadcurve.analysis.unusable import Unusable, by_doing, lost_in_head, never_usable
from loadcurve.result.measures import measures


@dataclass(frozen=True, slots=True)
class Gate:
    """A comparison held against the least regression that counts."""

    least: float
    """Such as 0.05 for 5 %."""
    regressions: tuple[Change, ...]
    """Shown, and of at least that share: the greatest first."""
    errors: tuple[OperationErrors, ...]
    """Loads and requests of which a greater share is shown to fail, by that share of the base's or more."""
    undecided: tuple[Change, ...]
    """Over the whole curve, or at points where none is in every trial: neither shown to be regressions, nor
    shown to be none."""
    lost: tuple[Unusable, ...]
    """What has usable figures in the base alone."""
    lost_figures: tuple[MissingFigure, ...]
    """What the base alone has at points where both have other figures."""
    faults: tuple[FaultsCompared, ...]
    """Servers whose trials failed, or had invalid points, more often than in the base."""

    @classmethod
    def of(cls, comparison: RunComparison, least: float) -> "Gate":
        """Hold a comparison against the least regression that counts."""
        return cls(
            least,
            tuple(comparison.regressions(least)),
            tuple(one for one in comparison.errors if one.is_regression(least)),
            tuple(comparison.undecided(least)),
            comparison.lost,
            comparison.lost_figures,
            tuple(one for one in comparison.faults if one.is_regression()),
        )

    @property
    def outcome(self) -> Outcome:
        """What it comes to: what cannot be compared any more has not passed."""
        if self.regressions or self.errors or self.lost or self.lost_figures or self.faults:
            return Outcome.FAILED
        return Outcome.UNDECIDED if self.undecided else Outcome.PASSED


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """What a run of ``loadcurve gate`` comes to."""

    gated: GatedRun
    lost: tuple[Unusable, ...]
    """What has usable figures in the base alone, because of the head."""
    disturbed: tuple[Unusable, ...]
    """What one of the two has no usable figures of because of the generator or the machine."""
    required: tuple[JudgedRequirement, ...]
    """What the study requires of the head, judged as a run does."""
    faults: FaultsCompared | None
    """The trials of both that failed or have invalid points; ``None`` where there are none."""
    errors: tuple[OperationErrors, ...]
    """Those of the load and of each of several requests."""
    missing: tuple[MissingFigure, ...]
    """Measures of the whole load that are not gated, and why."""
    not_compared: tuple[Unusable, ...]
    """Where the base has no usable figure by its own doing: nothing says whether the head is worse there."""

    @classmethod
    def of(cls, analysis: Analysis) -> "GateAnswer | None":
        """Return the answer of a gate; ``None`` where the run is none."""
        gate = analysis.gate
        if gate is None:
            return None
        of_head, of_machine = by_doing(lost_in_head(analysis, gate.base, gate.head))
        of_base, spoilt = by_doing(never_usable(analysis, gate.base))
        required = tuple(one for one in analysis.requirements if one.server == gate.head)
        base, head = (Side(name, analysis, name) for name in (gate.base, gate.head))
        sides, known = [(base, head)], measures(analysis.load_kind)
        faults = next(compared_faults(sides, analysis.points), None)
        errors = tuple(errors_of_load(sides, analysis.labels, analysis.points))
        missing = tuple(
            missing_figure(base, head, known[name], None, analysis.points)
            for name in gate.not_measured
            if name in known
        )
        disturbed = (*of_machine, *spoilt)
        return cls(gate, of_head, disturbed, required, faults, errors, missing, of_base)

    @property
    def has_more_faults(self) -> bool:
        """Whether trials of the head failed, or had invalid points, and fewer of the base did."""
        return self.faults is not None and self.faults.is_regression(self.gated.false_alarms)

    @property
    def failed_errors(self) -> tuple[OperationErrors, ...]:
        """Those that are shown to have grown, at the error rate of the gate."""
        return tuple(
            one
            for one in self.errors
            if one.is_regression(self.gated.least)
            and one.adjusted_p_value is not None
            and one.adjusted_p_value <= self.gated.false_alarms
        )

    @property
    def failed_requirements(self) -> tuple[JudgedRequirement, ...]:
        """What the study requires and the head does not keep."""
        return tuple(one for one in self.required if one.outcome == "failed")

    @property
    def open_requirements(self) -> tuple[JudgedRequirement, ...]:
        """What the study requires of the head, and no interval decides."""
        return tuple(one for one in self.required if one.outcome == "cannot_tell")

    @property
    def outcome(self) -> Outcome | None:
        """What it comes to; ``None`` where nothing could be measured."""
        if self.lost or self.gated.regressions:
            return Outcome.FAILED
        if not self.gated.measures:
            return None
        if self.has_more_faults or self.failed_errors or self.failed_requirements:
            return Outcome.FAILED
        found = self.gated
        is_open = self.disturbed or found.undecided or found.not_judged or self.open_requirements
        return Outcome.UNDECIDED if is_open else Outcome.PASSED

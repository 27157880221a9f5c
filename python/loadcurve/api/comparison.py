"""Two runs compared, and generators compared, as tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars

from loadcurve.api.command import Progress, printed_by, words_of
from loadcurve.api.options import CompareOptions, CrosscheckOptions, GateOptions
from loadcurve.api.run_folder import Run
from loadcurve.api.signature import with_options
from loadcurve.units import plural

BEFORE_POINT = ("server", "arm", "measure")


@dataclass(frozen=True, repr=False)
class Comparison:
    """A change against its base."""

    data: Mapping[str, Any]
    """Everything, as ``loadcurve compare --json`` prints it."""

    @property
    def ratios(self) -> polars.DataFrame:
        """One row for each measure, server and point, ``new / base``, with the 95 % interval of ``ratio``.

        The keys of the point are null for the whole curve. ``shown`` is true where a difference is shown.
        """
        return _table(self._changes)

    @property
    def _changes(self) -> list[dict[str, Any]]:
        return [one for kind in ("curves", "points", "operations") for one in self.data[kind]]

    @property
    def regressions(self) -> polars.DataFrame | None:
        """The rows that are shown to be worse by what was asked; ``None`` where nothing was asked."""
        found = self.data["regressions"]
        return self._rows(found)

    @property
    def undecided(self) -> polars.DataFrame | None:
        """The rows over the whole curve that neither show a regression of what was asked nor rule it out."""
        return self._rows(self.data["undecided"])

    def _rows(self, found: list[dict[str, Any]] | None) -> polars.DataFrame | None:
        return None if found is None else _table(found) if found else self.ratios.clear()

    @property
    def passes(self) -> bool:
        """Whether no regression was shown, no more trials failed, and no figure of the base is missing."""
        is_lost = self.data["lost"] or any(one["lost"] for one in self.data["missing"])
        kinds = ("regressions", "error_regressions", "fault_regressions")
        return not is_lost and not any(self.data[kind] for kind in kinds)

    def __repr__(self) -> str:
        """Return how many ratios there are, and how many show a difference."""
        shown = sum(one["shown"] for one in self._changes)
        return f"<Comparison: {plural(self.ratios.height, 'ratio')}, {plural(shown, 'difference')} shown>"


@dataclass(frozen=True, repr=False)
class GateResult:
    """What a gate of two builds comes to."""

    data: Mapping[str, Any]
    """Everything, as ``loadcurve gate --json`` prints it."""

    @property
    def outcome(self) -> str:
        """``"passed"``, ``"failed"`` or ``"undecided"``."""
        return str(self.data["outcome"])

    @property
    def passes(self) -> bool:
        """Whether a regression is ruled out in every measure; what is not decided does not pass."""
        return self.outcome == "passed"

    @property
    def comparison(self) -> Comparison:
        """The ratios of both sides, those of measures that are not gated among them."""
        return Comparison(self.data["comparison"])

    @property
    def report(self) -> Path:
        """The page; its folder is that of the run."""
        return Path(self.data["report"])

    def __repr__(self) -> str:
        """Return the answer in a sentence."""
        return f"<GateResult: {self.data['said'][0]}>"


@dataclass(frozen=True, repr=False)
class Crosscheck:
    """Servers under our engine and under other load generators."""

    data: Mapping[str, Any]
    """Everything, as ``loadcurve crosscheck --json`` prints it."""

    @property
    def ratios(self) -> polars.DataFrame:
        """One row for each arm, measure and point: the other generator's figure over the engine's."""
        rows = [{"arm": one["arm"], **ratio} for one in self.data["pairs"] for ratio in one["ratios"]]
        return _table(rows)

    def __repr__(self) -> str:
        """Return how many pairs were compared."""
        return f"<Crosscheck: {plural(len(self.data['pairs']), 'pair')}>"


@with_options(CompareOptions)
def compare(
    run: Run | str | Path, new: Run | str | Path | None = None, /, **options: Unpack[CompareOptions]
) -> Comparison:
    """Compare two runs of one study, the base first, or two servers of one run: ``base="a", head="b"``.

    With ``fail_on_regression="5%"``, :attr:`Comparison.passes` says whether a gate lets the change through,
    and :attr:`Comparison.undecided` what the trials do not decide.

    Raises:
        BadInput: a folder is no run, or the runs were not measured under the same conditions.

    """
    folders = [str(one.folder if isinstance(one, Run) else one) for one in (run, new) if one is not None]
    return Comparison(json.loads(printed_by(["compare", *words_of(options), "--json", "--", *folders])))


@with_options(GateOptions)
def gate(
    study: str | Path, /, *, progress: Progress | None = None, **options: Unpack[GateOptions]
) -> GateResult:
    """Let two builds take turns until it is decided whether the head is slower than the base.

    ``gate("study.toml", base="build/before/server", head="build/after/server")``; the same by commits with
    ``base_rev``, ``head_rev`` and ``build``.

    Raises:
        BadInput: the study, a side or an option cannot be used.
        NothingMeasured: the base has no usable figure, or a revision cannot be built.
        KeyboardInterrupt: interrupted; the run folder keeps what was measured.

    """
    words = ["gate", *words_of(options), "--json", "--", str(study)]
    return GateResult(json.loads(printed_by(words, progress)))


@with_options(CrosscheckOptions)
def crosscheck(
    study: Run | str | Path, /, *, progress: Progress | None = None, **options: Unpack[CrosscheckOptions]
) -> Crosscheck:
    """Run a study under several load generators in turn, or read such a run, and compare them.

    ``progress``, such as ``print``, is called with each line on what is measured, from another thread.

    Raises:
        BadInput: the study cannot be used, or no other generator can send its load.
        NothingMeasured: nothing could be measured.
        KeyboardInterrupt: interrupted; the run folder keeps what was measured.

    """
    what = str(study.folder if isinstance(study, Run) else study)
    words = ["crosscheck", *words_of(options), "--json", "--", what]
    return Crosscheck(json.loads(printed_by(words, progress)))


def _table(rows: Sequence[Mapping[str, Any]]) -> polars.DataFrame:
    """Return records as a table, with a column for each key of their points."""
    keys = dict.fromkeys(key for row in rows for key in row["point"] or {})
    flat = [
        {
            **{name: row[name] for name in row if name in BEFORE_POINT},
            **{key: (row["point"] or {}).get(key) for key in keys},
            **{name: value for name, value in row.items() if name not in (*BEFORE_POINT, "point")},
        }
        for row in rows
    ]
    return polars.DataFrame(flat, infer_schema_length=None)

"""One run: a study from its file to its folder of results."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Self

from loadcurve.analysis.ending import figures, until_narrow
from loadcurve.analysis.gated import gated, has_time_left, is_decided
from loadcurve.errors import BadInput
from loadcurve.generate.many import ManyMachines
from loadcurve.host.cpus import own_threads_on
from loadcurve.host.facts import host_facts
from loadcurve.result.folder import RunFolder, refuse_used_folder, require_new_folder
from loadcurve.result.inputs import CATALOG_OPTION
from loadcurve.result.measures import point_key
from loadcurve.result.outcomes import Caveat
from loadcurve.result.records import FailureRecord, GateRecord, PlannedTrial, PointRecord, RunRecord
from loadcurve.result.run_files import new_folder
from loadcurve.result.several import (
    LoadOfSeveral,
    SeveralLoadsRecord,
    write_loads,
)
from loadcurve.result.which_count import ServerCpus, counted, marked_drop
from loadcurve.runs.capacity import CapacitySearch, SearchOptions, search_document
from loadcurve.runs.display import Display
from loadcurve.runs.gate import GateOptions, gate_record, sides_of
from loadcurve.runs.kept_servers import KeptServers
from loadcurve.runs.machines import Machines, sending_machines
from loadcurve.runs.other_runs import not_alone
from loadcurve.runs.own_runs import forget_begun
from loadcurve.runs.planned import PlannedRun, RunContext
from loadcurve.runs.points import PointChooser, RepeatedPoints, SweptPoints, UntilDrop, trial_order
from loadcurve.runs.prepare import Served
from loadcurve.runs.profile import Profiler
from loadcurve.runs.resume import InterruptedRun, InterruptedRuns
from loadcurve.runs.soak import EVERY_OPTION, BlockSchedule, Soak
from loadcurve.runs.trial import TrialRunner
from loadcurve.server.catalog import catalogs_of, load_catalog
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.ledger import clean_up_after_killed_runs
from loadcurve.server.presence import announce, neighbours
from loadcurve.server.settings import unknown_name
from loadcurve.stats.stopping import Figure, may_end, wide_points
from loadcurve.study.bundled import study_name
from loadcurve.study.model import Study
from loadcurve.study.more_arms import beside_generators, with_generators
from loadcurve.study.several import LoadPart, is_of_several, parts_of
from loadcurve.toml.document import TomlDocument

if TYPE_CHECKING:
    from loadcurve.result.cpu_time import ProfiledPair

ALL_TOGETHER = ""
"""What the start of all servers goes by among those of one; no server has this name."""
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class RunOptions:
    """What the person changes about a study for one run; ``None`` and nothing change nothing."""

    out: Path | None = None
    trials: int | None = None
    only: Sequence[str] = ()
    quick: bool = False
    seed: int | None = None
    catalogs: Sequence[Path] = ()
    generators: Sequence[str] = ()
    """Tools under which each server is measured besides."""
    soak: Soak | None = None
    """A trial at an interval, for a time."""
    study_name: str | None = None
    """What the study is called; by default as its file is, which of a copy in a run folder says nothing."""

    def changes(self) -> list[str]:
        """Return the options that change the study, as they are given on the command line."""
        trials = [] if self.trials is None else ["--trials", str(self.trials)]
        only = [word for name in self.only for word in ("--only", name)]
        catalogs = [word for folder in self.catalogs for word in (CATALOG_OPTION, str(folder.absolute()))]
        generators = [word for name in self.generators for word in ("--generator", name)]
        soak = [] if self.soak is None else self.soak.words()
        return [*(["--quick"] if self.quick else []), *trials, *soak, *only, *catalogs, *generators]

    @classmethod
    def of_run(cls, folder: Path, record: RunRecord, catalogs: Sequence[Path] | None = None) -> Self:
        """Return the options with which a run was begun, with these catalogs where they are given.

        Raises ``BadInput`` where the record has no such options as a run can have.
        """
        try:
            found = cls.of_words(record.options, record.seed, trials_max=len(record.order))
        except BadInput as error:
            raise BadInput(f"the run in {folder} cannot be resumed: {error}") from error
        kept = found.catalogs if catalogs is None else tuple(catalogs)
        return replace(found, out=folder, catalogs=kept, study_name=record.study_name)

    @classmethod
    def of_words(cls, options: Sequence[str], seed: int | None, trials_max: int) -> Self:
        """Return the options that the record of a run names, of ``trials_max`` trials at most.

        Raises ``BadInput`` where there is no run that has them.
        """
        given: dict[str, list[str]] = {}
        words = iter(options)
        for word in words:
            given.setdefault(word, []).append("" if word == "--quick" else next(words, ""))
        count = next(iter(given.get("--trials", ())), None)
        if count is not None and count not in map(str, range(1, trials_max + 1)):
            raise BadInput(
                f"its record has {trials_max:,} trials, which the recorded option --trials "
                f'"{count}" does not give.'
            )
        return cls(
            trials=None if count is None else int(count),
            only=tuple(given.get("--only", ())),
            quick="--quick" in given,
            seed=seed,
            catalogs=tuple(map(Path, given.get(CATALOG_OPTION, ()))),
            generators=tuple(given.get("--generator", ())),
            soak=Soak.of_words(given),
        )


@dataclass(frozen=True)
class Start:
    """One start of a server, or of all servers of a study of several loads."""

    shown: PlannedTrial
    """Its place among all starts, and its server's arm, or that of the first."""
    members: Sequence[tuple[PlannedRun, PlannedTrial]]
    """The run folders that its records go to, and the trial that it is in each."""


class StudyRun:
    """A run of a study: looked up at construction, measured by :meth:`measure`."""

    def __init__(
        self,
        study_file: Path,
        options: RunOptions,
        display: Display,
        search: SearchOptions | None = None,
        resumed: InterruptedRuns | None = None,
        *,
        gate: GateOptions | None = None,
    ) -> None:
        """Read the study, look for its servers and build those that need it; none is started.

        With ``search`` the trials do not go through the sweep but search for the capacity along it. With
        ``resumed`` the run continues where that one was interrupted. With ``gate`` two servers take turns
        until it is decided whether the second one is worse.

        Raises:
            BadInput: the study or an option cannot be used.
            NothingMeasured: none of the servers can be measured.

        """
        document = beside_generators(TomlDocument.read(study_file), options.generators)
        self.study_file = study_file
        self.folder = options.out or new_folder(study_name(study_file))
        if resumed is None:
            refuse_used_folder(self.folder)
        self.has_several_loads = is_of_several(document)
        self._display = display
        self._is_resumed = resumed is not None
        self._search: CapacitySearch | None = None
        context = RunContext(
            study_file=study_file,
            study_name=options.study_name or study_name(study_file),
            seed=random.randint(0, LARGEST_SEED) if options.seed is None else options.seed,  # noqa: S311
            option_words=[
                *(search.words() if search else []),
                *(gate.words() if gate else []),
                *options.changes(),
            ],
            only=options.only,
            catalog=load_catalog([*catalogs_of(document), *options.catalogs]),
            catalogs=options.catalogs,
            facts=host_facts(),
            display=display,
            machines=Machines(display.note),
        )
        self._machines = context.machines
        self._seed = context.seed
        before = resumed.runs if resumed else []
        self._loads: list[LoadPart] = []
        self._gate: GateRecord | None = None
        self.profiled: ProfiledPair | None = None
        """Of a gate, where that was asked for and it has ended."""
        self._is_profiled = gate is not None and gate.is_profiled
        # What a gate needs of a study, one load for instance, is said where its sides are made.
        if self.has_several_loads and gate is None:
            _require_no_choice(study_file, options, search)
            self._plan_several(context, document, options, before)
        else:
            one = before[0] if before else None
            self._plan_one(context, document, options, search=search, gate=gate, before=one)

    def _plan_several(
        self,
        context: RunContext,
        document: TomlDocument,
        options: RunOptions,
        before: Sequence[InterruptedRun],
    ) -> None:
        """Plan a part for each load of a study, and all starts of these."""
        found = [(load, _changed(study, options)) for load, study in parts_of(document)]
        self._loads = [load for load, _ in found]
        keys = list(map(point_key, found[0][1].points()))
        self.parts = [
            PlannedRun(
                context,
                load.document,
                study,
                self.folder / load.name,
                beside={load.together: [other.server for other in self._loads if other is not load]},
                own_points=dict(zip(keys, study.points(), strict=True)),
                resumed=one,
            )
            for (load, study), one in zip_longest(found, before)
        ]
        self.starts = _starts_of_several(self.parts, self._loads, self._seed)

    def _plan_one(
        self,
        context: RunContext,
        document: TomlDocument,
        options: RunOptions,
        *,
        search: SearchOptions | None,
        gate: GateOptions | None,
        before: InterruptedRun | None,
    ) -> None:
        """Plan the only part of a study of one load, which may search or be a gate."""
        sides = sides_of(document, gate, context.catalog) if gate else None
        document = search_document(document, search) if search else document
        document = sides.document if sides else document
        study = _changed(document.to_model(Study), options)
        if gate and sides:
            self._gate = gate_record(study, gate, sides)
            trials = study.trials.exactly(self._gate.blocks)
            trials = trials.model_copy(update={"until_drop_share": None})
            study = study.model_copy(update={"trials": trials})
        if search:
            # A search is as long as its brackets take; what it narrows is not a point's interval.
            trials = study.trials.exactly(study.trials.count)
            trials = trials.model_copy(update={"until_drop_share": None, "between_points": "pause"})
            study = study.model_copy(update={"trials": trials})
            self._search = CapacitySearch(study, search)
            if said := self._search.beginning_in_words:
                self._display.note(said)
        part = PlannedRun(
            context, document, study, self.folder, search=self._search, resumed=before, gate=self._gate
        )
        part.order = trial_order(part.servers_with_trials, part.study.trials.most, self._seed)
        self.parts, self.starts = [part], [Start(trial, [(part, trial)]) for trial in part.order]

    @classmethod
    def resume(cls, interrupted: InterruptedRuns, display: Display, catalogs: Sequence[Path] = ()) -> Self:
        """Return an interrupted run with the options that it was begun with; raises as the constructor.

        A catalog runs commands, so that of a run which this user has not begun is only what is given here.
        """
        given = catalogs if catalogs or not interrupted.is_own else None
        options = RunOptions.of_run(interrupted.folder, interrupted.runs[0].run.run, given)
        return cls(interrupted.study_file, options, display, resumed=interrupted)

    @property
    def studies(self) -> list[Study]:
        """The study, or those of its loads where it has several."""
        return [part.study for part in self.parts]

    @property
    def order(self) -> list[PlannedTrial]:
        """All starts in their order, each with its server's arm, or that of the first of its servers."""
        return [start.shown for start in self.starts]

    @property
    def first_block(self) -> int:
        """The first block to measure: 0, unless the run is resumed."""
        return self.parts[0].first_block

    @property
    def cpus_of_observers(self) -> tuple[int, ...]:
        """The CPUs for what runs beside the measurement and is not measured: where the probe runs, too."""
        return self.parts[0].cpus.observers

    @property
    def _server_cpus(self) -> ServerCpus:
        return {name: cpus for part in self.parts for name, cpus in part.server_cpus.items()}

    def measure(self) -> int:
        """Run every trial, appending each record to its run folder; return how many points got an answer.

        Raises:
            BadInput: a run folder cannot be written, or has no room, or something has changed since an
                interrupted run was begun; nothing was measured.
            LoadcurveError: a record could not be written; those before it are kept.

        """
        for cleaned in clean_up_after_killed_runs():
            self._display.note(cleaned.text)
        others = tuple(_others_at_work())
        caveats = [(*part.shared_cpus(), *others) for part in self.parts]
        notes = [note for part in self.parts for note in part.notes()]
        for text in dict.fromkeys([*notes, *(caveat.text for one in caveats for caveat in one)]):
            self._display.note(text)
        with ExitStack() as stack:
            stack.callback(self._machines.close)
            served = [stack.enter_context(part.content()) for part in self.parts]
            for part, of_part in zip(self.parts, served, strict=True):
                part.require_as_before(of_part)
            stack.enter_context(own_threads_on({cpu for part in self.parts for cpu in part.cpus.load}))
            if self.has_several_loads and not self._is_resumed:
                require_new_folder(self.folder)
            # Where they cannot be had, no folder is left.
            machines = stack.enter_context(sending_machines(self.studies))
            folders = [
                stack.enter_context(part.opened_folder(of_part, said))
                for part, of_part, said in zip(self.parts, served, caveats, strict=True)
            ]
            if self.has_several_loads and not self._is_resumed:
                write_loads(self.folder, self._loads_record())
            announce()
            kept = None
            if self.studies[0].trials.restart == "never":
                kept = stack.enter_context(KeptServers())
            measured = self._run_trials(folders, served, machines, kept)
            for folder in folders:
                forget_begun(folder.path)
            return measured

    def _run_trials(
        self,
        folders: Sequence[RunFolder],
        served: Sequence[Served | None],
        machines: Mapping[str, ManyMachines],
        kept: KeptServers | None,
    ) -> int:
        restarts = self.studies[0].trials.restart == "point"
        continued = self.studies[0].points() if self.studies[0].trials.continues else None
        runner = TrialRunner(
            self._seed,
            self._display,
            self._points(),
            restarts_for_each_point=restarts,
            continued=continued,
            machines=machines,
            kept=kept,
        )
        schedule = BlockSchedule(self.studies[0].trials.every_s, self._display)
        rule = until_narrow(self.studies[0].model_dump(mode="json")["trials"])
        whole = [part.records_of_whole_blocks() for part in self.parts]
        of_gate: list[PointRecord | FailureRecord] = []
        watched: list[list[Figure]] = [list(figures(one, rule)) if rule else [] for one in whole]
        measured = sum(map(_is_answered, chain.from_iterable(whole)))
        starts_left = (start for start in self.starts if start.shown.block >= self.first_block)
        for block, starts in groupby(starts_left, key=lambda start: start.shown.block):
            schedule.wait()
            for start in starts:
                of_start = self._run_start(runner, start, folders, served)
                for place, records in of_start.items():
                    counting, _ = counted(records, self._server_cpus)
                    self._tell_curve_end(counting)
                    measured += sum(map(_is_answered, counting))
                    watched[place] += figures(counting, rule) if rule else []
                    of_gate += counting if self._gate else []
            if rule is not None:
                wide = [point for one in watched for point in wide_points(one, rule)]
                self._display.block_ends(block + 1, wide, rule)
                if may_end(block + 1, wide, rule):
                    break
            if self._gate is not None:
                found = gated(self._gate, self.studies[0].kind, of_gate, block + 1)
                self._display.gate_looks(found)
                if is_decided(found, of_gate) or not has_time_left(self._gate, of_gate):
                    break
        if self._gate is not None and self._is_profiled:
            profiler = Profiler(runner, self.studies[0].points()[-1], self._display)
            self.profiled = profiler.pair(self.parts[0], self._gate, served[0])
        return measured

    def _run_start(
        self,
        runner: TrialRunner,
        start: Start,
        folders: Sequence[RunFolder],
        served: Sequence[Served | None],
    ) -> dict[int, list[PointRecord | FailureRecord]]:
        """Carry out one start; return its records by the place of their part."""
        places = [self.parts.index(part) for part, _ in start.members]
        members = [
            part.member(trial, served[place])
            for (part, trial), place in zip(start.members, places, strict=True)
        ]
        found: dict[int, list[PointRecord | FailureRecord]] = {place: [] for place in places}
        # Closing ends the trial's servers, too, when a record cannot be written.
        with closing(runner.run(start.shown, members)) as records:
            for of_members in records:
                with interrupts_deferred():
                    for place, record in zip(places, of_members, strict=True):
                        folders[place].append(record)
                        found[place].append(record)
                self._display.record_is_safe(start.shown, of_members)
        return found

    def _loads_record(self) -> SeveralLoadsRecord:
        return SeveralLoadsRecord(
            format="loadcurve-loads/1",
            title=self.studies[0].title,
            question=self.studies[0].question,
            loads=[
                LoadOfSeveral(name=load.name, server=load.server, together=load.together)
                for load in self._loads
            ],
        )

    def _points(self) -> PointChooser:
        """Return what chooses the points of each trial."""
        study = self.studies[0]
        points: PointChooser = self._search or SweptPoints(study.points())
        share = study.trials.until_drop_share
        if share is not None:
            points = UntilDrop(points, share)
        # Where what follows depends on a point's figures, these are to be the ones that count.
        depends = self._search is not None or share is not None
        return RepeatedPoints(points, study.repeats, self._server_cpus, at_once=depends)

    def _tell_curve_end(self, counting: Sequence[PointRecord | FailureRecord]) -> None:
        """Tell the display where the curve of a trial ended before the end of the sweep."""
        share = self.studies[0].trials.until_drop_share
        points = [record for record in counting if isinstance(record, PointRecord)]
        end = None if share is None else marked_drop(points, share)
        if end is not None and end.point != self.studies[0].points()[-1]:
            self._display.curve_ends(end)


def _starts_of_several(parts: Sequence[PlannedRun], loads: Sequence[LoadPart], seed: int) -> list[Start]:
    """Return the starts of a study of several loads: in each block every server alone, and all together.

    Each part's own order has its trials, counted from 0.
    """
    alone = [load.server for load in loads]
    starts = []
    for planned in trial_order([*alone, ALL_TOGETHER], parts[0].study.trials.most, seed):
        is_together = planned.server == ALL_TOGETHER
        members = []
        for part, load in zip(parts, loads, strict=True):
            if is_together or planned.server == load.server:
                arm = load.together if is_together else load.server
                trial = PlannedTrial(trial=len(part.order), block=planned.block, server=arm)
                part.order.append(trial)
                members.append((part, trial))
        shown = planned.model_copy(update={"server": members[0][1].server})
        starts.append(Start(shown, members))
    return starts


def _require_no_choice(study_file: Path, options: RunOptions, search: SearchOptions | None) -> None:
    """Raise ``BadInput`` where a study of several loads is to be searched, or run in part."""
    if options.soak:
        raise BadInput(
            f"{EVERY_OPTION} cannot be combined with {study_file}, whose loads run alone and together: "
            "servers that live throughout would be there twice; give a study with a table [load]"
        )
    if search:
        raise BadInput(
            f"{study_file}: a capacity is searched for one load, and this study has several; give a study "
            "with a table [load]"
        )
    if options.only:
        raise BadInput(
            f"--only cannot be combined with {study_file}, whose loads run alone and together; remove it"
        )


def _others_at_work() -> Iterator[Caveat]:
    """Yield what must be known of the whole run where another one had begun before it and continues."""
    if others := neighbours():
        yield not_alone(others)


def _is_answered(record: PointRecord | FailureRecord) -> bool:
    return isinstance(record, PointRecord) and record.load.requests.answered > 0


def _changed(study: Study, options: RunOptions) -> Study:
    """Return the study with the person's changes."""
    if options.quick:
        study = study.quick()
    if options.soak is not None:
        trials = study.trials.repeated(options.soak.every_s, options.soak.for_s)
        study = study.model_copy(update={"trials": trials})
    if options.trials is not None:
        study = study.model_copy(update={"trials": study.trials.exactly(options.trials)})
    if options.only:
        for name in options.only:
            if name not in study.servers:
                raise BadInput(
                    unknown_name(f"--only {name}: the study has no such server", name, study.servers)
                )
        names = with_generators(options.only, options.generators)
        chosen = {name: server for name, server in study.servers.items() if name in names}
        study = study.model_copy(update={"servers": chosen})
    return study

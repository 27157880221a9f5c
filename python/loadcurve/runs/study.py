"""One run: a study from its file to its folder of results."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from loadcurve.analysis.ending import figures, until_narrow
from loadcurve.errors import BadInput
from loadcurve.host.cpus import own_threads_on
from loadcurve.host.facts import host_facts
from loadcurve.redaction import study_without_secrets, without_passwords_in
from loadcurve.result.attempts import counted
from loadcurve.result.ceiling import Ceiling
from loadcurve.result.folder import RunFolder
from loadcurve.result.noise import Noise
from loadcurve.result.records import (
    FORMAT,
    FailureRecord,
    PointRecord,
    ResumedRecord,
    RunRecord,
    ServerRecord,
)
from loadcurve.result.run_files import RUNS_FOLDER
from loadcurve.result.verdict import Caveat
from loadcurve.runs.beside import disturbing, not_alone
from loadcurve.runs.capacity import CapacitySearch, SearchOptions, search_document
from loadcurve.runs.display import Display
from loadcurve.runs.fitting import require_own_tables
from loadcurve.runs.kept import kept, rig_of
from loadcurve.runs.optional import left_out_record, not_installed, without
from loadcurve.runs.points import PointChooser, RepeatedPoints, SweptPoints
from loadcurve.runs.prepare import (
    Served,
    chosen_cpus,
    describe_missing,
    find_servers,
    served_content,
    server_record,
    try_server,
)
from loadcurve.runs.resume import InterruptedRun, require_as_before
from loadcurve.runs.trial import TrialRunner, utc_now
from loadcurve.server.catalog import load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.ledger import clean_up_after_killed_runs
from loadcurve.server.presence import announce, neighbours
from loadcurve.server.settings import unknown_name
from loadcurve.stats.stopping import Figure, may_end, wide_points
from loadcurve.study.bundled import study_name
from loadcurve.study.model import Study
from loadcurve.study.order import trial_order
from loadcurve.toml.document import TomlDocument
from loadcurve.version import VERSION

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

    def changes(self) -> list[str]:
        """Return the options that change the study, as they are given on the command line."""
        trials = [] if self.trials is None else ["--trials", str(self.trials)]
        only = [word for name in self.only for word in ("--only", name)]
        catalogs = [word for folder in self.catalogs for word in ("--catalog", str(folder.absolute()))]
        return [*(["--quick"] if self.quick else []), *trials, *only, *catalogs]

    @classmethod
    def of_run(cls, folder: Path, record: RunRecord) -> Self:
        """Return the options with which a run was begun."""
        given: dict[str, list[str]] = {}
        words = iter(record.options)
        for word in words:
            given.setdefault(word, []).append("" if word == "--quick" else next(words, ""))
        trials = given.get("--trials")
        return cls(
            out=folder,
            trials=int(trials[0]) if trials else None,
            only=tuple(given.get("--only", ())),
            quick="--quick" in given,
            seed=record.seed,
            catalogs=tuple(map(Path, given.get("--catalog", ()))),
        )


class StudyRun:
    """A run of a study: looked up at construction, measured by :meth:`measure`."""

    def __init__(
        self,
        study_file: Path,
        options: RunOptions,
        display: Display,
        search: SearchOptions | None = None,
        resumed: InterruptedRun | None = None,
    ) -> None:
        """Read the study, look for its servers and build those that need it; none is started.

        With ``search`` the trials do not go through the sweep but search for the capacity along it. With
        ``resumed`` the run goes on where that one was interrupted.

        Raises:
            BadInput: the study or an option cannot be used.
            NothingMeasured: none of the servers can be measured.

        """
        document = TomlDocument.read(study_file)
        self._document = search_document(document, search) if search else document
        self.study = _changed(self._document.to_model(Study), options)
        if search:
            # A search is as long as its brackets take; what it narrows is not a point's interval.
            trials = self.study.trials
            self.study = self.study.model_copy(update={"trials": trials.exactly(trials.count)})
        self._search = CapacitySearch(self.study, search) if search else None
        self._search_words = search.words() if search else []
        self.study_file = study_file
        self._options = options
        self._display = display
        self._seed = random.randint(0, LARGEST_SEED) if options.seed is None else options.seed  # noqa: S311
        self._cpus = chosen_cpus(self.study, self._document)
        self._facts = host_facts()
        rig = rig_of(self._cpus, self._facts)
        self._ceiling = resumed.run.run.ceiling if resumed else kept(Ceiling, rig)
        self._noise = resumed.run.run.noise if resumed else kept(Noise, rig)
        catalog = load_catalog(options.catalogs)
        found = find_servers(self.study, self._document, catalog, display.note)
        missing = not_installed(self.study, found, options.only)
        self._left_out = left_out_record(missing)
        self.study = without(self.study, missing)
        self._servers = {name: found[name] for name in self.study.servers}
        require_own_tables(self.study, self._document, self._servers)
        self.order = trial_order(
            [name for name, server in self._servers.items() if server.has_trials],
            self.study.trials.most,
            self._seed,
        )
        self.folder = options.out or _new_folder(study_name(study_file))
        self._resumed = resumed

    @classmethod
    def resume(cls, interrupted: InterruptedRun, display: Display) -> Self:
        """Return an interrupted run with the options that it was begun with; raises as the constructor."""
        options = RunOptions.of_run(interrupted.run.folder, interrupted.run.run)
        return cls(interrupted.study_file, options, display, resumed=interrupted)

    @property
    def first_block(self) -> int:
        """The first block to measure: 0, unless the run is resumed."""
        return self._resumed.first_block if self._resumed else 0

    @property
    def cpus_of_observers(self) -> tuple[int, ...]:
        """The CPUs for what runs beside the measurement and is none of it: where the probe runs, too."""
        return self._cpus.probe

    def measure(self) -> int:
        """Run every trial, appending each record to the run folder; return how many points got an answer.

        Raises:
            BadInput: the run folder cannot be written, or has no room, or something has changed since an
                interrupted run was begun; nothing was measured.
            LoadcurveError: a record could not be written; those before it are kept.

        """
        for cleaned in clean_up_after_killed_runs():
            self._display.note(cleaned.text)
        for name, server in self._servers.items():
            if isinstance(server, MissingServer):
                self._display.note(describe_missing(name, server))
        if self._left_out:
            self._display.note(self._left_out.words)
        caveats = (*self._shared_cpus(), *_others_at_work())
        for caveat in caveats:
            self._display.note(caveat.text)
        content = served_content(self.study, self._document, self._seed)
        with (
            own_threads_on(self._cpus.load),
            content as served,
            self._opened_folder(served, caveats) as folder,
        ):
            announce()
            return self._run_trials(folder, served)

    def _opened_folder(self, served: Served | None, caveats: tuple[Caveat, ...]) -> RunFolder:
        """Return the folder for the records: a new one, or that of the run that is resumed."""
        record = self._record(served, caveats)
        if self._resumed is None:
            return RunFolder.create(self.folder, record, self._study_text())
        before = self._resumed.run.run
        require_as_before(self.folder, before, record)
        new_caveats = tuple(caveat for caveat in caveats if caveat not in before.caveats)
        block = self._resumed.first_block
        resumed = ResumedRecord(kind="resumed", block=block, started_at=utc_now(), caveats=new_caveats)
        self._resumed.folder.append(resumed)
        return self._resumed.folder

    def _run_trials(self, folder: RunFolder, served: Served | None) -> int:
        points = self._points()
        runner = TrialRunner(self.study, served, self._cpus, self._seed, self._display, points, self._ceiling)
        rule = until_narrow(self.study.model_dump(mode="json")["trials"])
        whole: list[PointRecord | FailureRecord] = (
            [] if self._resumed is None else self._records_of_whole_blocks(self._resumed)
        )
        watched: list[Figure] = list(figures(whole, rule)) if rule else []
        measured = sum(map(_is_answered, whole))
        trials_left = (trial for trial in self.order if trial.block >= self.first_block)
        for block, trials in groupby(trials_left, key=lambda trial: trial.block):
            for trial in trials:
                # Closing ends the trial's server, too, when a record cannot be written.
                of_trial: list[PointRecord | FailureRecord] = []
                with closing(runner.run(trial, self._servers[trial.server])) as records:
                    for record in records:
                        with interrupts_deferred():
                            folder.append(record)
                        of_trial.append(record)
                        self._display.record_is_safe(record)
                counting, _ = counted(of_trial)
                measured += sum(map(_is_answered, counting))
                watched += figures(counting, rule) if rule else []
            if rule is not None:
                wide = wide_points(watched, rule)
                self._display.block_ends(block + 1, wide, rule)
                if may_end(block + 1, wide, rule):
                    break
        return measured

    def _points(self) -> PointChooser:
        """Return what chooses the points of each trial."""
        points = self._search or SweptPoints(self.study.points())
        return RepeatedPoints(points, self.study.repeats, at_once=self._search is not None)

    @staticmethod
    def _records_of_whole_blocks(resumed: InterruptedRun) -> list[PointRecord | FailureRecord]:
        return [record for record in resumed.run.records if record.block < resumed.first_block]

    def _record(self, served: Served | None, caveats: tuple[Caveat, ...]) -> RunRecord:
        return RunRecord(
            format=FORMAT,
            loadcurve_version=VERSION,
            started_at=utc_now(),
            study_file=str(self.study_file.absolute()),
            seed=self._seed,
            options=[*self._search_words, *self._options.changes()],
            study_name=study_name(self.study_file),
            study=self._study_record(),
            order=self.order,
            points=[] if self._search else self.study.points(),
            search=self._search.record if self._search else None,
            host={**self._facts, "server_cpus": self._cpus.server, "load_cpus": self._cpus.load},
            ceiling=self._ceiling,
            noise=self._noise,
            servers=self._server_records(served),
            left_out=self._left_out,
            content=dict(served.records) if served else {},
            caveats=caveats,
        )

    def _study_record(self) -> dict[str, Any]:
        """Return the study with every default filled in, and no password."""
        record: dict[str, Any] = without_passwords_in(self.study.model_dump(mode="json"))
        return record

    def _shared_cpus(self) -> Iterator[Caveat]:
        """Yield what must be known of the whole run; servers that run already were bound by others."""
        if self._cpus.overlap and any(one.is_started_here for one in self._servers.values()):
            cpus = ", ".join(map(str, self._cpus.overlap))
            yield disturbing("cpus_shared", f"the servers and the load share CPU {cpus}")

    def _server_records(self, served: Served | None) -> Mapping[str, ServerRecord]:
        records = {}
        for name, server in self._servers.items():
            tried, arm = None, self.study.arms[name]
            if not isinstance(server, MissingServer):
                tried = try_server(server, served, arm.paths_to_verify(self._seed), self._cpus)
                if isinstance(tried, ServerFailure):
                    self._display.note(f"{name} failed before the first trial: {tried}")
            records[name] = server_record(server, tried, arm.server, self.study.host)
        return records

    def _study_text(self) -> str:
        """Return the study as it was read, but for passwords: run folders are shown to others."""
        return study_without_secrets(self.study_file.read_text(encoding="utf-8"))


def _others_at_work() -> Iterator[Caveat]:
    """Yield what must be known of the whole run where another one had begun before it and goes on."""
    if others := neighbours():
        yield not_alone(others)


def _is_answered(record: PointRecord | FailureRecord) -> bool:
    return isinstance(record, PointRecord) and record.load.requests.answered > 0


def _changed(study: Study, options: RunOptions) -> Study:
    """Return the study with the person's changes."""
    if options.quick:
        study = study.quick()
    if options.trials is not None:
        study = study.model_copy(update={"trials": study.trials.exactly(options.trials)})
    if options.only:
        for name in options.only:
            if name not in study.servers:
                raise BadInput(
                    unknown_name(f"--only {name}: the study has no such server", name, study.servers)
                )
        chosen = {name: server for name, server in study.servers.items() if name in options.only}
        study = study.model_copy(update={"servers": chosen})
    return study


def _new_folder(name: str) -> Path:
    """Return a folder under loadcurve-runs that is named after the study and the time of day."""
    return RUNS_FOLDER / f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"

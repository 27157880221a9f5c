"""Whole runs of servers and loads that follow a script: no process is started, and nothing waits."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loadcurve.cli.capacity import capacity_command
from loadcurve.cli.display import RunDisplay
from loadcurve.cli.gate import GateGiven, gate_command
from loadcurve.cli.run import run_command
from loadcurve.generate.generator import Observe, ObserveAll, ObserveLevel, Plan, Progress
from loadcurve.result.folder import Run, read_run
from loadcurve.result.load import LoadResult
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import LimitUse
from loadcurve.runs import kept_servers, prepare, trial
from loadcurve.runs.capacity import SearchOptions
from loadcurve.runs.study import RunOptions, StudyRun
from loadcurve.server.catalog import load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer
from loadcurve.server.live import LiveServer
from loadcurve.server.transport import CLEAR_TEXT
from support import synthetic_run as synthetic

Load = Callable[[Plan, Observe], LoadResult]


def answered(plan: Plan, rate_rps: float | None = None, **changes: Any) -> LoadResult:
    """The result of a load that went well, at this rate or at that of the synthetic server `nginx`."""
    result = synthetic.load_result("nginx", plan.connections)
    if rate_rps is not None:
        result["rate_rps"] = {"asked": None, "sent": rate_rps, "answered": rate_rps}
    return LoadResult.model_validate({**result, "load": plan.as_run(result), **changes})


@dataclass
class Script:
    """What servers and loads do, by the server's name, and what has happened so far."""

    loads: dict[str, Load] = field(default_factory=dict)
    """How a load on a server goes, where not well; it is called with its plan and who watches it."""
    failures: dict[tuple[str, str], ServerFailure] = field(default_factory=dict)
    """How a server fails at its "start" or when it is to "verify"."""
    dead: dict[str, ServerFailure] = field(default_factory=dict)
    """Servers that have died; each new start lives again."""
    limit_uses: dict[str, list[LimitUse]] = field(default_factory=dict)
    """What is read of a server's limit of memory, one reading after the other."""
    used: dict[str, Callable[[], dict[str, Any]]] = field(default_factory=dict)
    """What the probe sees of a server's use of the machine, where not what it sees of any."""
    events: list[str] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)
    """The servers that run, in the order of their starts."""
    plans: list[tuple[str, Plan]] = field(default_factory=list)

    def happens(self, what: str, server: str) -> None:
        self.events.append(f"{what} {server}")
        if (failure := self.failures.get((server, what))) is not None:
            raise failure

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Carry out plans as a generator does, on the servers in the order of their starts."""
        loads = zip(self.alive, plans, strict=True)
        return [self._run(server, plan, lambda progress: observe([progress])) for server, plan in loads]

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Iterator[LoadResult]:
        """Go through levels as a generator does: each result comes while the next level is under way."""
        [server] = self.alive
        over: list[LoadResult] = []
        try:
            for level, plan in enumerate(plans):
                try:
                    result = self._run(server, plan, lambda progress, level=level: observe(level, progress))
                finally:
                    yield from over
                over = [result]
            yield from over
        finally:
            self.events.append(f"end load {server}")

    def _run(self, server: str, plan: Plan, observe: Observe) -> LoadResult:
        self.plans.append((server, plan))
        self.happens("load", server)
        return self.loads.get(server, watched)(plan, observe)


def watched(plan: Plan, observe: Observe) -> LoadResult:
    """A load that goes well and is looked at once."""
    observe(Progress(elapsed_s=0.1, answered=1))
    return answered(plan)


class ScriptedServer(LiveServer):
    """A server that does what the script says."""

    address = authority = "127.0.0.1:18000"
    url = f"http://{address}"
    settings: Mapping[str, Any] = {}
    configuration: Mapping[str, str] = {}
    transport = CLEAR_TEXT

    def __init__(self, name: str, script: Script) -> None:
        self._name = name
        self._script = script

    def __enter__(self) -> "ScriptedServer":
        self._script.dead.pop(self._name, None)
        self._script.happens("start", self._name)
        self._script.alive.append(self._name)
        return self

    def verify(self, paths=(), rule="content", /) -> None:
        self._script.happens("verify", self._name)

    def raise_if_exited(self) -> None:
        if (death := self._script.dead.get(self._name)) is not None:
            raise death

    @contextmanager
    def probe(self, cpus, interval_s, /) -> Iterator["ScriptedServer"]:
        yield self

    def observed(self, load: LoadResult, /) -> ProbeRecord:
        record = synthetic.probe_record("nginx", load.load.connections)
        record["server"] |= self._script.used.get(self._name, dict)()
        return ProbeRecord.model_validate(record)

    def limit_use(self) -> LimitUse | None:
        readings = self._script.limit_uses.get(self._name)
        return readings.pop(0) if readings else None

    def log_tail(self, line_count: int = 20, /) -> str:
        return ""

    def stop(self) -> None:
        self._script.events.append(f"stop {self._name}")
        self._script.alive.remove(self._name)


class ScriptedRun:
    """Runs studies whose servers are those of the catalogue by name, and follow a script once started."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.script = Script()
        self.folder = folder / "run"
        self._study_file = folder / "study.toml"
        self._talk_file = folder / "talk"
        catalog = load_catalog()
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setattr("loadcurve.runs.study.load_catalog", lambda _: catalog)
        monkeypatch.setattr(trial, "CHOSEN", self.script)
        for module in (prepare, trial, kept_servers):
            monkeypatch.setattr(module, "serve", self._serve)

    def _serve(self, found, *_: object) -> ScriptedServer:
        if isinstance(found, MissingServer):
            raise found.failure()
        return ScriptedServer(found.entry.name, self.script)

    def measure(self, study: str, search: SearchOptions | None = None, **options: Any) -> int:
        """Run a study; return how many points got an answer."""
        self._study_file.write_text(study)
        with self._talk_file.open("w") as talk:
            display = RunDisplay(Console(file=talk, width=300), live=False)
            run = StudyRun(self._study_file, self._options(options), display, search)
            display.begins(run.studies, run.order)
            return run.measure()

    def display(self) -> RunDisplay:
        """A display that nobody sees."""
        return RunDisplay(Console(file=io.StringIO(), width=300), live=False)

    def command(self, study: str, **options: Any) -> int:
        """Do what `loadcurve run` does; return its exit code."""
        self._study_file.write_text(study)
        return run_command(str(self._study_file), self._options(options))

    def capacity_command(self, study: str, slo: str | None, *range_of_key: Any) -> int:
        """Do what `loadcurve capacity` does, with a key and its ends or without; return its exit code."""
        self._study_file.write_text(study)
        searched = range_of_key or (None, None, None)
        return capacity_command(str(self._study_file), slo, *searched, self._options({}))

    def gate_command(self, study: str, base: str, head: str, **given: Any) -> int:
        """Do what `loadcurve gate` does, with two servers of the study; return its exit code."""
        self._study_file.write_text(study)
        return gate_command(str(self._study_file), GateGiven(base, head, **given), self._options({}))

    def _options(self, options: Mapping[str, Any]) -> RunOptions:
        return RunOptions(**{"out": self.folder, "seed": 1, **options})

    @property
    def run(self) -> Run:
        """The run as its folder has it."""
        return read_run(self.folder)

    @property
    def talk(self) -> str:
        """What was said on stderr."""
        return self._talk_file.read_text()

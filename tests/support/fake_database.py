"""An engine for databases that asks nobody: its tables are dictionaries, and its loads are over at once."""

import json
from dataclasses import dataclass, field

from loadcurve.generate import engine as generator_module
from support import synthetic_database_run as synthetic


class FakeDatabaseError(ValueError):
    """What the engine raises where a database refuses."""


@dataclass
class FakeEngine:
    """Stands for ``loadcurve._engine``; ``lost`` records vanish from every table that is loaded."""

    tables: dict[str, int] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)
    lost: int = 0
    calls: list[str] = field(default_factory=list)
    refuses: str | None = None
    uncountable: str | None = None
    """Why no table can be counted."""
    errors: dict[str, int] = field(default_factory=dict)
    """What fails in every load besides."""

    def install(self, monkeypatch, *modules):
        """Put it into the place of the engine in modules that manage tables, and where loads are run."""
        monkeypatch.setattr(
            generator_module.Load,
            "start",
            lambda plan, *, begins_on_request: FakeLoad(self, json.loads(plan)["ycsb"]),
        )
        for module in modules:
            monkeypatch.setattr(module, "Database", lambda target: FakeDatabase(self, json.loads(target)))
            monkeypatch.setattr(module, "DatabaseError", FakeDatabaseError)


class FakeDatabase:
    def __init__(self, engine, target):
        if "wrong" in target["settings"]:
            raise ValueError("mongodb has no setting wrong")
        self.engine = engine
        self.name = f"{target['namespace']}.{target['table']}"

    def _called(self, what):
        self.engine.calls.append(what)
        if self.engine.refuses is not None:
            raise FakeDatabaseError("access_denied", self.engine.refuses)

    def exists(self):
        self._called("exists")
        return self.name in self.engine.tables

    def is_ours(self):
        self._called("is_ours")
        return self.name in self.engine.ours

    def create(self):
        self._called("create")
        assert self.name not in self.engine.tables
        self.engine.tables[self.name] = 0
        self.engine.ours.add(self.name)

    def remove(self):
        self._called("remove")
        del self.engine.tables[self.name]
        self.engine.ours.discard(self.name)

    def count(self):
        self._called("count")
        if self.engine.uncountable is not None:
            raise FakeDatabaseError("timeout", self.engine.uncountable)
        return self.engine.tables[self.name]


class FakeLoad:
    def __init__(self, engine, plan):
        self.work, self.errors = plan["work"], engine.errors
        ((_, model),) = plan["model"].items()
        self.clients = model["connections"]
        engine.calls.append(f"{self.work['phase']} {self.clients}")
        if self.work["phase"] == "load":
            name = f"{self.work['namespace']}.{self.work['table']}"
            engine.tables[name] += plan["stop"]["requests_total"] - engine.lost

    def progress(self):
        return (1.0, 1, 0)

    def stop(self):
        pass

    def is_finished(self):
        return True

    def finish(self):
        result = synthetic.load_result("ferretdb", self.clients, self.work["phase"])
        result["errors"] |= self.errors
        return json.dumps(result)

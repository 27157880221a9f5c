"""From the options of ``loadcurve load`` to a study of one point, which is checked as any other study is."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from loadcurve.errors import BadInput
from loadcurve.load.http import HttpLoad
from loadcurve.load.kinds import DATABASE, WEB, LoadKind
from loadcurve.load.loads import Load, model_table
from loadcurve.load.table import attributes
from loadcurve.load.workload import InvalidWorkload, choose_workload
from loadcurve.load.ycsb import DatabaseLoad
from loadcurve.study.model import Study
from loadcurve.toml.problems import Problem, problems_of

DEFAULT_CONNECTIONS = 10
DEFAULT_THREADS = 1
DEFAULT_DURATION = "10s"
DEFAULT_TIMES = {"warmup": "0s", "timeout": "10s"}
"""These are not those of a study."""

OF_RUNNING = frozenset({"seed", "cpus", "io", "settings", "drop", "drop_table", "json_output", "url"})
"""Parameters that say nothing of the load itself."""
OF_ONE_KIND = {"io": WEB, "settings": DATABASE, "drop": DATABASE, "drop_table": DATABASE}
"""Those among them that only one kind of load knows."""
KEYS = {"header": "headers", "urls": "requests"}
"""Keys of a study's load whose options have another name; so has how many requests there are, and a burst."""


class OnePoint(Study):
    """A study without a sweep: its load is complete."""

    sweep: dict[str, list[int | float]] = Field(default_factory=dict)


class Options:
    """The options of one command as the person gave them, and as the file of a study would have them."""

    def __init__(
        self, kind: LoadKind, values: Mapping[str, Any], given: Sequence[str], written: Mapping[str, str]
    ) -> None:
        """Take the values of all parameters, which of them were given, and how each is written.

        Raises ``BadInput``: an option that was given is none of this kind of load, or of its model.
        """
        self.kind = kind
        self.values = values
        self._given = given
        self._written = written
        self.model = self._model()
        self._known = attributes(model_table(self.model))
        for name in given:
            self._require_use(name)

    def _model(self) -> str:
        """Return the load model that the options ask for."""
        if self.kind is DATABASE:
            return "ycsb"
        if "connection_rate" in self._given:
            return "sessions"
        return "open" if "rate" in self._given else "closed"

    def _key(self, name: str) -> str:
        """Return the study's key of an option."""
        if name == "requests":
            return "operations" if self.kind is DATABASE else "requests_total"
        if name == "pipeline" and "burst" in self._known:
            return "burst"
        return KEYS.get(name, name)

    def _require_use(self, name: str) -> None:
        """Refuse an option that says nothing of this load."""
        if name in OF_RUNNING:
            fits = OF_ONE_KIND.get(name, self.kind) is self.kind
        else:
            fits = self._key(name) in self._known
        if fits:
            return
        tables = map(model_table, self.kind.models)
        if name not in OF_RUNNING and any(self._key(name) in attributes(table) for table in tables):
            text = f"no option {_MODELS_IN_WORDS[self.model]}; leave it out"
        else:
            other = WEB if self.kind is DATABASE else DATABASE
            text = f"an option for {other.servers}, and the URL leads to {self.kind.server}; leave it out"
        raise BadInput(f"{self._written[name]}: {text}")

    def table(self) -> dict[str, Any]:
        """Return what was given as the study's table of the load."""
        load: dict[str, Any] = {"model": self.model, **DEFAULT_TIMES}
        for name in self._given:
            if name not in OF_RUNNING:
                load[self._key(name)] = self._read(name)
        return load

    def _read(self, name: str) -> Any:  # noqa: ANN401 -- what TOML may hold
        """Return a value as the file of a study has it."""
        value = self.values[name]
        if name == "header":
            return dict(_header(text) for text in value)
        if name == "properties":
            return self.pairs(name)
        return str(value) if isinstance(value, Path) else value

    def pairs(self, name: str) -> dict[str, str]:
        """Read the NAME=VALUE of an option that may be repeated; raises BadInput where one is none."""
        found = {}
        for text in self.values[name] or ():
            key, equals, value = text.partition("=")
            if not equals or not key:
                raise BadInput(f"{self._written[name]} {text}: expected NAME=VALUE")
            found[key] = value
        return found

    def complete(self, load: Mapping[str, Any], url: str) -> Load:
        """Return the checked load of the study's one point; raises BadInput with the options at fault."""
        data = {"title": "loadcurve load", "load": load, "servers": {"url": {"url": url}}}
        try:
            study = OnePoint.model_validate(data, context={"folder": Path()})
        except ValidationError as error:
            lines = [self._report(problem, load) for problem in problems_of(error, OnePoint)]
            raise BadInput("\n".join(lines)) from error
        return study.arms["url"].load_at({})

    def _report(self, problem: Problem, load: Mapping[str, Any]) -> str:
        """Say a problem with the option that it is about."""
        _, key, *rest = problem.path
        if key == "properties" and rest:
            return f"-p {rest[0]}: {problem.text}"
        if key == "requests" and not isinstance(load["requests"], str):
            return f"URL: {problem.text}"
        # Weights stand in the file of paths, and it is the pick that asks for them.
        key = "pick" if key == "weights" else key
        name = next((one for one in self._written if one not in OF_RUNNING and self._key(one) == key), key)
        return f"{self._written.get(name, name)}: {problem.text}"


_MODELS_IN_WORDS = {
    "closed": "of a closed loop; --rate asks for an open one, and --connection-rate for sessions",
    "open": "of an open loop, which --rate asks for",
    "sessions": "of sessions, which --connection-rate asks for",
    "ycsb": "of a load on a database",
}


def http_load(options: Options, url: str, path: str) -> HttpLoad:
    """Return the complete load on a web server that the options ask for; raises BadInput."""
    load = {"requests": [path], "threads": DEFAULT_THREADS, **options.table()}
    if not {"requests_total", "num_connections", "duration"} & load.keys():
        load["duration"] = DEFAULT_DURATION
    if load["model"] != "sessions":
        load.setdefault("connections", DEFAULT_CONNECTIONS)
    complete = options.complete(load, url)
    if isinstance(complete, DatabaseLoad):
        raise TypeError("the load is one on databases")
    return complete


def database_load(options: Options, url: str) -> DatabaseLoad:
    """Return the complete load on a database that the options ask for; raises BadInput."""
    load = options.table()
    said = _said(load)
    if load.get("phase") != "load":
        if "batch" in load:
            raise BadInput("--batch: only the load phase inserts in batches; leave it out")
        if (
            not {"operations", "duration"} & load.keys()
            and not {"requests_total", "duration_s"} & said.keys()
        ):
            load["duration"] = DEFAULT_DURATION
    if "threads" not in said:
        load.setdefault("threads", DEFAULT_THREADS)
    if "table" in said:
        load.setdefault("table", said["table"])
    complete = options.complete(load, url)
    if not isinstance(complete, DatabaseLoad):
        raise TypeError("the load is one on web servers")
    return complete


def _said(load: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the workload says besides; nothing of one that cannot be used, which the study tells."""
    try:
        return choose_workload(load["workload"], load.get("properties", {}), Path()).said
    except (KeyError, InvalidWorkload):
        return {}


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise BadInput(f"--header {text!r}: there is no colon; expected 'NAME: VALUE'")
    return name.strip(), value.strip()


def cpus_of(text: str) -> tuple[int, ...]:
    """Read a list of CPUs; raises BadInput where this process may not use one of them."""
    try:
        cpus = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise BadInput(
            f"--cpus {text}: expected CPU numbers with commas between them, such as 2,3"
        ) from error
    usable = sorted(os.sched_getaffinity(0))
    missing = [cpu for cpu in cpus if cpu not in usable]
    if missing:
        raise BadInput(
            f"--cpus {text}: CPU {missing[0]} is not there; this process may use "
            f"{', '.join(map(str, usable))}"
        )
    return cpus

"""From the options of ``loadcurve load`` to a study of one point, which is checked as any other study is."""

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never, get_args

from pydantic import Field, ValidationError

from loadcurve.cli.commands.row import Row
from loadcurve.cli.commands.running_options import RUNNING
from loadcurve.cli.foreign_options import is_body
from loadcurve.errors import BadInput
from loadcurve.loads.http import HTTP_TABLES, HttpLoad
from loadcurve.loads.http_table import HttpLoadTable
from loadcurve.loads.kinds import KINDS, LoadKind
from loadcurve.loads.models import INNER_TABLES, TABLES, LoadTables, keys_of
from loadcurve.loads.option import OF_FIELD, CommandLine, Form, options_of
from loadcurve.loads.rates import RECORDED
from loadcurve.loads.sent import FILE_MARK
from loadcurve.loads.table import LoadTable, Table, attributes
from loadcurve.loads.ycsb import DatabaseLoad, DatabaseLoadTable
from loadcurve.redaction import may_be_secret
from loadcurve.study.model import Study
from loadcurve.toml.problems import Problem, problems_of
from loadcurve.toml.quantities import parse_duration_s
from loadcurve.toml.secret import given_in, open_to_others
from loadcurve.tools.catalog import tools

RUNNING_BY_NAME: Mapping[str, Row] = {row.name: row for row in RUNNING}


@dataclass(frozen=True)
class _Target:
    """What a parameter of the command sets."""

    attribute: str
    """Of the load."""
    inner: str | None
    """The key of the table that the attribute is, where it is one."""
    option: CommandLine


def _targets() -> dict[str, _Target]:
    """Return what each parameter sets that is an option of a load."""
    found: dict[str, _Target] = {}
    for table in get_args(LoadTables):
        for name, option in options_of(table):
            found.setdefault(option.parameter, _Target(name, None, option))
    for attribute, inner in INNER_TABLES.items():
        found |= {option.parameter: _Target(attribute, name, option) for name, option in options_of(inner)}
    return found


_TARGETS = _targets()
TLS_OPTIONS = [name for name, target in _TARGETS.items() if target.option.panel == "TLS"]
"""All options that say something of TLS."""
_OWN_DEFAULTS = {
    target.attribute: target.option.default
    for target in _TARGETS.values()
    if target.inner is None and target.option.default not in (OF_FIELD, None)
}
"""The defaults that are not those of a study, by the attribute of the load."""


def _usual(parameter: str) -> Any:  # noqa: ANN401 -- what TOML may hold
    """Return what the help says that a load has without an option."""
    return _TARGETS[parameter].option.usual


class OnePoint(Study):
    """A study without a sweep: its load is complete."""

    sweep: dict[str, list[int | float]] = Field(default_factory=dict)


class Options:
    """The options of one command as the person gave them, and as the file of a study would have them."""

    def __init__(
        self, kind: LoadKind, values: Mapping[str, Any], given: Sequence[str], written: Mapping[str, str]
    ) -> None:
        """Take the values of all parameters, which of them were given, and how each is written.

        Raises ``BadInput``: an option that was given does not belong to this kind of load, or of its model.
        """
        self.kind = kind
        self.values = values
        self._given = given
        self._written = written
        self.is_replay = values.get("arrivals") == RECORDED and "open" in kind.models
        """Whether requests are to be sent at their recorded times."""
        self.model = kind.model_asked_by([*given, "rate"] if self.is_replay else given)
        self._keys = keys_of(self.model)
        self._known = attributes(TABLES[self.model])
        self.table: dict[str, Any] = {}
        """The load as the file of a study has it, once it was read."""
        for name in given:
            self._require_use(name)

    def gives_any(self, *names: str) -> bool:
        """Whether the person gave one of some options."""
        return any(name in self._given for name in names)

    def _key(self, name: str) -> str:
        """Return the study's key of an option."""
        attribute = _TARGETS[name].attribute
        if attribute == "streams" and self.model == "sessions":
            # A session's burst is its streams together.
            return "burst"
        return self._keys.get(attribute, attribute)

    def _require_use(self, name: str) -> None:
        """Refuse an option that says nothing of this load."""
        if name in _TARGETS:
            fits = self._key(name) in self._known
        else:
            fits = name not in RUNNING_BY_NAME or RUNNING_BY_NAME[name].work in (None, self.kind.work)
        if fits:
            return
        if self._is_of(self.kind, name):
            text = f"no option {_MODELS_IN_WORDS[self.model]}; leave it out"
        else:
            others = " and ".join(kind.servers for kind in KINDS if self._is_of(kind, name))
            text = f"this option is for {others}, but the URL is that of {self.kind.server}; leave it out"
        raise BadInput(f"{self._written[name]}: {text}")

    def _is_of(self, kind: LoadKind, name: str) -> bool:
        """Whether an option says something of a load of this kind, under one of its models."""
        if name in RUNNING_BY_NAME:
            return RUNNING_BY_NAME[name].work == kind.work
        return any(_TARGETS[name].attribute in keys_of(model) for model in kind.models)

    def read(self, table: type[Table], defaults: Mapping[str, Any]) -> Table:
        """Return what was given, and of the rest the ``defaults``, as a study's table of the load.

        Raises:
            BadInput: a value is not what its option takes; the text has one line for each.

        """
        own = {self._keys[name]: default for name, default in _OWN_DEFAULTS.items() if name in self._keys}
        load = {"model": self.model, **own, **defaults}
        for name in self._given:
            if name in _TARGETS:
                key, value = self._key(name), self._read(name)
                if key == "headers":
                    value = _added(load.get(key, {}), value)
                load[key] = {**load.get(key, {}), **value} if isinstance(value, dict) else value
        self.table = load
        try:
            return table.model_validate(load, context={"folder": Path()})
        except ValidationError as error:
            raise self._bad_input(problems_of(error, table)) from error

    def require_none_of(self, names: Sequence[str], reason: str) -> None:
        """Refuse options that were given where they say nothing; raises BadInput."""
        for name in names:
            if name in self._given:
                raise BadInput(f"{self._written[name]}: {reason}; leave it out")

    def _read(self, name: str) -> Any:  # noqa: ANN401 -- what TOML may hold
        """Return a value as the file of a study has it."""
        target = _TARGETS[name]
        value = self._formed(name, target.option.form)
        return value if target.inner is None else {target.inner: value}

    def _formed(self, name: str, form: Form) -> Any:  # noqa: ANN401 -- as above
        value = self.values[name]
        formed: Any = str(value) if isinstance(value, Path) else value
        match form:
            case "value":
                pass
            case "list":
                formed = [part.strip() for part in str(value).split(",")]
            case "only of a list":
                formed = [value]
            case "pairs":
                formed = dict(self.pairs(name))
            case "fields":
                formed = [field for text in value for field in headers_of(text)]
            case "fields of variables":
                formed = [(key, {"env": variable}) for key, variable in self.pairs(name)]
            case "variable":
                formed = {"env": value}
            case "none":
                formed = "none"
            case _:
                assert_never(form)
        return formed

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Read the NAME=VALUE of an option that may be repeated; raises BadInput where one is none."""
        found = []
        for text in self.values[name] or ():
            key, equals, value = text.partition("=")
            if not equals or not key:
                raise BadInput(f"{self._written[name]} {text}: expected NAME=VALUE")
            found.append((key, value))
        return found

    def check(self, load: LoadTables, url: str) -> None:
        """See that a load is complete and fits together, as that of a study of one point.

        Raises:
            BadInput: it is not; the text has one line for each option at fault.

        """
        data = {"title": "loadcurve load", "load": load, "servers": {"url": {"url": url}}}
        try:
            OnePoint.model_validate(data, context={"folder": Path()})
        except ValidationError as error:
            problems = problems_of(error, OnePoint)
            raise self._bad_input([Problem(one.path[1:], one.text) for one in problems]) from error

    def at_fault(self, key: str, text: str) -> BadInput:
        """Return the error about the option of a key of the load."""
        return self._bad_input([Problem((key,), text)])

    def _bad_input(self, problems: Sequence[Problem]) -> BadInput:
        return BadInput("\n".join(map(self._report, problems)))

    def _report(self, problem: Problem) -> str:
        """Say a problem of the load with the option that it is about."""
        key, *rest = problem.path
        if key == "properties" and rest:
            return f"-p {rest[0]}: {problem.text}"
        if key == "requests" and not self.gives_any("urls"):
            return f"URL: {problem.text}"
        if key == "headers":
            return f"{self._option_of_header(*rest[:1])}: {problem.text}"
        if key in INNER_TABLES:
            ours = [one for one, target in _TARGETS.items() if target.attribute == key]
            if rest:
                ours = [one for one in ours if _TARGETS[one].inner == rest[0]]
            name = next((one for one in ours if one in self._given or rest), key)
            return f"{self._written.get(name, name)}: {problem.text}"
        # Weights are in the file of paths, and it is the pick that asks for them.
        key = "pick" if key == "weights" else key
        name = next((one for one in self._written if one in _TARGETS and self._key(one) == key), key)
        hint = "; a body is given by --body" if key == "duration" and is_body(self.values.get(key)) else ""
        return f"{self._written.get(name, name)}: {problem.text}{hint}"

    def _option_of_header(self, name: object = None) -> str:
        """Return which option has given a header; both where it may be either: a pipe is not read twice."""
        by_variable = [one for one, _ in self.pairs("header_env")]
        is_by_variable = bool(by_variable) and (name is None or name in by_variable)
        options = ["header"] if self.gives_any("header") or not is_by_variable else []
        options += ["header_env"] if is_by_variable else []
        return " or ".join(self._written.get(one, one) for one in options)


_MODELS_IN_WORDS = {
    "closed": "of a closed loop; --rate asks for an open one, and --connection-rate for sessions",
    "open": "of an open loop, which --rate or --arrivals recorded asks for",
    "sessions": "of sessions, which --connection-rate asks for",
    "ycsb": "of a load on a database",
}


def http_load(
    options: Options,
    url: str,
    path: str,
    socket: str | None,
    messages: str | None,
    reflected: Callable[[HttpLoadTable], bytes],
) -> HttpLoad:
    """Return the complete load on a web server that the options ask for; raises BadInput.

    ``socket`` is the Unix socket that the URL names, and ``messages`` what its scheme says of the answers.
    ``reflected`` asks the server of calls for their descriptors, where their messages require these.
    """
    defaults: dict[str, Any] = {"requests": [path], "threads": _usual("threads")}
    if socket is not None:
        defaults["unix_socket"] = socket
    if messages is not None:
        defaults["messages"] = messages
    has_end = options.gives_any("requests", "num_connections", "duration")
    if not has_end and not options.is_replay:
        defaults["duration"] = _usual("duration")
    if options.model != "sessions":
        defaults["connections"] = _usual("connections")
    tool = tools().get(options.values["generator"])
    if tool is not None and tool.table.can is not None and tool.table.can.timeout == "none":
        # What it lacks is only refused where it was asked for.
        defaults["timeout"] = f"{LoadTable.model_fields['timeout_s'].default}s"
    load = options.read(HTTP_TABLES[options.model], defaults)
    if load.makes_calls and load.grpc.lacks_schema(load.asked):
        descriptors = base64.b64encode(reflected(load)).decode()
        options.table["grpc"] = {**options.table["grpc"], "descriptors": descriptors}
        grpc = load.grpc.model_copy(update={"descriptors": descriptors})
        load = load.model_copy(update={"grpc": grpc})
    options.check(load, url)
    return load.with_values({}, load.complete)


def database_load(options: Options, url: str) -> DatabaseLoad:
    """Return the complete load on a database that the options ask for; raises BadInput."""
    load = options.read(DatabaseLoadTable, {})
    said = load.workload.said
    defaults: dict[str, Any] = {}
    if load.phase == "run":
        if options.gives_any("batch"):
            raise BadInput("--batch: only the load phase inserts in batches; remove the option")
        if (
            not options.gives_any("requests", "duration")
            and not {"requests_total", "duration_s"} & said.keys()
        ):
            defaults["duration_s"] = parse_duration_s(_usual("duration"))
    if load.threads is None and "threads" not in said:
        defaults["threads"] = _usual("threads")
    if "table" in said and not options.gives_any("table"):
        defaults["table"] = said["table"]
    load = load.model_copy(update=defaults)
    keys = keys_of(options.model)
    options.table |= {keys[name]: value for name, value in defaults.items()}
    options.check(load, url)
    return load.with_values({}, load.complete)


def _added(headers: Mapping[str, list[Any]], fields: Sequence[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Return headers with more fields behind those of the same name."""
    added = {name: [*values] for name, values in headers.items()}
    for name, value in fields:
        added.setdefault(name, []).append(value)
    return added


def headers_of(text: str) -> list[tuple[str, str]]:
    """Read a header, or those of a file that is named behind ``@``, one a line.

    Raises ``BadInput``, which repeats no value: one is none, or others may read the file, which may hold a
    secret.
    """
    if not text.startswith(FILE_MARK):
        return [_header(text, "--header")]
    file = Path(text.removeprefix(FILE_MARK))
    given = given_in(file)
    lines = enumerate(given.text.splitlines(), start=1)
    headers = [_header(line, f"--header {text}, line {number}") for number, line in lines if line.strip()]
    if given.open_to_others and any(may_be_secret(name) for name, _ in headers):
        raise BadInput(f"--header {text}: {open_to_others(file)}")
    return headers


def _header(text: str, where: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise BadInput(f"{where}: no colon found; expected 'NAME: VALUE', or @ and a file name")
    return name.strip(), value.strip()


def cpus_of(text: str) -> tuple[int, ...]:
    """Read a list of CPUs; raises BadInput where this process may not use one of them."""
    try:
        cpus = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise BadInput(f"--cpus {text}: expected CPU numbers separated by commas, such as 2,3") from error
    usable = sorted(os.sched_getaffinity(0))
    missing = [cpu for cpu in cpus if cpu not in usable]
    if missing:
        raise BadInput(
            f"--cpus {text}: CPU {missing[0]} is not available; this process may use "
            f"{', '.join(map(str, usable))}"
        )
    return cpus

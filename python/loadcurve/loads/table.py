"""What every load model of a study has, and how its keys are found and swept."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Self, TypeVar, get_args

from pydantic import Field, PrivateAttr, ValidationError, computed_field

from loadcurve.loads.kinds import LoadKind, WorkName
from loadcurve.loads.option import ASKED, CommandLine, OtherTools, Planned, Shown
from loadcurve.loads.rates import silent_from_s
from loadcurve.loads.values import Duration, Timeout, Warmup
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Kind, show, unknown_key
from loadcurve.toml.problems import KeyPath, Problem

Table = TypeVar("Table", bound="LoadTable")

Sweep = Mapping[str, Sequence[int | float]]
"""The values of each swept key."""


class LoadTable(TomlTable):
    """The keys of every load model."""

    kind: ClassVar[LoadKind]
    counted_end: ClassVar[str]
    """The key that may end the load instead of ``duration``."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def work(self) -> WorkName:
        """What its requests are, as every record of it says."""
        return self.kind.work

    model: Annotated[str, Planned("translated"), ASKED]
    warmup_s: Annotated[
        Warmup,
        CommandLine(
            "--warmup",
            help="Load before the measurement, not measured.",
            metavar="TIME",
            place=60,
            default="0s",
        ),
        Shown(title="warm-up"),
        Planned("times"),
        ASKED,
    ] = Field(1.0, alias="warmup")
    """Load before the measured window, on the same schedule."""
    duration_s: Annotated[
        Duration | None,
        CommandLine(
            "-d/--duration",
            help="Length of the measurement, such as 500ms, 10s or 1m.",
            usual="10s",
            metavar="TIME",
            place=30,
        ),
        Planned("stop"),
        ASKED,
    ] = Field(None, alias="duration")
    """The length of the measured window; may be swept."""
    timeout_s: Annotated[
        Timeout,
        CommandLine(
            "--timeout",
            help="Timeout for connecting, and for each answer.",
            metavar="TIME",
            place=70,
            default="10s",
        ),
        Planned("times"),
        OtherTools(takes_any=True, work="http"),
    ] = Field(5.0, alias="timeout")
    """How long connecting may take, and how long an answer may take."""

    _written: Mapping[str, object] = PrivateAttr(default_factory=dict)
    """The keys and values as the file gives them."""
    _overriding: frozenset[str] = PrivateAttr(frozenset())

    @property
    def labels(self) -> list[str] | None:
        """What its operations are called, each of which has its own figures; ``None`` where a file says."""
        raise NotImplementedError

    @property
    def overriding(self) -> frozenset[str]:
        """The keys by which it differs from the load that it was made of; see :meth:`overridden`."""
        return self._overriding

    def gives(self, key: str) -> bool:
        """Whether the file gives a key."""
        return key in self._written

    def as_written(self, table: Mapping[str, object]) -> Self:
        """Return the same load, which remembers what the file gives."""
        load = self.model_copy()
        load._written = table  # noqa: SLF001 -- its own class
        return load

    def overridden(self, table: Mapping[str, object], folder: Path, without: Collection[str] = ()) -> Self:
        """Return the load with the keys of ``table`` instead of its own; paths count from ``folder``.

        Keys that it goes ``without`` are left to a sweep.

        Raises:
            ValidationError: the keys do not give a load of this model.

        """
        kept = {key: value for key, value in self._written.items() if key not in without}
        written = {**kept, **table}
        load = self.model_validate(written, context={"folder": folder}).as_written(written)
        load._overriding = frozenset(table)  # noqa: SLF001 -- its own class
        return load

    @property
    def ends_by_itself(self) -> bool:
        """Whether it has an end where neither a duration nor a count gives one."""
        return False

    @property
    def expected_s(self) -> float | None:
        """About how long it takes with its warm-up; ``None`` where only measuring shows it."""
        length_s = self._counted_s() if self.duration_s is None else self.duration_s
        return None if length_s is None else self.warmup_s + length_s

    def _counted_s(self) -> float | None:
        """Return how long a load without a duration takes to come to its end by a count."""
        return None

    @property
    @abstractmethod
    def complete(self) -> "type[LoadTable]":
        """Its type at one point."""

    def problems(self, sweep: Sweep) -> Iterator[Problem]:
        """Yield what keeps a point of ``sweep`` from giving a complete load; paths begin at the study.

        The points are the product of the swept values, so what the extremes of two keys allow holds
        everywhere.
        """
        at = Swept(self, sweep)
        yield from self._swept_in_vain(at)
        yield from self._left_out(at)
        yield from self._problems_of_model(at)

    @abstractmethod
    def problems_of_content(self, files: Collection[str] | None) -> Iterator[Problem]:
        """Yield what is wrong with the content of a study; its files are known but for a person's folder."""

    def problems_of_hosts(self, url: str | None) -> Iterator[Problem]:  # noqa: ARG002
        """Yield the requests that name another server than that of ``url``; those of databases name none."""
        yield from ()

    @property
    def requests_left_out(self) -> str | None:
        """What of a file of requests is no part of the load, in words; ``None`` where all of it is."""
        return None

    @abstractmethod
    def _problems_of_model(self, at: "Swept") -> Iterator[Problem]:
        """Yield what is wrong with the keys of the model."""

    def _swept_in_vain(self, at: "Swept") -> Iterator[Problem]:
        known = sweep_keys(type(self))
        for key, values in at.sweep.items():
            if key not in known:
                yield Problem(("sweep", key), unknown_key(key, list(known)))
                continue
            if at.gives(key):
                yield Problem(("load", key), "set here and in [sweep]; keep one of the two")
            for index, value in enumerate(values):
                if not self._fits(key, value):
                    yield Problem(
                        ("sweep", key, str(index)), f"found {show(value)}; expected {known[key].in_words()}"
                    )

    def _fits(self, key: str, value: float) -> bool:
        try:
            self.with_values({key: value}, type(self))
        except ValidationError:
            return False
        return True

    def _left_out(self, at: "Swept") -> Iterator[Problem]:
        fields = self.complete.model_fields
        for key in sweep_keys(type(self)):
            if fields[attributes(type(self))[key]].is_required() and not at.values(key):
                text = "missing; expected a positive number here, or a list of them in [sweep]"
                yield Problem(("load", key), text)

    def _endings(self, at: "Swept") -> Iterator[Problem]:
        """Check that the load ends in one way."""
        counted, timed = at.values(self.counted_end), at.values("duration")
        if counted and timed:
            text = "cannot be combined with a duration; keep one of the two"
            yield Problem(at.place(self.counted_end), text)
        if not counted and not timed and not self.ends_by_itself:
            text = f'missing; expected duration, such as "10s", or {self.counted_end}'
            yield Problem(("load", "duration"), text)
        yield from self._after_the_rate(at)

    def _after_the_rate(self, at: "Swept") -> Iterator[Problem]:
        """Check of a rate that ends at 0 that something falls due in the window, which then has an end."""
        for key, name in attributes(type(self)).items():
            silent_s = silent_from_s(getattr(self, name))
            if silent_s is None:
                continue
            if at.values(self.counted_end):
                text = (
                    "cannot be combined with a rate that ends at 0, at which nothing more falls due; expected"
                )
                yield Problem(at.place(self.counted_end), f"{text} a duration")
            if (warmup_s := max(at.values("warmup"))) >= silent_s:
                text = f"the rate is 0 from {silent_s:g} s on, within the warm-up of {warmup_s:g} s"
                yield Problem(at.place(key), f'{text}; expected a shorter warm-up, such as "0s"')

    def paths_to_verify(self, seed: int) -> list[str]:  # noqa: ARG002
        """Return the paths whose answers a trial verifies; none of a database, which must keep records."""
        return []

    def paths_of_content(self, seed: int) -> list[str]:  # noqa: ARG002
        """Return those of these paths that must lead to files of the content."""
        return []

    @property
    def keeps_records(self) -> bool:
        """Whether the points of a trial leave records to later ones."""
        return False

    def unsaid(self, key: str) -> int | float | None:  # noqa: ARG002
        """Return what holds for a key that neither the load nor the sweep gives; ``None`` for nothing."""
        return None

    def with_values(self, values: Mapping[str, int | float], model: type[Table]) -> Table:
        """Return this load as ``model``, with the values of some keys of the sweep.

        A value such as 10.0 counts as the whole number 10, as JSON has one kind of number.

        Raises:
            ValidationError: a value is not what its key takes, or ``model`` requires one that is not there.

        """
        known = attributes(type(self))
        swept = {known[key]: int(value) if value == int(value) else value for key, value in values.items()}
        return model.model_validate(dict(self) | swept, by_alias=False, by_name=True)


@dataclass(frozen=True)
class Swept:
    """The keys of a load at the points of a sweep."""

    load: LoadTable
    sweep: Sweep

    def gives(self, key: str) -> bool:
        """Whether the table of the load gives a key, other than by the sweep."""
        return attributes(type(self.load))[key] in self.load.model_fields_set

    def place(self, key: str) -> KeyPath:
        """Return where a key is in the study."""
        return ("sweep" if key in self.sweep else "load", key)

    def values(self, key: str) -> Sequence[int | float]:
        """Return the values that a key has at the points; none if it is left out."""
        if key in self.sweep:
            return self.sweep[key]
        value = getattr(self.load, attributes(type(self.load))[key])
        value = self.load.unsaid(key) if value is None else value
        return [] if value is None else [value]


def by_model(tables: Iterable[type[Table]]) -> dict[str, type[Table]]:
    """Return each table by the name of its load model."""
    return {model: table for table in tables for model in get_args(table.model_fields["model"].annotation)}


def attributes(model: type[LoadTable]) -> dict[str, str]:
    """Return the attribute that each key of a load sets: ``{"rate": "rate_rps"}`` and so on."""
    return {field.alias or name: name for name, field in model.model_fields.items()}


def sweep_keys(model: type[LoadTable]) -> dict[str, Kind]:
    """Return the keys that can be swept under a load model: those that take a number, with its kind."""
    numbers = {
        key: _number(Kind.of_field(model.model_fields[name])) for key, name in attributes(model).items()
    }
    return {key: kind for key, kind in numbers.items() if kind is not None}


def _number(kind: Kind) -> Kind | None:
    """Return ``kind`` where it is a number, or else the number among its types."""
    if kind.type in (int, float):
        return kind
    members = map(Kind.of, get_args(kind.type) if kind.is_union else ())
    return next((member for member in members if member.type in (int, float)), None)

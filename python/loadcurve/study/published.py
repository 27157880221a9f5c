"""Published figures: what a publication says of servers, as facts beside the studies."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from loadcurve.result.measure_names import PublishedMeasureName
from loadcurve.toml.document import TomlTable, read_toml_model
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import Problem, own_problem, own_problems
from loadcurve.toml.values import Text

EARLIEST_YEAR = 1950

Value = Annotated[int | float, Field(gt=0), Expected("a number above 0")]
Place = Annotated[int | float, Field(ge=0), Expected("a number, 0 or more")]


class PublishedFigure(TomlTable):
    """One figure: a measure of several servers or machines along a key of the load."""

    title: Text
    """What the figure is called."""
    axis: Text
    """The key of the load along which the values run, such as `connections`."""
    values: Annotated[
        list[Place], Field(min_length=2), Expected("at least two rising numbers, such as [1, 10, 100]")
    ]
    """The values along the axis."""
    measure: PublishedMeasureName
    """The measure that the figure shows."""
    unit: Text
    """The publication's own unit; units are not converted, because only shapes are compared."""
    series: Annotated[
        dict[Text, list[Value]],
        Field(min_length=1),
        Expected('lists of numbers by name, such as "A" = [1, 2]'),
    ]
    """By the publication's name of a server or machine: a value for each of `values`."""

    @model_validator(mode="after")
    def _values_fit(self) -> Self:
        problems = [
            Problem(
                ("series", name), f"found {len(series)} values; expected {len(self.values)}, as in values"
            )
            for name, series in self.series.items()
            if len(series) != len(self.values)
        ]
        if any(later <= earlier for earlier, later in zip(self.values, self.values[1:], strict=False)):
            problems.append(Problem(("values",), "expected numbers that rise"))
        if problems:
            raise own_problems(problems)
        return self


class PublishedFact(TomlTable):
    """A single figure, which is on the page beside no curve."""

    name: Text
    """What the figure is of."""
    value: Annotated[int | float, Expected("a number")]
    """The figure."""
    unit: Text | None = None
    """The publication's own unit; a plain number needs none."""
    at: Text | None = None
    """Where it was measured, such as `"500 connections"`."""


class PublishedFile(TomlTable):
    """A file of published figures."""

    source: Text
    """The publication."""
    machine: Text | None = None
    """What the figures were measured on."""
    year: (
        Annotated[int, Field(ge=EARLIEST_YEAR), Expected("the year of the publication, such as 2018")] | None
    ) = None
    """The year of the publication."""
    url: Text | None = None
    """Where the publication is found."""
    figures: list[PublishedFigure] = Field(default=[])
    """The figures along a key of the load."""
    facts: list[PublishedFact] = Field(default=[])
    """Single figures."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.figures and not self.facts:
            raise own_problem("expected at least one [[figures]] or [[facts]]")
        return self

    @property
    def names(self) -> list[str]:
        """The names of all series, each once."""
        return list(dict.fromkeys(name for figure in self.figures for name in figure.series))


def _read(value: object, info: ValidationInfo) -> object:
    """Read the file that a study names; what a record of the run holds is the file's content already."""
    if not isinstance(value, str):
        return value
    folder = info.context["folder"] if info.context else ""
    return read_toml_model(Path(folder, value).absolute(), PublishedFile)


class Published(TomlTable):
    """Which published figures a study is laid beside, and which of its servers their series stand for."""

    # Written as a path; a record of the study holds what the file says, so that it needs no other file.
    file: Annotated[PublishedFile, BeforeValidator(_read), Expected("the path of a file, in quotes")]
    """The file, by its path from the folder of the study."""
    servers: dict[Text, Text] = Field(default={})
    """The study's server by the name of a series; a series with the name of a server needs no entry."""

    def server_of(self, series: str) -> str:
        """Return the server that a series stands for, were it in the study."""
        return self.servers.get(series, series)

    def inconsistencies(self, servers: list[str]) -> list[Problem]:
        """Return what does not fit the servers of the study."""
        problems = []
        for series, server in self.servers.items():
            path = ("published", "servers", series)
            if series not in self.file.names:
                known = ", ".join(self.file.names)
                text = (
                    f"the file has no such series; expected one of {known}{nearest(series, self.file.names)}"
                )
                problems.append(Problem(path, text))
            elif server not in servers:
                expected = f"expected a server of this study{nearest(server, servers)}"
                problems.append(Problem(path, f"found {show(server)}; {expected}"))
        return problems


def published_of(study: dict[str, Any]) -> Published | None:
    """Return the published figures in a run's record of its study; records of old runs lack the key."""
    recorded = study.get("published")
    return None if recorded is None else Published.model_validate(recorded)

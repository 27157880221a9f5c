"""The tables of a study file, each checked for itself."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from loadcurve.study.expected import Expected, show
from loadcurve.study.problems import Problem, own_problem, own_problems
from loadcurve.study.quantities import DurationS, SizeBytes
from loadcurve.study.toml_document import TomlTable

# Both become names of files and parts of URLs.
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_NAME_IN_WORDS = (
    "a name of letters, digits, hyphens, underscores and dots that begins with a letter or a digit"
)

Element = TypeVar("Element")


def _without_repetition(values: list[Element]) -> list[Element]:
    for index, value in enumerate(values):
        if value in values[:index]:
            raise own_problem(f"{show(value)} stands twice in the list; keep one")
    return values


Text = Annotated[str, Field(min_length=1), Expected("a text in quotes, not empty")]
PositiveCount = Annotated[int, Field(gt=0), Expected("a positive whole number")]
PositiveNumber = Annotated[int | float, Field(gt=0), Expected("a positive number")]
PositiveRate = Annotated[float, Field(gt=0), Expected("a positive number of requests per second")]
Duration = Annotated[
    DurationS, Field(gt=0, le=1e6), Expected('a duration above 0, such as "500ms", "10s" or "1m"')
]
Warmup = Annotated[
    DurationS, Field(le=86_400), Expected('a duration of at most a day, such as "500ms" or "2s"')
]
Timeout = Annotated[
    DurationS,
    Field(gt=0, le=3_600),
    Expected('a duration above 0 and of at most an hour, such as "500ms" or "5s"'),
]
RequestPath = Annotated[
    str,
    Field(pattern=r"^/[!-~]*$"),
    Expected('a path that begins with "/" and has no spaces, such as "/1k.txt"'),
]
RequestPaths = Annotated[
    list[RequestPath], Field(min_length=1), Expected('a list of at least one path, such as ["/1k.txt"]')
]
SweepValues = Annotated[
    list[PositiveNumber],
    Field(min_length=1),
    AfterValidator(_without_repetition),
    Expected("a list of positive numbers, such as [1, 10, 100]"),
]
Sweep = dict[str, SweepValues]
"""The values of each key that is swept."""

CpuList = Annotated[
    list[Annotated[int, Field(ge=0), Expected("the number of a CPU, 0 or more")]],
    Field(min_length=1),
    AfterValidator(_without_repetition),
    Expected("a list of CPU numbers, such as [0, 1]"),
]
ServerName = Annotated[str, Field(pattern=_NAME), Expected(_NAME_IN_WORDS)]
SettingValue = Annotated[str | int | float | bool, Expected("a text in quotes, a number, true or false")]


class LoadTable(TomlTable):
    """The keys of every load model. The requests are sent in turn."""

    model: str
    requests: RequestPaths
    warmup_s: Warmup = Field(1.0, alias="warmup")
    timeout_s: Timeout = Field(5.0, alias="timeout")
    """How long connecting may take, and how long an answer may take."""
    threads: PositiveCount | None = None
    """Sending threads; ``None`` leaves their number to the run."""


class ClosedLoadTable(LoadTable):
    """A closed loop as the file gives it: what is swept is still ``None``."""

    model: Literal["closed"]
    connections: PositiveCount | None = None
    duration_s: Duration | None = Field(None, alias="duration")
    requests_total: PositiveCount | None = None


class OpenLoadTable(LoadTable):
    """An open loop as the file gives it: what is swept is still ``None``."""

    model: Literal["open"]
    rate_rps: PositiveRate | None = Field(None, alias="rate")
    connections: PositiveCount | None = None
    arrivals: Literal["constant"] = "constant"
    duration_s: Duration = Field(alias="duration")


class ClosedLoad(ClosedLoadTable):
    """A closed loop at one point; exactly one of ``duration_s`` and ``requests_total`` is set."""

    connections: PositiveCount


class OpenLoad(OpenLoadTable):
    """An open loop at one point."""

    rate_rps: PositiveRate = Field(alias="rate")
    connections: PositiveCount


_LOAD_ATTRIBUTES = {
    "connections": "connections",
    "rate": "rate_rps",
    "requests_total": "requests_total",
    "threads": "threads",
}
FRACTIONAL_SWEEP_KEYS = frozenset({"rate"})


def load_attribute(sweep_key: str) -> str:
    """Return the attribute of a load that a key of the sweep sets."""
    return _LOAD_ATTRIBUTES[sweep_key]


def sweep_keys(load: LoadTable) -> list[str]:
    """Return the keys that can be swept under the load model of ``load``."""
    return [key for key, attribute in _LOAD_ATTRIBUTES.items() if attribute in type(load).model_fields]


def _existing_folder(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str):
        return value
    folder = Path(info.context["folder"] if info.context else "", value)
    if not folder.is_dir():
        raise own_problem(f'there is no folder "{folder}"; the path counts from the folder of this file')
    return folder.resolve()


class Content(TomlTable, extra="allow"):
    """What the servers serve: either generated files, by name, or a folder of the person's own."""

    __pydantic_extra__: dict[str, SizeBytes]
    folder: (
        Annotated[Path, BeforeValidator(_existing_folder), Expected("the path of a folder, in quotes")] | None
    ) = None

    @model_validator(mode="after")
    def _files_or_folder(self) -> Self:
        problems = [
            Problem((name,), f"found {show(name)}; expected {_NAME_IN_WORDS}")
            for name in self.files
            if not re.fullmatch(_NAME, name)
        ]
        if self.folder is not None and self.files:
            problems.append(
                Problem(("folder",), "given beside generated files; keep the folder, or the files")
            )
        if self.folder is None and not self.files:
            problems.append(
                Problem((), 'empty; expected files with sizes, such as "1k.txt" = "1KiB", or a folder')
            )
        if problems:
            raise own_problems(problems)
        return self

    @property
    def files(self) -> dict[str, int]:
        """The size of each generated file in bytes."""
        return dict(self.__pydantic_extra__)


class Trials(TomlTable):
    """How often every server is measured, and whether it is started anew per sweep or per point."""

    count: PositiveCount = 5
    restart: Literal["sweep", "point"] = "sweep"


class Host(TomlTable):
    """Which CPUs serve and which load; ``None`` leaves the division of the machine's CPUs to the run."""

    server_cpus: CpuList | None = None
    load_cpus: CpuList | None = None


class StudyServer(TomlTable, extra="allow"):
    """One server of the study: an entry of the catalogue and its settings, which the catalogue checks."""

    __pydantic_extra__: dict[str, SettingValue]
    use: Text
    """The entry of the catalogue; without this key, the server's own name."""
    binary: Text | None = None

    @property
    def settings(self) -> dict[str, str | int | float | bool]:
        """The settings that differ from the catalogue's."""
        return dict(self.__pydantic_extra__)

"""Texts, paths, addresses of machines (IP) and numbers of CPUs, as files give them."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, IPvAnyAddress, ValidationInfo

from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import without_repetition

Text = Annotated[str, Field(min_length=1), Expected("a text in quotes, not empty")]


def from_study_folder(name: str, info: ValidationInfo) -> str:
    """Return the name of a file, counted from the folder of the study file."""
    return str(Path(info.context["folder"] if info.context else "", name))


def _from_the_studys_folder(value: object, info: ValidationInfo) -> object:
    """Return a path in quotes as an absolute one, which counts from the folder of the study file."""
    if not isinstance(value, str):
        return value
    return Path(info.context["folder"] if info.context else "", value).absolute()


StudyPath = Annotated[Path, BeforeValidator(_from_the_studys_folder), Expected("a path in quotes")]


CpuList = Annotated[
    list[Annotated[int, Field(ge=0), Expected("the number of a CPU, 0 or more")]],
    Field(min_length=1),
    AfterValidator(without_repetition),
    Expected("a list of CPU numbers, such as [0, 1]"),
]


SourceAddresses = Annotated[
    list[Annotated[IPvAnyAddress, Expected('an address of the client\'s machine, such as "10.0.0.5"')]],
    Expected('a list of addresses of the client\'s machine, such as ["10.0.0.5", "10.0.0.6"]'),
    AfterValidator(without_repetition),
]
"""Addresses of one machine, from which connections come in turn."""

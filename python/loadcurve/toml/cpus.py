"""Numbers of a machine's CPUs, as files give them."""

from typing import Annotated

from pydantic import AfterValidator, Field

from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import without_repetition

CpuList = Annotated[
    list[Annotated[int, Field(ge=0), Expected("the number of a CPU, 0 or more")]],
    Field(min_length=1),
    AfterValidator(without_repetition),
    Expected("a list of CPU numbers, such as [0, 1]"),
]

"""By what a study names the processes of a server that runs already: process ids, units and containers."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import without_repetition
from loadcurve.toml.values import Text

_CONTAINER = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_UNIT = r"^[A-Za-z0-9_][A-Za-z0-9:_.@\\-]*$"


def _as_list(given: object) -> object:
    return given if isinstance(given, list) or given is None else [given]


ProcessIds = Annotated[
    list[Annotated[int, Field(ge=1), Expected("the id of a process, such as 1234")]],
    Field(min_length=1),
    BeforeValidator(_as_list),
    AfterValidator(without_repetition),
    Expected("the id of a process, such as 1234, or a list of them"),
]
UnitNames = Annotated[
    list[Annotated[Text, Field(pattern=_UNIT), Expected('the name of a unit, such as "nginx.service"')]],
    Field(min_length=1),
    BeforeValidator(_as_list),
    AfterValidator(without_repetition),
    Expected('the name of a unit, such as "nginx.service", or a list of them'),
]
ContainerNames = Annotated[
    list[Annotated[Text, Field(pattern=_CONTAINER), Expected("the name or the id of a container")]],
    Field(min_length=1),
    BeforeValidator(_as_list),
    AfterValidator(without_repetition),
    Expected("the name or the id of a container, or a list of them"),
]

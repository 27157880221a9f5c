"""The types of a load's values, each checked for itself with its words."""

from typing import Annotated, Final, TypeGuard

from pydantic import Field

from loadcurve.loads.limits import (
    BATCH_MAX,
    DURATION_S_MAX,
    STATUS_MAX,
    STATUS_MIN,
    THINK_S_MAX,
    TIMEOUT_S_MAX,
    WARMUP_S_MAX,
)
from loadcurve.toml.expected import Expected
from loadcurve.toml.quantities import DurationS

ENGINE_NAME: Final = "engine"
"""What our own engine is called among the generators."""

PositiveCount = Annotated[int, Field(gt=0), Expected("a positive whole number")]
Batch = Annotated[
    int, Field(gt=0, le=BATCH_MAX), Expected(f"a whole number of records from 1 to {BATCH_MAX:,}")
]
Status = Annotated[int, Field(ge=STATUS_MIN, le=STATUS_MAX)]
"""A status code of HTTP (RFC 9110 §15)."""
Duration = Annotated[
    DurationS,
    Field(gt=0, le=DURATION_S_MAX),
    Expected('a duration above 0, up to 10⁶ s, such as "500ms" or "1m"'),
]
Warmup = Annotated[
    DurationS,
    Field(le=WARMUP_S_MAX),
    Expected('a duration of at most a day, such as "500ms" or "2s"'),
]
Timeout = Annotated[
    DurationS,
    Field(gt=0, le=TIMEOUT_S_MAX),
    Expected('a duration above 0 and of at most an hour, such as "500ms" or "5s"'),
]
Think = Annotated[
    DurationS, Field(le=THINK_S_MAX), Expected('a duration of at most a day, such as "1ms" or "2s"')
]
Point = dict[str, float]
"""One setting of a sweep, such as ``{"connections": 50}``."""
SettingValue = Annotated[str | int | float | bool, Expected("a text in quotes, a number, true or false")]


def is_status(value: object) -> TypeGuard[int]:
    """Whether a value is a status code of HTTP."""
    return isinstance(value, int) and not isinstance(value, bool) and STATUS_MIN <= value <= STATUS_MAX

"""What is read of a study in a run's record: of other types than these it is no study.

A record has the study with every default filled in, and what versions have added or removed since. So keys
may be missing, or be more; those that are read here must be what a study has.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class _Shape(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class _Load(_Shape):
    model: str | None = None


class _Server(_Shape):
    sweep: dict[str, Any] | None = None


class _Trials(_Shape):
    restart: str
    between_points: str | None = None
    count: int | None = None
    at_most: int | None = None
    measure: str | None = None
    until_share: float | None = None
    until_drop_share: float | None = None
    warmup: dict[str, Any] | None = None


class _Content(_Shape):
    folder: str | None = None


class _Study(_Shape):
    title: str | None = None
    question: str | None = None
    answer_by: str | None = None
    load: _Load
    sweep: dict[str, Any] = Field(default_factory=dict)
    trials: _Trials
    content: _Content | None = None
    servers: dict[str, _Server] = Field(default_factory=dict)


class _Host(_Shape):
    server_cpus: list[int] | None = None
    load_cpus: list[int] | None = None


def require_study(study: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` where what is read of a study is of another type than a study's."""
    _require(_Study, study)


def require_host(host: Mapping[str, Any]) -> None:
    """Raise the same of the facts of a machine."""
    _require(_Host, host)


def _require(shape: type[BaseModel], given: Mapping[str, Any]) -> None:
    try:
        shape.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}") from None

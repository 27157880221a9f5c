"""The plan of one load, as the engine reads it."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from loadcurve.result.load import Rate
from loadcurve.result.records import ContentRecord
from loadcurve.server.answers import content_name
from loadcurve.study.model import Load
from loadcurve.study.tables import OpenLoad


class EngineModel(BaseModel):
    """A part of the plan; what is ``None`` is left out of its JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineRequest(EngineModel):
    """One request of the list that the load takes from."""

    method: str = "GET"
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    expected_body_bytes: int | None = None
    weight: float = 1.0


class EngineConversation(EngineModel):
    """What happens on one connection."""

    pipeline: int = 1
    """Requests under way at once; in the sessions model, those that are written together."""
    calls: int | None = None
    """Requests after which the connection is closed; ``None`` for never."""
    think_s: float = 0.0


class EngineStop(EngineModel):
    """When the measured window ends: exactly one of them is set."""

    duration_s: float | None = None
    requests_total: int | None = None
    connections_total: int | None = None


class EnginePlan(EngineModel):
    """Everything that decides what is sent, when, and until when."""

    address: str
    """``host:port`` with a numeric host."""
    authority: str
    http: Literal["1.0", "1.1"] = "1.1"
    requests: tuple[EngineRequest, ...]
    pick: Literal["in-order", "random", "weighted"] = "in-order"
    model: Literal["closed", "open", "sessions"]
    connections: int
    """How many are kept open; in the sessions model, how many may be open at once."""
    rate_rps: Rate | None = None
    connection_rate_cps: Rate | None = None
    arrivals: Literal["constant", "poisson"] | None = None
    conversation: EngineConversation = EngineConversation()
    stop: EngineStop
    warmup_s: float
    timeout_s: float
    seed: int = 0
    threads: int
    cpus: tuple[int, ...] = ()

    def to_json(self) -> str:
        """Return the plan as the engine reads it."""
        return self.model_dump_json(exclude_none=True)


def plan_at_point(
    load: Load, address: str, content: Mapping[str, ContentRecord], cpus: Sequence[int]
) -> EnginePlan:
    """Return the plan of a study's load against a server that serves ``content``.

    The lengths of the answers are checked during the load. Without a number of threads in the study there is
    one for each CPU of the load, as far as there are connections for them.
    """
    return EnginePlan(
        address=address,
        authority=address,
        requests=tuple(
            EngineRequest(target=path, expected_body_bytes=_body_bytes(path, content))
            for path in load.requests
        ),
        model=load.model,
        connections=load.connections,
        rate_rps=load.rate_rps if isinstance(load, OpenLoad) else None,
        arrivals=load.arrivals if isinstance(load, OpenLoad) else None,
        stop=EngineStop(
            duration_s=load.duration_s,
            requests_total=None if isinstance(load, OpenLoad) else load.requests_total,
        ),
        warmup_s=load.warmup_s,
        timeout_s=load.timeout_s,
        threads=load.threads or min(len(cpus), load.connections),
        cpus=tuple(cpus),
    )


def _body_bytes(path: str, content: Mapping[str, ContentRecord]) -> int | None:
    record = content.get(content_name(path))
    return None if record is None else record.bytes

"""The plan of one load: a complete load and its target, as the engine reads them and as the record has them.

The options of a load go through here by their own names, so that one more needs no line here: it is part of
the work.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from loadcurve.loads.asked import AskedRequest
from loadcurve.loads.http import HttpLoad, RecordedLoad
from loadcurve.loads.kinds import DATABASE, WEB, LoadKind
from loadcurve.loads.option import Part, planned_in
from loadcurve.loads.rates import RECORDED
from loadcurve.loads.record import AnnouncedHttp3, DatabaseAsRun, HttpAsRun, RecordingAsRun
from loadcurve.loads.requests import LongList
from loadcurve.loads.sent import FILE_MARK, BodyLines, header_fields
from loadcurve.loads.tls import DEFAULT_PORTS, Scheme
from loadcurve.loads.way import planned_way
from loadcurve.loads.workload import Workload
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import DatabaseProtocol, ProtocolName, has_streams

IoChoice = Literal["auto", "uring", "epoll"]
"""How the engine talks to the kernel; ``auto`` is the one that costs less, where the kernel allows it."""
WaitingChoice = Literal["auto", "sleep"]
"""How the engine waits for answers; ``auto`` is without sleeping where CPUs are to spare."""

_END_OF_RECORDING = {"recording": None}
"""What the engine calls the end of a load that no duration and no count ends."""
_WITHOUT_ARRIVALS = ("closed", RECORDED)
"""The engine's models in which nothing falls due at a rate."""


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """A load on its target, and how the generator runs it."""

    kind: ClassVar[LoadKind]
    load: HttpLoad | DatabaseLoad
    protocol: ProtocolName
    """What is spoken with the target."""
    threads: int
    """Threads of the generator."""
    cpus: tuple[int, ...] = ()
    seed: int = 0
    """Repeats what is drawn at random."""
    io: IoChoice = "auto"
    waiting: WaitingChoice = "auto"

    @abstractmethod
    def _model(self) -> str:
        """Return what the engine calls the load's model."""

    @property
    def connections(self) -> int:
        """How many may be open at once; of a database, how many clients there are."""
        return self.load.connections_at_once

    @abstractmethod
    def _work(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return what is asked, with the options that keep their names."""

    @property
    def requests_total(self) -> int | None:
        """After how many requests or operations the load ends; ``None`` where something else ends it."""
        total: int | None = getattr(self.load, "requests_total", None)
        return total

    def to_json(self) -> str:
        """Return the plan as the engine reads it."""
        options = self.load.model_dump(mode="json", exclude={*self._translated, "work"}, exclude_none=True)
        name, schedule = self._model(), self._taken(options, "schedule")
        if name in _WITHOUT_ARRIVALS:
            schedule.pop("arrivals", None)
        plan = {
            "model": {name: {"connections": self.connections, **schedule}},
            "stop": self._taken(options, "stop") or _END_OF_RECORDING,
            **self._taken(options, "times"),
            "seed": self.seed,
            "threads": self.threads,
            "cpus": self.cpus,
            "io": self.io,
            "waiting": self.waiting,
            "work": self._work(options),
        }
        return json.dumps({self.kind.work: plan})

    @property
    def _translated(self) -> dict[str, object]:
        """The options that the kind of load translates by itself; all others keep their names."""
        return planned_in(type(self.load), "translated")

    def _taken(self, options: dict[str, Any], part: Part) -> dict[str, Any]:
        """Take the options of a part of the plan out of ``options``."""
        names = planned_in(type(self.load), part)
        return {name: options.pop(name) for name in names if name in options}

    def _as_run(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        """Return what every record of a load has, given the engine's result."""
        options = self.load.model_dump(mode="json", exclude={*self._translated})
        run = {"connections": self.connections, "cpus": [*self.cpus], "seed": self.seed}
        run["io"] = measured["generator"]["io"]
        return {**options, "protocol": self.protocol, "model": self.load.model, **run}


@dataclass(frozen=True, kw_only=True)
class HttpPlan(Plan):
    """A load on a web server."""

    kind = WEB

    load: HttpLoad
    protocol: Literal["http"] = "http"
    address: str
    """``host:port`` with a numeric host."""
    authority: str
    """What ``Host`` names."""
    scheme: Scheme = "http"
    """Whether the connections are protected."""
    host: str = ""
    """What the server's certificate must be for, where the load does not name it."""
    verify: str = "system"
    """Whose certificates are accepted, where the load does not say it."""
    other_addresses: tuple[str, ...] = ()
    """Further addresses of the server's host."""
    body_bytes: Mapping[str, int] = field(default_factory=dict)
    """How long the verified answers to paths are."""
    alone: Sequence[AskedRequest] | None = None
    """What is asked for in place of the requests of the load."""
    announced: AnnouncedHttp3 | None = None
    """How the server said that it speaks HTTP/3 at the address, where the load asks for that."""

    def _model(self) -> str:
        return RECORDED if isinstance(self.load, RecordedLoad) else self.load.model

    def _work(self, options: dict[str, Any]) -> dict[str, Any]:
        conversation = self._taken(options, "conversation")
        conversation |= self._requests_at_once(conversation.pop("pipeline"), conversation.pop("streams", 1))
        if http2 := self._taken(options, "h2"):
            options["h2"] = http2
        messages = self._taken(options, "messages")
        if (kind := messages.pop("messages", None)) is not None:
            calls = self.load.grpc.planned(one.path for one in self._asked) if self.load.makes_calls else {}
            options["messages"] = {kind: messages | calls}
        way = planned_way(
            self._taken(options, "way"),
            [*self.other_addresses],
            self._host_and_port(),
            self.load.proxy_credentials,
        )
        address = {"address": self.address, "authority": self.authority, "way": way}
        tls = None
        if self.scheme == "https":
            shares = (self.load.full_handshakes, self.load.early_data)
            tls = self.load.tls.trusting(self.verify).planned(self.host, *shares)
        return {**address, "tls": tls, "conversation": conversation, "requests": self._requests(), **options}

    def _host_and_port(self) -> str:
        """Return what a proxy is asked to lead to."""
        port = urlsplit(f"//{self.authority}").port
        return self.authority if port else f"{self.authority}:{DEFAULT_PORTS[self.scheme]}"

    def _requests_at_once(self, pipeline: int, streams: int) -> dict[str, int]:
        """Return how many are under way on a connection, by the version's word; a burst is either."""
        if has_streams(self.load.http):
            return {"streams": max(pipeline, streams)}
        return {"pipeline": pipeline}

    def _requests(self) -> dict[str, Any]:
        """Return the requests; another than the verified one may be answered with another length."""
        load = self.load
        if self.alone is None and isinstance(load.requests, LongList):
            return {"listed": {"file": str(load.requests.file), **_sent(load.asked_for("/"))}}
        asked = self._asked
        if load.makes_calls:
            # Many calls may have one message, which is read and encoded once.
            encoded = cache(load.grpc.encoded)
            asked = [replace(one, body=encoded(one.path, one.body)) for one in asked]
        return {"given": [self._given(one) for one in asked]}

    @property
    def _asked(self) -> Sequence[AskedRequest]:
        return self.load.asked if self.alone is None else self.alone

    def _given(self, request: AskedRequest) -> dict[str, Any]:
        is_verified = request.is_plain and request.is_of_content
        return {
            **_sent(request),
            "target": request.path,
            "weight": request.weight,
            "name": request.name,
            "expected": request.expected and {"within": request.expected.ranges},
            "expected_body_bytes": self.body_bytes.get(request.path) if is_verified else None,
            "body_varies": request.rule != "content",
        }

    def as_run(self, measured: Mapping[str, Any]) -> HttpAsRun:
        """Return the load as its record has it, without headers and bodies, which may be secret.

        Its requests have the names by which the engine's result ``measured`` counts them.
        """
        requests = [one["operation"] for one in measured["operations"]]
        run: dict[str, Any] = {"address": self.address, "threads": self.threads, "requests": requests}
        run |= {"other_addresses": [*self.other_addresses], "announced": self.announced}
        run |= {"scheme": self.scheme} | self.load.model_dump(mode="json", include={"verify"})
        if self.scheme == "https":
            run |= self.load.model_dump(mode="json", include={"tls", "full_handshakes", "early_data"})
        if self.load.makes_calls:
            run |= self.load.model_dump(mode="json", include={"messages", "grpc"})
            run["grpc"] |= {"call": self.load.grpc.kind(one.path for one in self._asked)}
        run |= self.load.model_dump(mode="json", include={"message_bytes"})
        if has_streams(self.load.http):
            defaults = planned_in(type(self.load), "h2")
            run |= defaults | self.load.model_dump(include={*defaults}, exclude_none=True)
        whole = {} if self.load.messages else planned_in(type(self.load), "messages")
        if isinstance(self.load, RecordedLoad):
            run["recording"] = _recording(self.load.requests)
        options = self._as_run(measured)
        # The record of a load whose answers are whole says nothing of messages.
        return HttpAsRun.model_validate({name: options[name] for name in options if name not in whole} | run)


def _recording(requests: object) -> RecordingAsRun | None:
    """Return what a record has of a list that was replayed, without its folder."""
    if not isinstance(requests, LongList) or requests.sha256 is None or requests.listed.recorded_s is None:
        return None
    return RecordingAsRun(
        file=requests.file.name,
        requests=requests.listed.count,
        length_s=requests.listed.recorded_s,
        sha256=requests.sha256,
    )


def _sent(request: AskedRequest) -> dict[str, Any]:
    """Return what is sent beside the path."""
    return {
        "method": request.method,
        "headers": header_fields(request.headers),
        "body": _body(request.body),
        "chunked": request.chunked,
    }


def _body(given: str | bytes | BodyLines) -> object:
    """Return a body that is a text, or in the file behind ``@``, or one of the lines of a file, or bytes."""
    if isinstance(given, bytes):
        return {"bytes": [*given]} if given else "empty"
    if isinstance(given, BodyLines):
        return {"lines": {"file": str(given.file)}}
    if given.startswith(FILE_MARK):
        return {"file": given.removeprefix(FILE_MARK)}
    return {"text": given} if given else "empty"


class DatabaseTarget(BaseModel):
    """Which table of which database, and how it is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    namespace: str
    table: str
    settings: dict[str, str]
    timeout_s: float
    workload: Workload

    def to_json(self) -> str:
        """Return the target as the engine reads it."""
        return self.model_dump_json(exclude_none=True)


@dataclass(frozen=True, kw_only=True)
class DatabasePlan(Plan):
    """A load on a database."""

    kind = DATABASE

    load: DatabaseLoad
    protocol: DatabaseProtocol
    url: str
    settings: Mapping[str, str]
    address: str
    """The URL as records have it, without secrets."""

    @property
    def workload(self) -> Workload:
        """What is asked, on the records of the load."""
        return self.load.workload.with_records(self.load.records).numbers

    @property
    def target(self) -> DatabaseTarget:
        """What the plan is carried out on."""
        load = self.load
        return DatabaseTarget(
            url=self.url,
            namespace=load.namespace,
            table=load.table,
            settings=dict(self.settings),
            timeout_s=load.timeout_s,
            workload=self.workload,
        )

    def _model(self) -> str:
        return "closed" if self.load.rate_rps is None else "open"

    def _work(self, options: dict[str, Any]) -> dict[str, Any]:
        workload = self.workload.model_dump(mode="json", exclude_none=True)
        return {"url": self.url, "settings": dict(self.settings), "workload": workload, **options}

    def as_run(self, measured: Mapping[str, Any]) -> DatabaseAsRun:
        """Return the load as its record has it, given the engine's result."""
        run = {
            "address": self.address,
            "settings": dict(self.settings),
            "threads": self.load.threads,
            "workload": self.workload,
            "workload_name": self.load.workload.name,
        }
        if self.load.rate_rps is None:
            run["arrivals"] = None
        return DatabaseAsRun.model_validate(self._as_run(measured) | run)

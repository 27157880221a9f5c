"""What every load on web servers is: its requests, and which of its keys exclude each other."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import (
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from loadcurve.loads.asked import AskedRequest, asked_at, asked_of
from loadcurve.loads.combinations import problems_of_combinations
from loadcurve.loads.early_data import problems_of_early_data
from loadcurve.loads.entries import RequestEntry, path_of, source_of
from loadcurve.loads.grpc import CALL_METHOD, SERVER_STREAM, problems_of_calls
from loadcurve.loads.http_keys import HttpKeys
from loadcurve.loads.messages import problems_of_websocket
from loadcurve.loads.request_files import has_weight, naming_others, with_requests_read
from loadcurve.loads.requests import VERIFIED_PATHS_MAX, LongList, sampled_paths
from loadcurve.loads.sent import header_fields
from loadcurve.loads.sized import MESSAGE_BYTES_MIN_OF_CALLS, encoded_letters, letters, problems_of_size
from loadcurve.loads.table import Swept, Table
from loadcurve.loads.verification import AnswerPattern
from loadcurve.loads.way import Way
from loadcurve.protocol import (
    EVENTS,
    GRPC,
    HTTP1_0,
    HTTP2,
    HTTP3,
    WEBSOCKET,
    http_family,
)
from loadcurve.toml.expected import nearest, show
from loadcurve.toml.problems import KeyPath, Problem


class HttpLoadTable(HttpKeys):
    """A load on web servers."""

    _places: tuple[str, ...] = PrivateAttr(())
    _elsewhere: str | None = PrivateAttr(None)

    @property
    def sending_threads(self) -> int | None:
        """How many of the generator's threads send it; ``None`` where it does not say."""
        return self.threads

    @property
    def labels(self) -> list[str] | None:
        """What its requests are called; ``None`` of a file that the engine reads, which may have them."""
        if isinstance(self.requests, LongList):
            return None
        return [*dict.fromkeys(one.label for one in self.asked)]

    @property
    def makes_calls(self) -> bool:
        """Whether its requests are calls of gRPC."""
        return self.messages == GRPC

    @property
    def streams_answers(self) -> bool:
        """Whether its answers are streams of events or of messages."""
        is_stream = self.makes_calls and self.grpc.kind(one.path for one in self.asked) == SERVER_STREAM
        return is_stream or self.messages == EVENTS

    @property
    def request_places(self) -> tuple[str, ...]:
        """Where each request is in a file of requests, as ``file:line``; empty without such a file."""
        return self._places

    @property
    def requests_left_out(self) -> str | None:
        """What of an HTTP archive is no part of the load, in words; ``None`` where all of it is."""
        return self._elsewhere

    def paths_to_verify(self, seed: int) -> list[str]:
        """Return the paths of the requests; of a long list, those that ``seed`` picks.

        Raises:
            BadInput: the file of the list has changed since it was read.

        """
        if isinstance(self.requests, LongList):
            return sampled_paths(self.requests, seed)
        paths = [*dict.fromkeys(map(path_of, self.requests))]
        if source_of(self.requests[0]) is None or len(paths) <= VERIFIED_PATHS_MAX:
            return paths
        return random.Random(seed).sample(paths, VERIFIED_PATHS_MAX)  # noqa: S311 -- no secret

    @property
    def asked(self) -> list[AskedRequest]:
        """Its requests, each with all that is sent; none of a long list, whose requests are in its file."""
        if isinstance(self.requests, LongList):
            return []
        asked = asked_of(self.requests, self.weights, self.asked_for("/"))
        return [replace(one, name=one.name or one.path[1:]) for one in asked] if self.makes_calls else asked

    def asked_for(self, path: str) -> AskedRequest:
        """Return the request for a path of which the list says nothing else."""
        size = self.message_bytes
        if self.makes_calls:
            # One that is shorter is a problem of the load, which has its requests all the same.
            message: str | bytes = self.grpc.message
            if size is not None and size >= MESSAGE_BYTES_MIN_OF_CALLS:
                message = encoded_letters(size)
            return AskedRequest(path, CALL_METHOD, self.headers, message, "status", name=path[1:] or None)
        # Streams need not end, so there is nothing that a whole answer could be compared with.
        rule = "status" if self.messages is not None and self.verify == "content" else self.verify
        body = self.body if size is None else letters(size)
        return AskedRequest(path, self.method, self.headers, body, rule, self.chunked)

    def requests_for(self, paths: Collection[str]) -> list[AskedRequest]:
        """Return its requests for these paths, and a new one for each path that it does not have.

        Raises:
            BadInput: the file of the list has changed since it was read.

        """
        if isinstance(self.requests, LongList):
            return asked_at([*paths], self.requests.statuses_of([*paths]), self.asked_for("/"))
        wanted = {*paths}
        own = [one for one in self.asked if one.path in wanted]
        if source_of(self.requests[0]) is not None:
            # Thousands may differ in their bodies alone.
            own = [*{one.line: one for one in reversed(own)}.values()][::-1]
        others = wanted - {one.path for one in own}
        return own + [self.asked_for(path) for path in paths if path in others]

    @property
    def way(self) -> Way:
        """Where its connections go."""
        return Way(
            self.unix_socket,
            self.connect_to,
            self.proxy,
            self.addresses == "all",
            self.proxy_protocol,
            # A server that is asked for its Alt-Svc is asked over TCP.
            self.http == HTTP3,
        )

    def paths_of_content(self, seed: int) -> list[str]:
        """Return those of :meth:`paths_to_verify` that must lead to files of the content."""
        return [one.path for one in self.requests_for(self.paths_to_verify(seed)) if one.is_of_content]

    def problems_of_content(self, files: Collection[str] | None) -> Iterator[Problem]:
        """Yield the requests that ask for none of the files, where answers are compared with these."""
        if files is None:
            return
        paths = [f"/{name}" for name in files]
        for index, request in enumerate(self.asked):
            path, _, _ = request.path.partition("?")
            if path not in paths and request.is_of_content:
                place = f"{self.request_places[index]}: " if self.request_places else ""
                text = (
                    f"found {show(request.path)}, which is not in [content]; expected one of "
                    f"{', '.join(paths)}"
                )
                yield Problem(("load", "requests", str(index)), place + text + nearest(path, paths))

    def problems_of_hosts(self, url: str | None) -> Iterator[Problem]:
        """Yield the requests of a file that name another server than that of ``url``, which is loaded.

        Without a URL the server is one that the study starts, and nobody could name it before.
        """
        if not isinstance(self.requests, LongList):
            names = [value for name, value in header_fields(self.headers) if name.lower() == "host"]
            for index, text in enumerate(naming_others(self.requests, names, url)):
                yield Problem(("load", "requests", str(index)), text)

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from self._endings(at)
        yield from self._idle_threads(at)
        yield from self._weights()
        yield from self._chunks()
        yield from problems_of_combinations(at, self.http, self.messages)
        if self.makes_calls:
            yield from self._not_of_calls(at)
        given = self.grpc.message if self.makes_calls else self.body
        of_size = [*problems_of_size(at, self.messages, is_given=bool(given) or self._gives_own_bodies)]
        if of_size:
            yield from of_size
            return
        asked = [self.asked_for("/")] if isinstance(self.requests, LongList) else self.asked
        yield from problems_of_early_data(at, http_family(self.http), asked)
        for problem in self.tls.problems_over(http_family(self.http)):
            yield Problem(("load", "tls", *problem.path), problem.text)
        if self.makes_calls:
            yield from problems_of_calls(
                self.grpc, self.http, self.requests, self.asked, self._of_streams(at)
            )
        if self.messages == WEBSOCKET:
            yield from problems_of_websocket(self.http)
        if self.proxy_credentials is not None and self.proxy is None:
            yield Problem(("load", "proxy_credentials"), "only used with a proxy; set proxy as well")
        yield from self._problems_of_messages(at)

    def _not_of_calls(self, at: Swept) -> Iterator[Problem]:
        """Yield what is said of requests and answers that calls of gRPC do not have."""
        if self.body:
            text = "not sent: calls of gRPC have a message instead of a body; expected message in [load.grpc]"
            yield Problem(("load", "body"), text)
        if at.gives("method") and self.method != CALL_METHOD:
            text = f"found {show(self.method)}; calls of gRPC are made by {CALL_METHOD}; remove it"
            yield Problem(("load", "method"), text)
        if self.chunked:
            yield Problem(("load", "chunked"), "not used: messages of gRPC have no chunks; remove it")
        if isinstance(self.verify, AnswerPattern):
            text = "not used: calls of gRPC are right by their status; expected statuses in [load.grpc]"
            yield Problem(("load", "verify"), text)

    @property
    def _gives_own_bodies(self) -> bool:
        """Whether a request of the list has its own body."""
        if isinstance(self.requests, LongList):
            return False
        own = [one for one in self.requests if isinstance(one, RequestEntry)]
        return any(one.body is not None or (one.source is not None and one.source.body) for one in own)

    def _of_streams(self, at: Swept) -> list[KeyPath]:
        """Return what is said of streamed answers, by its place in the study."""
        said = ("events_expected", "stream_for")
        return [at.place(key) for key in said if at.gives(key) or key in at.sweep]

    def _idle_threads(self, at: Swept) -> Iterator[Problem]:
        """Check that every thread has a connection at every point."""
        threads, connections = at.values("threads"), self._connections_at(at)
        if threads and connections and max(threads) > min(connections):
            text = f"found {max(threads)}; expected no more threads than connections; the lowest point has "
            yield Problem(at.place("threads"), f"{text}{min(connections)}")

    def _chunks(self) -> Iterator[Problem]:
        """Check that bodies are not sent in chunks where there are none."""
        if self.http == HTTP1_0 and (self.chunked or any(one.chunked for one in self.asked)):
            key = "chunked" if self.chunked else "requests"
            yield Problem(("load", key), "HTTP/1.0 has no chunks; set http to 1.1 or 2, or remove chunked")

    def _connections_at(self, at: Swept) -> Sequence[int | float]:
        """Return how many connections are known to be open at the points."""
        return at.values("connections")

    def _weights(self) -> Iterator[Problem]:
        place = ("load", "weights")
        requests = self.requests
        if isinstance(requests, LongList):
            if self.pick == "weighted" and not requests.listed.has_weights:
                text = f'no line of {requests.file} has a weight; pick = "weighted" requires weights'
                yield Problem(("load", "requests"), text)
        elif any(map(has_weight, requests)):
            yield from self._weights_of_entries()
        elif self.weights is None:
            if self.pick == "weighted":
                yield Problem(place, 'missing; pick = "weighted" requires one weight per request')
        elif self.pick != "weighted":
            yield Problem(place, 'only used with pick = "weighted"; set both, or remove the weights')
        elif len(self.weights) != len(requests):
            text = f"found {len(self.weights)} weights; expected {len(requests)}, one per request"
            yield Problem(place, text)
        elif sum(self.weights) == 0:
            yield Problem(place, "all weights are 0; expected at least one above 0")

    def _weights_of_entries(self) -> Iterator[Problem]:
        if self.weights is not None:
            yield Problem(("load", "weights"), "set here and in requests; keep one of the two")
        elif self.pick != "weighted":
            text = 'found requests with weights, which require "weighted"; set it, or remove the weights'
            yield Problem(("load", "pick"), text)
        elif sum(one.weight for one in self.asked) == 0:
            yield Problem(("load", "requests"), "all weights are 0; expected at least one above 0")

    def with_values(self, values: Mapping[str, int | float], model: type[Table]) -> Table:
        """Return this load as ``model``, which leaves out of a file of requests what this one does."""
        load = super().with_values(values, model)
        if isinstance(load, HttpLoadTable):
            load._elsewhere = self._elsewhere  # noqa: SLF001 -- its own class
        return load

    @model_validator(mode="wrap")
    @classmethod
    def _with_requests_read(
        cls, data: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        if data.get("messages") == GRPC:
            data = {"http": HTTP2, **data}
        read, places, elsewhere = with_requests_read(
            data, Path(info.context["folder"] if info.context else "")
        )
        load = handler(read)
        load._places, load._elsewhere = places, elsewhere  # noqa: SLF001 -- its own class
        return load

"""A reader of a run's page that is no browser: what the page receives, event by event."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

READ_TIMEOUT_S = 180.0


@dataclass
class Events:
    """The stream of events of a page."""

    response: http.client.HTTPResponse

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the data of each event until the stream ends."""
        name = ""
        for line in self.response:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)

    def until(self, wanted: str) -> Any:
        """The data of the next event of this name."""
        return next(data for name, data in self if name == wanted)


def answer(url: str, path: str = "/", method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    """Ask for a path and return the answer, its body not yet read."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=READ_TIMEOUT_S)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


@contextmanager
def events_of(url: str) -> Iterator[Events]:
    """Follow a page as long as the block lasts."""
    response = answer(url, "/events")
    try:
        yield Events(response)
    finally:
        response.close()

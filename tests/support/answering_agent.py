"""In place of a process that leads to an agent: it answers each call with what a table says."""

import contextlib
import copy
import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from loadcurve.machines import messages

Json = dict[str, Any]
OTHER_VALUES = (None, True, -1, 1 << 70, 1.5e300, "x", "\ud800", [], ["x"], {}, {"x": []})
"""In place of any value: of every type that JSON has, and what cannot be computed with or written."""


class AnsweringProcess:
    """Writes the first messages, and then, for each call, the messages that belong to its name."""

    def __init__(self, first: Sequence[Json], answers: Mapping[str, Sequence[Json]]) -> None:
        self._first, self._answers = first, answers
        (calls, near_in), (near_out, self._out), (near_errors, errors) = os.pipe(), os.pipe(), os.pipe()
        os.close(errors)
        self._calls = os.fdopen(calls, "rb")
        self.stdin = os.fdopen(near_in, "wb", buffering=0)
        self.stdout, self.stderr = (os.fdopen(one, "rb", buffering=0) for one in (near_out, near_errors))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def wait(self, timeout: float | None = None) -> int:
        self._thread.join(timeout)
        return 0

    def kill(self) -> None:
        """Do nothing: it ends with its input."""

    def _serve(self) -> None:
        with self._calls, contextlib.suppress(OSError):
            self._write(self._first)
            for line in self._calls:
                asked = _message(line)
                if "beat" in asked:
                    self._write([asked])
                elif "call" in asked:
                    said = self._answers.get(asked["call"], [{"result": None}])
                    self._write([{"id": asked["id"], **one} for one in said])
        os.close(self._out)

    def _write(self, said: Sequence[Json]) -> None:
        for message in said:
            self.write(json.dumps(message).encode() + b"\n")

    def write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self._out, left) :]


def _message(line: bytes) -> Json:
    """What a line says: nothing where it is a part of the files that are brought to a machine."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def greeted() -> list[Json]:
    """The first message of an agent of this version."""
    return [messages.greeting()]


def mutations(value: Any) -> Iterator[Any]:
    """Every value that differs from this one in one place: another type there, a key more or less."""
    yield from OTHER_VALUES
    yield from _within(value, lambda changed: changed, lambda: OTHER_VALUES)


def few_mutations(value: Any) -> Iterator[Any]:
    """The same with two other values in each place, which are others in the next place."""
    turns = itertools.cycle(OTHER_VALUES)
    yield from OTHER_VALUES
    yield from _within(value, lambda changed: changed, lambda: (next(turns), next(turns)))


def _within(value: Any, put_back: Callable[[Any], Any], others: Callable[[], Sequence[Any]]) -> Iterator[Any]:
    if not isinstance(value, dict | list):
        return
    places = list(value) if isinstance(value, dict) else range(len(value))
    for place in places:

        def with_other(other: Any, place: Any = place) -> Any:
            changed = copy.copy(value)
            changed[place] = other
            return put_back(changed)

        yield from map(with_other, others())
        yield from _within(value[place], with_other, others)
        less = copy.copy(value)
        del less[place]
        yield put_back(less)

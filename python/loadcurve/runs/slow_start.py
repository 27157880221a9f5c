"""What is said of a program of the study that takes long to be ready, while it is waited for."""

import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from loadcurve.server.found import StartableServer
from loadcurve.server.live import LiveServer

PATIENCE_S: Final = 2.0
LINES_MAX: Final = 5


@contextmanager
def slow_start_said(
    name: str, found: object, server: LiveServer, say: Callable[[str], None], patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Say once what a program has printed if the block, which waits until it is ready, takes this long.

    Of servers of the catalogue, whose starts are known, nothing is said.
    """
    if not isinstance(found, StartableServer) or not found.entry.description.is_own_program:
        yield
        return
    timeout_s = found.entry.description.ready.timeout_s

    def speak() -> None:
        said = server.log_tail(LINES_MAX)
        output = textwrap.indent(said, "    ")
        printed = f"Its output so far:\n{output}" if said else "It has printed nothing."
        refusal = server.why_not_ready()
        why = "" if refusal is None else f": {refusal}"
        say(f"{name} is not ready after {patience_s:g} s, and has up to {timeout_s:g} s{why}. {printed}")

    timer = threading.Timer(patience_s, speak)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()

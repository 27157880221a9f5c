"""What is said of a program of the study that takes long to be ready, while it is waited for."""

import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from loadcurve.server.found import StartableServer
from loadcurve.server.live import LiveServer

PATIENCE_S: Final = 2.0
LOOK_INTERVAL_S: Final = 0.5
LINES_MAX: Final = 5


@contextmanager
def slow_start_said(
    name: str,
    found: object,
    server: LiveServer,
    say: Callable[[str], None],
    *,
    patience_s: float = PATIENCE_S,
    interval_s: float = LOOK_INTERVAL_S,
) -> Iterator[None]:
    """Say what a program has printed if the block, which waits until it is ready, takes this long.

    A reason that is another one later, such as a status in place of a refused connection, is said once more.
    Of servers of the catalogue, whose starts are known, nothing is said.
    """
    if not isinstance(found, StartableServer) or not found.entry.description.is_own_program:
        yield
        return
    timeout_s = found.entry.description.ready.timeout_s
    is_over = threading.Event()

    def speak() -> None:
        if is_over.wait(patience_s):
            return
        said = server.log_tail(LINES_MAX)
        output = textwrap.indent(said, "    ")
        printed = f"Its output so far:\n{output}" if said else "It has printed nothing."
        first = server.why_not_ready()
        why = "" if first is None else f": {first}"
        say(f"{name} is not ready after {patience_s:g} s, and has up to {timeout_s:g} s{why}. {printed}")
        while not is_over.wait(interval_s):
            later = server.why_not_ready()
            if later not in {first, None}:
                say(f"{name} is still not ready: {later}.")
                return

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()

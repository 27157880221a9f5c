"""A process that is asked one thing: within a time, and with an output of bounded length."""

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import IO, Final

OUTPUT_BYTES_MAX: Final = 1 << 20
READ_BYTES: Final = 1 << 16


def ended_within(
    command: Sequence[str], given: bytes, timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a process to its end, with a short text as its input.

    What it writes beyond a megabyte is left out. Raises ``OSError`` where it cannot be started, and
    ``TimeoutError`` where it does not end.
    """
    until_s = time.monotonic() + timeout_s
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:  # noqa: S603 -- ours
        try:
            assert process.stdin and process.stdout and process.stderr, "asked for"  # noqa: S101, PT018
            with contextlib.suppress(BrokenPipeError):
                os.write(process.stdin.fileno(), given)
            process.stdin.close()
            out, errors = _read_both((process.stdout, process.stderr), until_s)
            status = process.wait(max(until_s - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            process.kill()
    return subprocess.CompletedProcess(command, status, out, errors)


def _read_both(pipes: tuple[IO[bytes], IO[bytes]], until_s: float) -> list[bytes]:
    """Return what comes until both pipes are closed; raises ``TimeoutError`` where they stay open."""
    written = {pipe: bytearray() for pipe in pipes}
    with selectors.DefaultSelector() as selector:
        for pipe, of_pipe in written.items():
            selector.register(pipe, selectors.EVENT_READ, of_pipe)
        while selector.get_map():
            left_s = until_s - time.monotonic()
            ready = selector.select(left_s) if left_s > 0 else []
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                if not (data := os.read(key.fd, READ_BYTES)):
                    selector.unregister(key.fileobj)
                elif len(key.data) < OUTPUT_BYTES_MAX:
                    key.data.extend(data)
    return [bytes(one) for one in written.values()]

"""A link between two network namespaces on which every packet takes a time: two TUN devices and a relay.

This file is the program of the relay's process. What it hides of a network: packets are neither lost nor
reordered, and the link has no speed but that of the relay.
"""

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

TUN = Path("/dev/net/tun")
SET_INTERFACE = 0x400454CA
"""The request ``TUNSETIFF``."""
PACKETS, WITHOUT_HEADER = 0x0001, 0x1000
"""``IFF_TUN`` and ``IFF_NO_PI``."""
REQUEST = struct.Struct("16sH22x")
PACKET_BYTES_MAX = 1 << 16


@contextmanager
def delayed_link(ends: tuple[tuple[str, str], tuple[str, str]], delay_s: float) -> Iterator[None]:
    """Join two namespaces, each with the name that its end has there; each way takes ``delay_s``.

    Needs root; raises OSError where this kernel makes no TUN devices.
    """
    with ExitStack() as stack:
        descriptors = []
        for namespace, name in ends:
            descriptor, made = _new_device()
            stack.callback(os.close, descriptor)
            descriptors.append(descriptor)
            # A device stays that of its descriptor in whatever network.
            subprocess.run(["ip", "link", "set", made, "netns", namespace, "name", name], check=True)
        words = [sys.executable, __file__, str(delay_s), *map(str, descriptors)]
        with subprocess.Popen(words, pass_fds=descriptors) as relaying:
            # What ends it must come before the wait for its end.
            try:
                yield
            finally:
                relaying.terminate()


def _new_device() -> tuple[int, str]:
    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    # The kernel puts a number for %d.
    request = REQUEST.pack(b"delayed%d", PACKETS | WITHOUT_HEADER)
    try:
        name, _ = REQUEST.unpack(fcntl.ioctl(descriptor, SET_INTERFACE, request))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, name.rstrip(b"\0").decode()


def relay(one: int, other: int, delay_s: float) -> None:
    """Carry packets both ways, each after a time, until the process ends."""
    # By default a timer may be 50 us late.
    Path("/proc/self/timerslack_ns").write_text("1")
    waiting: dict[int, deque[tuple[float, bytes]]] = {one: deque(), other: deque()}
    """By where they go to, each with the moment at which it arrives."""
    leads_to = {one: other, other: one}
    while True:
        due_s = min((packets[0][0] for packets in waiting.values() if packets), default=None)
        left_s = None if due_s is None else max(due_s - time.monotonic(), 0.0)
        for arrived_at in select.select([one, other], [], [], left_s)[0]:
            packets = waiting[leads_to[arrived_at]]
            packets.extend((time.monotonic() + delay_s, packet) for packet in _packets(arrived_at))
        for end, packets in waiting.items():
            while packets and packets[0][0] <= time.monotonic():
                # One that is down takes none.
                with contextlib.suppress(OSError):
                    os.write(end, packets[0][1])
                packets.popleft()


def _packets(descriptor: int) -> Iterator[bytes]:
    with contextlib.suppress(BlockingIOError):
        while True:
            yield os.read(descriptor, PACKET_BYTES_MAX)


if __name__ == "__main__":
    delay, first, second = sys.argv[1:]
    relay(int(first), int(second), float(delay))

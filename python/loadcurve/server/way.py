"""The way from here to another machine: whether a server there is reached, and how long it takes."""

import contextlib
import socket
import struct
from statistics import median

from loadcurve.errors import NothingMeasured, refusal, sentence
from loadcurve.result.link import RoundTrip

CONNECT_TIMEOUT_S = 5.0
CONNECTIONS = 16
"""The round trip is that of as many handshakes, which the kernels answer without a program in between."""
INFO_BYTES = 104
PATH_MTU_AT, ROUND_TRIP_AT = 60, 68
"""Where they are in the kernel's ``struct tcp_info``, as 32 bits each; a round trip in us."""
US_PER_MS = 1e3


def measured_way(machine: str, address: str, port: int) -> tuple[RoundTrip | None, int | None]:
    """Return the round trips to a port that listens there, and the path's MTU in bytes.

    Raises ``NothingMeasured``: no connection comes about; the text says why, and what to do.
    """
    found = [_connected(machine, address, port) for _ in range(CONNECTIONS)]
    # The kernel takes what it has not measured for 0.
    times_us = [round_trip_us for round_trip_us, _ in found if round_trip_us]
    mtus = [mtu_bytes for _, mtu_bytes in found if mtu_bytes]
    if not times_us:
        return None, min(mtus, default=None)
    times_ms = [time_us / US_PER_MS for time_us in times_us]
    round_trip = RoundTrip(count=len(times_ms), min=min(times_ms), median=median(times_ms))
    return round_trip, min(mtus, default=None)


def require_reached(machine: str, address: str, port: int) -> None:
    """Raise ``NothingMeasured`` where no connection from here to a port that listens there comes about."""
    _connected(machine, address, port)


def _connected(machine: str, address: str, port: int) -> tuple[int, int]:
    """Connect and close; return what the kernel knows then, 0 where that is nothing."""
    try:
        with socket.create_connection((address, port), CONNECT_TIMEOUT_S) as connection:
            return connection_facts(connection)
    except OSError as error:
        why = f"no connection within {CONNECT_TIMEOUT_S:g} s"
        said = why if isinstance(error, TimeoutError) else refusal(error)
        raise NothingMeasured(
            f"machine {machine}: a program there listened on port {port} of {address}, and a connection from "
            f"here failed: {sentence(said)} Let this machine through the firewall between the two (to any "
            "port, since servers listen on free ones), or set `address` in the machine's table to one that "
            "it can reach"
        ) from None


def connection_facts(connection: socket.socket) -> tuple[int, int]:
    """Return the round trip (us) and the path's MTU (bytes) of a connection; 0 where unknown."""
    with contextlib.suppress(OSError, struct.error):
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
        (round_trip_us,) = struct.unpack_from("=I", info, ROUND_TRIP_AT)
        (mtu_bytes,) = struct.unpack_from("=I", info, PATH_MTU_AT)
        return round_trip_us, mtu_bytes
    return 0, 0

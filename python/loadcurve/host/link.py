"""The network interface by which this machine reaches another one, as its kernel describes it.

The kernel is asked by messages and calls and not through ``/sys``, which may show another network than that
of this process. What it does not say is ``None``, and nothing here is a reason not to measure.
"""

import array
import contextlib
import fcntl
import ipaddress
import socket
import struct
from typing import Final

from loadcurve.result.link import InterfaceRecord
from loadcurve.units import BITS_PER_MBIT

MESSAGE = struct.Struct("=IHHII")
"""``struct nlmsghdr``: length, type, flags, number, sender."""
ROUTE = struct.Struct("=BBBBBBBBI")
"""``struct rtmsg``, which begins with the family and the bits of the destination."""
ATTRIBUTE = struct.Struct("=HH")
"""``struct rtattr``: length, type."""
NEW_ROUTE, GET_ROUTE, REQUEST = 24, 26, 1
DESTINATION, OUTGOING = 1, 4
"""Attributes of a route: where it leads, and by which interface."""
ALIGNED_TO = 4
ANSWER_BYTES = 1 << 16
ANSWER_TIMEOUT_S = 1.0

GET_MTU, ETHTOOL = 0x8921, 0x8946
"""The requests ``SIOCGIFMTU`` and ``SIOCETHTOOL`` of an interface."""
NAME_BYTES = 16
REQUEST_BYTES = 40
GET_SETTINGS, GET_DRIVER, GET_FLAGS = 0x01, 0x03, 0x25
SETTINGS_BYTES, DRIVER_BYTES, VALUE_BYTES = 44, 196, 8
DRIVER_NAME: Final = slice(4, 36)
SPEED_LOW, SPEED_HIGH = (12, "=H"), (28, "=H")
"""Where in ``struct ethtool_cmd`` the two halves of a speed in Mbit/s are."""
SPEEDS_UNKNOWN = {0, 0xFFFF, 0xFFFF_FFFF}
LARGE_RECEIVE = 1 << 15
OFFLOADS = {
    "rx-checksumming": 0x14,
    "tx-checksumming": 0x16,
    "scatter-gather": 0x18,
    "tcp-segmentation-offload": 0x1E,
    "generic-segmentation-offload": 0x23,
    "generic-receive-offload": 0x2B,
}
"""By the names of ``ethtool -k``, the request that tells whether each is on."""
DRIVERS_WITHOUT_SPEED = {"veth", "tun", "bridge", "vmxnet3"}
"""What these report as their speed is a constant, or that of a port, and limits nothing."""


def interface_to(address: str) -> InterfaceRecord | None:
    """Return the interface from which packets to a numeric address leave; ``None`` where it is not known."""
    with contextlib.suppress(OSError, ValueError):
        index = outgoing_interface(_route_answer(route_question(address)))
        return None if index is None else _interface(socket.if_indextoname(index))
    return None


def route_question(address: str) -> bytes:
    """Return the message of netlink that asks for the route to an address.

    Raises ``ValueError``: it is no numeric address.
    """
    destination = ipaddress.ip_address(address)
    family = socket.AF_INET if destination.version == 4 else socket.AF_INET6  # noqa: PLR2004 -- of IP
    packed = destination.packed
    attribute = ATTRIBUTE.pack(ATTRIBUTE.size + len(packed), DESTINATION) + packed
    body = ROUTE.pack(family, 8 * len(packed), 0, 0, 0, 0, 0, 0, 0) + attribute
    return MESSAGE.pack(MESSAGE.size + len(body), GET_ROUTE, REQUEST, 1, 0) + body


def outgoing_interface(answer: bytes) -> int | None:
    """Return the index of the interface that an answer of netlink names."""
    if len(answer) < MESSAGE.size + ROUTE.size or MESSAGE.unpack_from(answer)[1] != NEW_ROUTE:
        return None
    place = MESSAGE.size + ROUTE.size
    while place + ATTRIBUTE.size + 4 <= len(answer):
        size, kind = ATTRIBUTE.unpack_from(answer, place)
        if kind == OUTGOING:
            (index,) = struct.unpack_from("=I", answer, place + ATTRIBUTE.size)
            return int(index)
        # One without a length would be read forever.
        place += max(-(-size // ALIGNED_TO) * ALIGNED_TO, ALIGNED_TO)
    return None


def speed_bits_per_s(settings: bytes | None, driver: str | None) -> int | None:
    """Return the speed that ``struct ethtool_cmd`` holds; ``None`` where it is unknown or made up."""
    if settings is None or driver in DRIVERS_WITHOUT_SPEED:
        return None
    low, high = (struct.unpack_from(form, settings, place)[0] for place, form in (SPEED_LOW, SPEED_HIGH))
    speed_mbit_per_s = int(high) << 16 | int(low)
    return None if speed_mbit_per_s in SPEEDS_UNKNOWN else speed_mbit_per_s * BITS_PER_MBIT


def _route_answer(question: bytes) -> bytes:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as kernel:
        kernel.settimeout(ANSWER_TIMEOUT_S)
        kernel.bind((0, 0))
        kernel.send(question)
        return kernel.recv(ANSWER_BYTES)


def _interface(name: str) -> InterfaceRecord:
    asked = _ethtool(name, GET_DRIVER, DRIVER_BYTES)
    driver = None if asked is None else _text(asked[DRIVER_NAME])
    speed = speed_bits_per_s(_ethtool(name, GET_SETTINGS, SETTINGS_BYTES), driver)
    return InterfaceRecord(
        name=name,
        speed_bits_per_s=speed,
        speed_from=None if speed is None else "kernel",
        mtu_bytes=_mtu_bytes(name),
        driver=driver,
        offloads=_offloads(name),
    )


def _text(padded: bytes) -> str | None:
    return padded.partition(b"\0")[0].decode(errors="replace") or None


def _mtu_bytes(name: str) -> int | None:
    request = struct.pack(f"={NAME_BYTES}si", name.encode(), 0).ljust(REQUEST_BYTES, b"\0")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            answer = fcntl.ioctl(asking, GET_MTU, request)
    except OSError:
        return None
    (mtu_bytes,) = struct.unpack_from("=i", answer, NAME_BYTES)
    return int(mtu_bytes)


def _offloads(name: str) -> dict[str, bool] | None:
    values = {offload: _ethtool_value(name, command) for offload, command in OFFLOADS.items()}
    flags = _ethtool_value(name, GET_FLAGS)
    values["large-receive-offload"] = None if flags is None else flags & LARGE_RECEIVE
    return {offload: bool(value) for offload, value in values.items() if value is not None} or None


def _ethtool_value(name: str, command: int) -> int | None:
    answer = _ethtool(name, command, VALUE_BYTES)
    return None if answer is None else int(struct.unpack_from("=I", answer, 4)[0])


def _ethtool(name: str, command: int, size: int) -> bytes | None:
    """Return what the driver of an interface answers; ``None`` where it does not know the request."""
    answer = array.array("B", struct.pack("=I", command).ljust(size, b"\0"))
    request = struct.pack(f"{NAME_BYTES}sP", name.encode(), answer.buffer_info()[0])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            fcntl.ioctl(asking, ETHTOOL, request.ljust(REQUEST_BYTES, b"\0"))
    except OSError:
        return None
    return answer.tobytes()

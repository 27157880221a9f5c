"""What a tool sends: its first request, received by a socket of ours before the load, as a study sends it.

A tool adds header fields of its choice, which cost the server time, and none reports how many bytes it sends.
"""

import re
import socket
import time
from collections.abc import Sequence
from dataclasses import replace

from loadcurve.protocol import has_streams
from loadcurve.result.generator import RequestSent
from loadcurve.server.temporary import temporary_folder
from loadcurve.tools.catalog import Tool
from loadcurve.tools.driver import WebToolRequest
from loadcurve.tools.process import ToolProcess

_PATIENCE_S = 5.0
"""Some read a script before they send anything."""
_LOOK_INTERVAL_S = 0.02
_HEAD_END = b"\r\n\r\n"
_HEAD_BYTES_MAX = 64 * 2**10


def request_sent(tool: Tool, wanted: WebToolRequest, cpus: Sequence[int]) -> RequestSent | None:
    """Return the request that a tool sends; ``None`` over HTTP/2, and where none came within seconds."""
    if has_streams(wanted.load.http):
        return None
    with (
        temporary_folder(tool.name) as folder,
        socket.create_server(("127.0.0.1", 0)) as listening,
    ):
        host, port = listening.getsockname()
        here = f"{host}:{port}"
        is_own = wanted.authority == wanted.address
        asked = replace(wanted, address=here, authority=here if is_own else wanted.authority, files=folder)
        argv = tool.command(asked)
        with ToolProcess(argv, folder, cpus, tool.table.settings_prefix, private=folder) as process:
            head = _first_head(listening, process)
    if head is None:
        return None
    agent = re.search(rb"(?im)^user-agent:[ \t]*([^\r\n]*)", head)
    # The address in place of ours may be of another length.
    difference = len(wanted.address) - len(here) if is_own else 0
    return RequestSent(
        bytes=len(head) + difference,
        user_agent=None if agent is None else agent[1].decode("latin-1"),
    )


def _first_head(listening: socket.socket, process: ToolProcess) -> bytes | None:
    """Return the first request; some tools first try whether a connection opens, and close it."""
    until_s = time.monotonic() + _PATIENCE_S
    listening.settimeout(_LOOK_INTERVAL_S)
    while time.monotonic() < until_s:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            if process.has_ended():
                return None
            continue
        with connection:
            connection.settimeout(_PATIENCE_S)
            if head := _head_of(connection):
                return head
    return None


def _head_of(connection: socket.socket) -> bytes | None:
    received = b""
    try:
        while _HEAD_END not in received and len(received) < _HEAD_BYTES_MAX:
            data = connection.recv(_HEAD_BYTES_MAX)
            if not data:
                return None
            received += data
    except OSError:
        return None
    head, found, _ = received.partition(_HEAD_END)
    return head + found if found else None

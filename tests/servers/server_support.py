"""What the tests of servers share: starting a server in one line, and looking for what is left of one."""

import os
from pathlib import Path

import pytest

from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.content import content_of_folder
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.instance import Server
from loadcurve.server.ledger import MARK_VARIABLE


def marked_processes(state: Path) -> set[int]:
    """Return the ids of the processes that run as servers of a test with this place, forked ones included."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                environment = (folder / "environ").read_bytes()
                process_state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            # Other runs on this machine have servers, too.
            ours = f"XDG_STATE_HOME={state / 'state'}".encode() in environment.split(b"\0")
            if ours and f"{MARK_VARIABLE}=".encode() in environment and process_state != "Z":
                found.add(int(folder.name))
    return found


def members_of_session(session: int) -> set[int]:
    """Return the ids of all running processes of a session."""
    members = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                members.add(int(folder.name))
    return members


def found(entry: CatalogEntry, **settings: object) -> FoundServer:
    server = find_server(entry, settings)
    assert isinstance(server, FoundServer)
    return server


def server_of(entry: CatalogEntry, content_folder: Path, **settings: object) -> Server:
    return Server(found(entry, **settings), content_folder, content_of_folder(content_folder))


is_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to start a server as another user")

"""Folders for what only one command needs. The ledger knows them, so that a killed one leaves none behind."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadcurve.server.ledger import LedgerEntry

OWN_MODE, READ_BY_ALL_MODE = 0o700, 0o755


@contextmanager
def temporary_folder(name: str, mode: int = OWN_MODE) -> Iterator[Path]:
    """Make a folder for the length of a block; ``name`` says in messages what was left behind.

    It may hold who logs in at a database, and with which password, so that nobody else enters it. A server
    that root starts reads its content as another user, which is what ``READ_BY_ALL_MODE`` is for.

    Raises ``BadInput``: the state folder cannot be written.
    """
    entry = LedgerEntry(name, Path(tempfile.gettempdir()).resolve())
    folder = entry.start.private_folder
    try:
        folder.mkdir(mode=OWN_MODE)
        folder.chmod(mode)
        yield folder
    finally:
        entry.remove()

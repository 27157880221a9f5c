"""Real databases for tests of whole commands: built where need be, and started in a separate place."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcurve.server.build import build_of
from loadcurve.server.catalog import load_catalog
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.here import Server
from support.sandbox import Sandbox


def require_postgresql() -> None:
    """Skip the test where PostgreSQL is not installed."""
    looked_for = find_server(load_catalog()["postgresql"], {})
    if isinstance(looked_for, MissingServer):
        pytest.skip(f"needs postgresql: {looked_for.failure().text}")


def ferretdb_folder() -> Path:
    """Build FerretDB, which takes a minute or two where Go's own cache does not have it, and return where."""
    if shutil.which("go") is None:
        pytest.skip("needs go, which is not installed; on Debian: apt-get install golang")
    build = build_of(load_catalog()["ferretdb"])
    assert build is not None
    build.run(print)
    return build.folder


def share_build(sandbox: Sandbox, folder: Path) -> None:
    """Let commands in a sandbox find a server that is built already."""
    place = sandbox.folder / "cache" / "loadcurve" / folder.name
    if not place.exists():
        place.symlink_to(folder, target_is_directory=True)


@contextmanager
def running_database(name: str) -> Iterator[Server]:
    """Start a database of the catalogue, its ledger and its private folder in a separate place."""
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        tempfile.TemporaryDirectory(prefix="loadcurve-test-") as place,
    ):
        for folder in (Path(place), Path(place, "state"), Path(place, "tmp")):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
        monkeypatch.setenv("XDG_STATE_HOME", f"{place}/state")
        monkeypatch.setenv("TMPDIR", f"{place}/tmp")
        monkeypatch.setattr(tempfile, "tempdir", None)
        found = find_server(load_catalog()[name], {})
        assert not isinstance(found, MissingServer), found.failure()
        with Server(found, None, {}) as server:
            yield server

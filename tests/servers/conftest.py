"""Places and scripted servers for the tests of servers; nothing of any server may remain after a test."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server_support import marked_processes

from loadcurve.server.catalog import CatalogEntry, read_entry
from loadcurve.server.content import make_content

SCRIPTED_SERVER = Path(__file__).parent / "scripted_server.py"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep ledger and private folders of one test in a place of its own, open to every user."""
    # The folders of pytest itself must not move into the place that is taken away again.
    tmp_path_factory.getbasetemp()
    with tempfile.TemporaryDirectory(prefix="loadcurve-test-") as name:
        folder = Path(name)
        for child in (folder, folder / "state", folder / "tmp"):
            child.mkdir(exist_ok=True)
            child.chmod(0o777)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield folder


@pytest.fixture(autouse=True)
def _nothing_left_behind(state: Path) -> Iterator[None]:
    yield
    assert marked_processes(state) == set()
    assert list((state / "tmp").glob("loadcurve-*")) == []
    assert list((state / "state").rglob("*.json")) == []


@pytest.fixture
def content_folder(state: Path) -> Path:
    folder = state / "content"
    make_content(folder, {"1k.txt": 1024, "deep/64k.txt": 65536}, seed=1)
    return folder


Scripted = Callable[..., CatalogEntry]


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    """Make a catalogue entry of a scripted server that behaves in the ways that are named."""

    def make(*behaviours: str, ready_s: float = 10, stop_s: float = 5) -> CatalogEntry:
        folder = tmp_path / "catalog" / "scripted"
        folder.mkdir(parents=True, exist_ok=True)
        arguments = "".join(f', "{behaviour}"' for behaviour in behaviours)
        (folder / "server.toml").write_text(
            f"""
            title = "scripted"
            documentation = "https://docs.python.org/3/library/http.server.html"
            binary = ["{sys.executable}"]
            environment = {{ SCRIPTED_PORT = "{{port}}" }}
            start = ["{{binary}}", "{SCRIPTED_SERVER}", "{{port}}", "{{content}}"{arguments}]
            ready = {{ timeout = "{ready_s}s" }}
            stop = {{ timeout = "{stop_s}s" }}
            [version]
            command = ["{{binary}}", "--version"]
            pattern = 'Python (\\S+)'
            """
        )
        return read_entry(folder)

    return make

"""Places and scripted servers for the tests of servers; nothing of any server may remain after a test."""

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from server_support import CATALOG, CHANGED_SETTINGS, found, own_place

from loadcurve.server.catalog import CatalogEntry, read_entry
from loadcurve.server.content import make_content
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.here import Server

SCRIPTED_SERVER = Path(__file__).parent / "scripted_server.py"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose server is not installed, and say how to install it."""
    for marker in item.iter_markers("needs_server"):
        missing = missing_server(*marker.args)
        if missing is not None:
            pytest.skip(f"needs {marker.args[0]}: {missing.failure().text}")


@functools.cache
def missing_server(name: str) -> MissingServer | None:
    looked_for = find_server(CATALOG[name], {})
    return looked_for if isinstance(looked_for, MissingServer) else None


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give each test its own place."""
    with own_place(tmp_path_factory) as folder:
        yield folder


@pytest.fixture
def content_folder(state: Path) -> Path:
    folder = state / "content"
    make_content(folder, {"1k.txt": 1024, "deep/64k.txt": 65536}, seed=1)
    return folder


@dataclass(frozen=True)
class Running:
    """A server that several tests look at."""

    name: str
    server: Server
    cpus: set[int]
    place: Path


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run the server of a name without settings, on one CPU, its content in an oddly named folder."""
    with running_server(request.param, tmp_path_factory) as started:
        yield started


@pytest.fixture(scope="module")
def changed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run the server of a name with other values of the settings that it shares with others."""
    with running_server(request.param, tmp_path_factory, **CHANGED_SETTINGS) as started:
        yield started


@contextmanager
def running_server(
    name: str, tmp_path_factory: pytest.TempPathFactory, **settings: object
) -> Iterator[Running]:
    entry = CATALOG[name]
    known = {key: value for key, value in settings.items() if key in entry.description.settings}
    cpus = {min(os.sched_getaffinity(0))}
    with own_place(tmp_path_factory) as place:
        folder = place / 'some "odd" folder'
        content = make_content(folder, {"1k.txt": 1024, "deep/a b.txt": 65536}, seed=1)
        with Server(found(entry, **known), folder, content, cpus) as server:
            yield Running(name, server, cpus, place)


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
            # The interpreter of the tests may lie where nobody else can reach it.
            user = ["root"]
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

"""A sandbox for each test, and one server for all tests of `load`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.limit_server import limit_server
from support.sandbox import Sandbox, open_sandbox

CONTENT_BYTES = 1024


@pytest.fixture(scope="session")
def byte_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("byte-code")


@pytest.fixture
def sandbox(byte_code: Path) -> Iterator[Sandbox]:
    """Give the test a sandbox, in which nothing may be left of any command at the end."""
    with open_sandbox(byte_code) as sandbox:
        yield sandbox
        assert sandbox.leftovers() == []


@pytest.fixture(scope="module")
def shared_sandbox(byte_code: Path) -> Iterator[Sandbox]:
    """One sandbox for several tests that only read what one command has written."""
    with open_sandbox(byte_code) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def limit_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the URL of a file of 1024 bytes on the server `limit`."""
    content = tmp_path_factory.mktemp("content")
    (content / "1k.txt").write_bytes(b"x" * CONTENT_BYTES)
    with limit_server(content) as address:
        yield f"http://{address}/1k.txt"

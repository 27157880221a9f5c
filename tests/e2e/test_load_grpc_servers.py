"""Calls of each kind on servers of others, which count for themselves; run by `make check-servers`."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcurve.server.build import build_of
from loadcurve.server.catalog import CatalogEntry, load_catalog
from loadcurve.server.check import check_server
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.installed.installation import install
from loadcurve.server.installed.place import FOLDER_VARIABLE

pytestmark = pytest.mark.builds
CALLS = 200
KINDS = {
    # Each call was made once more, to verify the server.
    "Unary": ((), {"Unary": CALLS + 1, "received": CALLS + 1, "sent": CALLS + 1}),
    "ServerStream": (
        ("--events-expected", 3),
        # The call that verifies the server ends with its first message, however many are sent by then.
        {"ServerStream": CALLS + 1, "received": CALLS + 1, "sent": range(3 * CALLS + 1, 3 * CALLS + 4)},
    ),
    "ClientStream": (
        ("--messages-per-call", 4),
        {"ClientStream": CALLS + 1, "received": 4 * (CALLS + 1), "sent": CALLS + 1},
    ),
    # The calls are kept: 2 connections have 5 each.
    "Bidirectional": ((), {"Bidirectional": 11, "received": CALLS + 1, "sent": CALLS + 1}),
}


@pytest.fixture(scope="module", params=["grpc-go", "tonic", "grpcio"])
def found(request) -> Iterator[FoundServer]:
    entry = load_catalog()[request.param]
    with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as place:
        build = build_of(entry)
        if build is None:
            servers = Path(place)
            servers.chmod(0o755)
            monkeypatch.setenv(FOLDER_VARIABLE, str(servers))
            install(entry.description.recipe, servers)
        else:
            build.run(print)
        yield _found(entry)


def _found(entry: CatalogEntry) -> FoundServer:
    found = find_server(entry, {})
    assert isinstance(found, FoundServer)
    return found


class Counting:
    """A server that counts what it answers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.address = self._line().removeprefix("listening on ").strip()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def counts(self) -> dict[str, int]:
        """End the server; return what it has counted, without what is zero."""
        self.process.send_signal(signal.SIGTERM)
        return {name: count for name, count in json.loads(self._line()).items() if count}


@contextmanager
def counting(found: FoundServer, folder: Path) -> Iterator[Counting]:
    for file, template in found.entry.description.config.items():
        # They are templates without a placeholder.
        (folder / file).write_text((found.entry.folder / template).read_text())
    program = [word.format(binary=found.binary, private=folder) for word in found.start[:-2]]
    command = [*program, "--listen", "127.0.0.1:0", "--counts"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Counting(process)
        finally:
            process.kill()


@pytest.mark.parametrize("compression", ["identity", "gzip"])
@pytest.mark.parametrize("kind", KINDS)
def test_as_many_calls_and_messages_are_counted_as_the_server_has_answered(
    sandbox, found, kind, compression, tmp_path
):
    options, expected = KINDS[kind]
    with counting(found, tmp_path) as server:
        # The form of the message is that of the server's own reflection.
        message = (
            "--message",
            '{"text": "Say hello to everyone.", "answers": 3}',
            "--compression",
            compression,
        )
        load = ("-c", 2, "--streams", 5, "-n", CALLS, "--json")
        url = f"grpc://{server.address}/loadcurve.Echo/{kind}"
        finished = sandbox.run("load", url, *message, *load, *options)
        assert finished.returncode == 0, finished.stderr
        result = json.loads(finished.stdout)
        assert (result["requests"]["answered"], result["requests"]["failed"]) == (CALLS, 0)
        if kind == "ServerStream":
            assert result["messages"]["delivered"] == 3 * CALLS
        counted = server.counts()
        sent, expected_sent = counted.pop("sent"), expected["sent"]
        assert sent in expected_sent if isinstance(expected_sent, range) else sent == expected_sent
        assert counted == {name: count for name, count in expected.items() if name != "sent"}


def test_the_catalogue_starts_and_stops_it(found):
    assert check_server(found.entry).found.version == found.version

"""Answers, bodies and lists of a gigabyte: how much memory the generator takes, and how fast it is."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.many_connections import run_measured
from benches.rig import LOADCURVE, Cpus, machine, own_cpus
from loadcurve.result.load import LoadResult

SERVER = str(Path(__file__).with_name("large_server.py"))
LIST_BLOCK_LINES = 10_000
CONNECTIONS = 10
TIMEOUT = "60s"


@dataclass(frozen=True)
class Case:
    """One load: what is large in it, and the options that make it so."""

    name: str
    requests: int
    options: Sequence[str] = ()


def main() -> None:
    """Print the peak of the generator's memory for each case, and of a load without anything large."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mebibytes", type=int, default=1024, help="of answer, body and list")
    parser.add_argument("--io", choices=["auto", "uring", "epoll"], nargs="+", default=["auto"])
    arguments = parser.parse_args()
    size_bytes = arguments.mebibytes << 20
    cpus = own_cpus()
    with tempfile.TemporaryDirectory() as name:
        large, small, urls = (Path(name) / file for file in ("large.bin", "small.bin", "urls.txt"))
        _make_sparse(large, size_bytes)
        _make_sparse(small, 1)
        lines = _make_list(urls, size_bytes)
        print(machine())
        print(
            f"answer, body and list of {arguments.mebibytes} MiB each, over {CONNECTIONS} connections; "
            f"the list has {lines} lines\n"
        )
        print(f"{'':<34} {'io':<6} {'peak MiB':>8} {'answered':>9} {'MiB/s':>7}")
        body = ["--method", "POST", "--body", f"@{large}"]
        with _server_of(small, cpus) as port:
            cases = [
                Case("nothing large", 10),
                Case("a body on each connection", 10, body),
                Case("a list in order", 20_000, ["--urls", str(urls)]),
                Case("a list at random", 20_000, ["--urls", str(urls), "--pick", "random"]),
            ]
            _print_cases(cases, arguments.io, port, cpus)
        with _server_of(large, cpus) as port:
            _print_cases([Case("an answer on each connection", 10)], arguments.io, port, cpus)


def _print_cases(cases: Sequence[Case], backends: Sequence[str], port: int, cpus: Cpus) -> None:
    for case in cases:
        for io in backends:
            counts = ["-c", str(CONNECTIONS), "-n", str(case.requests), "--timeout", TIMEOUT]
            command = [LOADCURVE, "load", f"http://127.0.0.1:{port}/", "--json", "--io", io]
            output, peak_bytes = run_measured([*command, *counts, *case.options], cpus.generator)
            result = LoadResult.model_validate_json(output)
            assert result.bytes is not None, "loads on web servers count bytes"
            mebibytes_per_s = (
                ((result.bytes.sent or 0) + (result.bytes.received or 0)) / result.duration_s / 2**20
            )
            print(
                f"{case.name:<34} {result.load.io:<6} {peak_bytes / 2**20:>8.0f} {result.requests.ok:>9} "
                f"{mebibytes_per_s:>7.0f}",
                flush=True,
            )


@contextmanager
def _server_of(file: Path, cpus: Cpus) -> Iterator[int]:
    """Run the server of a file on its CPU, and give its port."""
    command = ["taskset", "-c", str(cpus.server), sys.executable, SERVER, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _make_sparse(file: Path, size_bytes: int) -> None:
    with file.open("wb") as stream:
        stream.truncate(size_bytes)


def _make_list(file: Path, size_bytes: int) -> int:
    """Write ``size_bytes`` of paths, and return their number."""
    block = "".join(f"/item/{number}?page=1\n" for number in range(LIST_BLOCK_LINES)).encode()
    blocks = -(-size_bytes // len(block))
    with file.open("wb") as stream:
        for _ in range(blocks):
            stream.write(block)
    return blocks * LIST_BLOCK_LINES


if __name__ == "__main__":
    main()

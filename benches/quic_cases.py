"""What loads over HTTP/3 do with the ways of QUIC: `python -m benches.quic_cases [--only NAME]`.

The cases are those that the interop of QUIC tries on clients, as far as a server on this machine can be made
to bring them up: Debian's gtlsserver (ngtcp2 and GnuTLS), which shares no code with this client. In each case
every request must be answered, with all bytes of its file, and what the case is about must be in the record.
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.rig import LOADCURVE, machine, named_with
from benches.udp_relay import Link, relayed

BYTES = {"1k.txt": 1 << 10, "64k.bin": 64 << 10, "4m.bin": 4 << 20}
START_TIMEOUT_S = 10.0
PLACES = "/usr/sbin:/usr/bin:/usr/local/bin"
OTHERS_ARE_NO_FAULT = (0, 3)
"""Exit codes of a load that was measured; what a busy machine makes of its verdict is no matter here."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One way of QUIC, what brings it up, and what the record must show of it."""

    load: Sequence[str]
    file: str = "1k.txt"
    server: Sequence[str] = ()
    shown: Callable[[Record], tuple[str, bool]] = lambda _: ("", True)
    """Of the HTTP/3 of a result: what is to be printed, and whether it is as it must be."""
    link: Link | None = None
    """What datagrams meet on their way; ``None`` where they go to the server at once."""
    witness: str = ""
    """What the server's log says as often as the record has changes of keys; empty where nobody looks."""
    longest_ms: float = 0.0
    """How long the slowest request takes at least, from when it was due."""


def handshakes(kind: str, least: int) -> Callable[[Record], tuple[str, bool]]:
    """Require handshakes of a class."""

    def shown(record: Record) -> tuple[str, bool]:
        count = record["handshakes_ms"][kind]["count"]
        return f"{count} {kind}", count >= least

    return shown


def figure(group: str, name: str, least: int) -> Callable[[Record], tuple[str, bool]]:
    """Require a count to be at least this."""

    def shown(record: Record) -> tuple[str, bool]:
        count = record[group][name]
        return f"{group}.{name} {count:,}", count >= least

    return shown


def least_round_trip(least_ms: float) -> Callable[[Record], tuple[str, bool]]:
    """Require that no round trip was shorter than this."""

    def shown(record: Record) -> tuple[str, bool]:
        found_ms = record["rtt_min_ms"]["min"]
        return f"round trip {found_ms:,.0f} ms", found_ms >= least_ms

    return shown


ONE_AT_A_TIME = ("--connections", "1")
ONE_EACH = (*ONE_AT_A_TIME, "--calls", "1")
CASES = {
    "handshake": Case((*ONE_EACH, "-n", "20"), shown=handshakes("full", 20)),
    "chacha20": Case(
        (*ONE_EACH, "-n", "20"),
        server=("--ciphers=NORMAL:-CIPHER-ALL:+CHACHA20-POLY1305:-VERS-ALL:+VERS-TLS1.3",),
    ),
    "hello retry": Case(
        (*ONE_EACH, "-n", "20"),
        server=("--groups=-GROUP-ALL:+GROUP-SECP384R1",),
        shown=handshakes("full", 20),
    ),
    "retry": Case((*ONE_EACH, "-n", "20"), server=("-V",), shown=handshakes("after_retry", 20)),
    "resumption": Case(
        ("--connections", "1", "--calls", "4", "-n", "80", "--full-handshakes", "0"),
        shown=handshakes("resumed", 10),
    ),
    "zerortt": Case(
        ("--connections", "1", "--calls", "4", "-n", "80", "--full-handshakes", "0", "--early-data", "1"),
        shown=handshakes("early_accepted", 10),
    ),
    "transfer": Case(("--connections", "2", "--streams", "4", "-n", "40"), "4m.bin"),
    "multiplexing": Case(("--connections", "1", "--streams", "100", "-n", "5000")),
    "few streams": Case(
        ("--connections", "1", "--streams", "16", "-n", "500"),
        server=("--max-streams-bidi=2",),
        shown=figure("streams", "limits_met", 1),
    ),
    "transferloss": Case(
        ("--connections", "2", "--streams", "4", "-n", "100"),
        "64k.bin",
        server=("--tx-loss=0.02", "--rx-loss=0.02"),
    ),
    "handshakeloss": Case(
        ("--connections", "4", "--calls", "1", "-n", "60", "--timeout", "20s"),
        server=("--tx-loss=0.15", "--rx-loss=0.15"),
    ),
    "long first rtt": Case(
        ("--connections", "2", "--streams", "4", "-n", "100"), server=("--initial-rtt=800ms",)
    ),
    "small datagrams": Case(
        ("--connections", "2", "--streams", "4", "-n", "100"),
        "64k.bin",
        server=("--max-udp-payload-size=1200", "--no-pmtud"),
    ),
    "trailers": Case(("--connections", "2", "--streams", "4", "-n", "100"), server=("--send-trailers",)),
    "idle timeout": Case(
        ("--connections", "1", "--rate", "2", "-n", "8"),
        server=("--timeout=200ms",),
        shown=figure("ends", "idle_timeouts", 1),
    ),
    "keyupdate": Case(
        (*ONE_AT_A_TIME, "-n", "1500"),
        shown=figure("packets", "key_updates", 1),
        witness="key update confirmed",
    ),
    "longrtt": Case(
        ("--connections", "1", "--streams", "4", "-n", "12", "--timeout", "20s"),
        shown=least_round_trip(1_500),
        link=Link(one_way_s=0.75),
        longest_ms=1_500,
    ),
    "blackhole": Case(
        ("--connections", "1", "--streams", "100", "--rate", "20", "--duration", "8s", "--timeout", "20s"),
        "64k.bin",
        shown=figure("packets", "lost", 1),
        link=Link(outage_s=(3.0, 5.0)),
        # A request that falls due at the outage's start waits for its end.
        longest_ms=1_900,
    ),
    "static table only": Case(
        ("--connections", "1", "--streams", "8", "-n", "200"), server=("--max-dyn-length=0",)
    ),
}


@contextmanager
def gtlsserver(folder: Path, case: Case) -> Iterator[str]:
    """Run the server on a free port as long as the block lasts; yields its address."""
    program = shutil.which("gtlsserver", path=PLACES)
    if program is None:
        sys.exit("gtlsserver is not installed; on Debian: apt-get install ngtcp2-server")
    port = free_udp_port()
    files = [str(folder / "key.pem"), str(folder / "certificate.pem")]
    # It says nothing in its log that is to be quiet.
    options = case.server if case.witness else ("--quiet", *case.server)
    command = [program, *options, "-d", str(folder / "files"), "127.0.0.1", str(port), *files]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait_for_port(port, process, folder / "log")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def free_udp_port() -> int:
    """Return a port of UDP that nobody has now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until somebody has the port; ends this program where nobody comes."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while f":{port:04X} " not in Path("/proc/net/udp").read_text():
        if process.poll() is not None or time.monotonic() > deadline_s:
            sys.exit(f"gtlsserver does not start: {log.read_text()[-300:]}")
        time.sleep(0.02)


def make_files(folder: Path) -> None:
    """Make what is served, and a certificate."""
    (folder / "files").mkdir()
    for name, length in BYTES.items():
        (folder / "files" / name).write_bytes(bytes(length))
    make_certificate(folder)


def make_certificate(folder: Path) -> None:
    """Make a certificate for localhost, and its key."""
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", "key.pem", "-out", "certificate.pem"]
    subprocess.run(["openssl", *words.split(), *files], cwd=folder, capture_output=True, check=True)


def tried(case: Case, folder: Path) -> tuple[str, bool]:
    """Load the server as a case says; return what was seen, and whether it is as it must be."""
    with gtlsserver(folder, case) as server, linked(server, case.link) as address:
        done = loaded(f"https://{address}/{case.file}", case.load)
    if done.returncode not in OTHERS_ARE_NO_FAULT:
        return done.stderr.strip().splitlines()[-1], False
    result = json.loads(done.stdout)
    requests, body_bytes = result["requests"], result["bytes"]["body"]
    answered, due = requests["answered"], requests["due"]
    more, is_shown = case.shown(result["http3"])
    packets, slowest_ms = result["http3"]["packets"], result["latency_ms"]["max"]
    is_whole = answered == due and body_bytes == answered * BYTES[case.file]
    words = [
        f"{answered:,} of {due:,} answered",
        f"{body_bytes:,} bytes",
        more,
        f"{packets['lost']} packets lost",
    ]
    words += [f"slowest {slowest_ms:,.0f} ms"] if case.longest_ms else []
    words += [f"{count:,} {error}" for error, count in result["errors"].items() if count]
    is_right = is_whole and is_shown and slowest_ms >= case.longest_ms
    if case.witness:
        seen = (folder / "log").read_text(errors="replace").count(case.witness)
        words += [f'the server says {seen} times "{case.witness}"']
        is_right &= seen == packets["key_updates"]
    return ", ".join(filter(None, words)), is_right


def loaded(url: str, options: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run one load over HTTP/3."""
    of_http3 = ["--http", "3", "--insecure", "--warmup", "0s", "--json"]
    command = [LOADCURVE, "load", url, *of_http3, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def linked(server: str, link: Link | None) -> Iterator[str]:
    """Yield where the server is reached: at its own address, or over a link."""
    if link is None:
        yield server
        return
    with relayed(server, link) as (address, _):
        yield address


def main() -> None:
    """Try all cases, print what was seen of each, and fail where one is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the cases whose names contain this text")
    only = parser.parse_args().only
    print(machine())
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder)
        for case in named_with(only, CASES):
            words, is_right = tried(CASES[case], folder)
            print(f"{case:18} {'passed' if is_right else 'FAILED'}  {words}", flush=True)
            failed += [] if is_right else [case]
    if failed:
        sys.exit(f"{len(failed)} of the cases failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

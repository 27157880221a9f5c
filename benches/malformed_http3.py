"""What `limit` does with HTTP/3 that breaks the rules: `python -m benches.malformed_http3 [--server NAME]`.

The sequences are those of `foreign/h3i`, sent by Cloudflare's h3i, which shares no code with `limit` and
writes what no client that keeps the rules can. What is expected is what RFC 9114 and RFC 9204 require; the
server must still answer afterwards. The client is built once, into a folder of temporary files, which takes
some minutes and requires cargo, CMake, a compiler of C++ and libclang (on Debian: cmake g++ libclang-dev).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.rig import LOADCURVE, MEASURED_EXIT_CODES, machine, own_cpus, running_web_server

SOURCES = Path(__file__).with_name("foreign") / "h3i"
BUILT = Path(tempfile.gettempdir()) / "loadcurve-h3i"
LONGEST_S = 300


def client() -> Path:
    """Build the client, where that is not done since its sources were changed."""
    program = BUILT / "debug" / "malformed-http3"
    changed_s = max(file.stat().st_mtime for file in SOURCES.rglob("*") if file.is_file())
    if not program.exists() or program.stat().st_mtime < changed_s:
        command = ["cargo", "build", "--locked", "--manifest-path", SOURCES / "Cargo.toml"]
        subprocess.run([*map(str, command), "--target-dir", str(BUILT)], check=True)
    return program


def main() -> None:
    """Print a line for each sequence; end with 1 where one ends otherwise, or the server does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", default="limit", help="a server of the catalogue that speaks HTTP/3")
    asked = parser.parse_args()
    program = client()
    print(machine())
    settings = {"tls": True, "http3": True}
    with running_web_server(asked.server, settings, own_cpus().server) as server:
        said = subprocess.run(
            [program, server.address], capture_output=True, text=True, check=True, timeout=LONGEST_S
        )
        rows = [line.split("\t") for line in said.stdout.splitlines()]
        url = f"https://{server.address}/1k.txt"
        load = [LOADCURVE, "load", url, "--http", "3", "--insecure", "-n", "1000", "--json"]
        after = subprocess.run(load, capture_output=True, text=True, check=False)
    answers = after.returncode in MEASURED_EXIT_CODES and json.loads(after.stdout)["requests"]["failed"] == 0
    for name, expected, outcome in rows:
        mark = "" if outcome == expected else "WRONG "
        print(f"{mark}{name:<48} expected {expected:<12} got {outcome}")
    wrong = sum(outcome != expected for _, expected, outcome in rows)
    mark = "" if answers else "NOT "
    print(f"{len(rows)} sequences, {wrong} with another outcome; {mark}all requests answered afterwards")
    sys.exit(1 if wrong or not answers else 0)


if __name__ == "__main__":
    main()

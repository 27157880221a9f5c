"""Real gates: `limit` or nginx against itself, and `limit` against the same that burns more CPU time.

A gate of equal servers should pass, or be undecided on a machine that is not quiet, and never fail; a gate of
servers that differ by 5 % should fail. Prints a line for each gate, and the counts.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benches.rig import LOADCURVE

WORK_US = 40.0
"""CPU time that `limit` burns for each request, besides what the kernel takes for it."""
CODES = {0: "passed or undecided", 3: "failed", 4: "not measured"}

STUDY = """\
title = "A gate of limit"

[content]
"1k.txt" = "1KiB"

[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "0.1s"
duration = "{duration}"

[sweep]
connections = [10]

{servers}"""
SERVERS = {
    "limit": """\
[servers.base]
use = "limit"
work = "{base_us:g}us"

[servers.head]
use = "limit"
work = "{head_us:g}us"
""",
    "nginx": """\
[servers.base]
use = "nginx"

[servers.head]
use = "nginx"
""",
}


def gate(folder: Path, study: Path, number: int, budget: str) -> tuple[int, dict[str, Any]]:
    """Run one gate; return its exit code and its answer."""
    words = ["gate", str(study), "--base", "base", "--head", "head", "--budget", budget, "--yes", "--json"]
    done = subprocess.run(
        [LOADCURVE, *words, "--out", str(folder / f"gate-{number}")],
        capture_output=True,
        text=True,
        check=False,
        # Other programs on the machine cost time, and no block.
        env={**os.environ, "LOADCURVE_OTHER_PROGRAMS": "note"},
    )
    if done.returncode not in CODES:
        raise SystemExit(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"outcome": "not measured"}
    return done.returncode, answer


def main() -> None:
    """Run gates and count what they come to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gates", type=int, default=20)
    parser.add_argument("--server", choices=sorted(SERVERS), default="limit")
    parser.add_argument(
        "--more-us", type=float, default=0.0, help="CPU time that a head of limit burns besides"
    )
    parser.add_argument("--duration", default="0.5s")
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no gate after these")
    arguments = parser.parse_args()
    if arguments.more_us and arguments.server != "limit":
        parser.error("--more-us is for limit")
    counts: Counter[str] = Counter()
    since_s = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        study = folder / "study.toml"
        servers = SERVERS[arguments.server].format(base_us=WORK_US, head_us=WORK_US + arguments.more_us)
        study.write_text(STUDY.format(duration=arguments.duration, servers=servers))
        for number in range(arguments.gates):
            if time.monotonic() - since_s > arguments.seconds:
                break
            begun_s = time.monotonic()
            _, found = gate(folder, study, number, arguments.budget)
            counts[found["outcome"]] += 1
            cpu = next(
                (one for one in found.get("measures", ()) if one["measure"] == "cpu_per_request_us"), None
            )
            worse_by = None if cpu is None else (cpu["confirmation"] or cpu["first"])["worse_by"]
            print(
                f"{number + 1:>3}  {found['outcome']:<10} {found.get('blocks', 0):>3} blocks  "
                f"{time.monotonic() - begun_s:5.1f} s  CPU per request worse by "
                f"{'—' if worse_by is None else f'{100 * worse_by:+.1f} %'}",
                flush=True,
            )
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))


if __name__ == "__main__":
    main()
